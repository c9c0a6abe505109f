"""How biases pull on each other: BiasConnect on a model's pictures, or on pictures that exist already."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from askew import registry
from askew.errors import UsageError
from askew.measure.base import PERSON, VQA
from askew.methods.interaction_counts import tables
from askew.methods.interaction_mixture import measured_distances, pictures_by_prompt
from askew.methods.interaction_robustness import robustness
from askew.methods.interaction_validation import validation
from askew.methods.observed import Answer, ObservedSet
from askew.models.base import Model, Setting
from askew.plans.plan import InteractionPlan, PromptPlan
from askew.prompts.biasconnect import shows_people
from askew.results.interactions import InteractionResult
from askew.runs.session import Session
from askew.scoring.interactions import Sets, interaction_scoring, score_interactions
from askew.storage.keys import derived_seed
from askew.types import Missing, Picture, Prompt, Question

NOBODY = Missing("no_person", "the instrument sees nobody")
AXIS = "{axis}"
"""Stands for the name of the mitigated axis in the name and the settings of a mitigated model."""


@dataclass(frozen=True)
class Interaction(Session):
    """A plan with the model and the instruments that it names, ready to run."""

    plan: InteractionPlan

    def __call__(self) -> InteractionResult:
        """Make what is left of the pictures and observations, compute the graph, and write results.json."""
        started = datetime.now(UTC)
        sets = self.observe()
        scores = score_interactions(self.plan, sets, self.instruments)
        if self.plan.mixture_images:
            self._measure_mixtures(scores["biasconnect"])
        if self.plan.mitigated:
            scores["validation"] = self._validate(sets, scores["biasconnect"])
        self.run.write({**self.header(started), **scores})
        return InteractionResult(self.plan, self.run.folder, self.run.store.path)

    def robustness(self, repeats: int) -> list[dict[str, Any]]:
        """How the graphs of the run change with fewer pictures and with errors of the VQA."""
        return robustness(self.observe(), self.plan, interaction_scoring(self.plan), repeats)

    @property
    def captioner(self) -> str | None:
        """Nobody is asked for captions."""
        return None

    def questions(self, prompt: PromptPlan, instrument: str) -> list[Question]:
        """The questions of the axes, and whether there is a person where the axes are about one (appendix A.3)."""
        asked = super().questions(prompt, instrument)
        return [*asked, PERSON] if _about_people(prompt) else asked

    def answers(
        self, vqa: VQA, name: str, pictures: Sequence[Picture | Missing], prompt: PromptPlan
    ) -> Mapping[str, Sequence[Answer]]:
        """Answers by picture id; none about pictures in which the instrument sees nobody."""
        found = super().answers(vqa, name, pictures, prompt)
        if not _about_people(prompt):
            return found
        return {one: [NOBODY] * len(row) if row[-1] == "no" else row for one, row in found.items()}

    def _measure_mixtures(self, graphs: Sequence[dict[str, Any]]) -> None:
        """Draw the mixture that each prompt's graph recommends, on fresh seeds, and add what is measured."""
        prompts = {prompt.text: prompt for prompt in self.plan.prompts}
        seed = derived_seed(self.plan.seed, "mixture")
        for mixture, prompt in ((g["mixture"], prompts.get(g["prompt"])) for g in graphs):
            if prompt is None or not isinstance(mixture, dict):
                continue
            wanted = pictures_by_prompt(mixture, self.plan.mixture_images)
            drawn = [one for text, n in wanted.items() for one in self._drawn(self.source, text, n, seed)]
            (observed,) = self.read(prompt, [(Prompt(prompt.text), drawn)])
            mixture["images"] = len(drawn)
            mixture["measured"] = measured_distances(prompt, observed, self.plan, interaction_scoring(self.plan))

    def _validate(self, sets: Sets, graphs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Pictures of the prompts by the models in which one axis each is mitigated, against the estimates."""
        scoring = interaction_scoring(self.plan)
        counted = {p.text: tables(sets[p.text], p.axes, scoring.instrument) for p in self.plan.prompts}
        edges = {g["prompt"]: g["edges"] for g in graphs if g["prompt"] is not None}
        mitigated = {
            prompt.text: {axis.name: self._mitigated(prompt, axis.name) for axis in counted[prompt.text].sources}
            for prompt in self.plan.prompts
        }
        return validation(counted, edges, mitigated, self.plan, scoring)

    def _mitigated(self, prompt: PromptPlan, axis: str) -> ObservedSet:
        """The pictures of a prompt by the model in which one axis is mitigated."""
        model = registry.model(self.plan.mitigated.replace(AXIS, axis), **_settings(self.plan.mitigated_args, axis))
        seed = derived_seed(self.plan.seed, "mitigated", axis)  # not the seeds of the initial pictures
        pictures = self._drawn(model, prompt.text, self.plan.images, seed)
        (observed,) = self.read(prompt, [(Prompt(prompt.text), pictures)])
        return observed

    def _drawn(self, model: object, text: str, images: int, seed: int) -> list[Picture | Missing]:
        if not isinstance(model, Model):
            raise UsageError("pictures that exist already cannot be drawn anew; this needs a model")
        return self.run.pictures(model, [text], images, seed)[text]


def _about_people(prompt: PromptPlan) -> bool:
    return shows_people([axis.axis() for axis in prompt.axes])


def _settings(settings: Mapping[str, Setting], axis: str) -> dict[str, Setting]:
    return {name: v.replace(AXIS, axis) if isinstance(v, str) else v for name, v in settings.items()}
