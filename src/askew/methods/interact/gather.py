"""How biases pull on each other: BiasConnect on a model's pictures, or on pictures that exist already."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from askew import registry
from askew.errors import UsageError
from askew.measure.base import PERSON, VQA
from askew.methods.interaction_mixture import measured_distances, pictures_by_prompt
from askew.methods.interaction_robustness import robustness
from askew.methods.interaction_strategies import compared_strategies
from askew.methods.interaction_validation import Mitigation, of_pictures, of_run, validation
from askew.models.base import Model
from askew.parts.survey.observed import Answer
from askew.plan import PromptPlan
from askew.planning.interactions import AXIS, is_run
from askew.plans.interactions import InteractionPlan
from askew.prompts.biasconnect import shows_people
from askew.results.file import read_results
from askew.results.interactions import InteractionResult
from askew.run.session import Session
from askew.run.work import Asking, Work, unmade
from askew.scoring.interactions import Sets, counted_tables, interaction_scoring, score_interactions
from askew.store.keys import derived_seed
from askew.types import Missing, Picture, Prompt, Question

NOBODY = Missing("no_person", "the instrument sees nobody")


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
        scores["strategies"] = compared_strategies(scores["biasconnect"], self.plan.level)
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

    def work(self) -> Work:
        """What a run would do, with the pictures of mitigated models, and as many as the mixtures may take."""
        whole = super().work()
        for prompt, axis, name in self._mitigations():
            if not is_run(name):
                model, seed = self._mitigated_model(axis, name), self._mitigation_seed(axis)
                more = self.run.work(model, [prompt.text], self.plan.images, seed, self._asking(prompt))
                whole += replace(more, prompts=0)
        if self.plan.mixture_images and isinstance(self.source, Model):
            for prompt in self.plan.prompts:
                whole += unmade(self.source, self.plan.mixture_images, self._asking(prompt))
        return whole

    def _asking(self, prompt: PromptPlan) -> list[Asking]:
        return [Asking(vqa, self.questions(prompt, name)) for name, vqa in self.instruments.items()]

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
        """Pictures of the prompts in which one axis each is mitigated, against the estimates."""
        counted = counted_tables(self.plan, sets, self.instruments)
        edges = {g["prompt"]: g["edges"] for g in graphs if g["prompt"] is not None}
        scoring = interaction_scoring(self.plan)
        runs = {name: read_results(Path(name)) for name in sorted(set(self.plan.mitigated.values())) if is_run(name)}
        mitigated: dict[str, dict[str, Mitigation]] = {}
        for prompt, axis, name in self._mitigations():
            found = (
                of_run(name, runs[name], prompt, scoring.instrument)
                if name in runs
                else self._mitigated(prompt, axis, name)
            )
            if found is not None:
                mitigated.setdefault(prompt.text, {})[axis] = found
        if not mitigated:
            raise UsageError(f"no run given by --mitigated has one of the prompts: {', '.join(edges)}")
        return validation(counted, edges, mitigated, self.plan, scoring)

    def _mitigations(self) -> Iterator[tuple[PromptPlan, str, str]]:
        """Every prompt and axis of it that is mitigated somewhere, and where."""
        for prompt in self.plan.prompts:
            for axis in prompt.axes:
                if axis.name in self.plan.mitigated:
                    yield prompt, axis.name, self.plan.mitigated[axis.name]

    def _mitigated(self, prompt: PromptPlan, axis: str, name: str) -> Mitigation:
        """The pictures of a prompt by the model in which one axis is mitigated."""
        model = self._mitigated_model(axis, name)
        pictures = self._drawn(model, prompt.text, self.plan.images, self._mitigation_seed(axis))
        (observed,) = self.read(prompt, [(Prompt(prompt.text), pictures)])
        return of_pictures(observed, prompt, interaction_scoring(self.plan).instrument)

    def _mitigated_model(self, axis: str, name: str) -> Model:
        settings = {k: v.replace(AXIS, axis) if isinstance(v, str) else v for k, v in self.plan.mitigated_args.items()}
        model = registry.model(name, **settings)
        if not isinstance(model, Model):
            raise UsageError(f"{name} holds pictures that exist already; --mitigated needs a model, or a finished run")
        return model

    def _mitigation_seed(self, axis: str) -> int:
        """Not the seed of the initial pictures, so that both are independent."""
        return derived_seed(self.plan.seed, "mitigated", axis)

    def _drawn(self, model: object, text: str, images: int, seed: int) -> list[Picture | Missing]:
        if not isinstance(model, Model):
            raise UsageError("pictures that exist already cannot be drawn anew; this needs a model")
        return self.run.pictures(model, [text], images, seed)[text]


def _about_people(prompt: PromptPlan) -> bool:
    return shows_people([axis.axis() for axis in prompt.axes])
