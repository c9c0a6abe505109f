"""The validated plan of a comparison of searches: several models on the prompts that were mined for each of them."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field, model_validator

from askew.plan import RunPlan, Settings, Text


class ConditionPlan(BaseModel):
    """A model with its settings, under the name that it has in the comparison."""

    model_config = RunPlan.model_config

    name: Text
    model: Text
    model_args: Settings = Field(default_factory=dict)


class MinedPromptPlan(BaseModel):
    """A prompt and the variations that it was mined with: all models are held against the same ones."""

    model_config = RunPlan.model_config

    text: Text
    variations: tuple[Text, ...] = Field(min_length=2)


class MinedSetPlan(BaseModel):
    """The prompts that one run found; `condition` is the model that they were mined for, where it is compared."""

    model_config = RunPlan.model_config

    name: Text
    condition: str = ""
    prompts: tuple[MinedPromptPlan, ...] = Field(min_length=1)


class MiningComparisonPlan(RunPlan):
    """Several models, or settings of one, on the prompts mined for each of them (MineTheGap, figures 6, 9 and S19).

    sets        the prompts, by the run that found them
    given       prompts that were not mined; only their texts are compared
    vary        the setting that tells the conditions apart, where one was varied
    images      pictures per prompt
    quantile    alpha of the score; `unit` says that similarities are (1 + cosine) / 2
    seed        the run seed of the pictures, which no search has seen
    """

    method: Literal["mine-compare"] = "mine-compare"
    conditions: tuple[ConditionPlan, ...] = Field(min_length=1)
    sets: tuple[MinedSetPlan, ...] = Field(min_length=1)
    given: tuple[Text, ...] = ()
    vary: str = ""
    embedder: Text = "studio"
    embedder_args: Settings = Field(default_factory=dict)
    images: int = Field(default=15, ge=2, le=10_000)
    quantile: float = Field(default=0.25, ge=0, le=1)
    unit: bool = True
    seed: int = 0
    level: float = Field(default=0.95, gt=0.5, lt=1)

    @model_validator(mode="after")
    def _distinct(self) -> MiningComparisonPlan:
        for what, names in (("model", [c.name for c in self.conditions]), ("set", [s.name for s in self.sets])):
            if len(set(names)) < len(names):
                raise ValueError(f"a {what} is named twice: {', '.join(names)}")
        return self
