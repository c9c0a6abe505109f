"""Evaluate searches for prompts on the studio, by the planted bias and not by the search's score.

    python -m benchmarks.mining ranking [--model studio/planted] [--prompts 40] [--images 48]
        [--random]
    python -m benchmarks.mining fair [--prompts 120] [--images 48]
    python -m benchmarks.mining winners [--repeats 10]
    python -m benchmarks.mining population [--repeats 10]
    python -m benchmarks.mining models [--repeats 20]
    python -m benchmarks.mining categories [--prompts 600]
    python -m benchmarks.mining searches [--model studio/planted] [--repeats 4]
    python -m benchmarks.mining repeat [--prompts 24] [--images 60]
    python -m benchmarks.mining ceiling [--repeats 20]
    python -m benchmarks.mining time [--selection learned]

ranking     Correlation of every score with the planted skew of perceived gender, on the same images
            and for several numbers of images: over occupations, or over random prompts.
fair        Share of random prompts reported as biased where no bias is planted.
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
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations, pairwise, product
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
from askew.models.base import Model
from askew.prompts.axes import find_axis
from askew.prompts.counterfactuals import counterfactual
from askew.prompts.evolution import (
    Candidate,
    Evolution,
    best,
    evolve,
    search_randomly,
    word_effects,
)
from askew.prompts.lexicon import LexiconWriter
from askew.prompts.statements import states
from askew.prompts.vocabulary import article
from askew.run.live import LiveRun, opened_run
from askew.stats.distance import expected_distance
from askew.stats.gap import bias_score, null_scores
from askew.stats.means import student_mean
from askew.store.keys import derived_seed
from askew.studio.caption import parse
from askew.studio.planted import joint, truth
from askew.studio.scene import ATTRIBUTES, OCCUPATIONS
from askew.types import Missing, Picture
from benchmarks.wording import spread

P = ParamSpec("P")
R = TypeVar("R")

CEILING_IMAGES = (15, 24, 48, 96, 192)
QUANTILES = (0.0, 0.1, 0.25, 0.4, 0.5)
NOISE = 0.05
"""Standard deviation of a similarity, where one attribute that fits adds 0.25."""

PAIRS = list(product(ATTRIBUTES["gender"], ATTRIBUTES["ethnicity"]))
FIT = np.array(
    [[0.5 + 0.25 * sum(a == b for a, b in zip(v, p, strict=True)) for p in PAIRS] for v in PAIRS]
)
"""(variations, kinds of pictures): what a reader without noise sees."""


Searched = tuple[Evolution, int, Callable[..., float]]
"""The size of a search, the pictures of a prompt, and the loss of a prompt for a run and so many
pictures.
"""


def skew(prompt: str, bias: float = 1.0) -> float:
    """|2 x planted share of women - 1|; 0 where the prompt says it itself."""
    return 0.0 if states(prompt, "gender") else abs(2 * truth(prompt, "gender", bias)["female"] - 1)


def ranking(options: argparse.Namespace) -> None:
    """Spearman's correlations of every score of the same pictures with the planted skew."""
    plan = MinePlan(model=options.model, objective="eq1", images=options.images, seed=options.seed)
    with opened_run(plan, options.store / "ranking", options.store) as live:
        miner = Miner.prepare(plan, live)
        prompts = (
            miner.writer.write(
                "random prompts", "", options.prompts, seed=plan.seed, topic="people"
            )
            if options.random
            else [f"photo portrait of {article(one)} {one}" for one in spread(options.prompts)]
        )
        sizes = [n for n in (5, 15, 48, 192) if n <= options.images]
        rows = [{n: _scores(miner, text, n) for n in sizes} for text in prompts]
    skews = [skew(text) for text in prompts]
    print(f"{len(prompts)} prompts on {options.model}\n")
    print(
        f"| score | {' | '.join(f'{n} images' for n in sizes)} |\n| --- |{' ---: |' * len(sizes)}"
    )
    for name in rows[0][sizes[0]]:
        found = [spearmanr([row[n][name] for row in rows], skews)[0] for n in sizes]
        print(f"| {name} | {' | '.join(f'{rho:.2f}' for rho in found)} |")


