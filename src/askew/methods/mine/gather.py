"""What `askew mine` costs: searches for prompts, a random one beside each, and the best prompts on
fresh seeds.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Self

from askew import mitigations, registry
from askew.errors import LanguageModelError, UsageError
from askew.findings import GatheredData, Instruments, PictureSet
from askew.measure.base import VQA, Embedder
from askew.methods.mine import objectives, skew
from askew.methods.mine.objectives import Objective, ObjectiveReading
from askew.methods.mine.plan import COLOR, EQ1_CORRECTED, SKEW, MinePlan, runs_code
from askew.models.base import Model
from askew.parts.survey.instruments import identity_of, studio_warnings, unknown_words
from askew.prompts.axes import catalogue, find_axis
from askew.prompts.base import LENGTHS, Writer
from askew.prompts.evolution import (
    Candidate,
    Evolution,
    Seeds,
    best,
    evolve,
    search_randomly,
    word_effects,
)
from askew.prompts.lexicon import LexiconWriter
from askew.prompts.llm import CompletionCache, report_usage
from askew.run.base import Outcome, Run
from askew.run.progress import Stage
from askew.run.work import SLICE, Work
from askew.store.keys import derived_seed
from askew.types import Missing

LEXICON = "lexicon"
NO_VQA = "none"

SearchBy = Callable[
    [Writer, Callable[[Candidate], float | None], Evolution, Seeds], list[Candidate]
]


@dataclass(frozen=True, slots=True)
class PromptEvidence:
    """What a prompt that was mined is explained by: its `pictures` of fresh seeds.

    variations  by text one picture of each: of what a writer varies, or of the values of the axis that it leans on
    shows       by variation whose details are known: of how many pictures all are true, and of how many variations
    """

    pictures: tuple[Outcome, ...]
    variations: Mapping[str, Outcome]
    shows: Mapping[str, tuple[int, int]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class BestCandidate:
    """One of the best prompts of a search: what the objective read in the pictures that found it,
    and in fresh ones.
    """

    candidate: Candidate
    first: ObjectiveReading | Missing
    fresh: ObjectiveReading | Missing
    shown: PromptEvidence | None = None


@dataclass(frozen=True, slots=True)
class Search:
    """All evaluated prompts of one search, and the best of them."""

    evaluated: tuple[Candidate, ...]
    best: tuple[BestCandidate, ...]


@dataclass(frozen=True, slots=True)
class SearchResults:
    """All searches of a run; `random` is empty where there is no random search."""

    mined: tuple[Search, ...] = ()
    random: tuple[Search, ...] = ()

    def best(self) -> dict[str, PromptEvidence]:
        """The best prompts mined, each once."""
        return {
            one.candidate.text: one.shown
            for search in self.mined
            for one in search.best
            if one.shown
        }


@dataclass(frozen=True, slots=True)
class MineGathered(GatheredData):
    """All of a run. `sets` are the fresh pictures of the best prompts, and those of their
    variations.
    """

    searches: SearchResults


def gather(plan: MinePlan, run: Run) -> MineGathered:
    """Raises UsageError for names that do not exist or cannot search."""
    miner = Miner.prepare(plan, run)
    model = miner.model
    try:
        found = run.decide("the search", miner.search, bound(plan, model), SearchResults())
    finally:
        report_usage(miner.writer, run.tell)
    instruments = miner.instruments()
    unscored = Counter(loss.detail for loss in miner.losses.values() if isinstance(loss, Missing))
    run.warn(
        *(
            f"{count} of {len(miner.losses)} prompts have no score: {why}"
            for why, count in unscored.items()
        ),
        *unknown_words(model, list(found.best())),
        *studio_warnings([model.name], instruments.vqa, instruments.embedder),
    )
    sets: list[PictureSet] = []
    for prompt, own in found.best().items():
        varied = (
            PictureSet.of(prompt, [one], "variation", text, text)
            for text, one in own.variations.items()
        )
        sets += [PictureSet.of(prompt, own.pictures), *varied]
    return MineGathered(
        identity_of(model, {}), getattr(model, "device", None), instruments, tuple(sets), found
    )


def bound(plan: MinePlan, model: Model) -> Work:
    """The size of a search. Prompts that several searches have in common are made once, so it is an
    upper bound.
    """
    bred = (plan.iterations - 1) * plan.selected * plan.mutations
    prompts = plan.runs * (plan.iterations * plan.population + bred * plan.random_search)
    again = plan.winners * (1 + plan.random_search)
    leans = plan.objective == SKEW
    axes = [find_axis(name) for name in plan.axes]
    many = {EQ1_CORRECTED: prompts, SKEW: plan.winners}.get(
        plan.objective, again if plan.is_eq1 else 0
    )
    size = max(len(axis.values) for axis in axes) if leans else plan.variations
    sets = (
        (prompts, plan.images),
        (again, plan.eval_images if leans else plan.images),
        (many, size),
    )

    def calls(batch: int) -> int:
        return sum(number * -(-each // batch) for number, each in sets)

    pictures = sum(number * each for number, each in sets)
    asks = plan.vqa != NO_VQA
    embedded = pictures if plan.is_eq1 else pictures - many * size if leans and not asks else 0
    questions = answering = 0
    if leans:
        questions = (
            (pictures - many * size) * (1 + sum(len(axis.questions) for axis in axes)) * asks
        )
        answering = calls(SLICE) * asks
    elif plan.is_eq1:  # what variations say is read in the pictures of the best prompts
        details = sum(1 + len(entry.axis.questions) for entry in catalogue().values())
        questions = plan.winners * (plan.images + plan.variations) * details
        answering = (
            plan.winners
            * len(catalogue())
            * (-(-plan.images // SLICE) - (-plan.variations // SLICE))
        )
    return Work(
        prompts,
        pictures,
        0,
        calls(model.batch_size),
        questions,
        questions,
        answering,
        embedded,
        embedded,
        calls(SLICE) if embedded else 0,
    )


def prompt_writer(plan: MinePlan, model: Model, cache: CompletionCache | None = None) -> Writer:
    """The writer of the plan; `cache` keeps what a language model answers, so that a search that
    goes on is the same.

    The lexicon keeps to the words of a model that knows which it knows, or to a registered lexicon
    of the model's own.
    """
    # no model knows this word; one that says so knows its vocabulary
    if plan.llm != LEXICON or not model.unknown_words("a photo of a xqzzy"):
        return registry.writer(plan.llm, cache=cache, **plan.llm_args)
    family = model.name.partition("/")[0]
    if f"{LEXICON}/{family}" in registry.providers("llm"):
        return registry.writer(f"{LEXICON}/{family}", **plan.llm_args)
    return LexiconWriter(knows=lambda text: not model.unknown_words(text), vocabulary=family)


@dataclass(frozen=True)
class Miner:
    """A plan of a search with the model, the writer and the instruments that it names, at work."""

    plan: MinePlan
    run: Run
    model: Model
    writer: Writer
    embedder: Embedder | None
    vqa: VQA | None
    losses: dict[str, float | Missing] = field(default_factory=dict)
    _variations: dict[str, list[str]] = field(default_factory=dict)

    @classmethod
    def prepare(
        cls, plan: MinePlan, run: Run, given: Mapping[str, Sequence[str]] | None = None
    ) -> Self:
        """Load what the plan names; `given` are variations that some prompts have already. Raises
        UsageError.
        """
        model = mitigations.open_model(plan.model, plan.model_args)
        if not isinstance(model, Model):
            raise UsageError(
                f"{plan.model} holds pictures that exist already; a search needs a model to make new ones"
            )
        return cls(
            plan,
            run,
            model,
            prompt_writer(plan, model, run.completions),
            registry.embedder(plan.embedder, **plan.embedder_args)
            if plan.is_eq1 or (plan.objective == SKEW and plan.vqa == NO_VQA)
            else None,
            None if plan.vqa == NO_VQA else registry.vqa(plan.vqa),
            _variations={prompt: list(texts) for prompt, texts in (given or {}).items()},
        )

    def search(self) -> SearchResults:
        """All searches, their best prompts scored once more. What the store holds is not made
        again.
        """
        plan = self.plan
        runs = range(self.plan.runs)
        total = (plan.runs * plan.iterations * plan.population + plan.winners) * (
            1 + plan.random_search
        )
        with self.run.steps("prompts", self.model.name, total) as steps:
            mined = tuple(self._search("mining", evolve, k, steps) for k in runs)
            random = (
                tuple(self._search("random", search_randomly, k, steps) for k in runs)
                if plan.random_search
                else ()
            )
        return SearchResults(mined, random)

    @cached_property
    def objective(self) -> Objective:
        """What the plan searches for."""
        plan = self.plan
        if runs_code(plan.objective):
            return objectives.CustomObjective(
                plan.objective, objectives.own_function(plan.objective), self.pictures
            )
        if plan.objective.startswith(COLOR):
            color = objectives.named_color(plan.objective.removeprefix(COLOR))
            return objectives.ColorObjective(self.run, color, self.pictures)
        if plan.objective == SKEW and (reader := self.vqa or self.embedder):
            axes = tuple(find_axis(name) for name in plan.axes)
            return skew.SkewObjective(
                self.run, reader, self.pictures, axes, plan.images, plan.eval_images
            )
        assert self.embedder is not None  # loaded for this objective
        return objectives.BiasObjective(
            self.run,
            self.embedder,
            self.pictures,
            self.variations,
            plan.variations,
            plan.quantile,
            plan.is_unit,
            self.one_each,
            plan.objective == EQ1_CORRECTED,
        )

    def pictures(self, prompt: str, seed: int, images: int | None = None) -> Sequence[Outcome]:
        """The pictures of a prompt, as many as the plan says unless told otherwise."""
        return self.run.pictures(self.model, [prompt], images or self.plan.images, seed)[prompt]

    def one_each(self, texts: Sequence[str]) -> dict[str, Outcome]:
        """By text a picture of it."""
        return {
            text: made[0]
            for text, made in self.run.pictures(self.model, texts, 1, self.plan.seed).items()
        }

    def variations(self, prompt: str) -> Sequence[str]:
        """The variations of a prompt. Their seed knows nothing of the model, so every model gets
        the same ones.
        """
        if prompt not in self._variations:
            seed = derived_seed(self.plan.seed, "variations", prompt)
            shortest, longest = LENGTHS["variations"]
            longest = max(longest, self.plan.words[1] + longest - shortest)
            with suppress(
                LanguageModelError
            ):  # one prompt that a language model refuses must not end the search
                self._variations[prompt] = self.writer.write(
                    "variations",
                    prompt,
                    self.plan.variations,
                    seed=seed,
                    topic=self.plan.topic or None,
                    words=(shortest, longest),
                )
        return self._variations.setdefault(prompt, [])

    def instruments(self) -> Instruments:
        """Who read pictures and wrote prompts."""
        vqa = self.vqa
        embedder = self.embedder
        objective = self.objective
        return Instruments(
            {vqa.name: vqa.fingerprint} if vqa else None,
            {embedder.name: embedder.fingerprint} if embedder else None,
            {self.plan.llm: self.writer.fingerprint},
            {objective.name: objective.fingerprint}
            if isinstance(objective, objectives.CustomObjective)
            else None,
        )

    def _search(self, name: str, by: SearchBy, number: int, steps: Stage) -> Search:
        plan = self.plan
        fresh = derived_seed(self.plan.seed, "fresh")
        leads: list[tuple[float, str]] = []

        def evaluate(candidate: Candidate) -> float | None:
            text = candidate.text
            run = f" {number + 1}/{plan.runs}" if plan.runs > 1 else ""
            if text not in self.losses:
                read = self.objective.read(text, plan.seed)
                self.losses[text] = read if isinstance(read, Missing) else read.loss()
            loss = self.losses[text]
            if not isinstance(loss, Missing):
                leads[:] = [min([*leads, (loss, text)], key=lambda lead: lead[0])]
            lead = "".join(f"; best {loss:.4f} {text:.48}" for loss, text in leads)
            steps.note = f"{name}{run}, iteration {candidate.iteration + 1}/{plan.iterations}{lead}"
            steps.advance(1)
            return None if isinstance(loss, Missing) else loss

        def seeds(*names: object) -> int:
            return derived_seed(plan.seed, f"search {number}", *map(str, names))

        evaluated = by(self.writer, evaluate, plan.evolution, seeds)
        chosen = []
        for one in best(evaluated, plan.top, word_effects(evaluated, plan.selection)):
            text = one.text
            first = self.objective.read(text, plan.seed)
            again = self.objective.again(first, text, fresh)
            shown = (
                again.seen.pictures
                if isinstance(again, skew.SkewReading)
                else self.pictures(text, fresh)
            )
            chosen.append(
                BestCandidate(
                    one, first, again, self.shown(text, again, shown) if by is evolve else None
                )
            )
            steps.note = f"{name}, the best prompts on fresh seeds"
            steps.advance(1)
        return Search(tuple(evaluated), tuple(chosen))

    def shown(
        self, prompt: str, reading: ObjectiveReading | Missing, pictures: Sequence[Outcome]
    ) -> PromptEvidence:
        """The pictures with what explains them: one of each variation, or of each value of an axis."""
        if isinstance(reading, skew.SkewReading):
            forms = skew.variations(prompt, reading.axes)
            texts = (
                []
                if isinstance(forms, Missing)
                else [text for one in forms.values() for text in one.values()]
            )
            return PromptEvidence(tuple(pictures), self.one_each(texts))
        plan = self.plan
        reader = self.vqa
        varied = self.one_each(self.variations(prompt)) if plan.is_eq1 else {}
        said = {text: told for text in varied if (told := skew.details(prompt, text))}
        # what a variation says is read by the VQA, else by that of the embedder's provider; without
        # either nobody can tell: the nearest text alone calls every third one left out that is
        # shown
        if said and reader is None and plan.embedder.partition("/")[0] in registry.providers("vqa"):
            reader = registry.vqa(plan.embedder, **plan.embedder_args)
        if not said or reader is None:
            return PromptEvidence(tuple(pictures), varied)
        objective = skew.SkewObjective(
            self.run, reader, self.pictures, (), plan.images, plan.images
        )
        axes = [
            find_axis(name) for name in dict.fromkeys(name for one in said.values() for name in one)
        ]
        own = dict[str, Sequence[object]]()
        other = dict[str, Sequence[object]]()
        for axis in axes:
            with suppress(UsageError):  # an instrument that does not know these values
                read = [
                    objective.observed(prompt, some, [axis]).values[reader.name]
                    for some in (pictures, [*varied.values()])
                ]
                own |= read[0]
                other |= read[1]

        def count(one: Mapping[str, str], values: Mapping[str, Sequence[object]]) -> int:
            return [*zip(*(values[axis] for axis in one), strict=True)].count(tuple(one.values()))

        known = {text: one for text, one in said.items() if one.keys() <= own.keys()}
        shows = {text: (count(one, own), count(one, other)) for text, one in known.items()}
        return PromptEvidence(tuple(pictures), varied, shows)
