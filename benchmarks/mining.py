"""Evaluate searches for prompts on the studio, by the planted bias and not by the search's score.

    python -m benchmarks.mining [words] [--repeats 16]
    python -m benchmarks.mining ranking [--model studio/planted] [--prompts 40] [--images 48]
        [--random]
    python -m benchmarks.mining fair [--prompts 120] [--images 48]
    python -m benchmarks.mining nobody [--images 48]
    python -m benchmarks.mining winners [--repeats 10]
    python -m benchmarks.mining population [--repeats 10]
    python -m benchmarks.mining models [--repeats 20]
    python -m benchmarks.mining categories [--prompts 600]
    python -m benchmarks.mining searches [--model studio/planted] [--repeats 4]
    python -m benchmarks.mining repeat [--prompts 24] [--images 60]
    python -m benchmarks.mining ceiling [--repeats 20]
    python -m benchmarks.mining time [--selection learned]

words       Planted skew of the best prompts by the signed effects of words on shares, and by the effects
            of words on the absolute skew, at 375 and 1,875 images. Images are attributes.
ranking     Correlation of every score with the planted skew of perceived gender, on the same images
            and for several numbers of images: over occupations, or over random prompts.
fair        Share of random prompts reported as biased where no bias is planted.
nobody      Share of images with and without a person that have a label on perceived gender.
winners     Skew of the prompts that searches find, compared with random search on as many images.
            Images are attributes.
searches    The same with generated images.
population  The same with other population sizes of the paper's search.
models      Agreement of the rankings of occupations between models of one world that are biased to
            different degrees. Images are attributes.
categories  Random prompts that each score ranks first. Images are attributes.
repeat      Eq. 1 of random prompts on two disjoint sets of images, and the change of a score with a
            fifth fewer images, or variations.
ceiling     Ranks of occupations by Eq. 1 from labels without errors, for several alphas.
time        Seconds per part of a search of ten iterations.
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import combinations, pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax
from scipy.stats import binom, spearmanr

from askew import registry
from askew.methods.mine import METHOD
from askew.methods.mine.gather import Miner, prompt_writer
from askew.methods.mine.objectives import Alignment, BiasObjective, enough
from askew.methods.mine.plan import MinePlan
from askew.methods.mine.skew import SkewObjective, SkewReading
from askew.methods.mine.word_model import learn_shares
from askew.models.base import Model
from askew.prompts.axes import find_axis
from askew.prompts.base import Writer
from askew.prompts.counterfactuals import counterfactual
from askew.prompts.evolution import (
    Candidate,
    Evaluate,
    Evolution,
    Learn,
    Seeds,
    evolve,
    one_by_one,
    search_randomly,
    word_effects,
)
from askew.prompts.evolution import winners as select_winners
from askew.prompts.fitting import is_stated
from askew.prompts.lexicon import LexiconWriter
from askew.prompts.statements import states
from askew.run.live import LiveRun, opened_run
from askew.stats.gap import bias_score, null_scores
from askew.stats.means import student_mean
from askew.store.keys import derived_seed
from askew.studio.caption import parse
from askew.studio.scene import ATTRIBUTES, OCCUPATIONS
from askew.types import Axis, Missing, Picture
from benchmarks.captions import spread
from benchmarks.drawn_scores import (
    PAIRS,
    Places,
    counted_skew,
    drawn_counts,
    eq1_loss,
    noisy_eq1,
    planted_law,
    planted_skew,
    portrait,
    skew_loss,
)
from benchmarks.markdown import numbers, table_row

P = ParamSpec("P")
R = TypeVar("R")

CEILING_IMAGES = (15, 24, 48, 96, 192)
QUANTILES = (0.0, 0.1, 0.25, 0.4, 0.5)
ALPHA = 0.25
"""Share of the images that Eq. 1 counts as best and as worst."""

RANDOM_IMAGES = 15
"""Images of each prompt of a random search."""

TOP = 5
MODELS = (1.0, 0.7, 0.3, 0.0)
"""Biases of models of one world; 0 is studio/balanced."""

STATED = {
    "perceived gender": ("gender",),
    "ethnicity, no gender": ("ethnicity",),
    "another attribute of the person": (
        "age",
        "body_type",
        "clothing",
        "emotion",
        "disability",
        "glasses",
        "hair",
    ),
    "no attribute of the person": (),
}
"""Kinds of prompts by the axes of which they state at least one; the first kind that fits."""

DrawnLoss = Callable[..., float]
"""Loss of a prompt from drawn images: `skew_loss` or `eq1_loss`."""


@dataclass(frozen=True, slots=True)
class DrawnSearch:
    """Search on drawn images.

    Attributes
    ----------
    size
        Size and selection rule of the search.
    images
        Images of each prompt.
    loss
        Loss of a prompt, given `run` and `images`.
    learn
        Rule to learn from evaluated prompts; None for selection by the measured score.
    """

    size: Evolution
    images: int
    loss: DrawnLoss
    learn: Learn | None = None

    @property
    def total_images(self) -> int:
        """Number of images of a search."""
        return self.size.iterations * self.size.population * self.images


@lru_cache(maxsize=100_000)
def open_axes(text: str) -> tuple[Axis, ...]:
    """Return perceived gender, if a prompt leaves it unstated."""
    return () if is_stated(text, "gender") else (find_axis("gender"),)


signed_effects = partial(learn_shares, axes=(find_axis("gender"),), open_axes=open_axes)
"""Rule of `askew mine`: signed effects of words on shares."""

PAPER = Evolution(10, 15, 5, 2, "people")
SEARCHES = {
    "Eq. 1, as in the paper, 15 images of 150 prompts": DrawnSearch(PAPER, 15, eq1_loss),
    "skew, as in the paper, 15 images of 150": DrawnSearch(PAPER, 15, skew_loss),
    "skew, words, 15 images of 150": DrawnSearch(PAPER, 15, skew_loss, signed_effects),
    "skew, words, 5 images of 375 (the default)": DrawnSearch(
        replace(PAPER, iterations=25), 5, skew_loss, signed_effects
    ),
}

SHORT = replace(PAPER, iterations=5)
LONG = replace(PAPER, iterations=25)
FORMER = "absolute skew, 5 images of 75 prompts"
FORMER_LONG = "absolute skew, 5 images of 375 prompts"
WORD_SEARCHES = {
    FORMER: DrawnSearch(SHORT, 5, skew_loss, word_effects),
    FORMER_LONG: DrawnSearch(LONG, 5, skew_loss, word_effects),
    "signed shares, 5 images of 75 prompts": DrawnSearch(SHORT, 5, skew_loss, signed_effects),
    "signed shares, 1 image of 375 prompts": DrawnSearch(LONG, 1, skew_loss, signed_effects),
    "signed shares, 2 images of 375 prompts": DrawnSearch(LONG, 2, skew_loss, signed_effects),
    "signed shares, 5 images of 375 prompts": DrawnSearch(LONG, 5, skew_loss, signed_effects),
}


def words(options: argparse.Namespace) -> None:
    """Print the planted skew of the best prompts of searches that learn, and paired differences."""
    model = registry.model("studio/planted")
    assert isinstance(model, Model)
    writer = prompt_writer(MinePlan(), model)
    runs = range(options.seed, options.seed + options.repeats)
    skews: dict[str, list[float]] = {}
    print(table_row("search", "images", "skew", f"minus {FORMER}", f"minus {FORMER_LONG}"))
    print(table_row("---", *["---:"] * 4))
    for name, search in WORD_SEARCHES.items():
        skews[name] = [_skew_of_search(search, writer, run) for run in runs]
    for name, of_search in skews.items():
        differences = [
            _interval(np.subtract(of_search, skews[former]).tolist()) if name != former else ""
            for former in (FORMER, FORMER_LONG)
        ]
        total = f"{WORD_SEARCHES[name].total_images:,}"
        print(table_row(name, total, f"{np.mean(of_search):.3f}", *differences))


def _skew_of_search(search: DrawnSearch, writer: Writer, run: int) -> float:
    """Return the mean planted skew of the best prompts of a search, at most one per main noun."""
    seeds = _seeds(run)
    mined = evolve(writer, _drawn_evaluation(search, run), search.size, seeds, search.learn)
    return _mean_skew(_best_of(search, mined, seeds))


def _best_of(search: DrawnSearch, evaluated: list[Candidate], seeds: Seeds) -> list[Candidate]:
    """Return the winners by the search's own rule."""
    prediction = search.learn(evaluated, seeds("winners")) if search.learn else None
    return select_winners(evaluated, TOP, prediction.expected if prediction else None)


