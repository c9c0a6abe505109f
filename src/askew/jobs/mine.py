"""A search for prompts, run after run, and what random prompts give on the same budget: results and report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import Any

from askew import registry
from askew.errors import LanguageModelError, UsageError
from askew.measure.base import VQA, Embedder
from askew.methods.minethegap import BiasObjective, Entry, Search
from askew.methods.objectives import ColorObjective, Objective, OwnObjective, named_color, own_function
from askew.methods.openbias import openbias
from askew.methods.search_scores import search_scores
from askew.models.base import Model
from askew.parts.scoring import Vision
from askew.plans.mining import BIAS, COLOR, MinePlan
from askew.prompts.base import Writer
from askew.prompts.evolution import Candidate, Evaluated, Evolution, Seeds, evolve, search_randomly
from askew.prompts.lexicon import LexiconWriter
from askew.prompts.llm import CompletionCache
from askew.prompts.writer import VARIATION_WORDS, PromptWriter
from askew.results.mining import MiningResult
from askew.run.header import fingerprint, identity, provenance
from askew.run.run import Run
from askew.run.search_progress import SearchMeter
from askew.store.keys import derived_seed
from askew.types import Axis, Missing, Picture

LEXICON, NO_VQA = "lexicon", "none"
NONSENSE = "a photo of a xqzzy"
"""No model knows this word; one that says so knows its vocabulary."""

SearchBy = Callable[[PromptWriter, Callable[[Candidate], float | None], Evolution, Seeds], list[Evaluated]]


@dataclass(frozen=True)
class MiningWork:
    """The size of a search. Prompts that several searches have in common are made once, so these are upper bounds."""

    plan: MinePlan

    @property
    def prompts(self) -> int:
        """Prompts to evaluate at most: the random search shares its first population and what mining injects."""
        plan = self.plan
        mined = plan.iterations * plan.population
        bred = (plan.iterations - 1) * plan.selected * plan.mutations
        return plan.runs * (mined + (bred if plan.baseline else 0)) + len(plan.captions)

    @property
    def pictures(self) -> int:
        """Pictures to make at most, with those of the winners on fresh seeds and of their variations."""
        plan = self.plan
        winners = plan.runs * plan.top
        fresh = winners * plan.images * (2 if plan.baseline else 1)
        return self.prompts * plan.images + fresh + (winners * plan.variations if plan.objective == BIAS else 0)

    @property
    def evaluations(self) -> int:
        """Prompts that the searches look at, counted in each."""
        plan = self.plan
        return plan.runs * plan.iterations * plan.population * (2 if plan.baseline else 1)

    def lines(self) -> list[str]:
        """The numbers in words."""
        embedded = self.pictures if self.plan.objective == BIAS else 0
        return [
            f"prompts     at most {self.prompts}",
            f"pictures    at most {self.pictures}",
            f"embeddings  at most {embedded}",
        ]


@dataclass(frozen=True)
class Mining:
    """A plan of a search with the model, the writer and the objective that it names, ready to run."""

    plan: MinePlan
    run: Run
    meter: SearchMeter
    model: Model
    writer: PromptWriter
    embedder: Embedder | None
    vqa: VQA | None
    _losses: dict[str, float | Missing] = field(default_factory=dict)
    _variations: dict[str, list[str]] = field(default_factory=dict)
    _pictures: dict[tuple[str, int], list[Picture | Missing]] = field(default_factory=dict)

    @classmethod
    def prepare(cls, plan: MinePlan, run: Run, meter: SearchMeter, cache: CompletionCache | None = None) -> Mining:
        """Load what the plan names. Raises UsageError for names that do not exist or cannot search.

        `cache` keeps what a language model answers, so that a search that goes on gets the same prompts.
        """
        model = registry.model(plan.model, **plan.model_args)
        if not isinstance(model, Model):
            raise UsageError(f"{plan.model} holds pictures that exist already; a search needs a model to make new ones")
        writer = prompt_writer(plan, model, cache)
        embedder = registry.embedder(plan.embedder, **plan.embedder_args) if plan.objective == BIAS else None
        vqa = None if plan.vqa == NO_VQA else registry.vqa(plan.vqa)
        return cls(plan, run, meter, model, writer, embedder, vqa)

    def __call__(self) -> MiningResult:
        """Search, score the winners again, and write results.json. What the store holds is not made again."""
        started = datetime.now(UTC)
        objective = self.objective()
        try:
            mined = [self._search("mining", evolve, objective, k) for k in range(self.plan.runs)]
            runs = range(self.plan.runs if self.plan.baseline else 0)
            random = [self._search("random", search_randomly, objective, k) for k in runs]
            self.meter.scoring()
            scores = search_scores(self.plan, mined, random, objective, self._openbias if self.vqa else None)
        finally:
            self.meter.stop()
        self.run.write({**self._header(started, mined), **scores})
        return MiningResult(self.plan, self.run.folder, self.run.store.path)

    def objective(self) -> Objective:
        """What the plan searches for."""
        plan = self.plan
        if plan.runs_code:
            return OwnObjective(plan.objective, own_function(plan.objective), self.pictures)
        if plan.objective != BIAS:
            name = plan.objective.removeprefix(COLOR)
            return ColorObjective(plan.objective, named_color(name), self.pictures, plan.draws, plan.level)
        assert self.embedder is not None  # loaded for this objective
        vision = Vision(partial(self.run.vectors, self.embedder), self.embedder.embed_texts)
        return BiasObjective(
            self.pictures, self.one_of_each, self.variations, vision, plan.seed, plan.variations, plan.quantile,
            plan.is_unit, plan.draws, plan.level,
        )  # fmt: skip

    def pictures(self, prompt: str, seed: int) -> list[Picture | Missing]:
        """The pictures of one prompt: made once, then looked up."""
        if (prompt, seed) not in self._pictures:
            made = self.run.pictures(self.model, [prompt], self.plan.images, seed)
            self._pictures[prompt, seed] = made[prompt]
        return self._pictures[prompt, seed]

    def one_of_each(self, texts: Sequence[str]) -> list[Picture | Missing]:
        """One picture of every text."""
        made = self.run.pictures(self.model, texts, 1, self.plan.seed)
        return [made[text][0] for text in texts]

    def variations(self, prompt: str) -> list[str]:
        """The variations of a prompt. Their seed knows nothing of the model, so every model gets the same ones."""
        if prompt not in self._variations:
            seed = derived_seed(self.plan.seed, "variations", prompt)
            longest = max(VARIATION_WORDS[1], self.plan.words[1] + VARIATION_WORDS[1] - VARIATION_WORDS[0])
            with suppress(LanguageModelError):  # one prompt that a language model refuses must not end the search
                self._variations[prompt] = self.writer.variations(
                    prompt, self.plan.variations, seed=seed, target=self.plan.target or None,
                    words=(VARIATION_WORDS[0], longest),
                )  # fmt: skip
        return self._variations.setdefault(prompt, [])

    def _search(self, name: str, by: SearchBy, objective: Objective, number: int) -> Search:
        found: list[Evaluated] = []

        def evaluate(candidate: Candidate) -> float | None:
            loss = self._loss(candidate.text, objective)
            found.append(Evaluated(candidate, loss))
            measured = [one for one in found if one.loss is not None]
            lead = min(measured, key=lambda one: one.loss or 0.0, default=None)
            best = (lead.loss, lead.candidate.text) if lead else (None, None)
            self.meter.evaluated(name, number, candidate.iteration, *best)
            return loss

        def seeds(*names: object) -> int:
            return derived_seed(self.plan.seed, f"search {number}", *map(str, names))

        evaluated = by(self.writer, evaluate, self.plan.evolution, seeds)
        plan = self.plan
        return Search(evaluated, objective, plan.seed, derived_seed(plan.seed, "fresh"), plan.top, plan.selection)

    def _loss(self, prompt: str, objective: Objective) -> float | None:
        if prompt not in self._losses:
            self._losses[prompt] = objective.loss(prompt, self.plan.seed)
        loss = self._losses[prompt]
        return None if isinstance(loss, Missing) else loss

    def _openbias(self, sets: Mapping[str, Sequence[Picture | Missing]]) -> list[Entry]:
        """Questions that the writer proposes for each prompt, or else the lexicon, asked about its pictures."""
        assert self.vqa is not None  # asked for only then
        plan, writer = self.plan, self.writer if isinstance(self.writer, Writer) else LexiconWriter()

        def propose(prompt: str) -> list[Axis]:
            try:
                return [proposal.axis for proposal in writer.propose(prompt, None, plan.seed)]
            except LanguageModelError:
                return []

        ask = partial(self.run.answers, self.vqa)
        return openbias(sets, propose, ask, seed=plan.seed, draws=plan.draws, level=plan.level)

    def _header(self, started: datetime, mined: Sequence[Search]) -> dict[str, Any]:
        warnings = self._warnings([one.candidate.text for search in mined for one in search.best])
        return {
            **provenance(self.plan, self.model, started, warnings),
            "model": identity(self.model),
            "instruments": {
                "embedder": fingerprint(self.embedder),
                "llm": {self.plan.llm: self.writer.fingerprint},
                "vqa": fingerprint(self.vqa),
            },
        }

    def _warnings(self, prompts: Sequence[str]) -> list[str]:
        unscored = Counter(loss.detail for loss in self._losses.values() if isinstance(loss, Missing))
        found = [f"{number} of {len(self._losses)} prompts have no score: {why}" for why, number in unscored.items()]
        words = sorted({word for text in prompts for word in self.model.unknown_words(text)})
        if words:
            listed = ", ".join(repr(word) for word in words)
            found.append(f"{self.model.name} does not know these words of the prompts found and ignores them: {listed}")
        return found


def prompt_writer(plan: MinePlan, model: Model, cache: CompletionCache | None = None) -> PromptWriter:
    """The writer of the plan. The lexicon keeps to the words of a model that knows which words it knows.

    Where a lexicon of the model's own is registered, it says which words these are: it knows their second names, too.
    """
    if plan.llm != LEXICON or not model.unknown_words(NONSENSE):
        return registry.prompt_writer(plan.llm, cache=cache, **plan.llm_args)
    family = model.name.partition("/")[0]
    if f"{LEXICON}/{family}" in registry.providers("llm"):
        return registry.prompt_writer(f"{LEXICON}/{family}", **plan.llm_args)
    return LexiconWriter(knows=lambda text: not model.unknown_words(text), vocabulary=family)
