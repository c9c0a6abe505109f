"""Plans with the same questions can be compared. Messages name the differences of other plans."""

from __future__ import annotations

from typing import Any

import pytest

from askew.errors import UsageError
from askew.methods.audit.plan import AuditPlan
from askew.studies.compare.comparable import comparable_prompts


def plan(
    prompts: tuple[str, ...] = ("a nurse",), axes: dict[str, Any] | None = None, **fields: Any
) -> AuditPlan:
    axis = {
        "name": "gender",
        "values": ["male", "female"],
        "questions": [{"text": "Which?"}],
        "counterfactuals": {"male": "a man", "female": "a woman"},
        **(axes or {}),
    }
    return AuditPlan.checked(
        {"prompts": [{"text": text, "axes": [axis]} for text in prompts], **fields}
    )


def test_models_and_their_settings_may_differ() -> None:
    other = plan(
        model="other/model",
        model_args={"guidance": 7.5},
        confidence=0.9,
        bootstrap_samples=500,
        llm="another",
    )
    common, warnings = comparable_prompts({"a": plan(), "b": other}, generated=True)
    assert [prompt.text for prompt in common] == ["a nurse"]
    assert warnings == []


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (plan(images=24), "images is 24 instead of 48"),
        (plan(seed=1), "seed is 1 instead of 0"),
        (plan(variant="code"), "variant is code instead of paper"),
        (plan(vqa=("studio", "faces")), "vqa is studio, faces instead of studio"),
        (plan(concepts="axis"), "concepts is axis instead of all"),
        (
            plan(axes={"name": "age"}),
            "the runs measure no axis in the same way: gender of 'a nurse' .not in all runs., age",
        ),
        (plan(axes={"values": ["female", "male"]}), ".different values."),
        (plan(axes={"questions": [{"text": "Who?"}]}), ".different questions"),
        (
            plan(axes={"counterfactuals": {"male": "a man", "female": "a lady"}}),
            ".different counterfactuals",
        ),
        (plan(axes={"reference": {"male": 0.4, "female": 0.6}}), ".different reference"),
        (plan(axes={"reference_images": 24}), ".different reference_images"),
        (
            plan(axes={"scale": "ordinal", "questions": [{"text": "Who?"}]}),
            "different scale and questions",
        ),
        (plan(images=24, seed=3), "images is 24 instead of 48; seed is 3 instead of 0"),
        (plan(("a chef",)), r"no prompt.*runs/a has 'a nurse'; runs/b has 'a chef'"),
    ],
)
def test_the_error_names_the_differences(other: AuditPlan, message: str) -> None:
    with pytest.raises(UsageError, match=message) as error:
        comparable_prompts({"runs/a": plan(), "runs/b": other}, generated=True)
    assert "runs/a" in str(error.value)
    assert "runs/b" in str(error.value)


@pytest.mark.parametrize(
    "fields", [{"aliases": {"both": "male"}}, {"values": {"gender": ("female", "male")}}]
)
def test_labels_must_be_interpreted_alike(fields: dict[str, Any]) -> None:
    plans = {"runs/a": plan(vqa=("labels",)), "runs/b": plan(vqa=("labels",), **fields)}
    with pytest.raises(
        UsageError,
        match=rf"runs/b and runs/a cannot be compared: in runs/b, {next(iter(fields))} is .*=.* instead",
    ):
        comparable_prompts(plans, generated=False)


def test_aliases_count_only_with_labels() -> None:
    comparable_prompts({"a": plan(), "b": plan(aliases={"both": "male"})}, generated=False)


def test_the_number_and_seed_of_existing_images_may_differ() -> None:
    common, _ = comparable_prompts({"a": plan(), "b": plan(images=24, seed=1)}, generated=False)
    assert len(common) == 1


def test_prompts_that_not_all_runs_have_are_left_out_with_a_warning() -> None:
    plans = {"a": plan(("p", "q", "r")), "b": plan(("r", "q", *"stuvw"))}
    common, warnings = comparable_prompts(plans, generated=True)
    assert [prompt.text for prompt in common] == ["q", "r"]
    assert warnings == [
        "askew leaves out prompts of a, because not all runs have them: 'p'",
        "askew leaves out prompts of b, because not all runs have them: 's', 't', 'u' and 2 more",
    ]


def test_axes_that_are_measured_differently_are_left_out_with_a_warning() -> None:
    axis = {"name": "age", "values": ["young", "old"], "questions": [{"text": "How old?"}]}
    axes = [*plan().model_dump()["prompts"][0]["axes"], axis]
    both = AuditPlan.checked({"prompts": [{"text": "a nurse", "axes": axes}]})
    common, warnings = comparable_prompts({"a": plan(), "b": both}, generated=True)
    assert [axis.name for axis in common[0].axes] == ["gender"]
    left_out = "askew leaves out axes that the runs measure differently: "
    assert warnings[0] == f"{left_out}age of 'a nurse' (not in all runs)"
    assert "the runs use different questions" in warnings[1]
    plans = {"a": plan(), "b": both}
    separate = {name: each.model_copy(update={"concepts": "axis"}) for name, each in plans.items()}
    _, warnings = comparable_prompts(separate, generated=True)
    assert len(warnings) == 1, "separate concepts of an axis do not depend on other axes"