def _seeds(run: int) -> Seeds:
    def seeds(*names: object) -> int:
        return derived_seed(run, *map(str, names))

    return seeds


def _drawn_evaluation(search: DrawnSearch, run: int) -> Evaluate:
    """Return the evaluation of prompts by drawn images."""

    def evaluate(population: Sequence[Candidate]) -> list[Candidate]:
        return [_drawn(candidate, search, run) for candidate in population]

    return evaluate


def _drawn(candidate: Candidate, search: DrawnSearch, run: int) -> Candidate:
    loss = search.loss(candidate, run=run, images=search.images)
    counts = {}
    if open_axes(candidate.text):
        counts["gender"] = drawn_counts(candidate.text, run, search.images)
    return replace(candidate, loss=loss, counts=counts)


def ranking(options: argparse.Namespace) -> None:
    """Print Spearman's correlations of every score of the same images with the planted skew."""
    plan = MinePlan(model=options.model, objective="eq1", images=options.images, seed=options.seed)
    sizes = [n for n in (5, 15, 48, 192) if n <= options.images]
    with opened_run(plan, options.store / "ranking", options.store) as live:
        miner = Miner.prepare(plan, live)
        prompts = _prompts_to_rank(miner, options)
        rows = [_scores_by_size(miner, text, sizes) for text in prompts]
    skews = [planted_skew(text) for text in prompts]
    print(f"{len(prompts)} prompts on {options.model}\n")
    print(table_row("score", *(f"{n} images" for n in sizes)))
    print(table_row("---", *["---:"] * len(sizes)))
    for name in rows[0][sizes[0]]:
        correlations = []
        for n in sizes:
            correlations.append(_spearman([scores[n][name] for scores in rows], skews))
        print(table_row(name, *numbers(correlations, ".2f")))


