"""Tests of audits that add images until a model differs from a finished run of another model."""

from __future__ import annotations

from pathlib import Path
from shutil import copytree
from typing import Any

import pytest

import askew
from askew.errors import RunError, UsageError
from askew.methods.audit.compared import PairedTrial
from askew.parts.survey.observed import ObservedSet
from askew.plan import AxisPlan
from askew.prompts.axes import find_axis
from askew.stats.looks import looks
from askew.stats.watching import exact_change_p
from askew.types import Missing, Picture, Prompt
from recorded_runs import in_file

NURSE = "a photo of a nurse"
GENDER = AxisPlan.of(find_axis("gender"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a finished audit without bias in base, and a copy of its store."""
    folder = tmp_path_factory.mktemp("compared")
    audited(folder, "base", prompts=NURSE, axes=["gender"], images=32, embedder="none", bias=0.0)
    copytree(folder / "store", folder / "other")
    return folder


@pytest.fixture(scope="module")
def run(folder: Path) -> askew.AuditResult:
    """Return an audit of a biased model that stops when it differs from the run base."""
    return compared(folder, "new")


def audited(folder: Path, name: str, prompts: str = "", bias: float = 1.0, **options: Any) -> Any:
    """Run an audit on the planted world."""
    settings = {"store": folder / "store", **options}
    return askew.audit(
        prompts or (),
        model="studio/planted",
        model_args={"bias": bias},
        run=folder / name,
        **({"counterfactuals": "none", "bootstrap_samples": 100} if prompts else {}),
        **settings,
    )


def compared(folder: Path, name: str, **options: Any) -> Any:
    """Run an audit that is compared with the run base."""
    return audited(folder, name, until="decided", compared_run=folder / "base", **options)


def image_set(labels: str) -> ObservedSet:
    """Return images with the labels m, f, or - for a missing label; image k has the seed k."""
    known = {"m": "male", "f": "female", "-": Missing("refused")}
    answers = tuple(known[label] for label in labels)
    pictures = tuple(Picture(f"{labels} {k}", "", NURSE, k) for k in range(len(labels)))
    return ObservedSet(
        prompt=Prompt(NURSE),
        pictures=pictures,
        values={"studio": {"gender": answers}},
        captions=tuple(Missing("not_asked") for _ in pictures),
    )


def test_each_look_tests_the_first_pairs() -> None:
    trial = PairedTrial((image_set("m" * 12), image_set("f" * 8 + "m" * 40)), GENDER, "studio", 48)
    first, second = trial.look_p_values()
    # the mid-p of eight changes in one direction; pairs with equal labels do not matter
    assert first == second == pytest.approx(exact_change_p([[0, 0], [8, 0]])[0] / 2)
    assert first < trial.p([first, second]) < 7 * first


def test_a_set_without_labels_reaches_no_verdict() -> None:
    trial = PairedTrial((image_set("-" * 8), image_set("m" * 48)), GENDER, "studio", 48)
    assert trial.look_p_values() == [1.0]
    assert trial.p([1.0]) == 1.0


def test_the_run_stops_at_a_significant_difference(run: askew.AuditResult) -> None:
    (verdict,) = run.findings.compared
    assert run.plan.images == 32
    assert verdict.images == run.findings.sets[0].n == looks(32)[len(verdict.looks) - 1]
    assert verdict.q < 0.05 or verdict.images == 32
    assert verdict.p >= min(verdict.looks)
    difference = verdict.differences["female"]
    assert isinstance(difference, askew.Estimate)
    assert difference.low is not None
    assert difference.low < difference.value
    assert difference.level == run.plan.confidence


def test_the_page_states_the_verdict_and_the_rule(run: askew.AuditResult) -> None:
    text = run.markdown()
    (verdict,) = run.findings.compared
    if verdict.q < 0.05:
        assert "studio/planted differs significantly from the run “base”" in text
        assert f"Verdicts were reached with {verdict.images} of at most 32 images" in text
    else:
        assert "is undecided with 32 images. This does not mean that the models" in text
    assert "Differences from the compared run" in text
    assert "up to 32 images per prompt. Images with the same seed form pairs" in text


def test_a_finished_run_is_not_repeated(folder: Path, run: askew.AuditResult) -> None:
    again = compared(folder, "new", budget="0")
    assert again.findings.compared == run.findings.compared


def test_a_model_that_equals_the_compared_model_is_undecided(folder: Path) -> None:
    same = compared(folder, "same", bias=0.0)
    (verdict,) = same.findings.compared
    assert (verdict.p, verdict.images) == (1.0, 32)
    assert "do not differ significantly" in same.markdown()


def test_options_that_exclude_each_other_are_named(folder: Path) -> None:
    with pytest.raises(UsageError, match="--compared-run needs --until decided"):
        askew.audit(compared_run=folder / "base")
    with pytest.raises(UsageError, match="has 32 images per prompt"):
        compared(folder, "more", max_images=64)
    with pytest.raises(UsageError, match="Leave out: axes"):
        compared(folder, "axes", axes=["age"])


def test_a_run_that_stopped_early_is_refused(folder: Path, run: askew.AuditResult) -> None:
    with pytest.raises(UsageError, match="its number of images depended on the labels"):
        audited(folder, "third", until="decided", compared_run=run.folder)


def test_an_interrupted_run_ends_as_if_it_had_not_been_interrupted(
    folder: Path, run: askew.AuditResult
) -> None:
    with pytest.raises(RunError, match="budget of 10"):
        compared(folder, "interrupted", store=folder / "other", budget="10")
    continued = compared(folder, "interrupted", store=folder / "other")
    for part in ("compared", "sets", "shares"):
        assert in_file(continued)[part] == in_file(run)[part]
