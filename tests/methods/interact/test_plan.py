"""Plans of interactions: questions, references, and refused requests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import askew
from askew.errors import UsageError
from askew.methods.interact.plan import InteractionPlan, plan_interactions
from askew.plan import read_plan

NURSE = ["a photo of a nurse"]


def plan(**settings: Any) -> InteractionPlan:
    return plan_interactions(
        NURSE, **{"model": "studio/planted", "axes": ["gender", "age"], **settings}
    )


def test_a_plan_has_the_questions_of_the_paper_and_survives_toml(tmp_path: Path) -> None:
    planned = plan()
    assert [axis.questions[0].text for axis in planned.prompts[0].axes] == [
        "What is the gender (male, female) of the person?",
        "What is the age group (young, middle-aged, old) of the person?",
    ]
    assert (planned.method, planned.embedder, planned.alpha) == ("interact", "none", 1e-4)
    assert planned.edge_rule == "q"
    assert planned.to_toml().startswith("method = ")
    (tmp_path / "plan.toml").write_text(planned.to_toml(), encoding="utf-8")
    assert read_plan(tmp_path / "plan.toml") == planned


def test_all_eight_axes_are_the_default() -> None:
    planned = plan_interactions(NURSE, model="studio/planted")
    assert len(planned.prompts[0].axes) == 8
    assert len(planned.texts()) == 27


def test_a_threshold_implies_the_papers_rule_for_edges() -> None:
    assert plan(alpha=0.01).edge_rule == "paper"
    assert plan(edge_rule="paper").alpha == 1e-4
    with pytest.raises(UsageError, match="Leave out --least-sensitivity, or use"):
        plan(edge_rule="q", least_sensitivity=0.1)


def test_references_are_in_the_plan() -> None:
    planned = plan(reference=["bls-2022", "age=young:0.2,middle-aged:0.5,old:0.3"])
    gender, age = planned.prompts[0].axes
    assert gender.reference is not None
    assert gender.reference["female"] > 0.8
    assert age.reference == {"young": 0.2, "middle-aged": 0.5, "old": 0.3}
    assert plan(reference=["uniform"]).prompts[0].axes[0].reference is None


def test_open_answers_leave_out_the_values() -> None:
    (gender, _) = plan(open_answers=True).prompts[0].axes
    assert gender.values == ()
    assert gender.questions[0].options == ()
    assert list(gender.counterfactuals) == ["male", "female"]


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({"distance": "values", "reference": ["bls-2022"]}, "needs a uniform reference"),
        ({"distance": "euclidean"}, "distance"),
        ({"mitigated": ["studio/planted"]}, "does not name the mitigated axis"),
        ({"mitigated": ["height=studio/planted"]}, "does not name the mitigated axis"),
        ({"reference": ["no/such/table.csv"]}, "cannot read the reference table"),
    ],
)
def test_invalid_settings_are_refused(settings: dict[str, Any], match: str) -> None:
    with pytest.raises(UsageError, match=match):
        plan(**settings)


def test_mitigations_are_named_by_axis(tmp_path: Path) -> None:
    assert plan(mitigated=["studio/planted"], mitigated_args={"equal": "{axis}"}).mitigated == {
        "gender": "studio/planted",
        "age": "studio/planted",
    }
    (tmp_path / "fair-age").mkdir()
    (tmp_path / "fair-age" / "results.json").write_text("{}")
    assert plan(mitigated=[f"{tmp_path}/fair-{{axis}}"]).mitigated == {
        "age": f"{tmp_path}/fair-age"
    }
    assert plan(mitigated=["gender=runs/a=b"]).mitigated == {"gender": "runs/a=b"}


def test_a_folder_that_is_not_a_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"has no results\.json"):
        plan(reference=[str(tmp_path)])


def test_shares_of_a_finished_run_can_be_the_reference_of_another_run(tmp_path: Path) -> None:
    result = askew.interact(
        NURSE,
        "studio/planted",
        images=8,
        axes=["gender"],
        bootstrap_samples=100,
        run=tmp_path / "run",
    )
    (gender,) = plan(axes=["gender"], reference=[str(tmp_path / "run")]).prompts[0].axes
    counts = result.findings.shares[0].counts
    assert gender.reference == {
        value: count / sum(counts.values()) for value, count in counts.items()
    }
    assert gender.reference_images == 8
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "results.json").write_text('{"shares": [{"prompt": "x"}]}')
    with pytest.raises(UsageError, match=r"results.json: 0\..* repeat the run's command"):
        plan(reference=[str(tmp_path / "other")])


def test_options_that_do_not_exist_are_refused_in_python() -> None:
    with pytest.raises(UsageError, match="unknown option 'image'"):
        askew.interact(NURSE, "studio/planted", image=8)  # type: ignore[call-arg]
