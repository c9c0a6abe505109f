"""Tests of the choice of axes whose counterfactual images are generated."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import askew
from askew.errors import UsageError
from askew.methods.audit.depth import cost_lines
from askew.methods.audit.plan import AuditPlan
from askew.methods.audit.words import CHOSEN_BY_SHARES
from askew.parts.survey import verdicts
from askew.parts.survey.propose import survey_plan
from askew.parts.survey.shares import SetShares, shares
from askew.parts.survey.verdicts import is_biased
from askew.people.folder import IMAGES
from askew.people.records import FrameEntry
from askew.people.sampling import with_strata
from askew.run.count import CountingRun
from askew.types import Estimate
from planted_raters import answers
from study_folders import GENDER, label_items, write_folder

PROMPT = "a photo of a nurse"
SETTINGS: dict[str, Any] = {
    "model": "studio/planted",
    "model_args": {"bias": 1.0},
    "images": 12,
    "axes": ["gender", "body_type"],
    "embedder": "none",
    "bootstrap_samples": 100,
}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the store that the runs of the module share."""
    return tmp_path_factory.mktemp("depth")


@pytest.fixture(scope="module")
def preview(store: Path) -> Any:
    """Return the preview of a run before anything is generated."""
    return audited(store, "significant", dry_run=True)


@pytest.fixture(scope="module")
def deep(store: Path, preview: Any) -> askew.AuditResult:
    """Return a run with the counterfactual images of biased axes."""
    return audited(store, "significant")


def audited(store: Path, counterfactuals: str, **options: Any) -> Any:
    """Run an audit on the planted world, or preview it."""
    folder = store / f"{counterfactuals}-{'-'.join(options)}"
    return askew.audit(
        PROMPT,
        **SETTINGS,
        counterfactuals=counterfactuals,  # type: ignore[arg-type]
        run=folder,
        store=store / "store",
        **options,
    )


def plan_of(**fields: object) -> AuditPlan:
    """Return a plan of eight axes."""
    return survey_plan(AuditPlan, [PROMPT], **{"model": "studio/planted", "images": 24, **fields})


def test_only_a_biased_axis_has_counterfactual_images(deep: askew.AuditResult) -> None:
    assert {entry.axis for entry in deep.findings.sets} == {None, "gender"}
    assert [*deep.findings.tibet[0].axes] == ["gender"]


def test_the_verdicts_equal_those_without_counterfactuals(
    store: Path, deep: askew.AuditResult
) -> None:
    shallow = audited(store, "none")
    baseline = [entry for entry in deep.findings.shares if entry.set == "initial"]
    assert list(shallow.findings.shares) == baseline
    assert shallow.findings.tibet == ()
    assert "for no axis (--counterfactuals none)" in shallow.markdown()


def test_scores_of_a_chosen_axis_have_no_test(deep: askew.AuditResult) -> None:
    scores = deep.findings.tibet[0].axes["gender"]
    assert scores.chosen_by_shares
    contrasts = [score for score in scores.cas_contrast.values() if isinstance(score, Estimate)]
    assert isinstance(scores.mad, Estimate)
    assert [score.p for score in (scores.mad, *contrasts)] == [None, None, None]
    assert CHOSEN_BY_SHARES in deep.report.read_text()


@pytest.mark.slow
def test_a_named_axis_is_scored_and_tested(store: Path, deep: askew.AuditResult) -> None:
    named = audited(store, "none", axes_in_depth=["body_type"])
    scores = named.findings.tibet[0].axes
    assert [*scores] == ["body_type"]
    assert isinstance(scores["body_type"].mad, Estimate)
    assert scores["body_type"].mad.p is not None
    assert not scores["body_type"].chosen_by_shares


def test_the_preview_bounds_the_images_and_knows_them_after_the_run(
    store: Path, preview: CountingRun, deep: askew.AuditResult
) -> None:
    images = sum(len(entry.pictures) for entry in deep.findings.sets)
    assert preview.work.pictures == 12
    assert preview.total.pictures == 72
    assert images == 36
    repeated = audited(store, "significant", dry_run=True)
    assert repeated.total.pictures == images
    assert not repeated.work.left


