"""The validated plan of what editing does to pictures of people."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from askew.plan import Plan, Settings, Text
from askew.plans.distinct import check_distinct


class EditPlan(Plan):
    """A plan of what editing does to pictures of social groups (Saravanan et al., "downstream").

    `images` are the pictures of each group that are edited; every prompt is a group's, its axes are what is read.

    groups       the groups' names, in the order of the prompts
    sources      where their pictures come from: a model, or a collection such as folder/PATH; "" is the model itself
    sources_args its settings
    targets      prompts' words to edit towards, by the name of their set
    strengths    how much is redrawn: 0 nothing, 1 everything
    edit_args    settings of the model while it edits; where absent, as while it makes pictures
    side         crop pictures to a square and resize them to so many pixels; 0 takes them as they are
    landmarks    who finds faces for average faces: faces, studio or none
    alignment    how faces are laid on each other: similarity, or piecewise affine
    skin         which pixels are skin: rule (by colour) or geometry (by landmarks)
    """

    method: Literal["edit"] = "edit"
    images: int = Field(default=25, ge=2, le=100_000)
    groups: tuple[Text, ...] = Field(min_length=1)
    sources: str = ""
    sources_args: Settings = Field(default_factory=dict)
    targets: dict[str, tuple[Text, ...]] = Field(min_length=1)
    strengths: tuple[Annotated[float, Field(gt=0, le=1)], ...] = Field(default=(0.6, 0.8, 1.0), min_length=1)
    edit_args: Settings = Field(default_factory=dict)
    side: int = Field(default=0, ge=0, le=8192)
    landmarks: Literal["faces", "studio", "none"] = "none"
    alignment: Literal["similarity", "piecewise"] = "similarity"
    skin: Literal["rule", "geometry"] = "rule"

    @model_validator(mode="after")
    def _fits(self) -> EditPlan:
        if len(self.groups) != len(self.prompts):
            raise ValueError(f"{len(self.groups)} groups need as many prompts, not {len(self.prompts)}")
        for name, words in self.targets.items():
            if len(words) < 2:
                raise ValueError(
                    f"the target set {name!r} holds {len(words)} target; a set needs two or more, so that what is "
                    f"found holds for more than one word: {name}=doctor,ceo"
                )
        check_distinct("target", self.words)
        if len(set(self.strengths)) < len(self.strengths):
            raise ValueError("a strength is named twice")
        if self.skin == "geometry" and self.landmarks == "none":
            raise ValueError("skin by geometry needs landmarks: faces or studio")
        return self

    @property
    def words(self) -> tuple[str, ...]:
        """The targets of all sets, in order."""
        return tuple(word for words in self.targets.values() for word in words)