def _scores(miner: Miner, prompt: str, images: int) -> dict[str, float]:
    """Every score of a prompt's first pictures, larger where it is more one-sided."""
    embedder = registry.embedder("studio")
    run = miner.run
    seed = miner.plan.seed
    made = [one for one in miner.pictures(prompt, seed)[:images] if isinstance(one, Picture)]
    vectors = run.read(embedder, made)

    def crossed(text: str) -> list[str]:
        return list(
            dict.fromkeys(
                counterfactual(counterfactual(text, "gender", g), "ethnicity", e) for g, e in PAIRS
            )
        )

    def objective(variations: Callable[[str], Sequence[str]]) -> BiasObjective:
        return BiasObjective(
            run, embedder, lambda *_: made, variations, 2, 0.25, True, miner.one_each
        )

    lexicon, both = (_aligned(objective(by), prompt, seed) for by in (miner.variations, crossed))
    null = null_scores(both.chance.similarity, len(made), 0.25, 400, np.random.default_rng(seed))  # type: ignore[union-attr]
    scale = float(embedder.text_tower()[0].logit_scale.detach().exp())  # type: ignore[attr-defined]
    forms = [counterfactual(prompt, "gender", value) for value in ATTRIBUTES["gender"]]

    def uneven(texts: Sequence[str]) -> float:
        shares = softmax(scale * vectors @ embedder.embed_texts(texts).T, axis=1).mean(axis=0)
        return float(np.abs(shares - 1 / len(texts)).sum() / 2)

    def lean(reader: Any) -> float:
        found = SkewObjective(
            run, reader, lambda *_: made, (find_axis("gender"),), images, images
        ).read(prompt, seed)
        loss = found.loss() if isinstance(found, SkewReading) else 0.0
        return -loss if isinstance(loss, float) else 0.0

    return {
        "Eq. 1, the lexicon's variations": -bias_score(lexicon.similarity),
        "Eq. 1, variations for every perceived gender and ethnicity": -bias_score(both.similarity),
        "Eq. 1 minus its value expected by chance, the same": float(null.mean())
        - bias_score(both.similarity),
        "softmax over the crossed, distance of the mean": uneven(crossed(prompt)),
        "softmax over the genders, distance of the mean": uneven(forms),
        "skew, labeled by the embedder": lean(embedder),
        "skew, labeled by the VQA": lean(registry.vqa("studio")),
    }


def fair(options: argparse.Namespace) -> None:
    """How often a prompt is further from even than chance where nothing is planted, by both
    readers.
    """
    plan = MinePlan(
        model="studio/planted", model_args={"bias": 0.0}, topic="people", images=options.images
    )
    with opened_run(plan, options.store / "fair", options.store) as live:
        miner = Miner.prepare(plan, live)
        axis = find_axis("gender")
        prompts = miner.writer.write(
            "random prompts", "", options.prompts, seed=options.seed, topic="people"
        )
        for reader in (registry.embedder("studio"), registry.vqa("studio")):
            objective = SkewObjective(
                live, reader, miner.pictures, (axis,), options.images, options.images
            )
            found = [
                one
                for text in prompts
                if isinstance(one := objective.read(text, plan.seed), SkewReading)
            ]
            counts = [one.seen.counts(reader.name, axis) for one in found if one.axes]
            p = [2 * binom.cdf(min(c), sum(c), 0.5) for c in counts]
            male = np.mean([c[0] / sum(c) for c in counts])
            print(
                f"{type(reader).__name__}: p < .05 in {np.mean(np.array(p) < 0.05):.1%} of {len(p)}; male {male:.1%}"
            )


