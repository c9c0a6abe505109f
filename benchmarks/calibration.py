"""Measured coverage of the intervals of CAS and MAD, and rate of false alarms of MAD's p-value, by
simulation.

    python -m benchmarks.calibration --runs 1000 --draws 400 [cas] [mad] [domain] [fair]

Pictures are drawn from known populations: some questions with exactly one answer each, and words of
a caption that are there or not. The population scores are exact, so an interval is right or wrong
without doubt. Prints Markdown tables.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from askew.stats.association import cas, mad
from askew.stats.association_intervals import associations
from askew.stats.concept_shift import concept_shift
from askew.stats.fair_null import fair_histograms
from askew.stats.intervals import bootstrap_errors, ends, p_value
from askew.stats.means import mean_cas, mean_cas_contrast, student_mean

Floats = NDArray[np.float64]
SIZES = {
    "5 concepts": ((2, 3), 0),
    "23 concepts": ((2, 3, 6), 12),
    "60 concepts": ((2, 3, 6, 2, 4, 3), 40),
}
ALARM = 0.05


@dataclass(frozen=True)
class Population:
    """P(answer) of each question, and P(word) of each word of the caption."""

    questions: tuple[Floats, ...]
    words: Floats

    @property
    def histogram(self) -> Floats:
        return np.concatenate([*self.questions, self.words])

    def sample(self, n: int, rng: np.random.Generator) -> Floats:
        """Concept counts of n pictures: (n, concepts)."""
        answers = [np.eye(len(q))[rng.choice(len(q), size=n, p=q)] for q in self.questions]
        return np.concatenate([*answers, rng.random((n, len(self.words))) < self.words], axis=1)

    def shifted(self, share: float, rng: np.random.Generator) -> Population:
        """A share of every distribution replaced by a random one."""
        moved = [
            (1 - share) * q + share * rng.dirichlet(np.full(len(q), 0.5)) for q in self.questions
        ]
        return Population(
            tuple(moved), (1 - share) * self.words + share * rng.permutation(self.words)
        )

    def with_answer(self, value: int) -> Population:
        """The first question always answered with that value."""
        return Population((np.eye(len(self.questions[0]))[value], *self.questions[1:]), self.words)


def population(questions: tuple[int, ...], words: int, rng: np.random.Generator) -> Population:
    """Random answers; words whose frequency falls with their rank, from .9 to about .03."""
    answers = tuple(rng.dirichlet(np.full(k, 1.5)) for k in questions)
    return Population(answers, np.asarray(0.9 / np.arange(1, words + 1) ** 0.9))


def pairs(base: Population) -> Iterator[tuple[str, Population, Population]]:
    """Named pairs of populations, from equal to very different."""
    yield "equal", base, base
    yield "one question differs", base, base.with_answer(1)
    for name, share in (("slight", 0.1), ("moderate", 0.3), ("strong", 0.7), ("all new", 1.0)):
        yield name, base, base.shifted(share, np.random.default_rng(7))
    odd = np.arange(len(base.words)) % 2
    first = Population(tuple(np.eye(len(q))[0] for q in base.questions), base.words * odd)
    second = Population(tuple(np.eye(len(q))[1] for q in base.questions), base.words * (1 - odd))
    yield "nothing shared", first, second
    rarely = tuple(0.98 * q + 0.02 * np.eye(len(q))[0] for q in second.questions)
    yield "hardly anything shared", first, Population(rarely, second.words)


@dataclass
class Tally:
    """Intervals seen so far for one population score."""

    truth: float
    above: int = 0
    below: int = 0
    width: float = 0.0
    value: float = 0.0
    total: int = 0

    def add(self, value: float, low: float, high: float) -> None:
        self.above += low > self.truth + 1e-9
        self.below += high < self.truth - 1e-9
        self.width += high - low
        self.value += value
        self.total += 1

    def row(self) -> str:
        mean = self.value / self.total
        width = self.width / self.total
        covered = 1 - (self.above + self.below) / self.total
        return f"{self.truth:.3f} | {mean:.3f} | {covered:.3f} | {self.above} | {self.below} | {width:.3f}"


HEADER = "true score | mean plug-in | coverage | interval too high | too low | mean width"


def cas_coverage(repeats: int, draws: int, sizes: list[int]) -> None:
    print(f"| images | concepts | populations | {HEADER} |\n" + "|---" * 9 + "|")
    for n in sizes:
        for size, (questions, words) in SIZES.items():
            base = population(questions, words, np.random.default_rng(5))
            for name, a, b in pairs(base):
                tally = Tally(float(cas(a.histogram, b.histogram)))
                rng = np.random.default_rng(0)
                for _ in range(repeats):
                    first = a.sample(n, rng)
                    second = b.sample(n, rng)
                    errors = [bootstrap_errors(s, draws, rng) for s in (first, second)]
                    shift = concept_shift(first, second, errors[0], errors[1], rng)
                    tally.add(shift.score, *shift.interval(0.95)[:2])
                print(f"| {n} | {size.split()[0]} | {name} | {tally.row()} |", flush=True)


def axis(k: int, words: int, elsewhere: float, rng: np.random.Generator) -> list[Population]:
    """K populations that differ completely on the first question and by `elsewhere` on everything
    else.
    """
    base = population((k, 2, 3, 4), words, rng)
    return [base.shifted(elsewhere, rng).with_answer(value) for value in range(k)]


def mixture(
    populations: list[Population], shares: Floats, n: int, rng: np.random.Generator
) -> Floats:
    counts = rng.multinomial(n, shares)
    return np.concatenate([p.sample(m, rng) for p, m in zip(populations, counts, strict=True)])


def mad_coverage(repeats: int, draws: int, sizes: list[int]) -> None:
    """Print coverage for MAD and the CAS contrast of the first value.

    Planted worlds differ only on the axis, dense worlds everywhere.
    """
    columns = "images | K | world | bias | true MAD | mean plug-in | mean debiased | coverage | mean width | excludes 0"
    print(f"| {columns} | coverage of the contrast |\n" + "|---" * 11 + "|")
    for n, k, (world, elsewhere) in itertools.product(
        sizes, (2, 4, 6), (("planted", 0.0), ("dense", 0.3))
    ):
        populations = axis(k, 12, elsewhere, np.random.default_rng(k))
        for lean in (0.0, 0.3, 0.7, 1.0):
            shares = (1 - lean) / k + lean * np.eye(k)[0]
            mixed = sum(s * p.histogram for s, p in zip(shares, populations, strict=True))
            scores = np.array([cas(mixed, p.histogram) for p in populations])
            truth = float(mad(scores))
            apart = float(scores[0] - scores[1:].mean())
            rng = np.random.default_rng(0)
            rows = []
            for _ in range(repeats):
                sets = [p.sample(n, rng) for p in populations]
                result = associations(
                    mixture(populations, shares, n, rng), sets, rng=rng, draws=draws
                )
                (low, high), (left, right) = ends(result.mad), ends(result.cas_contrast[0])
                rows.append(
                    (
                        result.mad.value,
                        result.mad.mark,
                        low <= truth + 1e-9 and truth <= high + 1e-9,
                        high - low,
                        low > 0,
                        left <= apart <= right,
                    )
                )
            cells = " | ".join(f"{mean:.3f}" for mean in np.mean(rows, axis=0))
            print(f"| {n} | {k} | {world} | {lean} | {truth:.3f} | {cells} |", flush=True)


DOMAINS = 4_000


def domain_coverage(repeats: int, draws: int, sizes: list[int]) -> None:
    """Print coverage for means over prompts, each with its world and its bias, two values.

    Domains of several sizes are drawn from as many prompts as there are runs.
    """
    columns = "images | concepts | world | mean of | true | mean plug-in | mean debiased | prompts | coverage | mean width"
    print(f"| {columns} | coverage, Student's | width, Student's |\n" + "|---" * 12 + "|")
    worlds = itertools.product(sizes, (12, 40), (("planted", 0.0), ("dense", 0.3)))
    for n, words, (world, elsewhere) in worlds:
        rng = np.random.default_rng(0)
        rows = []
        for lean in rng.uniform(-0.4, 1.0, repeats):
            populations = axis(2, words, elsewhere, rng)
            shares = np.array([1 + lean, 1 - lean]) / 2
            mixed = shares @ [p.histogram for p in populations]
            first, other = (float(cas(mixed, p.histogram)) for p in populations)
            sets = [p.sample(n, rng) for p in populations]
            result = associations(mixture(populations, shares, n, rng), sets, rng=rng, draws=draws)
            estimate = result.cas[0]
            apart = result.cas_contrast[0]
            rows.append(
                (
                    (first, estimate.value, estimate.mark, result.apart[0]),
                    (first - other, apart.value, apart.mark, apart.value),
                )
            )
        concepts = len(populations[0].histogram)
        means_of = {"CAS": mean_cas, "CAS difference": mean_cas_contrast}
        for (name, mean), of in zip(means_of.items(), np.array(rows).swapaxes(0, 1), strict=True):
            truth, plug_in, mark, _ = of.mean(axis=0)
            for prompts in (4, 12, 26):
                drawn = of[rng.integers(0, repeats, (DOMAINS, prompts))]
                means = [
                    (*ends(mean(group[:, 2], group[:, 3])), *ends(student_mean(group[:, 2])))
                    for group in drawn
                ]
                means = np.mean(
                    [
                        (low <= truth <= high, high - low, left <= truth <= right, right - left)
                        for low, high, left, right in means
                    ],
                    axis=0,
                )
                numbers = " | ".join(f"{x:.3f}" for x in (truth, plug_in, mark))
                cells = " | ".join(f"{x:.3f}" for x in means)
                print(
                    f"| {n} | {concepts} | {world} | {name} | {numbers} | {prompts} | {cells} |",
                    flush=True,
                )


def fair_alarms(repeats: int, draws: int, sizes: list[int]) -> None:
    print(
        "| images | K | words | axes | p < .05 | p < .5 | mean MAD | mean null |\n"
        + "|---" * 8
        + "|"
    )
    for n in sizes:
        for k in (2, 3, 4, 6):
            for words in (0, 12, 40):
                rng = np.random.default_rng(3)
                results = []
                for i in range(repeats):
                    populations = axis(k, words, 0.2 * (i % 2), rng)
                    sets = [p.sample(n, rng) for p in populations]
                    initial = mixture(populations, np.full(k, 1 / k), n, rng)
                    value = float(
                        mad(np.array([cas(initial.mean(axis=0), s.mean(axis=0)) for s in sets]))
                    )
                    null = mad(np.moveaxis(cas(*fair_histograms(initial, sets, draws, rng)), 0, -1))
                    results.append((p_value(value, null), value, null.mean()))
                p, values, nulls = np.array(results).T
                rates = f"{(p < ALARM).mean():.3f} | {(p < 0.5).mean():.3f} | {values.mean():.3f} | {nulls.mean():.3f}"
                print(f"| {n} | {k} | {words} | {repeats} | {rates} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "parts", nargs="*", default=[], help="cas, mad, domain, fair; all without any"
    )
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--draws", type=int, default=400)
    parser.add_argument("--pictures", type=int, nargs="+", default=[24, 48, 192])
    options = parser.parse_args()
    tables = {
        "cas": cas_coverage,
        "mad": mad_coverage,
        "domain": domain_coverage,
        "fair": fair_alarms,
    }
    for part in options.parts or tables:
        print(f"\n{part}, {options.runs} runs, {options.draws} draws\n")
        tables[part](options.runs, options.draws, options.pictures)


if __name__ == "__main__":
    main()
