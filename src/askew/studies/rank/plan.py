"""Plan for ranking given prompts."""

from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from askew.methods.mine.plan import DEFAULT_AXES, EQ1, SKEW, MinePlan, ScoredPlan
from askew.plan import NonEmptyText, PlanPart, Settings
from askew.prompts.axes import find_axis
from askew.prompts.vocabulary import article
from askew.stats.halving import least_images
from askew.stats.looks import looks

FINDING_IMAGES = 128
"""Lower bound of the default number of images per prompt in the last round.

With this number of images, a search for 5 of 71 occupations finds, with a probability of .92, only
occupations whose planted skew is at most .10 below the fifth-largest skew (benchmarks.halving).
"""


class ModelPlan(PlanPart):
    """A model, with its settings and its name in this ranking."""

    name: NonEmptyText
    model: NonEmptyText
    model_args: Settings = Field(default_factory=dict)


class RankPlan(ScoredPlan):
    """Plan for ranking prompts on one or more models.

    Fields that are not listed here have the same meaning as in a search. `llm`, `topic` and `words`
    determine which variations askew writes.

    Attributes
    ----------
    models, prompts
        Models to compare, and prompts to rank.
    objective
        Score of a prompt. skew: deviation of the shares on `axes` from equal shares. eq1: the
        paper's score.
    mined_for
        Name of the search that found each prompt, keyed by prompt.
    given
        Prompt variations that the searches used, keyed by prompt.
    table
        Shares of `value`, keyed by a name such as an occupation. A prompt is assigned the share of
        the longest name that it contains.
    value
        Value whose shares are in the table.
    find
        Number of prompts to find by successive halving; 0 to score all prompts. With `find`,
        `images` is the number of images per prompt in the last round.
    eval_images
        Number of held-out images for each prompt that `find` selects. With `until`, this is the
        maximum number.
    until : "decided" or None
        If "decided", add held-out images to each prompt that `find` selects, until the prompt's
        bias is significant.
    """

    method: Literal["rank"] = "rank"
    models: tuple[ModelPlan, ...] = Field(min_length=1)
    prompts: tuple[NonEmptyText, ...] = Field(min_length=1)
    objective: Literal["skew", "eq1"] = "skew"
    images: Annotated[int, Field(ge=2, le=10_000)] = 48
    mined_for: dict[str, NonEmptyText] = Field(default_factory=dict)
    given: dict[str, tuple[NonEmptyText, ...]] = Field(default_factory=dict)
    table: dict[str, float] = Field(default_factory=dict)
    value: NonEmptyText = "female"
    find: Annotated[int, Field(ge=0)] = 0
    eval_images: Annotated[int, Field(ge=2, le=10_000)] = 48
    until: Literal["decided"] | None = None

    @model_validator(mode="before")
    @classmethod
    def _chosen(cls, data: dict[str, Any]) -> dict[str, Any]:
        objective = data.get("objective", SKEW)
        default_axes = DEFAULT_AXES if objective == SKEW else ()
        axes = [find_axis(name).name for name in data.get("axes") or default_axes]
        prompts = data.get("prompts")
        if not prompts:
            names = data.get("table") or ()
            prompts = [f"photo portrait of {article(name)} {name}" for name in names]
        count = len(dict.fromkeys(prompts))
        find = data.get("find") or 0
        images = 15 if objective == EQ1 else 48
        if isinstance(find, int) and 0 < find < count:
            images = max(FINDING_IMAGES, least_images(count, find))
        return {
            "images": images,
            **data,
            "axes": axes,
            "prompts": list(dict.fromkeys(prompts)),
        }

    @model_validator(mode="after")
    def _distinct(self) -> Self:
        names = [model.name for model in self.models]
        if len(set(names)) < len(names):
            raise ValueError(f"two models have the same name: {', '.join(names)}")
        return self

    @model_validator(mode="after")
    def _finds(self) -> Self:
        if not self.find:
            if self.until:
                raise ValueError(
                    f"until {self.until} adds held-out images to the prompts that --find selects, "
                    "but --find is missing. Add --find 5, or leave out --until"
                )
            return self
        if self.find >= len(self.prompts):
            raise ValueError(
                f"find {self.find} needs more than {self.find} prompts, but there are only "
                f"{len(self.prompts)}. Give more prompts, or leave out --find"
            )
        least = least_images(len(self.prompts), self.find)
        if self.images < least:
            raise ValueError(
                f"find {self.find} of {len(self.prompts)} prompts needs --images {least} or more, so "
                "that the first round has at least 4 images of each prompt"
            )
        if self.objective != SKEW:
            raise ValueError(f"find needs the objective {SKEW}. Leave out --objective or --find")
        if len(self.models) > 1:
            raise ValueError("find needs a single model. Run askew rank --find for each model")
        if self.mined_for:
            raise ValueError(
                "find cannot select from prompts that a search has already selected. Leave out "
                "--mined or --find"
            )
        return self

    def deciding(self) -> dict[str, object]:
        """Return the fields that determine the results."""
        fields = super().deciding()
        if not self.find:
            del fields["find"]
            del fields["eval_images"]
        if self.until is None:
            del fields["until"]
        return fields

    @property
    def first_eval_images(self) -> int:
        """Number of held-out images of a prompt before the first verdict."""
        return looks(self.eval_images)[0] if self.until else self.eval_images

    def share(self, prompt: str) -> float | None:
        """Return the table's share for a prompt; None if no name in the table fits the prompt."""
        padded = f" {prompt.lower()} "
        names = [name for name in self.table if f" {name.lower()} " in padded]
        return self.table[max(names, key=len)] if names else None

    def search(self, model: ModelPlan) -> MinePlan:
        """Return the plan of a search that scores a model's prompts in the same way."""
        scored = {name: getattr(self, name) for name in ScoredPlan.model_fields}
        return MinePlan(model=model.model, model_args=model.model_args, **scored)