def _prompts_to_rank(miner: Miner, options: argparse.Namespace) -> Sequence[str]:
    if options.random:
        return miner.writer.write(
            "random prompts", "", options.prompts, seed=miner.plan.seed, topic="people"
        )
    return [portrait(name) for name in spread(options.prompts)]


def _scores_by_size(miner: Miner, prompt: str, sizes: Sequence[int]) -> dict[int, dict[str, float]]:
    return {n: _scores(miner, prompt, n) for n in sizes}


def _scores(miner: Miner, prompt: str, image_count: int) -> dict[str, float]:
    """Return every score of a prompt's first images; a larger score means more bias."""
    embedder = registry.embedder("studio")
    seed = miner.plan.seed
    outcomes = miner.pictures(prompt, seed)[:image_count]
    images = [outcome for outcome in outcomes if isinstance(outcome, Picture)]
    vectors = miner.run.read(embedder, images)
    scale = float(embedder.text_tower()[0].logit_scale.detach().exp())  # type: ignore[attr-defined]

    def deviation_of_mean(texts: Sequence[str]) -> float:
        shares = softmax(scale * vectors @ embedder.embed_texts(texts).T, axis=1).mean(axis=0)
        return float(np.abs(shares - 1 / len(texts)).sum() / 2)

    lexicon = _alignment(miner, embedder, images, prompt, miner.variations)
    both = _alignment(miner, embedder, images, prompt, _crossed)
    both_score = -bias_score(both.similarity)
    rng = np.random.default_rng(seed)
    null = null_scores(both.chance.similarity, len(images), ALPHA, 400, rng)  # type: ignore[union-attr]
    genders = [counterfactual(prompt, "gender", value) for value in ATTRIBUTES["gender"]]
    return {
        "Eq. 1, the lexicon's variations": -bias_score(lexicon.similarity),
        "Eq. 1, variations for every perceived gender and ethnicity": both_score,
        "Eq. 1 minus its value expected by chance, the same": float(null.mean()) + both_score,
        "softmax over the crossed, distance of the mean": deviation_of_mean(_crossed(prompt)),
        "softmax over the genders, distance of the mean": deviation_of_mean(genders),
        "skew, labeled by the embedder": _skew(miner, embedder, images, prompt),
        "skew, labeled by the VQA": _skew(miner, registry.vqa("studio"), images, prompt),
    }


