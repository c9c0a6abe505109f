"""A plan with the model and the instruments that it names: what is to do, and what is seen. Methods build on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self

from askew import registry
from askew.measure.base import CAPTION, VQA, Embedder
from askew.measure.labels import LabelVQA
from askew.models.base import Collection, Model
from askew.models.folder import FolderCollection
from askew.parts.survey.instruments import LABELS, load_instruments
from askew.parts.survey.observed import Answer, ObservedSet, observe
from askew.plan import Plan, PromptPlan
from askew.run.header import fingerprint, provenance
from askew.run.run import Asking, Run
from askew.run.work import Work
from askew.types import Missing, Picture, Prompt, Question

NO_EMBEDDER = "none"


@dataclass(frozen=True)
class Session:
    """A plan with the model and the instruments that it names, ready to run."""

    plan: Plan
    run: Run
    source: Model | Collection
    instruments: Mapping[str, VQA]
    embedder: Embedder | None

    @classmethod
    def prepare(cls, plan: Plan, run: Run) -> Self:
        """Load what the plan names. Raises UsageError for names that do not exist."""
        source = registry.model(plan.model, **plan.model_args)
        instruments = load_instruments(plan.vqa, source, plan.aliases, plan.values, plan.vqa_args)
        wanted = plan.embedder != NO_EMBEDDER and _has_counterfactuals(plan, source)
        embedder = registry.embedder(plan.embedder, **plan.embedder_args) if wanted else None
        return cls(plan, run, source, instruments, embedder)

    def work(self) -> Work:
        """What a run would do: exact numbers of pictures, questions and calls, wanted and left."""
        asking = [
            Asking(vqa, self.questions(prompt, name), [p.text for p in prompt.prompts()])
            for prompt in self.plan.prompts
            for name, vqa in self.instruments.items()
        ]
        return self.run.work(self.source, self.plan.texts(), self.plan.images, self.plan.seed, asking, self.embedder)

    def observe(self) -> dict[str, list[ObservedSet]]:
        """By prompt its sets, the initial one first."""
        if isinstance(self.source, Collection):
            grouped = self._collected(self.source)
        else:
            made = self.run.pictures(self.source, self.plan.texts(), self.plan.images, self.plan.seed)
            grouped = {p.text: [(prompt, made[prompt.text]) for prompt in p.prompts()] for p in self.plan.prompts}
        return {prompt.text: self.read(prompt, grouped[prompt.text]) for prompt in self.plan.prompts}

    def _collected(self, source: Collection) -> dict[str, list[tuple[Prompt, list[Picture | Missing]]]]:
        wanted = {prompt.text for prompt in self.plan.prompts}
        sets: dict[str, dict[Prompt, list[Picture | Missing]]] = {text: {} for text in wanted}
        for filed, picture in self.run.collection(source):
            if filed.prompt in wanted:
                prompt = Prompt(filed.prompt, filed.axis, filed.value)
                sets[filed.prompt].setdefault(prompt, []).append(picture)
        return {text: sorted(found.items(), key=lambda item: item[0].axis is not None) for text, found in sets.items()}

    def read(self, prompt: PromptPlan, sets: Sequence[tuple[Prompt, Sequence[Picture | Missing]]]) -> list[ObservedSet]:
        """The pictures of some sets of a prompt, with what the instruments see in them."""
        axes = [axis.axis() for axis in prompt.axes]
        pictures = [picture for _, some in sets for picture in some]
        answers = {name: self.answers(vqa, name, pictures, prompt) for name, vqa in self.instruments.items()}
        return [observe(p, some, axes, answers, self.captioner) for p, some in sets]

    def answers(
        self, vqa: VQA, name: str, pictures: Sequence[Picture | Missing], prompt: PromptPlan
    ) -> Mapping[str, Sequence[Answer]]:
        """Answers of one instrument by picture id: to the questions of the prompt's axes, then the others."""
        return self.run.answers(vqa, pictures, self.questions(prompt, name))

    def questions(self, prompt: PromptPlan, instrument: str) -> list[Question]:
        """What one instrument is asked about every picture of a prompt."""
        questions = [question for axis in prompt.axes for question in axis.axis().questions]
        return [*questions, CAPTION] if instrument == self.captioner else questions

    @property
    def captioner(self) -> str | None:
        """The first instrument that can describe a picture; a person's labels cannot."""
        return next((name for name in self.instruments if name != LABELS), None)

    def header(self, started: datetime) -> dict[str, Any]:
        """The part of results.json that says what was run, by which version, on which machine."""
        settings = self.source.settings if isinstance(self.source, Model) else self.plan.model_args
        return {
            **provenance(self.plan, self.source, started, self._warnings()),
            "model": {"name": self.source.name, "revision": self.source.revision, "settings": dict(settings)},
            "instruments": {
                "vqa": {name: vqa.fingerprint for name, vqa in self.instruments.items()},
                "embedder": fingerprint(self.embedder),
            },
        }

    def _warnings(self) -> list[str]:
        """What a reader should know: words that the model ignores, and oddities of a collection and its labels."""
        if not isinstance(self.source, Model):
            speakers = (self.source, *self.instruments.values())
            return [text for s in speakers if isinstance(s, FolderCollection | LabelVQA) for text in s.warnings]
        unknown = {text: self.source.unknown_words(text) for text in self.plan.texts()}
        words = sorted({word for some in unknown.values() for word in some})
        if not words:
            return []
        first = next(text for text, some in unknown.items() if some)
        listed = ", ".join(repr(word) for word in words)
        return [f"{self.source.name} does not know these words and ignores them: {listed} (first in {first!r})"]


def _has_counterfactuals(plan: Plan, source: Model | Collection) -> bool:
    """Whether there will be TIBET scores, which alone need vectors. A collection has counterfactuals only by chance."""
    if isinstance(source, Model):
        return True
    axes = {axis.name for prompt in plan.prompts for axis in prompt.axes}
    return any(filed.axis in axes for filed in source.pictures())
