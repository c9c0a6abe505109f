"""From a request to a plan of edits: the groups' prompts, what is read, and settings that suit the model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from askew import registry
from askew.errors import UsageError
from askew.methods.editing import GENDER
from askew.methods.sources import social_groups
from askew.models.base import Setting
from askew.parts.survey.instruments import LABELS
from askew.plan import AxisPlan, PromptPlan
from askew.planning.sources import paper_settings, with_source_settings
from askew.plans.editing import EditPlan
from askew.plans.reading import make_plan
from askew.prompts.axes import BIASCONNECT, find_axis
from askew.prompts.groups import HIGH_PAID, LOW_PAID

STUDIO = "studio"
PAPER_EDITS: Mapping[str, Setting] = {"num_inference_steps": 50, "guidance_scale": 7.5}
"""The paper's settings while a model edits (section 3)."""

TARGETS: Mapping[str, tuple[str, ...]] = {"high-paid": HIGH_PAID, "low-paid": LOW_PAID}


def plan_editing(
    groups: str | Sequence[str] | None,
    *,
    targets: Mapping[str, Sequence[str]] | None = None,
    axes: Sequence[str] | None = None,
    vqa: Sequence[str] | None = None,
    landmarks: str | None = None,
    **settings: Any,
) -> EditPlan:
    """A plan of edits of pictures of `groups`; None means all groups of a collection.

    `targets` by default are the paper's high-paid and low-paid professions. `axes` None reads the eight of
    BiasConnect, `landmarks` None is the studio's geometry for a studio model, else none. `settings` are the other
    fields of `EditPlan`. Raises UsageError.
    """
    model = str(settings.get("model", STUDIO))
    fields = {"model": model, **with_source_settings(settings, model)}
    fields["edit_args"] = {**paper_settings(model, PAPER_EDITS), **settings.get("edit_args", {})}
    own = fields.get("sources") or model
    source = registry.model(own, **fields.get("sources_args" if fields.get("sources") else "model_args", {}))
    is_studio = own.partition("/")[0] == STUDIO
    read = _axes(axes)
    found = social_groups(source, groups)
    planned = [PromptPlan(text=group.prompt, axes=read).model_dump() for group in found]
    data = {
        **fields,
        "method": "edit",
        "groups": [group.name for group in found],
        "prompts": planned,
        "targets": {name: list(words) for name, words in (targets or TARGETS).items()},
        "vqa": (STUDIO,) if vqa is None else tuple(vqa),
        "landmarks": landmarks or (STUDIO if is_studio else "none"),
    }
    if LABELS in data["vqa"]:
        raise UsageError("edits are new pictures, of which no labels can tell: read them by --vqa studio or clip/ID")
    plan = make_plan(data, "this request")
    if not isinstance(plan, EditPlan):
        raise TypeError(f"a plan of edits became a {type(plan).__name__}")
    return plan


def _axes(names: Sequence[str] | None) -> tuple[AxisPlan, ...]:
    wanted = [find_axis(name) for name in (BIASCONNECT if names is None else names)]
    if GENDER not in {axis.name for axis in wanted}:
        wanted.insert(0, find_axis(GENDER))
    return tuple(AxisPlan.of(axis) for axis in wanted)