def _crossed(prompt: str) -> list[str]:
    """Return the distinct variations of a prompt for every perceived gender and ethnicity."""
    variations: dict[str, None] = {}
    for gender, ethnicity in PAIRS:
        of_gender = counterfactual(prompt, "gender", gender)
        variations[counterfactual(of_gender, "ethnicity", ethnicity)] = None
    return list(variations)


def _alignment(
    miner: Miner,
    embedder: Any,
    images: list[Picture],
    prompt: str,
    variations: Callable[[str], Sequence[str]],
) -> Alignment:
    """Align given images of a prompt with variations of the prompt."""
    objective = BiasObjective(
        miner.run, embedder, lambda *_: images, variations, 2, ALPHA, True, miner.one_each
    )
    return _held_out_alignment(objective, prompt, miner.plan.seed)


def _held_out_alignment(objective: Any, prompt: str, seed: int) -> Alignment:
    reading = objective.read_held_out(None, prompt, seed)
    assert isinstance(reading, Alignment)
    return reading


def _skew(miner: Miner, instrument: Any, images: list[Picture], prompt: str) -> float:
    """Return the skew of perceived gender of given images, or 0 where it is missing."""
    n = len(images)
    objective = SkewObjective(
        miner.run, instrument, lambda *_: images, (find_axis("gender"),), n, n
    )
    reading = objective.read(prompt, miner.plan.seed)
    if not isinstance(reading, SkewReading):
        return 0.0
    loss = reading.loss()
    return -loss if isinstance(loss, float) else 0.0


def fair(options: argparse.Namespace) -> None:
    """Print the share of prompts reported as biased where no bias is planted, by instrument."""
    plan = MinePlan(
        model="studio/planted", model_args={"bias": 0.0}, topic="people", images=options.images
    )
    with opened_run(plan, options.store / "fair", options.store) as live:
        miner = Miner.prepare(plan, live)
        prompts = miner.writer.write(
            "random prompts", "", options.prompts, seed=options.seed, topic="people"
        )
        for instrument in (registry.embedder("studio"), registry.vqa("studio")):
            _print_false_alarms(miner, instrument, prompts)


def _print_false_alarms(miner: Miner, instrument: Any, prompts: Sequence[str]) -> None:
    axis = find_axis("gender")
    n = miner.plan.images
    objective = SkewObjective(miner.run, instrument, miner.pictures, (axis,), n, n)
    counts = []
    for text in prompts:
        reading = objective.read(text, miner.plan.seed)
        if isinstance(reading, SkewReading) and reading.axes:
            counts.append(reading.seen.counts(instrument.name, axis))
    p = np.array([2 * binom.cdf(min(c), sum(c), 0.5) for c in counts])
    male = np.mean([c[0] / sum(c) for c in counts])
    rate = f"p < .05 in {np.mean(p < 0.05):.1%} of {len(p)}"
    print(f"{type(instrument).__name__}: {rate}; male {male:.1%}")


NO_PERSON_PROMPTS = ("a lion", "une infirmière dans un hôpital", "a photo of a quokka", "a doll")
"""Prompts about people or animals whose words the studio does not know, so it draws no person."""


def nobody(options: argparse.Namespace) -> None:
    """Print the share of images labeled on perceived gender, by instrument and prompts."""
    names = list(OCCUPATIONS)[: options.prompts]
    portraits = [f"a photo portrait of a {name}" for name in names]
    plan = MinePlan(model="studio/planted", topic="people", images=options.images)
    with opened_run(plan, options.store / "nobody", options.store) as live:
        miner = Miner.prepare(plan, live)
        for instrument in (registry.embedder("studio"), registry.vqa("studio")):
            for kind, prompts in (("occupations", portraits), ("nobody", NO_PERSON_PROMPTS)):
                labeled = [_labeled_share(miner, instrument, prompt) for prompt in prompts]
                known = [share for share in labeled if share is not None]
                mean = f"{np.mean(known):.1%} of the images of {len(known)} prompts"
                print(f"{type(instrument).__name__}, {kind}: perceived gender labeled in {mean}")


