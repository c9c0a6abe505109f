"""Run searches for biased prompts and random searches, and measure held-out images.

Held-out images are generated for the best prompts of each search.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Self

from askew import mitigations, registry
from askew.errors import LanguageModelError, UsageError
from askew.findings import GatheredData, Instruments, PictureSet
from askew.measure.base import VQA, Embedder
from askew.messages import message_listener
from askew.methods.mine import objectives, skew
from askew.methods.mine.evidence import (
    PromptEvidence,
    axes_of_details,
    count_details,
    stated_details,
)
from askew.methods.mine.objectives import Objective, ObjectiveReading
from askew.methods.mine.plan import COLOR, EQ1_CORRECTED, NO_VQA, SKEW, MinePlan, runs_code
from askew.methods.mine.size import search_rounds, search_work
from askew.methods.mine.stopping import undecided_prompts
from askew.methods.mine.word_model import learn_shares
from askew.models.base import Model
from askew.pages import words
from askew.parts.survey.instruments import (
    identity_of,
    load_instruments,
    studio_warnings,
    unknown_words,
)
from askew.prompts.axes import find_axis
from askew.prompts.base import LENGTHS, Writer
from askew.prompts.evolution import (
    Candidate,
    Evaluate,
    Evolution,
    Learn,
    Seeds,
    best,
    evolve,
    search_randomly,
    winners,
    word_effects,
)
from askew.prompts.lexicon import LexiconWriter
from askew.prompts.llm import CompletionCache, report_usage
from askew.run.base import ModelMaker, Outcome, Run
from askew.run.progress import Stage
from askew.run.work import wanted_pictures
from askew.stats.looks import looks
from askew.store.keys import derived_seed, held_out_seed
from askew.types import Axis, Missing, grouped

LEXICON = "lexicon"
MINING = "mining"
"""Name of the search that selects and mutates prompts, as opposed to random search."""

UNKNOWN_WORD_PROMPT = "a photo of a xqzzy"
"""Prompt with a word that no model knows. It shows whether a model reports unknown words."""

SearchFunction = Callable[[Writer, Evaluate, Evolution, Seeds], list[Candidate]]
"""Function that searches for prompts, such as `evolve`."""


@dataclass(frozen=True, slots=True)
class BestCandidate:
    """One of the best prompts of a search.

    Attributes
    ----------
    candidate
        The prompt.
    first
        Measurement that the search used to select the prompt.
    held_out
        Measurement of held-out images.
    evidence
        Images that explain the score; None for a prompt from a random search.
    """

    candidate: Candidate
    first: ObjectiveReading | Missing
    held_out: ObjectiveReading | Missing
    evidence: PromptEvidence | None = None

    def with_held_out(self, readings: Mapping[str, skew.SkewReading]) -> "BestCandidate":
        """Return the prompt; replace its held-out measurement if `readings` contains a new one.

        Parameters
        ----------
        readings
            Measurements of held-out images, keyed by prompt.
        """
        reading = readings.get(self.candidate.text)
        if reading is None:
            return self
        evidence = self.evidence
        if evidence is not None:
            evidence = replace(evidence, pictures=reading.seen.pictures)
        return replace(self, held_out=reading, evidence=evidence)


@dataclass(frozen=True, slots=True)
class Search:
    """All prompts that a search evaluated, and the best of these prompts."""

    evaluated: tuple[Candidate, ...]
    best: tuple[BestCandidate, ...]


@dataclass(frozen=True, slots=True)
class SearchResults:
    """All searches of a run. `random` is empty if the run has no random searches."""

    mined: tuple[Search, ...] = ()
    random: tuple[Search, ...] = ()

    def best(self) -> dict[str, PromptEvidence]:
        """Return the evidence for the best mined prompts, keyed by prompt."""
        return {
            prompt.candidate.text: prompt.evidence
            for search in self.mined
            for prompt in search.best
            if prompt.evidence
        }


@dataclass(frozen=True, slots=True)
class MineGathered(GatheredData):
    """Everything that a run gathers.

    `sets` contains the held-out images of the best prompts, and images of their variations.
    """

    searches: SearchResults


def gather(plan: MinePlan, run: Run) -> MineGathered:
    """Search for prompts, and measure held-out images of the best prompts.

    Raises
    ------
    UsageError
        If a model, an instrument or an objective does not exist or cannot be used in a search.
    """
    miner = Miner.prepare(plan, run)
    model = miner.model
    run.explain(f"sought      {sought(plan)}")
    if plan.until:
        run.explain(f"held out    {stopping_rule(plan)}")
    try:
        with message_listener(run.tell):
            results = run.decide(
                "the search",
                miner.search,
                search_work(plan, model),
                SearchResults(),
                rounds=search_rounds(plan),
            )
    finally:
        report_usage(miner.writer, run.tell)
    instruments = miner.instruments()
    run.warn(
        *_unscored_warnings(miner.losses),
        *unknown_words(model, list(results.best())),
        *studio_warnings([model.name], instruments.vqa, instruments.embedder),
    )
    sets: list[PictureSet] = []
    for prompt, evidence in results.best().items():
        sets += _picture_sets(prompt, evidence)
    return MineGathered(
        model=identity_of(model, {}),
        device=getattr(model, "device", None),
        instruments=instruments,
        sets=tuple(sets),
        searches=results,
    )


def sought(plan: MinePlan) -> str:
    """Return a phrase that states which prompts a search looks for."""
    if plan.objective == SKEW:
        axes = words.listing([words.perceived(axis) for axis in plan.axes])
        target = f"the largest skew of {axes}"
    elif plan.is_eq1:
        chance = " minus its value expected by chance" if plan.objective == EQ1_CORRECTED else ""
        target = f"the lowest score according to Eq. 1 of MineTheGap{chance}"
    else:
        target = f"the lowest loss by {plan.objective}"
    topic = plan.topic or "anything"
    return f"prompts about {topic} with {target}"


def stopping_rule(plan: MinePlan) -> str:
    """Return a phrase that states when askew stops adding held-out images."""
    return (
        f"{plan.first_eval_images} to {plan.eval_images} images for each best prompt, until its "
        "bias is significant"
    )


def _unscored_warnings(losses: Mapping[str, float | Missing]) -> list[str]:
    reasons = Counter(words.reason(loss) for loss in losses.values() if isinstance(loss, Missing))
    return [
        f"{count} of {len(losses)} prompts have no score: {reason}"
        for reason, count in reasons.items()
    ]


def _picture_sets(prompt: str, evidence: PromptEvidence) -> list[PictureSet]:
    """Return the set of a prompt's held-out images, and an image set for each variation."""
    varied = [
        PictureSet.of(prompt, [picture], "variation", text, text)
        for text, picture in evidence.variations.items()
    ]
    return [PictureSet.of(prompt, evidence.pictures), *varied]


