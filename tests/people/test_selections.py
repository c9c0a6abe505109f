"""Studies in which people select concepts of images, or axes of prompts."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from askew.people.exchange import export_study, import_answers
from askew.people.folder import StudyFolder
from askew.people.new_selections import KIND, PROPOSED
from askew.people.records import (
    CANNOT_TELL,
    NONE_OF_THESE,
    AnswerRecord,
    FrameEntry,
    Item,
    StudySource,
)
from askew.people.results import study_results
from askew.stats.crossed import crossed_rate
from askew.types import Estimate
from study_folders import links_of, served, write_folder

SOURCE = StudySource(run="run", plan_hash="0", model="secret-model")
OPTIONS = tuple(f"concept {number}" for number in range(10))


def list_item(name: str, is_axes: bool) -> Item:
    return Item(
        id=name,
        role="item",
        question="Which?",
        options=OPTIONS,
        special=(NONE_OF_THESE, CANNOT_TELL),
        prompt="a photo of a nurse" if is_axes else "",
        multiple=True,
        free_text=is_axes,
    )


def planted_lists(path: Path, kind: str, lists: int = 40, raters: int = 6) -> StudyFolder:
    """Write a study whose raters confirm 80 % of proposals and choose 10 % of other options."""
    rng = np.random.default_rng(5)
    items = [list_item(f"i{number + 1:05d}", kind == "axes") for number in range(lists)]
    frame = []
    for item in items:
        labels = {}
        for number, name in enumerate(item.options):
            facts = {}
            if kind == "axes":
                facts[KIND] = "societal" if number % 2 else "incidental"
            if number < 5:
                facts["run" if kind == "axes" else PROPOSED] = PROPOSED
            labels[name] = facts
        frame.append(FrameEntry(id=item.id, prompt=item.id, set="initial", labels=labels))
    folder = write_folder(path, items, frame, raters, 3, kind=kind, axes=(), sources=(SOURCE,))
    records = []
    for rater in folder.raters():
        for name in rater.items:
            item = folder.items[name]
            answer: tuple[str, ...] = (item.expected or "",)
            if item.expected is None:
                shares = np.where(np.arange(10) < 5, 0.8, 0.1)
                picked = rng.random(10) < shares
                answer = tuple(np.array(OPTIONS)[picked].tolist()) or (NONE_OF_THESE,)
                if rng.random() < 0.05:
                    answer = (CANNOT_TELL,)
            text = "Posture\nhair" if item.free_text and rng.random() < 0.2 else ""
            records.append(AnswerRecord(rater.id, name, 1, answer, text=text, seconds=5.0))
    folder.write_answers(records)
    return StudyFolder.opened(path)


@pytest.mark.parametrize("kind", ["concepts", "axes"])
def test_precision_and_recall_are_the_planted_rates(tmp_path: Path, kind: str) -> None:
    folder = planted_lists(tmp_path / "study", kind)
    result = study_results(folder).write()
    selections = result.findings.included.selections
    assert selections is not None
    entry = selections.scores[0]
    planted = {"precision": 0.8, "others": 0.1, "recall": 8 / 9}
    for name, value in planted.items():
        estimate = getattr(entry, name)
        assert isinstance(estimate, Estimate)
        assert estimate.value == pytest.approx(value, abs=0.04)
        assert estimate.low is not None
        assert estimate.high is not None
        assert 0.01 < (estimate.high - estimate.low) / 2 < 0.08
    assert isinstance(entry.precision_by_majority, Estimate)
    assert entry.precision_by_majority.value == pytest.approx(0.896, abs=0.06)
    assert "People confirm" in result.page.answer
    if kind == "axes":
        answers = folder.answers().values()
        texts = sum(bool(each.text) for each in answers if folder.items[each.item].role == "item")
        assert dict(selections.free_text) == {"posture": texts, "hair": texts}
        societal = selections.scores[1]
        assert societal.group == "societal"
        assert isinstance(societal.precision, Estimate)
        assert societal.precision.n is not None
        assert entry.precision.n is not None
        assert societal.precision.n * 5 == entry.precision.n * 2


def test_lists_leave_a_study_and_come_back(tmp_path: Path) -> None:
    folder = planted_lists(tmp_path / "study", "axes", lists=12)
    before = folder.answers()
    findings = study_results(folder).findings
    for to, output in (("label-studio", "tasks"), ("csv", "a.csv"), ("jsonl", "a.jsonl")):
        files = export_study(folder, to, tmp_path / output)  # type: ignore[arg-type]
        (folder.path / "answers.jsonl").unlink()
        import_answers(folder, to, files[0])  # type: ignore[arg-type]
        assert folder.answers() == before
        assert study_results(folder).findings == findings


def test_raters_choose_several_options_and_add_their_own(tmp_path: Path) -> None:
    folder = write_folder(
        tmp_path / "study",
        [list_item(f"i{number:05d}", True) for number in (1, 2)],
        kind="axes",
        axes=(),
    )
    link = f"/s/{links_of(folder)['r001']}"
    with served(folder) as client:
        client.post(link)
        name = folder.raters()[0].items[0]
        page = client.get(f"{link}/{name}")
        assert page.text.count('type="checkbox"') == 12
        assert "secret-model" not in page.text
        assert PROPOSED not in page.text
        for body in ("", f"answer=concept+1&answer={NONE_OF_THESE}"):
            assert client.send("POST", f"{link}/{name}", body.encode()).status == 400
        body = "answer=concept+3&answer=concept+1&text=+hair%0Aposture"
        assert client.send("POST", f"{link}/{name}", body.encode()).status == 303
        assert "checked" in client.get(f"{link}/{name}").text
    stored = folder.all_answers()
    assert [(each.answer, each.text) for each in stored] == [
        (("concept 1", "concept 3"), "hair\nposture")
    ]


@pytest.mark.slow
def test_crossed_intervals_hold_the_true_rate() -> None:
    rng = np.random.default_rng(0)

    def shares(things: int, raters: int) -> np.ndarray:
        logit = 1.5 + rng.normal(size=(1, things)) + rng.normal(size=(raters, 1), scale=0.5)
        return 1 / (1 + np.exp(-logit))

    true = np.mean([shares(1, 1) for _ in range(100_000)])
    held = 0
    for _ in range(300):
        answers = (rng.random((10, 30, 5)) < shares(30, 10)[:, :, None]).astype(float)
        answers[rng.random((10, 30)) < 0.7] = np.nan
        estimate = crossed_rate(answers)
        assert estimate.low is not None
        assert estimate.high is not None
        held += estimate.low <= true <= estimate.high
    assert 0.9 <= held / 300 <= 0.99


def test_lists_and_raters_with_equal_rates_have_an_interval() -> None:
    half = np.array([[[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]] * 3)
    estimate = crossed_rate(half)
    assert estimate.value == 0.5
    assert estimate.low is not None
    assert estimate.high is not None
    assert 0 < estimate.low < 0.5 < estimate.high < 1
