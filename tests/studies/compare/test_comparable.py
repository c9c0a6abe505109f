"""Plans that ask the same can be compared; what differs is said."""

from __future__ import annotations

from typing import Any

import pytest

from askew.errors import UsageError
from askew.findings import Instruments
from askew.methods.audit.plan import AuditPlan
from askew.plan import Plan
from askew.studies.compare.recorded import check_instruments, common_prompts


def plan(prompts: tuple[str, ...] = ("a nurse",), axes: dict[str, Any] | None = None, **fields: Any) -> Plan:
    axis = {"name": "gender", "values": ["male", "female"], "questions": [{"text": "Which?"}],
            "counterfactuals": {"male": "a man", "female": "a woman"}, **(axes or {})}  # fmt: skip
    return AuditPlan.checked({"prompts": [{"text": text, "axes": [axis]} for text in prompts], **fields})


def test_models_and_their_settings_may_differ() -> None:
    other = plan(model="other/model", model_args={"guidance": 7.5}, level=0.9, draws=500, llm="another")
    common, warnings = common_prompts({"a": plan(), "b": other}, generated=True)
    assert [prompt.text for prompt in common] == ["a nurse"]
    assert warnings == []


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (plan(images=24), "images 24, not 48"),
        (plan(seed=1), "seed 1, not 0"),
        (plan(variant="code"), "variant code, not paper"),
        (plan(vqa=("studio", "faces")), "vqa studio, faces, not studio"),
        (plan(embedder="none"), "embedder none, not studio"),
        (plan(axes={"name": "age"}), "axes age of 'a nurse', not gender"),
        (plan(axes={"values": ["female", "male"]}), "other values on axis gender of 'a nurse'"),
        (plan(axes={"questions": [{"text": "Who?"}]}), "other questions on axis gender"),
        (plan(axes={"counterfactuals": {"male": "a man", "female": "a lady"}}), "other counterfactuals on axis"),
        (plan(axes={"ideal": {"male": 0.4, "female": 0.6}}), "other ideal on axis"),
        (plan(axes={"scale": "ordinal", "questions": [{"text": "Who?"}]}), "other scale and other questions"),
        (plan(images=24, seed=3), "images 24, not 48; seed 3, not 0"),
        (plan(("a chef",)), r"no prompt.*runs/a has 'a nurse'; runs/b has 'a chef'"),
    ],
)
def test_what_differs_is_said(other: Plan, message: str) -> None:
    with pytest.raises(UsageError, match=message) as error:
        common_prompts({"runs/a": plan(), "runs/b": other}, generated=True)
    assert "runs/a" in str(error.value)
    assert "runs/b" in str(error.value)


BOTH = {"both": "missing:several_people"}


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"aliases": {"Both": "male"}}, "the label 'both' read as male on axis gender, not as missing:several_people"),
        ({"aliases": {"gender:both": "missing"}}, "'both' read as missing:unparseable on axis gender"),
        ({"aliases": BOTH | {"m": "missing"}}, "'m' read as missing:unparseable on axis gender, not as male"),
        ({"aliases": BOTH, "values": {"gender": ("female", "male")}}, "values female, male on axis gender, not male,"),
    ],
)
def test_labels_must_be_read_alike(fields: dict[str, Any], message: str) -> None:
    plans = {"runs/a": plan(vqa=("labels",), aliases=BOTH), "runs/b": plan(vqa=("labels",), **fields)}
    with pytest.raises(UsageError, match=f"runs/b and runs/a cannot be compared.*{message}"):
        common_prompts(plans, generated=False)


@pytest.mark.parametrize(
    "fields",
    [
        {"aliases": {}},
        {"aliases": BOTH | {"females": "female", "age:old": "missing"}},
        {"aliases": BOTH, "values": {"gender": ("male", "female")}},
    ],
)
def test_aliases_that_change_no_label_of_the_axes_may_differ(fields: dict[str, Any]) -> None:
    common_prompts({"a": plan(vqa=("labels",), aliases=BOTH), "b": plan(vqa=("labels",), **fields)}, generated=False)


def test_aliases_count_where_labels_are_read() -> None:
    common_prompts({"a": plan(aliases=BOTH), "b": plan(aliases={"both": "male"})}, generated=False)


def test_existing_pictures_have_no_number_and_no_seed() -> None:
    common, _ = common_prompts({"a": plan(), "b": plan(images=24, seed=1)}, generated=False)
    assert len(common) == 1


def test_prompts_that_only_some_have_are_left_out_with_a_warning() -> None:
    plans = {"a": plan(("p", "q", "r")), "b": plan(("r", "q", *"stuvw"))}
    common, warnings = common_prompts(plans, generated=True)
    assert [prompt.text for prompt in common] == ["q", "r"]
    assert warnings == [
        "prompts of a alone are left out: 'p'",
        "prompts of b alone are left out: 's', 't', 'u' and 2 more",
    ]


def test_instruments_must_be_the_same_but_labels_belong_to_their_pictures() -> None:
    labels = {name: Instruments({"labels": name}) for name in "ab"}
    check_instruments(labels)
    with pytest.raises(UsageError, match=r"b was read by another vqa: another version"):
        check_instruments({name: Instruments({"studio": name}) for name in "ab"})
    with pytest.raises(UsageError, match=r"b was read by another embedder: none, not clip"):
        check_instruments({"a": Instruments({}, {"clip": "1"}), "b": Instruments({})})