def prompt_writer(plan: MinePlan, model: Model, cache: CompletionCache | None = None) -> Writer:
    """Return the prompt generator of a plan.

    If the model reports unknown words, the lexicon uses only words that the model knows. If the
    model's provider has registered a lexicon, that lexicon is used instead.

    Parameters
    ----------
    plan
        The plan.
    model
        Model that generates the images.
    cache
        Cache for a language model's answers, so that a resumed search gets the same answers.
    """
    if plan.llm != LEXICON or not model.unknown_words(UNKNOWN_WORD_PROMPT):
        return registry.writer(plan.llm, cache=cache, **plan.llm_args)
    provider = model.name.partition("/")[0]
    if f"{LEXICON}/{provider}" in registry.providers("llm"):
        return registry.writer(f"{LEXICON}/{provider}", **plan.llm_args)
    return LexiconWriter(knows=lambda text: not model.unknown_words(text), vocabulary=provider)


def _vqa_of(plan: MinePlan, model: Model) -> VQA | None:
    """Open the VQA model of a plan; raise UsageError for VQA settings without a VQA model."""
    if plan.vqa == NO_VQA:
        if plan.vqa_args:
            raise UsageError(
                f"--vqa-arg {next(iter(plan.vqa_args))} is a setting of a VQA model, but the "
                "embedder labels the images. Choose a VQA model with --vqa"
            )
        return None
    return load_instruments([plan.vqa], model, {}, {}, plan.vqa_args)[plan.vqa]


