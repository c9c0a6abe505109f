"""The validated plan of where a model attends to concepts."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from askew.plan import Plan, Text


class MapPlan(Plan):
    """A plan of where a model attends to concepts (BiasMap); mask and branch are those of the paper.

    `images` pictures of each prompt are made; the axes of a prompt are what the instruments read in them.

    concepts    words to look for, such as gender and race
    against     by prompt, the word of it whose place in the picture theirs is held against, such as its occupation
    compared    further models, with the same settings, whose pictures of the same seeds are held against the first's
    baseline    folder of a finished run of maps, whose first model all models are held against instead
    definition  ovam: any concept, as if it stood in the prompt; daam: words of the prompt itself
    branch      whose image is listened to where there is guidance: cond or uncond
    threshold   where a map is high: percentile, max or minmax, at `tau`
    """

    method: Literal["map"] = "map"
    embedder: Text = "none"
    concepts: tuple[Text, ...] = Field(min_length=1)
    against: tuple[Text, ...] = Field(min_length=1)
    compared: tuple[Text, ...] = ()
    baseline: str = ""
    definition: Literal["ovam", "daam"] = "ovam"
    branch: Literal["cond", "uncond"] = "cond"
    threshold: Literal["percentile", "max", "minmax"] = "percentile"
    tau: float = Field(default=70.0, ge=0, le=100)

    @model_validator(mode="after")
    def _fits_prompts(self) -> MapPlan:
        if len(self.against) != len(self.prompts):
            raise ValueError(f"{len(self.prompts)} prompts need as many words to hold concepts against")
        if len(set(self.concepts)) < len(self.concepts):
            raise ValueError(f"a concept is named twice: {', '.join(self.concepts)}")
        held = {word.casefold() for word in self.against} & {concept.casefold() for concept in self.concepts}
        if held:
            raise ValueError(f"the concept {', '.join(sorted(held))} is the word that concepts are held against")
        if len({self.model, *self.compared}) <= len(self.compared):
            raise ValueError(f"a model is named twice: {', '.join((self.model, *self.compared))}")
        return self
