"""Define and construct the plan of a run that edits images of people."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal, Self, cast

from pydantic import Field, model_validator

from askew.errors import UsageError
from askew.models.base import Setting
from askew.parts.sources.groups import paper_settings, planned_sources
from askew.parts.survey.instruments import LABELS, is_studio
from askew.plan import AxisPlan, NonEmptyText, Plan, PromptPlan, Settings, check_distinct
from askew.prompts.axes import BIASCONNECT, find_axis
from askew.prompts.given import HIGH_PAID, LOW_PAID

GENDER = "gender"
NONE = "none"

PAPER_EDITS: Mapping[str, Setting] = {"num_inference_steps": 50, "guidance_scale": 7.5}
"""The paper's settings for the editing model (section 3)."""

EDIT_PROMPTS: Mapping[str, tuple[str, ...]] = {"high-paid": HIGH_PAID, "low-paid": LOW_PAID}
"""The paper's edit prompts: professions, keyed by the name of their set."""

Finder = Literal["faces", "hog", "studio", "none"]
Skin = Literal["rule", "geometry"]


class EditPlan(Plan):
    """Plan of a run that edits images of social groups (Saravanan et al., "downstream").

    The plan has a prompt for each group. All prompts have the same axes, on which input images and
    edits are labeled.

    Attributes
    ----------
    images : int
        Number of input images per group.
    groups : tuple of str
        Names of the groups.
    sources : str
        Model or collection (folder/PATH) from which the input images come. Empty if the editing
        model also generates them.
    sources_args : mapping
        Settings of `sources`.
    edit_prompts : mapping of str to tuple of str
        Words toward which images are edited, keyed by the name of their set.
    strengths : tuple of float
        Strengths of the edits, in (0, 1]. At strength 1, an edit keeps nothing of its input image.
    edit_args : mapping
        Model settings that apply only to edits, in addition to the model's settings for generating
        images.
    resize : int
        Width and height, in pixels, to which input images are cropped and resized. If 0, input
        images keep their size.
    landmarks : "faces", "hog", "studio" or "none"
        Face detector: MTCNN (faces), dlib (hog), or the known position in drawings (studio).
    skin : "rule" or "geometry"
        Pixels that count as skin: the cheeks of a detected face (geometry), or all pixels of skin
        color in the image (rule), which may include walls and clothes.
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
                f"a plan needs one prompt per group, but has {len(self.prompts)} prompts for "
                f"{len(self.groups)} groups"
            )
        for name, words in self.edit_prompts.items():
            if len(words) < 2:
                raise ValueError(
                    f"the set {name!r} has {len(words)} edit prompt. A set needs at least two "
                    "edit prompts, so that its scores do not depend on a single word. Use "
                    f"--edit-prompts {name}=doctor,ceo"
                )
        check_distinct("edit prompt", self.words)
        if len(set(self.strengths)) < len(self.strengths):
            raise ValueError("a strength is given twice")
        return self

    @property
    def words(self) -> tuple[str, ...]:
        """Edit prompts of all sets, in order."""
        return tuple(word for words in self.edit_prompts.values() for word in words)

    @property
    def axes(self) -> tuple[AxisPlan, ...]:
        """Axes on which all images are labeled."""
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
    """Plan a run that edits images of social groups.

    Parameters
    ----------
    groups : str or sequence of str, optional
        Names of the groups. By default, the paper's four groups, or all groups of a collection.
    edit_prompts : mapping of str to sequence of str, optional
        Words toward which images are edited, keyed by the name of their set. By default, the
        paper's professions.
    axes : sequence of str, optional
        Axes to label. By default, the eight axes of BiasConnect. Gender is always labeled.
    landmarks : str, optional
        Face detector. By default, `studio` for images from the studio and `faces` for other images.
    edit_args : mapping, optional
        Model settings that apply only to edits. The paper's settings are the defaults.
    **settings : object
        Other fields of `EditPlan`.

    Returns
    -------
    EditPlan
        The plan.

    Raises
    ------
    UsageError
        If the request cannot be met.
    """
    planned = planned_sources(groups, settings)
    labeled = _labeled_axes(axes)
    prompts = [PromptPlan.of(group.prompt, labeled) for group in planned.groups]
    of_model = cast("Settings", planned.fields.get("model_args") or {})
    paper_edits = paper_settings(planned.model, PAPER_EDITS, of_model)
    data = {
        **planned.fields,
        "edit_args": {**paper_edits, **(edit_args or {})},
        "groups": [group.name for group in planned.groups],
        "prompts": [prompt.model_dump() for prompt in prompts],
        "edit_prompts": {
            name: list(words) for name, words in (edit_prompts or EDIT_PROMPTS).items()
        },
        "landmarks": landmarks or _usual_finder(planned.maker),
    }
    plan = EditPlan.checked(data, "this request")
    if LABELS in plan.vqa:
        raise UsageError(
            "--vqa labels cannot label edits, because edits are new images. Use --vqa studio or "
            "--vqa clip/ID"
        )
    return plan


def _labeled_axes(names: Sequence[str] | None) -> tuple[AxisPlan, ...]:
    """Return the axes to label. If they do not include gender, it becomes the first axis."""
    axes = [find_axis(name) for name in (BIASCONNECT if names is None else names)]
    if all(axis.name != GENDER for axis in axes):
        axes.insert(0, find_axis(GENDER))
    return tuple(AxisPlan.of(axis) for axis in axes)


def _usual_finder(maker: str) -> Finder:
    """Return the name of the face detector for images from a model or collection."""
    return "studio" if is_studio(maker) else "faces"