@dataclass(frozen=True)
class Miner:
    """Runner of all searches in a run, with its model, prompt generator and instruments.

    Attributes
    ----------
    plan, run
        Plan, and the run that carries it out.
    model, writer
        Model under test, and prompt generator.
    embedder, vqa
        Instruments. Each instrument is None if the objective does not need it.
    losses
        Loss of each evaluated prompt, keyed by prompt.
    counts
        Number of images with each value, for each prompt and axis. Empty unless the objective is
        skew.
    """

    plan: MinePlan
    run: Run
    model: Model
    writer: Writer
    embedder: Embedder | None
    vqa: VQA | None
    losses: dict[str, float | Missing] = field(default_factory=dict)
    counts: dict[str, Mapping[str, Sequence[int]]] = field(default_factory=dict)
    _variations: dict[str, list[str]] = field(default_factory=dict)

    @classmethod
    def prepare(
        cls, plan: MinePlan, run: Run, given: Mapping[str, Sequence[str]] | None = None
    ) -> Self:
        """Open the model and the instruments of a plan.

        Parameters
        ----------
        plan
            The plan.
        run
            Run that carries out the plan.
        given
            Variations that are already known, keyed by prompt.

        Raises
        ------
        UsageError
            If a name is unknown, or if the model is a collection of existing images.
        """
        model = mitigations.open_model(plan.model, plan.model_args)
        if not isinstance(model, Model):
            raise UsageError(
                f"{plan.model} has only existing images. "
                "A search needs a --model that generates images, such as --model studio"
            )
        needs_embedder = plan.is_eq1 or (plan.objective == SKEW and plan.vqa == NO_VQA)
        embedder = (
            registry.embedder(plan.embedder, **plan.embedder_args) if needs_embedder else None
        )
        return cls(
            plan=plan,
            run=run,
            model=model,
            writer=prompt_writer(plan, model, run.completions),
            embedder=embedder,
            vqa=_vqa_of(plan, model),
            _variations={prompt: list(texts) for prompt, texts in (given or {}).items()},
        )

    def search(self) -> SearchResults:
        """Run all searches, and measure held-out images of their best prompts."""
        plan = self.plan
        numbers = range(plan.runs)
        searches_per_run = 2 if plan.random_search else 1
        evaluated = plan.runs * plan.iterations * plan.population
        total = (evaluated + plan.winners) * searches_per_run
        random: tuple[Search, ...] = ()
        mine = partial(evolve, learn=self.learn)
        with self.run.steps("prompts", self.model.name, total) as steps:
            mined = tuple(self._search(MINING, mine, number, steps) for number in numbers)
            if plan.until:
                mined = self._until_decided(mined, steps)
            if plan.random_search:
                random = tuple(
                    self._search("random", search_randomly, number, steps) for number in numbers
                )
        return SearchResults(mined=mined, random=random)

    @property
    def learn(self) -> Learn | None:
        """Function that learns from evaluated prompts; None if selection uses measured scores."""
        if self.plan.selection != "learned":
            return None
        objective = self.objective
        if isinstance(objective, skew.SkewObjective):
            return partial(learn_shares, axes=objective.axes, open_axes=objective.open_axes)
        return word_effects

    @cached_property
    def objective(self) -> Objective:
        """Objective of the plan."""
        plan = self.plan
        if runs_code(plan.objective):
            function = objectives.custom_function(plan.objective)
            return objectives.CustomObjective(plan.objective, function, self.pictures)
        if plan.objective.startswith(COLOR):
            color = objectives.named_color(plan.objective.removeprefix(COLOR))
            return objectives.ColorObjective(self.run, color, self.pictures)
        reader = self.vqa or self.embedder
        if plan.objective == SKEW and reader:
            return skew.SkewObjective(
                run=self.run,
                reader=reader,
                pictures=self.pictures,
                axes=tuple(find_axis(name) for name in plan.axes),
                images=plan.images,
                eval_images=plan.first_eval_images,
            )
        assert self.embedder is not None  # loaded for this objective
        return objectives.BiasObjective(
            run=self.run,
            embedder=self.embedder,
            pictures=self.pictures,
            variations=self.variations,
            planned=plan.variations,
            quantile=plan.quantile,
            is_unit=plan.is_unit,
            one_each=self.one_each,
            corrected=plan.objective == EQ1_CORRECTED,
        )

    def check_open(self, prompts: Iterable[str]) -> None:
        """Raise UsageError if the objective is skew and all prompts state values on all axes."""
        objective = self.objective
        if not isinstance(objective, skew.SkewObjective):
            return
        if not any(map(objective.needs_images, prompts)):
            axes = words.listing([words.perceived(axis) for axis in self.plan.axes])
            raise UsageError(
                f"no prompt on the topic {self.plan.topic or 'anything'!r} leaves the value of "
                f"{axes} open. Choose another --topic or other --axes, or search by the paper's "
                "score with --objective eq1"
            )

    def prefetch(self, prompts: Sequence[str], seed: int) -> None:
        """Generate and measure the images of several prompts at once.

        Afterwards, the objective can score these prompts without further images, answers or
        embeddings.
        """
        pictures = self._measured_images(prompts, seed)
        if self.plan.objective == EQ1_CORRECTED:
            self._prefetch_variations(pictures)

    def prefetch_measurements(self, pictures: Mapping[str, Sequence[Outcome]]) -> None:
        """Measure existing images of several prompts at once, and gather their evidence.

        Parameters
        ----------
        pictures
            Images, keyed by prompt.
        """
        objective = self.objective
        usable = {
            prompt: images for prompt, images in pictures.items() if objective.needs_images(prompt)
        }
        objective.prepare(usable)
        if isinstance(objective, skew.SkewObjective):
            self._make_one_each(
                [
                    _texts(skew.variations(prompt, skew.unstated(prompt, objective.axes)))
                    for prompt in usable
                ]
            )
        elif self.plan.is_eq1:
            self._prefetch_variations(usable)
            self._prefetch_details(usable)

    def _measured_images(
        self, prompts: Sequence[str], seed: int
    ) -> Mapping[str, Sequence[Outcome]]:
        """Generate and measure images, and return them for each prompt that has enough images."""
        objective = self.objective
        needing = [prompt for prompt in prompts if objective.needs_images(prompt)]
        pictures = self._images_of(needing, seed, self.plan.images)
        objective.prepare(pictures)
        return {
            prompt: images
            for prompt, images in pictures.items()
            if not objectives.lacking_pictures(images)
        }

    def _images_of(
        self, prompts: Sequence[str], seed: int, images: int
    ) -> Mapping[str, Sequence[Outcome]]:
        return self.run.pictures(self.model, prompts, images, seed, separate_batches=True)

    def _prefetch_variations(self, prompts: Iterable[str]) -> None:
        """Generate and measure one image for each variation of several prompts, all at once."""
        lists = {prompt: self.variations(prompt) for prompt in prompts}
        self._make_one_each(list(lists.values()))
        varied = {prompt: self.one_each(texts) for prompt, texts in lists.items()}
        self.objective.prepare({prompt: [*images.values()] for prompt, images in varied.items()})

    def _make_one_each(self, lists: Sequence[Sequence[str]]) -> None:
        """Generate one image for each text in several lists, all at once."""
        wanted = [wanted_pictures(self.model, texts, 1, self.plan.seed) for texts in lists]
        self.run.make_all(ModelMaker(self.model), wanted)

    def _prefetch_held_out(self, prompts: Sequence[str], seed: int, with_evidence: bool) -> None:
        """Generate and measure the held-out images of several selected prompts at once."""
        if isinstance(self.objective, skew.SkewObjective):
            self._prefetch_held_out_skew(self.objective, prompts, seed, with_evidence)
            return
        pictures = self._measured_images(prompts, seed)
        if self.plan.is_eq1:
            self._prefetch_variations(pictures)
            if with_evidence:
                self._prefetch_details(pictures)

    def _prefetch_details(self, pictures: Mapping[str, Sequence[Outcome]]) -> None:
        """Label the details stated in the variations of several prompts, all at once."""
        image_sets: dict[str, list[tuple[str, Sequence[Outcome]]]] = {}
        for prompt, images in pictures.items():
            varied = self.one_each(self.variations(prompt))
            for name in axes_of_details(stated_details(prompt, varied)):
                of_axis = image_sets.setdefault(name, [])
                of_axis += [(prompt, images), (prompt, list(varied.values()))]
        vqa = self._details_vqa() if image_sets else None
        if vqa is None:
            return
        objective = self._details_objective(vqa)
        for name, of_axis in image_sets.items():
            with suppress(UsageError):  # the instrument does not know these values
                objective.ask_all(of_axis, find_axis(name))

    def _prefetch_held_out_skew(
        self, objective: skew.SkewObjective, prompts: Sequence[str], seed: int, with_evidence: bool
    ) -> None:
        """Label held-out images of each selected prompt on the axis of its largest skew."""
        firsts = {prompt: objective.read(prompt, self.plan.seed) for prompt in prompts}
        texts: list[list[str]] = []

        def size(prompt: str) -> tuple[tuple[Axis, ...], int]:
            first = firsts[prompt]
            return objective.held_out_axes(first), objective.held_out_images(first)

        for (axes, images), of_size in grouped(prompts, size).items():
            needing = [prompt for prompt in of_size if skew.unstated(prompt, axes)]
            objective.prepare_axes(self._images_of(needing, seed, images), axes)
            for prompt in needing:
                texts.append(_texts(skew.variations(prompt, skew.unstated(prompt, axes))))
        if with_evidence:
            self._make_one_each(texts)

    def pictures(self, prompt: str, seed: int, images: int | None = None) -> Sequence[Outcome]:
        """Return images of a prompt; by default, as many as the plan states."""
        return self.run.pictures(self.model, [prompt], images or self.plan.images, seed)[prompt]

    def one_each(self, texts: Sequence[str]) -> dict[str, Outcome]:
        """Return one image per text, keyed by text."""
        pictures = self.run.pictures(self.model, texts, 1, self.plan.seed)
        return {text: of_text[0] for text, of_text in pictures.items()}

    def variations(self, prompt: str) -> Sequence[str]:
        """Return the variations of a prompt; empty if the language model refuses to write them.

        The seed does not depend on the text-to-image model, so all models get the same variations.
        """
        if prompt not in self._variations:
            self._variations[prompt] = []
            with suppress(LanguageModelError):  # one refused prompt must not end the search
                self._variations[prompt] = self._written_variations(prompt)
        return self._variations[prompt]

    def _written_variations(self, prompt: str) -> list[str]:
        plan = self.plan
        shortest, longest = LENGTHS["variations"]
        longest = max(longest, plan.words[1] + longest - shortest)
        return self.writer.write(
            "variations",
            prompt,
            plan.variations,
            seed=derived_seed(plan.seed, "variations", prompt),
            topic=plan.topic or None,
            words=(shortest, longest),
        )

    def instruments(self) -> Instruments:
        """Return the fingerprints of the instruments, prompt generator and custom objective."""
        objective = self.objective
        functions = None
        if isinstance(objective, objectives.CustomObjective):
            functions = {objective.name: objective.fingerprint}
        return Instruments(
            {self.vqa.name: self.vqa.fingerprint} if self.vqa else None,
            {self.embedder.name: self.embedder.fingerprint} if self.embedder else None,
            {self.plan.llm: self.writer.fingerprint},
            functions,
        )

    def _search(self, kind: str, search: SearchFunction, number: int, steps: Stage) -> Search:
        """Run one search, reusing images and answers from the store."""
        plan = self.plan
        evaluation = _Evaluation(miner=self, kind=kind, number=number, steps=steps)

        def seeds(*names: object) -> int:
            return derived_seed(plan.seed, f"search {number}", *map(str, names))

        is_mined = kind == MINING
        evaluated = search(self.writer, evaluation.evaluate, plan.evolution, seeds)
        chosen = []
        selected = self._winners(evaluated, seeds("winners"))
        self._prefetch_held_out(
            [winner.text for winner in selected],
            held_out_seed(plan.seed),
            with_evidence=is_mined,
        )
        for candidate in selected:
            chosen.append(self._best_candidate(candidate, with_evidence=is_mined))
            steps.note = f"{kind}, the best prompts with held-out seeds"
            steps.advance(1)
        return Search(tuple(evaluated), tuple(chosen))

    def _winners(self, evaluated: Sequence[Candidate], seed: int) -> list[Candidate]:
        """Return the best prompts of a search.

        If the objective is skew, at most one prompt per main noun is returned.
        """
        select = winners if self.plan.objective == SKEW else best
        prediction = self.learn(evaluated, seed) if self.learn else None
        expected = prediction.expected if prediction else None
        return select(evaluated, self.plan.top, expected)

    def _best_candidate(self, candidate: Candidate, with_evidence: bool) -> BestCandidate:
        """Measure held-out images of a selected prompt."""
        seed = held_out_seed(self.plan.seed)
        prompt = candidate.text
        first = self.objective.read(prompt, self.plan.seed)
        held_out = self.objective.read_held_out(first, prompt, seed)
        if isinstance(held_out, skew.SkewReading):
            pictures = held_out.seen.pictures
        else:
            pictures = tuple(self.pictures(prompt, seed))
        evidence = self.evidence(prompt, held_out, pictures) if with_evidence else None
        return BestCandidate(candidate, first, held_out, evidence)

    def _until_decided(self, searches: Sequence[Search], steps: Stage) -> tuple[Search, ...]:
        """Add held-out images to each best prompt until its verdict or the maximum is reached."""
        most = self.plan.eval_images
        seed = held_out_seed(self.plan.seed)
        candidates = [candidate for search in searches for candidate in search.best]
        firsts = {entry.candidate.text: entry.first for entry in candidates}
        readings: dict[str, skew.SkewReading] = {}
        for entry in candidates:
            if isinstance(entry.held_out, skew.SkewReading):
                readings[entry.candidate.text] = entry.held_out
        for size in looks(most)[1:]:
            undecided = undecided_prompts(readings, most)
            if not undecided:
                break
            steps.note = f"{size} held-out images of {words.plural(len(undecided), 'best prompt')}"
            objective = self.objective
            assert isinstance(objective, skew.SkewObjective)  # the plan checks it
            larger = replace(objective, eval_images=size)
            self._prefetch_held_out_skew(larger, undecided, seed, with_evidence=False)
            for prompt in undecided:
                reading = larger.read_held_out(firsts[prompt], prompt, seed)
                assert isinstance(reading, skew.SkewReading)  # it was one with fewer images
                readings[prompt] = reading
        measured = []
        for search in searches:
            best = tuple(entry.with_held_out(readings) for entry in search.best)
            measured.append(replace(search, best=best))
        return tuple(measured)

    def evidence(
        self, prompt: str, reading: ObjectiveReading | Missing, pictures: Sequence[Outcome]
    ) -> PromptEvidence:
        """Return a prompt's images, one image of each of its variations, and counts of details.

        If the objective is skew, the variations state the values of the axes.

        Parameters
        ----------
        prompt
            The prompt.
        reading
            Measurement of the prompt's images.
        pictures
            The prompt's images.
        """
        if isinstance(reading, skew.SkewReading):
            texts = _texts(skew.variations(prompt, reading.axes))
            return PromptEvidence(tuple(pictures), self.one_each(texts))
        varied = self.one_each(self.variations(prompt)) if self.plan.is_eq1 else {}
        stated = stated_details(prompt, varied)
        vqa = self._details_vqa() if stated else None
        if vqa is None:
            return PromptEvidence(tuple(pictures), varied)
        counts = count_details(
            self._details_objective(vqa), prompt, stated, pictures, list(varied.values())
        )
        return PromptEvidence(tuple(pictures), varied, counts)

    def _details_objective(self, vqa: VQA) -> skew.SkewObjective:
        """Return an objective that is used only to label details of images."""
        return skew.SkewObjective(
            run=self.run,
            reader=vqa,
            pictures=self.pictures,
            axes=(),
            images=self.plan.images,
            eval_images=self.plan.images,
        )

    def _details_vqa(self) -> VQA | None:
        """Return the VQA model that labels the details of variations.

        This is the VQA model of the plan or, if the plan has none, a VQA model from the embedder's
        provider. With text similarity alone, one third of the details that images show would be
        reported as left out.
        """
        plan = self.plan
        if self.vqa or plan.embedder.partition("/")[0] not in registry.providers("vqa"):
            return self.vqa
        return registry.vqa(plan.embedder, **plan.embedder_args)


