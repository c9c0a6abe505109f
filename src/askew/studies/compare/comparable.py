"""Which runs can be compared: those that asked the same of their models and read the answers alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from askew.errors import UsageError
from askew.findings import Instruments
from askew.measure.labels import MISSING, Spelling, aliases_of, key
from askew.parts.survey.instruments import LABELS
from askew.plan import AxisPlan, Plan, PromptPlan
from askew.prompts.axes import AXES
from askew.types import Missing

SHOWN = 3
"""Prompts that a warning names before it counts the rest."""

WHAT_COUNTS = ("values", "scale", "ideal", "questions", "counterfactuals")
"""Fields of an axis that decide its scores."""


def common_prompts(plans: Mapping[str, Plan], generated: bool) -> tuple[list[PromptPlan], list[str]]:
    """The prompts that all plans have, in the first plan's order, and warnings about those that only some have.

    `plans` are by the name of their run. `generated` says that the pictures were made on request, so that
    their number and seed must be the same. Raises UsageError that says what differs, or that nothing is shared.
    """
    (first, reference), *others = plans.items()
    texts = {name: [prompt.text for prompt in plan.prompts] for name, plan in plans.items()}
    common = [prompt for prompt in reference.prompts if all(prompt.text in own for own in texts.values())]
    if not common:
        examples = "; ".join(f"{name} has {_some(own)}" for name, own in texts.items())
        raise UsageError(f"these runs share no prompt, so there is nothing to compare: {examples}")
    for name, plan in others:
        found = _differences(plan, reference, common, generated)
        if found:
            raise UsageError(f"{name} and {first} cannot be compared, since {name} has {'; '.join(found)}")
    shared = {prompt.text for prompt in common}
    left = {name: [text for text in own if text not in shared] for name, own in texts.items()}
    return common, [f"prompts of {name} alone are left out: {_some(own)}" for name, own in left.items() if own]


def check_instruments(found: Mapping[str, Instruments]) -> None:
    """Raise UsageError unless all runs, by name, were read by the same instruments; labels belong to their pictures."""
    (first, reference), *others = found.items()
    for name, own in others:
        for kind in ("vqa", "embedder"):
            here, there = _versions(own, kind), _versions(reference, kind)
            if here != there:
                what = f"{_named(here)}, not {_named(there)}" if here.keys() != there.keys() else "another version"
                raise UsageError(
                    f"{name} and {first} cannot be compared, since {name} was read by another {kind}: {what}. "
                    "Audit both with the same instruments"
                )


def _differences(plan: Plan, reference: Plan, prompts: Sequence[PromptPlan], generated: bool) -> list[str]:
    """What a plan has otherwise than the reference, in words."""
    fields = ("method", "variant", "vqa", "embedder", *(("images", "seed") if generated else ()))
    found = [
        f"{field} {_shown(getattr(plan, field))}, not {_shown(getattr(reference, field))}"
        for field in fields
        if getattr(plan, field) != getattr(reference, field)
    ]
    by_text = {prompt.text: prompt for prompt in plan.prompts}
    for prompt in prompts:
        found += _axis_differences(by_text[prompt.text], prompt)
    return [*found, *_label_differences(plan, reference, prompts)]


def _axis_differences(prompt: PromptPlan, reference: PromptPlan) -> list[str]:
    own, wanted = ({axis.name: axis for axis in p.axes} for p in (prompt, reference))
    if own.keys() != wanted.keys():
        return [f"axes {', '.join(own)} of {prompt.text!r}, not {', '.join(wanted)}"]
    return [
        f"other {' and other '.join(fields)} on axis {name} of {prompt.text!r}"
        for name, axis in own.items()
        if (fields := _other_fields(axis, wanted[name]))
    ]


def _label_differences(plan: Plan, reference: Plan, prompts: Sequence[PromptPlan]) -> list[str]:
    """Where a person's labels are read otherwise, if they are read at all."""
    if LABELS not in plan.vqa or LABELS not in reference.vqa:
        return []
    axes = {axis.name: axis for prompt in prompts for axis in prompt.axes}
    return [text for axis in axes.values() for text in _other_readings(plan, reference, axis)]


def _other_readings(plan: Plan, reference: Plan, axis: AxisPlan) -> list[str]:
    own, wanted = _spelling(plan, axis), _spelling(reference, axis)
    if own.values != wanted.values:
        return [f"labels with the values {_shown(own.values)} on axis {axis.name}, not {_shown(wanted.values)}"]
    labels = (key(label) for one in (plan, reference) for label in aliases_of(axis.name, one.aliases))
    readings = {label: (own.read(label), wanted.read(label)) for label in labels}
    return [
        f"the label {label!r} read as {_answer(here)} on axis {axis.name}, not as {_answer(there)}"
        for label, (here, there) in readings.items()
        if here != there and here is not None and there is not None  # a label that means nothing is not in the run
    ]


def _spelling(plan: Plan, axis: AxisPlan) -> Spelling:
    """How a plan reads the labels of an axis; values that it does not give are the catalogue's, else those found."""
    values = plan.values.get(axis.name, AXES[axis.name].values if axis.name in AXES else axis.values)
    return Spelling(axis.name, values, aliases_of(axis.name, plan.aliases))


def _answer(read: str | Missing) -> str:
    return f"{MISSING}:{read.reason}" if isinstance(read, Missing) else read


def _other_fields(axis: AxisPlan, reference: AxisPlan) -> list[str]:
    return [field for field in WHAT_COUNTS if getattr(axis, field) != getattr(reference, field)]


def _versions(found: Instruments, kind: str) -> dict[str, str]:
    """Fingerprints by name; those of labels change with the pictures and say nothing about how they are read."""
    return {name: "" if name == LABELS else text for name, text in (getattr(found, kind) or {}).items()}


def _named(instruments: Mapping[str, str]) -> str:
    return ", ".join(instruments) or "none"


def _shown(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _some(texts: Sequence[str]) -> str:
    shown = ", ".join(repr(text) for text in texts[:SHOWN])
    return shown if len(texts) <= SHOWN else f"{shown} and {len(texts) - SHOWN} more"