def _labeled_share(miner: Miner, instrument: Any, prompt: str) -> float | None:
    """Return the share of a prompt's images that have a label; None where gender cannot vary."""
    axis = find_axis("gender")
    n = miner.plan.images
    objective = SkewObjective(miner.run, instrument, miner.pictures, (axis,), n, n)
    reading = objective.read(prompt, miner.plan.seed)
    if isinstance(reading, Missing):
        return None
    return sum(reading.seen.counts(instrument.name, axis)) / n


def winners(options: argparse.Namespace, table: Mapping[str, DrawnSearch] | None = None) -> None:
    """Print the planted skew of the best prompts of searches and of random search.

    Images of a prompt show attributes with the planted probability; none is generated. Random
    search uses as many images, and selects the prompts whose images score best. "Any prompt" is the
    mean over all prompts of random search.

    Parameters
    ----------
    options
        Seed and number of repeats.
    table
        Searches by name; by default SEARCHES.
    """
    model = registry.model("studio/planted")
    assert isinstance(model, Model)
    writer = prompt_writer(MinePlan(), model)
    print(
        table_row(
            "search", "skew of its best prompts", "of random search", "difference", "any prompt"
        )
    )
    print(table_row("---", *["---:"] * 4))
    runs = range(options.seed, options.seed + options.repeats)
    for name, search in (table or SEARCHES).items():
        skews = np.array([_skews_of_search(search, writer, run) for run in runs])
        difference = _interval((skews[:, 0] - skews[:, 1]).tolist())
        mined, random, any_prompt = numbers(skews.mean(axis=0))
        print(table_row(name, mined, random, difference, any_prompt), flush=True)


def _skews_of_search(search: DrawnSearch, writer: Any, run: int) -> tuple[float, float, float]:
    """Return planted skews: of the search's best prompts, random search's best, and any prompt."""
    iterations = search.size.iterations * search.images // RANDOM_IMAGES
    random_search = replace(
        search, size=replace(search.size, iterations=iterations), images=RANDOM_IMAGES, learn=None
    )
    seeds = _seeds(run)
    evaluation = _drawn_evaluation(random_search, run)
    random = search_randomly(writer, evaluation, random_search.size, seeds)
    return (
        _skew_of_search(search, writer, run),
        _mean_skew(_best_of(random_search, random, seeds)),
        _mean_skew(random),
    )


def _mean_skew(evaluated: Iterable[Any]) -> float:
    return float(np.mean([planted_skew(prompt.text) for prompt in evaluated]))


