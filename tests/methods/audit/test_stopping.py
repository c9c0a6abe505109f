"""Tests of audits that add images until a verdict is reached."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import askew
from askew.errors import RunError, UsageError
from askew.methods.audit.plan import AuditPlan
from askew.parts.survey.propose import survey_plan
from askew.stats.looks import looks, sequential_p

NURSE = "a photo of a nurse"
CHEF = "a photo of a chef"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the store that the runs of the module share."""
    return tmp_path_factory.mktemp("stopping")


@pytest.fixture(scope="module")
def interrupted(store: Path) -> str:
    """Return the error of a run whose budget ends between two looks."""
    with pytest.raises(RunError) as caught:
        audited(store, budget="20")
    return str(caught.value)


@pytest.fixture(scope="module")
def resumed(store: Path, interrupted: str) -> askew.AuditResult:
    """Return the same run, resumed."""
    return audited(store)


def audited(folder: Path, name: str = "run", **options: Any) -> Any:
    """Run an audit of two prompts on the planted world."""
    settings = {"store": folder / "store", **options}
    return askew.audit(
        [NURSE, CHEF],
        model="studio/planted",
        model_args={"bias": 1.0},
        axes=["gender", "body_type"],
        embedder="none",
        bootstrap_samples=100,
        until="decided",
        decide=["gender"],
        max_images=48,
        run=folder / name,
        **settings,
    )


def plan_of(**fields: object) -> AuditPlan:
    """Return a plan that stops."""
    chosen = {"until": "decided", "counterfactuals": "none", "images": 48, **fields}
    return survey_plan(AuditPlan, [NURSE], **{"model": "studio/planted", **chosen})  # type: ignore[arg-type]


def test_each_prompt_stops_at_a_significant_look(resumed: askew.AuditResult) -> None:
    sizes = looks(48)
    for image_set in resumed.findings.sets:
        entry = next(
            shares
            for shares in resumed.findings.shares
            if (shares.prompt, shares.axis) == (image_set.prompt, "gender")
        )
        verdict = entry.verdict
        assert verdict is not None
        assert image_set.n == sizes[len(verdict.looks) - 1]
        assert verdict.q < 0.05 or image_set.n == 48
        assert verdict.p >= min(verdict.looks)
    assert min(image_set.n for image_set in resumed.findings.sets) < 48


def test_p_is_recomputed_from_the_looks(resumed: askew.AuditResult) -> None:
    entry = resumed.findings.shares[0]
    verdict = entry.verdict
    assert verdict is not None
    assert not entry.missing
    # without errors the law would be another one: the studio's instrument reports its errors
    assert verdict.corrected_for_errors
    plain = sequential_p(verdict.looks, looks(48), (0.5, 0.5))
    assert verdict.p == pytest.approx(plain, abs=0.03)


@pytest.mark.slow
def test_an_interrupted_run_ends_equally(
    store: Path, interrupted: str, resumed: askew.AuditResult
) -> None:
    assert "budget of 20" in interrupted
    direct = audited(store, "direct", store=store / "other")
    assert direct.findings.shares == resumed.findings.shares
    assert direct.findings.sets == resumed.findings.sets


def test_the_preview_bounds_an_unknown_number_of_images(
    store: Path, resumed: askew.AuditResult
) -> None:
    before = audited(store, "preview", store=store / "empty", dry_run=True)
    assert before.work.pictures == 2 * 8
    assert before.total.pictures == 2 * 48
    after = audited(store, dry_run=True)
    assert after.total.pictures == sum(image_set.n for image_set in resumed.findings.sets)
    assert not after.work.left


def test_the_page_says_how_the_images_ended(resumed: askew.AuditResult) -> None:
    text = resumed.markdown()
    assert "until a verdict on gender is significant, up to 48 images per prompt" in text
    stopped = [image_set.n for image_set in resumed.findings.sets if image_set.n < 48]
    assert f"askew stopped at {stopped[0]} images per prompt (maximum: 48)." in text
    assert "No verdict was reached for 1 prompt with 48 images." in text
    assert "undecided, not unbiased" in text
    report = resumed.report.read_text(encoding="utf-8")
    assert "undecided with 48 images" in report
    assert "too few images" not in report
    assert resumed.findings.shares_over_prompts == ()


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"counterfactuals": "all"}, "tests only shares"),
        ({"axes_in_depth": ["gender"]}, "tests only shares"),
        ({"decide": ["sex"]}, "--decide contains 'sex', but the axes of the plan are gender"),
        ({"until": None, "decide": ["gender"]}, "--decide needs --until decided"),
    ],
)
def test_unsuitable_settings_are_refused(fields: dict[str, object], sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        plan_of(**fields)


def test_options_that_exclude_each_other_are_named() -> None:
    with pytest.raises(UsageError, match="Use --max-images instead of --images"):
        askew.audit(NURSE, until="decided", images=24)
    with pytest.raises(UsageError, match="Add --until decided, or use --images"):
        askew.audit(NURSE, max_images=24)


def test_a_counted_reference_is_refused() -> None:
    plan = plan_of()
    fields = plan.model_dump(mode="json")
    fields["prompts"][0]["axes"][0]["reference"] = {"male": 0.4, "female": 0.6}
    fields["prompts"][0]["axes"][0]["reference_images"] = 24
    with pytest.raises(
        UsageError, match="estimated from 24 images, but --until decided needs exact"
    ):
        AuditPlan.checked(fields)