def _texts(variations: Mapping[str, Mapping[str, str]] | Missing) -> list[str]:
    """Return the variations for all axes and values in a single list."""
    if isinstance(variations, Missing):
        return []
    return [text for by_value in variations.values() for text in by_value.values()]


@dataclass
class _Evaluation:
    """Evaluator of the prompts in one search.

    The evaluator also reports the progress of the search.
    """

    miner: Miner
    kind: str
    number: int
    steps: Stage
    lowest: tuple[float, str] | None = None
    """Loss and text of the best prompt so far."""

    def evaluate(self, population: Sequence[Candidate]) -> list[Candidate]:
        """Return the evaluated prompts with their losses and label counts.

        The images of all prompts are generated at once.
        """
        texts = dict.fromkeys(candidate.text for candidate in population)
        self.miner.check_open(texts)
        new = [text for text in texts if text not in self.miner.losses]
        self.miner.prefetch(new, self.miner.plan.seed)
        return [self._evaluated(candidate) for candidate in population]

    def _evaluated(self, candidate: Candidate) -> Candidate:
        loss = self._measured(candidate.text)
        if not isinstance(loss, Missing) and (self.lowest is None or loss < self.lowest[0]):
            self.lowest = (loss, candidate.text)
        self._report(candidate.iteration)
        return replace(
            candidate,
            loss=None if isinstance(loss, Missing) else loss,
            counts=self.miner.counts.get(candidate.text, {}),
        )

    def _measured(self, prompt: str) -> float | Missing:
        losses = self.miner.losses
        if prompt not in losses:
            reading = self.miner.objective.read(prompt, self.miner.plan.seed)
            losses[prompt] = reading if isinstance(reading, Missing) else reading.loss()
            if isinstance(reading, skew.SkewReading):
                self.miner.counts[prompt] = reading.counts()
        return losses[prompt]

    def _report(self, iteration: int) -> None:
        plan = self.miner.plan
        note = self.kind
        if plan.runs > 1:
            note += f" {self.number + 1}/{plan.runs}"
        note += f", iteration {iteration + 1}/{plan.iterations}"
        if self.lowest:
            loss, text = self.lowest
            note += f"; best {loss:.4f} {text:.48}"
        self.steps.note = note
        self.steps.advance(1)
