"""New studies from finished runs: the studies of the papers, and studies of mined prompts."""

from __future__ import annotations

from pathlib import Path

import pytest

import askew
from askew.cli import run
from askew.people.folder import StudyFolder
from askew.people.new_choose import FIRST, MINED, SECOND
from askew.people.new_selections import PROPOSED
from askew.people.records import AnswerRecord
from askew.people.results import study_results
from askew.types import Estimate


@pytest.fixture(scope="module")
def audit(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("audits") / "secret-run"
    prompts = ["a photo of a nurse", "a photo of a chef"]
    options = {"images": 3, "axes": ["gender", "age"], "bootstrap_samples": 100}
    return askew.audit(prompts, model="studio/planted", run=folder, **options).folder


@pytest.fixture(scope="module")
def search(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("searches") / "mined"
    sizes = {"iterations": 2, "population": 5, "selected": 2, "mutations": 1, "top": 2}
    options = {"images": 4, "variations": 4, "objective": "eq1", "bootstrap_samples": 100}
    return askew.mine(model="studio/planted", run=folder, **sizes, **options).folder


@pytest.mark.parametrize(
    ("name", "kind", "raters", "text"),
    [
        ("tibet-1", "axes", 5, "2 lists of 10 axes"),
        ("tibet-2", "rate", 10, "4 questions with 3 images each, 10 raters"),
        ("tibet-3", "concepts", 3, "12 lists of 10 concepts"),
    ],
)
def test_studies_of_tibet_are_made_from_an_audit(
    audit: Path,
    tmp_path: Path,
    name: str,
    kind: str,
    raters: int,
    text: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    output = tmp_path / "study"
    assert run(["study", "new", "--like", name, "--from", str(audit), "--output", str(output)]) == 0
    printed = capsys.readouterr().out
    assert text in printed
    assert "expected half-width" in printed
    folder = StudyFolder.opened(output)
    assert (folder.plan.kind, folder.plan.raters_per_item) == (kind, raters)
    lines = (output / "items.jsonl").read_text()
    assert not [word for word in ("secret-run", "studio", PROPOSED, "MAD") if word in lines]
    for item in folder.items.values():
        assert all(folder.image(image).is_file() for image in item.images)
    entry = folder.frame[0]
    if kind == "rate":
        assert {"MAD", "MAD by CLIP", "MAD by bipartite matching"} <= set(entry.facts)
    elif kind == "axes":
        proposed = [axis for axis, facts in entry.labels.items() if "secret-run" in facts]
        assert proposed == ["gender", "age"]
        assert len(entry.labels) == 10
    else:
        assert sum(PROPOSED in facts for facts in entry.labels.values()) == 5
        assert len(entry.labels) == 10


def check_pairs(folder: StudyFolder, search: Path) -> None:
    """Check that each pair has a mined prompt with its held-out score, and a random prompt."""
    pairs = [item for item in folder.items.values() if item.groups]
    assert all(len(item.groups[side]) == 4 for item in pairs for side in (0, 1))
    best = askew.load(search).findings.minethegap.best
    for entry in folder.frame:
        assert entry.names[MINED] == FIRST
        scores = [
            each.held_out_score.value for each in best if entry.names[FIRST][:-8] == each.prompt
        ]
        assert entry.facts[FIRST] == -scores[0]
        assert entry.names[SECOND][:-8] not in {each.prompt for each in best}


@pytest.mark.slow
def test_mined_prompts_are_compared_with_random_prompts(
    search: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "study"
    options = ["--raters", "6", "--raters-per-item", "6", "--output", str(output)]
    assert run(["study", "new", "--like", "minethegap", "--from", str(search), *options]) == 0
    assert "2 pairs of image sets, 6 raters per pair" in capsys.readouterr().out
    check_pairs(StudyFolder.opened(output), search)
    folder = StudyFolder.opened(output)
    records = []
    for rater in folder.raters():
        for name in rater.items:
            answer = folder.items[name].expected or (FIRST if rater.id == "r003" else SECOND)
            records.append(AnswerRecord(rater.id, name, 1, (answer,), seconds=3.0))
    folder.write_answers(records)
    choices = study_results(folder).write().findings.included.choices
    assert choices is not None
    share = choices.mined["mined"]
    assert isinstance(share, Estimate)
    assert share.value == pytest.approx(5 / 6)
    assert share.low is not None
    assert choices.random_majorities == 0
    assert "Mined prompts" in (output / "report.html").read_text()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "the kind of study is missing"),
        (["rate", "--like", "tibet-1"], "--like tibet-1 is a study of the kind axes, not rate"),
        (["axes", "--images", "3"], "--images applies only to label studies"),
        (["label", "--items", "3"], "does not apply to a label study. Use --images"),
        (["axes", "--items", "3", "--precision", "0.1"], "Leave out --items"),
    ],
)
def test_faulty_requests_are_refused(
    audit: Path, options: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    more = ["--from", str(audit), "--output", str(audit.parent / "study")]
    assert run(["study", "new", *options, *more]) == 2
    assert message in " ".join(capsys.readouterr().err.split())