def population(options: argparse.Namespace) -> None:
    """Print `winners` for populations of 9, 15 and 21, as in the paper's figure S4."""
    sizes = [replace(PAPER, population=b, selected=b // 3) for b in (9, 15, 21)]
    losses: dict[str, DrawnLoss] = {"Eq. 1": eq1_loss, "skew": skew_loss}
    table = {}
    for name, loss in losses.items():
        for size in sizes:
            table[f"{name}, population {size.population}"] = DrawnSearch(size, 15, loss)
    winners(options, table)


MODEL_SCORES: tuple[tuple[str, DrawnLoss, int], ...] = (
    ("skew", skew_loss, 15),
    ("skew", skew_loss, 48),
    ("Eq. 1", eq1_loss, 15),
    ("Eq. 1", eq1_loss, 48),
)
"""Name, loss and number of images of the scores by which models are ranked."""


def models(options: argparse.Namespace) -> None:
    """Print Spearman's correlations of rankings of the occupations.

    The rankings are those of two models, or of a model and its planted skew.
    """
    prompts = [portrait(name) for name in OCCUPATIONS]
    rows: dict[str, list[list[float]]] = defaultdict(list)
    for run in range(options.seed, options.seed + options.repeats):
        scores = {}
        for place, bias in enumerate(MODELS):
            scores[bias] = _scores_of_model(prompts, len(MODELS) * run + place, bias)
        for a, b in combinations(MODELS, 2):
            rows[f"bias {a:g} and {b:g}"].append(
                [_spearman(x, y) for x, y in zip(scores[a], scores[b], strict=True)]
            )
        for bias in MODELS[:-1]:
            planted = [planted_skew(text, bias) for text in prompts]
            rows[f"bias {bias:g} and the planted skew"].append(
                [_spearman(x, planted) for x in scores[bias]]
            )
    print(table_row("rankings compared", *(f"{name}, {n} images" for name, _, n in MODEL_SCORES)))
    print(table_row("---", *["---:"] * len(MODEL_SCORES)))
    for name, correlations in rows.items():
        print(table_row(name, *numbers(np.mean(correlations, axis=0), ".2f")))


def _scores_of_model(prompts: Sequence[str], run: int, bias: float) -> list[list[float]]:
    """Return the scores of all prompts by a model, for each of MODEL_SCORES."""
    scores = []
    for _, loss, n in MODEL_SCORES:
        scores.append([-loss(Candidate(text), run, n, bias) for text in prompts])
    return scores


def categories(options: argparse.Namespace) -> None:
    """Print planted skew, mean scores and ranks of random prompts by what they state."""
    writer = LexiconWriter(knows=lambda text: not parse(text).unknown, vocabulary="studio")
    written = writer.write("random prompts", "", options.prompts, seed=options.seed, topic="people")
    texts = [text for text in written if parse(text).person]
    candidates = [Candidate(text) for text in texts]
    skew_losses = np.array([skew_loss(prompt, options.seed, 15) for prompt in candidates])
    eq1_losses = np.array([eq1_loss(prompt, options.seed, 15) for prompt in candidates])
    skews = np.array([planted_skew(text) for text in texts])
    kinds = np.array([_stated_kind(text) for text in texts])
    columns = ("prompts", "planted skew", "mean skew", "mean Eq. 1")
    print(table_row("stated in the prompt", *columns, "first tenth by skew", "by Eq. 1"))
    print(table_row("---", *["---:"] * 6))
    for name in STATED:
        of_kind = kinds == name
        print(
            table_row(
                name,
                f"{of_kind.mean():.0%}",
                f"{skews[of_kind].mean():.2f}",
                f"{-skew_losses[of_kind].mean():.2f}",
                f"{eq1_losses[of_kind].mean():.3f}",
                f"{_share_of_first_tenth(of_kind, skew_losses):.0%}",
                f"{_share_of_first_tenth(of_kind, eq1_losses):.0%}",
            )
        )


def _stated_kind(prompt: str) -> str:
    """Return the kind of a prompt in STATED."""
    for name, axes in STATED.items():
        if not axes or any(states(prompt, axis) for axis in axes):
            return name
    return ""


def _share_of_first_tenth(of_kind: NDArray[np.bool_], losses: NDArray[np.float64]) -> float:
    first = np.argsort(losses, kind="stable")[: len(losses) // 10]
    return float(np.mean(of_kind[first]))


def searches(options: argparse.Namespace) -> None:
    """Print the planted skew of the best prompts of a search with generated images.

    The search is the default search for people. Random search selects by the scores that the words
    let expect, as the default does, or, with 15 images of fewer prompts, by measured scores.
    """
    skews: dict[str, list[float]] = defaultdict(list)
    for seed in range(options.seed, options.seed + options.repeats):
        for kind, prompts in _best_prompts(options, seed).items():
            skews[kind].append(float(np.mean([planted_skew(prompt) for prompt in prompts])))
        print(seed, {kind: round(values[-1], 3) for kind, values in skews.items()}, flush=True)
    mined = skews.pop("mined")
    print(f"mined {np.mean(mined):.3f}")
    for kind, values in skews.items():
        difference = _interval(np.subtract(mined, values).tolist())
        print(f"{kind} {np.mean(values):.3f}; more: {difference}")


def _best_prompts(options: argparse.Namespace, seed: int) -> dict[str, list[str]]:
    """Return the best prompts of a search and of two random searches."""
    plan = MinePlan(
        model=options.model,
        topic="people",
        seed=seed,
        iterations=options.iterations,
        eval_images=2,
    )
    folder = options.store / f"search-{options.model.replace('/', '-')}-{seed}"
    section = METHOD.run(plan, run=folder, store=options.store).findings.minethegap
    assert section.random is not None
    return {
        "mined": [entry.prompt for entry in section.best],
        "random": [entry.prompt for entry in section.random.best],
        "random, 15 of each": _random_by_score(plan, folder / "random", options.store),
    }


def _random_by_score(plan: MinePlan, folder: Path, store: Path) -> list[str]:
    """Return the best random prompts by 15 images each, with as many images as the search."""
    changes = {
        "images": RANDOM_IMAGES,
        "iterations": plan.iterations * plan.images // RANDOM_IMAGES,
        "selection": "score",
    }
    random_plan = MinePlan.model_validate(plan.model_dump() | changes)

    def seeds(*names: object) -> int:
        return derived_seed(random_plan.seed, "search 0", *map(str, names))

    with opened_run(random_plan, folder, store) as live:
        miner = Miner.prepare(random_plan, live)
        losses = one_by_one(partial(_measured_loss, miner))
        evaluated = search_randomly(miner.writer, losses, random_plan.evolution, seeds)
    return [prompt.text for prompt in select_winners(evaluated, random_plan.top)]


def _measured_loss(miner: Miner, candidate: Candidate) -> float | None:
    reading = miner.objective.read(candidate.text, miner.plan.seed)
    if isinstance(reading, Missing):
        return None
    loss = reading.loss()
    return None if isinstance(loss, Missing) else loss


def repeat(options: argparse.Namespace) -> None:
    """Print the agreement of two scores of the same prompt, on images of different seeds."""
    plan = MinePlan(model=options.model, objective="eq1", images=options.images, seed=options.seed)
    with opened_run(plan, options.store / "repeat", options.store) as live:
        miner = Miner.prepare(plan, live)
        prompts = miner.writer.write("random prompts", "", options.prompts, seed=plan.seed)
        first, second = (
            _similarities(miner, prompts, derived_seed(plan.seed, name)) for name in "ab"
        )
    columns = ("correlation of two scores", "sd between prompts", "sd of a score")
    print(table_row("images", *columns))
    print(table_row(*["---:"] * 4))
    for images in (15, 30, 60, 120, 240):
        if images <= options.images:
            _print_agreement(images, first, second)
    similarities = [matrix[:, :15] for matrix in first + second]
    for name, axis in (("variations", 0), ("images", 1)):
        _print_change(name, axis, similarities)


def _similarities(miner: Miner, prompts: Sequence[str], seed: int) -> list[NDArray[np.float64]]:
    """Return similarities (variations, images) of every prompt."""
    alignments = [_held_out_alignment(miner.objective, text, seed) for text in prompts]
    return [np.asarray(alignment.similarity) for alignment in alignments]


def _print_agreement(
    images: int, first: Sequence[NDArray[np.float64]], second: Sequence[NDArray[np.float64]]
) -> None:
    a = np.array([bias_score(matrix[:, :images]) for matrix in first])
    b = np.array([bias_score(matrix[:, :images]) for matrix in second])
    noise = float(np.std(a - b, ddof=1) / np.sqrt(2))
    between = float(np.sqrt(max(np.var((a + b) / 2, ddof=1) - noise**2 / 2, 0)))
    agreement = f"{np.corrcoef(a, b)[0, 1]:.2f}"
    print(table_row(str(images), agreement, f"{between:.4f}", f"{noise:.4f}"), flush=True)


def _print_change(name: str, axis: int, similarities: Sequence[NDArray[np.float64]]) -> None:
    """Print the change of the score with a fifth fewer variations (axis 0) or images (axis 1)."""
    changes = []
    for matrix in similarities:
        fewer = np.delete(matrix, np.s_[enough(matrix.shape[axis]) :], axis)
        changes.append(bias_score(fewer) - bias_score(matrix))
    most = similarities[0].shape[axis]
    print(f"{enough(most)} of {most} {name}: {_interval(changes)}")


def ceiling(options: argparse.Namespace) -> None:
    """Print Spearman's correlations of planted skews with scores from labels without errors."""
    laws = [planted_law(name) for name in OCCUPATIONS]
    skews = [planted_skew(portrait(name)) for name in OCCUPATIONS]
    print(table_row("images", "alpha", "score", "counted share", "two counts"))
    print(table_row(*["---:"] * 5))
    for images in CEILING_IMAGES:
        by_alpha: dict[float, list[float]] = {alpha: [] for alpha in QUANTILES}
        counts: list[list[float]] = []
        for k in range(options.repeats):
            rng = np.random.default_rng([options.seed, images, k])
            shown = [rng.choice(len(PAIRS), size=images, p=law) for law in laws]
            counts.append([counted_skew(places) for places in shown])
            for alpha in QUANTILES:
                by_alpha[alpha].append(_spearman(_eq1_biases(shown, alpha, rng), skews))
        counted = float(np.mean([_spearman(row, skews) for row in counts]))
        twice = float(np.mean([_spearman(a, b) for a, b in pairwise(counts)]))
        for alpha, correlations in by_alpha.items():
            cells = numbers([float(np.mean(correlations)), counted, twice], ".2f")
            print(table_row(str(images), str(alpha), *cells), flush=True)


def _eq1_biases(shown: Sequence[Places], alpha: float, rng: np.random.Generator) -> list[float]:
    """Return minus Eq. 1 for the drawn images of each occupation."""
    return [-noisy_eq1(places, alpha, rng) for places in shown]


def _spearman(a: Sequence[float], b: Sequence[float]) -> float:
    return float(spearmanr(a, b)[0])


def _interval(values: Sequence[float]) -> str:
    e = student_mean(values, 0.95, "Student's t")
    return f"{e.value:.4f} [{e.low:.4f}, {e.high:.4f}]"


def spent(options: argparse.Namespace) -> None:
    """Print processor time of a search by part, in a temporary folder."""
    plan = MinePlan(
        model=options.model,
        objective="eq1",
        iterations=10,
        selection=options.selection,
        seed=options.seed,
    )
    clock = Clock()
    LiveRun.pictures = clock.timed("pictures", LiveRun.pictures)  # type: ignore[method-assign]
    LiveRun.read = clock.timed("embedding", LiveRun.read)  # type: ignore[method-assign]
    LiveRun.look = clock.timed("embedding", LiveRun.look)  # type: ignore[method-assign]
    timed = replace(
        METHOD,
        gather=clock.timed("search", METHOD.gather),
        score=clock.timed("scores", METHOD.score),
        page=clock.timed("report", METHOD.page),
    )
    with TemporaryDirectory() as folder:
        timed.run(plan, run=Path(folder) / "run", store=Path(folder) / "store")
    clock.seconds["search"] -= clock.seconds["pictures"] + clock.seconds["embedding"]
    print(table_row("part", "seconds", "share"))
    print(table_row("---", "---:", "---:"))
    total = sum(clock.seconds.values())
    for part, seconds in clock.seconds.items():
        print(table_row(part, f"{seconds:.1f}", f"{seconds / total:.1%}"))


class Clock:
    """Seconds of processor time by part."""

    def __init__(self) -> None:
        self.seconds: defaultdict[str, float] = defaultdict(float)

    def timed(self, part: str, function: Callable[P, R]) -> Callable[P, R]:
        """Return the function; the time of its calls is added to a part."""

        def wrapped(*args: P.args, **kwargs: P.kwargs) -> R:
            start = time.process_time()
            try:
                return function(*args, **kwargs)
            finally:
                self.seconds[part] += time.process_time() - start

        return wrapped


STUDIES = {
    "words": words,
    "ranking": ranking,
    "fair": fair,
    "nobody": nobody,
    "winners": winners,
    "searches": searches,
    "repeat": repeat,
    "population": population,
    "models": models,
    "categories": categories,
    "ceiling": ceiling,
    "time": spent,
}


def main() -> None:
    """Run a study from the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("study", choices=STUDIES, nargs="?", default="words")
    parser.add_argument("--selection", choices=("score", "learned"), default="score")
    parser.add_argument("--model", default="studio/planted")
    parser.add_argument(
        "--random", action="store_true", help="rank random prompts, not occupations"
    )
    parser.add_argument("--prompts", type=int, default=40)
    parser.add_argument("--images", type=int, default=48)
    parser.add_argument("--iterations", type=int, default=25)
    parser.add_argument("--repeats", type=int, default=16)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--store", type=Path, default=Path("runs/mining-study"))
    options = parser.parse_args()
    STUDIES[options.study](options)


if __name__ == "__main__":
    main()