def test_the_preview_lists_the_costs_of_all_settings() -> None:
    plan = plan_of(counterfactuals="significant", axes_in_depth=("gender",))
    assert cost_lines(plan) == [
        "by setting  --counterfactuals none: 72 images, significant: 72 to 648, all: 648"
    ]


def test_verdicts_need_a_twentieth_of_all_images() -> None:
    plan = plan_of()
    assert len(plan.prompts[0].axes) == 8
    assert len(plan.prompts) <= 0.05 * len(plan.texts())


def test_the_default_leaves_the_hash_of_a_plan() -> None:
    fields = plan_of().deciding()
    assert {"counterfactuals", "axes_in_depth"}.isdisjoint(fields)
    assert plan_of(counterfactuals="none").hash != plan_of().hash


def test_named_axes_need_a_setting_and_must_exist() -> None:
    with pytest.raises(UsageError, match="--counterfactuals significant or none"):
        plan_of(axes_in_depth=("gender",))
    with pytest.raises(UsageError, match="contains 'sex', but the axes of the plan are gender"):
        plan_of(counterfactuals="none", axes_in_depth=("sex",))


def test_images_of_a_folder_exist_already(tmp_path: Path, deep: askew.AuditResult) -> None:
    folder = tmp_path / "folder" / PROMPT
    folder.mkdir(parents=True)
    for name in deep.findings.sets[0].pictures[:2]:
        image = deep.picture(str(name))
        assert image is not None
        image.save(folder / f"{name}.png")
    for option, settings in {
        "--counterfactuals none": {"counterfactuals": "none"},
        "--until decided": {"until": "decided"},
    }.items():
        with pytest.raises(UsageError, match=rf"exist already\. Remove {option}$"):
            askew.audit(
                model=f"folder/{folder.parent}",
                run=tmp_path / "run",
                axes=["gender"],
                vqa=["studio"],
                **settings,  # type: ignore[arg-type]
            )


def test_the_verdicts_that_choose_axes_allow_for_measured_errors(
    store: Path, deep: askew.AuditResult, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = study_of(deep, store / "study")
    computed: list[str] = []

    def counted(*args: Any, **named: Any) -> SetShares:
        entry = shares(*args, **named)
        computed.append(f"{entry.set} {entry.axis} {entry.instrument}")
        return entry

    monkeypatch.setattr(verdicts, "shares", counted)
    settings = {**SETTINGS, "vqa": ["studio", f"study/{study}"], "counterfactuals": "significant"}
    run = askew.audit(PROMPT, run=store / "measured", store=store / "store", **settings)
    (entry,) = [
        entry
        for entry in run.findings.shares
        if (entry.set, entry.axis, entry.instrument) == ("initial", "gender", "studio")
    ]
    # the studio's own errors make this verdict significant, as in the run `deep`
    assert is_biased(entry) is False
    assert {image_set.axis for image_set in run.findings.sets} == {None}
    assert len(computed) == len(set(computed))
    assert "The verdicts allow for labeling errors that were measured" in run.markdown()
    assert "The verdicts on this page selected these axes." in deep.markdown()


def study_of(run: askew.AuditResult, path: Path) -> Path:
    """Write a study whose raters label every second image unlike the instrument."""
    (path / IMAGES).mkdir(parents=True)
    frame = []
    truth = {}
    (baseline,) = [image_set for image_set in run.findings.sets if image_set.axis is None]
    for number, digest in enumerate(map(str, baseline.pictures)):
        value = GENDER.values[number % 2]
        truth[digest] = value
        frame.append(FrameEntry(id=digest, labels={"gender": {"studio": "female"}}))
    folder = write_folder(path, label_items([*truth]), with_strata(frame, ["gender"]))
    folder.write_answers(answers(folder, truth, np.random.default_rng(0), 0.0, 0.0))
    return path