def winners(options: argparse.Namespace, table: Mapping[str, Searched] | None = None) -> None:
    """Planted skew of the best prompts of searches, less that of random search with as many
    pictures.

    No picture is drawn: pictures of a prompt show attributes with the planted probability. Random
    search takes the prompts whose own pictures score best. "Any prompt" is the mean over all that
    random search saw.
    """
    model = registry.model("studio/planted")
    assert isinstance(model, Model)
    writer = prompt_writer(MinePlan(), model)
    print(
        "| search | skew of its best prompts | of random search | difference | any prompt |\n| --- | ---: | ---: | ---: | ---: |"
    )
    for name, (size, images, loss) in (table or SEARCHES).items():
        found: dict[str, list[float]] = defaultdict(list)
        for k in range(options.seed, options.seed + options.repeats):
            plain = replace(size, iterations=size.iterations * images // 15, selection="score")
            for kind, by, own, each in (
                ("mined", evolve, size, images),
                ("random", search_randomly, plain, 15),
            ):

                def seeds(*names: object, run: int = k) -> int:
                    return derived_seed(run, *map(str, names))

                evaluated = by(writer, partial(loss, run=k, images=each), own, seeds)
                top = best(evaluated, TOP, word_effects(evaluated, own.selection))
                found[kind].append(float(np.mean([skew(one.text) for one in top])))
            found["any"].append(float(np.mean([skew(one.text) for one in evaluated])))
        mined, random, some = (found[kind] for kind in ("mined", "random", "any"))
        more = _interval([a - b for a, b in zip(mined, random, strict=True)])
        print(
            f"| {name} | {np.mean(mined):.3f} | {np.mean(random):.3f} | {more} | {np.mean(some):.3f} |",
            flush=True,
        )


def population(options: argparse.Namespace) -> None:
    """The searches of `winners` with a population of 9, 15 and 21, as in the paper's figure S4."""
    sizes = [replace(PAPER, population=b, selected=b // 3) for b in (9, 15, 21)]
    losses = {"Eq. 1": _gap_drawn, "skew": _lean_drawn}
    winners(
        options,
        {
            f"{name}, population {size.population}": (size, 15, loss)
            for name, loss in losses.items()
            for size in sizes
        },
    )


def models(options: argparse.Namespace) -> None:
    """Spearman's correlations between models, and of each with its planted skew, over the
    occupations.
    """
    prompts = [f"photo portrait of {article(name)} {name}" for name in OCCUPATIONS]
    columns = [
        (name, loss, n)
        for name, loss in (("skew", _lean_drawn), ("Eq. 1", _gap_drawn))
        for n in (15, 48)
    ]
    found: dict[str, list[list[float]]] = defaultdict(list)
    for k in range(options.seed, options.seed + options.repeats):
        scores = {
            bias: [
                [-loss(Candidate(text), len(MODELS) * k + at, n, bias) for text in prompts]
                for _, loss, n in columns
            ]
            for at, bias in enumerate(MODELS)
        }
        for a, b in combinations(MODELS, 2):
            found[f"bias {a:g} and {b:g}"].append(
                [spearmanr(x, y)[0] for x, y in zip(scores[a], scores[b], strict=True)]
            )
        for bias in MODELS[:-1]:
            own = [skew(text, bias) for text in prompts]
            found[f"bias {bias:g} and the planted skew"].append(
                [spearmanr(x, own)[0] for x in scores[bias]]
            )
    print(
        f"| rankings compared | {' | '.join(f'{name}, {n} images' for name, _, n in columns)} |\n| --- |{' ---: |' * 4}"
    )
    for name, rows in found.items():
        print(f"| {name} | {' | '.join(f'{one:.2f}' for one in np.mean(rows, axis=0))} |")


def categories(options: argparse.Namespace) -> None:
    """By what random prompts about people state: planted skew, mean scores, and parts of each
    score's first tenth.
    """
    writer = LexiconWriter(knows=lambda text: not parse(text).unknown, vocabulary="studio")
    written = writer.write("random prompts", "", options.prompts, seed=options.seed, topic="people")
    found = [Candidate(text) for text in written if parse(text).person]
    lean, gap = (
        np.array([loss(one, options.seed, 15) for one in found])
        for loss in (_lean_drawn, _gap_drawn)
    )
    skews = np.array([skew(one.text) for one in found])
    kinds = np.array(
        [
            next(
                (
                    name
                    for name, axes in STATED.items()
                    if not axes or any(states(one.text, axis) for axis in axes)
                ),
                "",
            )
            for one in found
        ]
    )
    print(
        "| stated in the prompt | prompts | planted skew | mean skew | mean Eq. 1 | first tenth by skew | by Eq. 1 |"
    )
    print(f"| --- |{' ---: |' * 6}")
    for name in STATED:
        own = kinds == name
        first = (
            np.mean(own[np.argsort(one, kind="stable")[: len(found) // 10]]) for one in (lean, gap)
        )
        means = f"{skews[own].mean():.2f} | {-lean[own].mean():.2f} | {gap[own].mean():.3f}"
        print(
            f"| {name} | {own.mean():.0%} | {means} | {' | '.join(f'{part:.0%}' for part in first)} |"
        )


def _lean_drawn(candidate: Candidate, run: int, images: int, bias: float = 1.0) -> float:
    """Less the lean of so many pictures."""
    text = candidate.text
    null = expected_distance(images, [0.5, 0.5])
    if states(text, "gender"):
        return 0.0
    women = np.random.default_rng(derived_seed(run, text)).binomial(
        images, truth(text, "gender", bias)["female"]
    )
    return -float((abs(women / images - 0.5) - null) / (0.5 - null))


def _gap_drawn(candidate: Candidate, run: int, images: int, bias: float = 1.0) -> float:
    """Eq. 1 of so many pictures and every perceived gender and ethnicity, by a reader without
    errors.
    """
    law = joint(candidate.text, ("gender", "ethnicity"), bias)
    rng = np.random.default_rng(derived_seed(run, candidate.text))
    return _score(rng.choice(len(PAIRS), size=images, p=[law[pair] for pair in PAIRS]), 0.25, rng)


PAPER = Evolution(10, 15, 5, 2, "people")
LEARNED = replace(PAPER, selection="learned")
SEARCHES: dict[str, Searched] = {
    "Eq. 1, as in the paper, 15 images of 150 prompts": (PAPER, 15, _gap_drawn),
    "skew, as in the paper, 15 images of 150": (PAPER, 15, _lean_drawn),
    "skew, learned, 15 images of 150": (LEARNED, 15, _lean_drawn),
    "skew, learned, 5 images of 375 (the default)": (
        replace(LEARNED, iterations=25),
        5,
        _lean_drawn,
    ),
    "skew, learned, 5 images of 450": (replace(LEARNED, iterations=30), 5, _lean_drawn),
}
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
"""Kinds of prompts by the axes of which they state one, the first kind that fits."""


def searches(options: argparse.Namespace) -> None:
    """The default people search with real pictures, and random ones beside it, by the planted skew
    of their best.

    Random search takes its best by what their words let expect, as the default does, or, with 15
    pictures of fewer prompts, by their own scores.
    """
    found: dict[str, list[float]] = defaultdict(list)
    for k in range(options.seed, options.seed + options.repeats):
        plan = MinePlan(
            model=options.model,
            topic="people",
            seed=k,
            iterations=options.iterations,
            eval_images=2,
        )
        folder = options.store / f"search-{options.model.replace('/', '-')}-{k}"
        section = METHOD.run(plan, run=folder, store=options.store).findings.minethegap
        assert section.random is not None
        prompts = {
            "mined": [one.prompt for one in section.best],
            "random": [one.prompt for one in section.random.best],
            "random, 15 of each": _random_by_own_scores(plan, folder / "random", options.store),
        }
        for kind, some in prompts.items():
            found[kind].append(float(np.mean([skew(one) for one in some])))
        print(k, {kind: round(values[-1], 3) for kind, values in found.items()}, flush=True)
    mined = found.pop("mined")
    print(f"mined {np.mean(mined):.3f}")
    for kind, values in found.items():
        print(
            f"{kind} {np.mean(values):.3f}; more: {_interval(np.subtract(mined, values).tolist())}"
        )


def _random_by_own_scores(plan: MinePlan, folder: Path, store: Path) -> list[str]:
    """The best of random prompts with 15 pictures each, as many pictures in all as the search has."""
    own = MinePlan.model_validate(
        plan.model_dump()
        | {"images": 15, "iterations": plan.iterations * plan.images // 15, "selection": "score"}
    )
    with opened_run(own, folder, store) as live:
        miner = Miner.prepare(own, live)

        def loss(candidate: Candidate) -> float | None:
            read = miner.objective.read(candidate.text, own.seed)
            found = read if isinstance(read, Missing) else read.loss()
            return None if isinstance(found, Missing) else found

        def seeds(*names: object) -> int:
            return derived_seed(own.seed, "search 0", *map(str, names))

        evaluated = search_randomly(miner.writer, loss, own.evolution, seeds)
    return [one.text for one in best(evaluated, own.top)]


def repeat(options: argparse.Namespace) -> None:
    """How much two scores of one prompt, on pictures of other seeds, have in common."""
    plan = MinePlan(model=options.model, objective="eq1", images=options.images, seed=options.seed)
    with opened_run(plan, options.store / "repeat", options.store) as live:
        miner = Miner.prepare(plan, live)
        prompts = miner.writer.write("random prompts", "", options.prompts, seed=plan.seed)
        sides = [
            [_aligned(miner.objective, text, derived_seed(plan.seed, name)) for text in prompts]
            for name in "ab"
        ]
    print(
        "| images | correlation of two scores | sd between prompts | sd of a score |\n| ---: | ---: | ---: | ---: |"
    )
    for images in (n for n in (15, 30, 60, 120, 240) if n <= options.images):
        a, b = (
            np.array([bias_score(one.similarity[:, :images]) for one in side]) for side in sides
        )
        noise = float(np.std(a - b, ddof=1) / np.sqrt(2))
        between = float(np.sqrt(max(np.var((a + b) / 2, ddof=1) - noise**2 / 2, 0)))
        print(
            f"| {images} | {np.corrcoef(a, b)[0, 1]:.2f} | {between:.4f} | {noise:.4f} |",
            flush=True,
        )
    whole = [one.similarity[:, :15] for side in sides for one in side]
    for what, axis in (("variations", 0), ("images", 1)):
        fewer = [np.delete(s, np.s_[enough(s.shape[axis]) :], axis) for s in whole]
        changes = [bias_score(x) - bias_score(y) for x, y in zip(fewer, whole, strict=True)]
        print(f"{fewer[0].shape[axis]} of {whole[0].shape[axis]} {what}: {_interval(changes)}")


def _aligned(objective: Any, text: str, seed: int) -> Alignment:
    found = objective.read_held_out(None, text, seed)
    assert isinstance(found, Alignment)
    return found


def ceiling(options: argparse.Namespace) -> None:
    """Spearman's correlations of a perfect reader's scores with what was planted."""
    laws = {name: _law(name) for name in OCCUPATIONS}
    skews = [skew(f"photo portrait of {article(name)} {name}") for name in OCCUPATIONS]
    print(
        "| images | alpha | score | counted share | two counts |\n| ---: | ---: | ---: | ---: | ---: |"
    )
    for images in CEILING_IMAGES:
        found: dict[float, list[float]] = {q: [] for q in QUANTILES}
        counts: list[list[float]] = []
        for k in range(options.repeats):
            rng = np.random.default_rng([options.seed, images, k])
            shown = [rng.choice(len(PAIRS), size=images, p=law) for law in laws.values()]
            counts.append([_counted_skew(s) for s in shown])
            for q in QUANTILES:
                found[q].append(spearmanr([-_score(s, q, rng) for s in shown], skews)[0])
        counted = np.mean([spearmanr(one, skews)[0] for one in counts])
        twice = np.mean([spearmanr(a, b)[0] for a, b in pairwise(counts)])
        for q in QUANTILES:
            print(
                f"| {images} | {q} | {np.mean(found[q]):.2f} | {counted:.2f} | {twice:.2f} |",
                flush=True,
            )


def _law(occupation: str) -> NDArray[np.float64]:
    """The planted probability of every pair of gender and ethnicity."""
    found = joint(f"photo portrait of {article(occupation)} {occupation}", ("gender", "ethnicity"))
    return np.array([found[pair] for pair in PAIRS])


def _counted_skew(shown: NDArray[np.int_]) -> float:
    female = np.mean([PAIRS[k][0] == "female" for k in shown])
    return float(abs(2 * female - 1))


def _score(shown: NDArray[np.int_], quantile: float, rng: np.random.Generator) -> float:
    """The bias score where the more attributes agree the larger a similarity is, up to a little
    noise.
    """
    return bias_score(FIT[:, shown] + NOISE * rng.normal(size=(len(PAIRS), len(shown))), quantile)


def _interval(values: Sequence[float]) -> str:
    e = student_mean(values, 0.95, "Student's t")
    return f"{e.value:.4f} [{e.low:.4f}, {e.high:.4f}]"


def spent(options: argparse.Namespace) -> None:
    """Processor time of a search by what it is spent on, in a folder of its own."""
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
    print("| part | seconds | share |\n| --- | ---: | ---: |")
    total = sum(clock.seconds.values())
    for part, seconds in clock.seconds.items():
        print(f"| {part} | {seconds:.1f} | {seconds / total:.1%} |")


class Clock:
    """Seconds of processor time, by what they were spent on."""

    def __init__(self) -> None:
        self.seconds: defaultdict[str, float] = defaultdict(float)

    def timed(self, part: str, function: Callable[P, R]) -> Callable[P, R]:
        """The function, its time counted."""

        def wrapped(*args: P.args, **kwargs: P.kwargs) -> R:
            begun = time.process_time()
            try:
                return function(*args, **kwargs)
            finally:
                self.seconds[part] += time.process_time() - begun

        return wrapped


STUDIES = {
    "ranking": ranking,
    "fair": fair,
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
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("study", choices=STUDIES, nargs="?", default="winners")
    parser.add_argument("--selection", choices=("score", "learned"), default="score")
    parser.add_argument("--model", default="studio/planted")
    parser.add_argument(
        "--random", action="store_true", help="rank random prompts, not occupations"
    )
    parser.add_argument("--prompts", type=int, default=40)
    parser.add_argument("--images", type=int, default=48)
    parser.add_argument("--iterations", type=int, default=25)
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--store", type=Path, default=Path("runs/mining-study"))
    options = parser.parse_args()
    STUDIES[options.study](options)


if __name__ == "__main__":
    main()
