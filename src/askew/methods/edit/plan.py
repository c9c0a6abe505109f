"""The plan of what editing does to pictures of people, and how a request becomes one."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from askew.errors import UsageError
from askew.measure.faces import installed
from askew.models.base import Setting
from askew.parts.sources.groups import paper_settings, planned_sources
from askew.parts.survey.instruments import LABELS, STUDIO, is_studio
from askew.plan import AxisPlan, NonEmptyText, Plan, PromptPlan, Settings, check_distinct
from askew.prompts.axes import BIASCONNECT, find_axis
from askew.prompts.given import HIGH_PAID, LOW_PAID

GENDER = "gender"
NONE = "none"
PAPER_EDITS: Mapping[str, Setting] = {"num_inference_steps": 50, "guidance_scale": 7.5}
"""The paper's settings while a model edits (section 3)."""

TARGETS: Mapping[str, tuple[str, ...]] = {"high-paid": HIGH_PAID, "low-paid": LOW_PAID}

Finder = Literal["faces", "studio", "none"]
Skin = Literal["rule", "geometry"]


class EditPlan(Plan):
    """A plan of what editing does to pictures of social groups (Saravanan et al., "downstream").

    Every prompt is that of a group, its axes are what is read. `images` pictures of each are
    edited, made by `sources` with `sources_args`: a model, or a collection such as folder/PATH; ""
    is the model itself.

    edit_prompts  words to edit towards, by the name of their set; `strengths`: 0 redraws nothing, 1 everything
    edit_args  settings of the model while it edits; where absent, as while it makes pictures
    resize     crop pictures to a square and resize them to so many pixels; 0 takes them as they are
    skin       which pixels are skin: geometry (the cheeks of a face that `landmarks` found), or rule (by colour, in
               whole pictures, which takes walls and clothes for skin)
    """

    method: str = "edit"
    images: int = Field(default=25, ge=2, le=100_000)
    groups: tuple[NonEmptyText, ...] = Field(min_length=1)
    sources: str = ""
    sources_args: Settings = Field(default_factory=dict)
    edit_prompts: dict[str, tuple[NonEmptyText, ...]] = Field(min_length=1)
    strengths: tuple[Annotated[float, Field(gt=0, le=1)], ...] = Field(
        default=(0.6, 0.8, 1.0), min_length=1
    )
    edit_args: Settings = Field(default_factory=dict)
    resize: int = Field(default=0, ge=0, le=8192)
    landmarks: Finder = "none"
    skin: Skin = "geometry"

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if len(self.groups) != len(self.prompts):
            raise ValueError(
                f"{len(self.groups)} groups need as many prompts, not {len(self.prompts)}"
            )
        for name, words in self.edit_prompts.items():
            if len(words) < 2:
                raise ValueError(
                    f"the target set {name!r} holds {len(words)} target; a set needs two or more, so that what is "
                    f"found holds for more than one word: {name}=doctor,ceo"
                )
        check_distinct("target", self.words)
        if len(set(self.strengths)) < len(self.strengths):
            raise ValueError("a strength is named twice")
        return self

    @property
    def words(self) -> tuple[str, ...]:
        """The targets of all sets, in order."""
        return tuple(word for words in self.edit_prompts.values() for word in words)

    @property
    def axes(self) -> tuple[AxisPlan, ...]:
        """The axes that are read from every picture, the same for all groups."""
        return self.prompts[0].axes


def plan_editing(
    groups: str | Sequence[str] | None = None,
    *,
    edit_prompts: Mapping[str, Sequence[str]] | None = None,
    axes: Sequence[str] | None = None,
    landmarks: str | None = None,
    edit_args: Mapping[str, Setting] | None = None,
    **settings: object,
) -> EditPlan:
    """A plan of edits of pictures of `groups`; None means the paper's, or all groups of a
    collection.

    `edit_prompts` by default are the paper's. `axes` None reads the eight of BiasConnect, `landmarks`
    None is the studio's for a studio model, else whoever is installed. `settings` are other fields
    of `EditPlan`. Raises UsageError.
    """
    fields, found, model, maker = planned_sources(groups, settings)
    wanted = [find_axis(name) for name in (BIASCONNECT if axes is None else axes)]
    if GENDER not in {axis.name for axis in wanted}:
        wanted.insert(0, find_axis(GENDER))
    read = tuple(AxisPlan.of(axis) for axis in wanted)
    data = {
        **fields,
        "edit_args": {**paper_settings(model, PAPER_EDITS), **(edit_args or {})},
        "groups": [group.name for group in found],
        "prompts": [PromptPlan.of(group.prompt, read).model_dump() for group in found],
        "edit_prompts": {name: list(words) for name, words in (edit_prompts or TARGETS).items()},
        "landmarks": landmarks
        or (STUDIO if is_studio(maker) else "faces" if installed() else NONE),
    }
    plan = EditPlan.checked(data, "this request")
    if LABELS in plan.vqa:
        raise UsageError(
            "edits are new pictures, of which no labels can tell: read them by --vqa studio or clip/ID"
        )
    return plan
