"""Measure the coverage of the intervals of CAS and MAD, and the false alarms of MAD's p-value.

    python -m benchmarks.calibration_associations --runs 1000 --draws 400 [cas] [mad] [domain] [fair]

Images are drawn from known populations: some questions with exactly one answer each, and words of a
caption that are there or not. The population scores are exact, so each interval is known to contain
the true score or not. The script prints Markdown tables.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from askew.stats.association import cas, mad
from askew.stats.association_intervals import associations
from askew.stats.concept_shift import concept_shift
from askew.stats.fair_null import fair_histograms
from askew.stats.intervals import bootstrap_errors, ends, p_value
from askew.stats.means import mean_cas, mean_cas_contrast, student_mean
from askew.types import Estimate
from benchmarks.markdown import numbers, table_row

Floats = NDArray[np.float64]
SIZES = {
    "5 concepts": ((2, 3), 0),
    "23 concepts": ((2, 3, 6), 12),
    "60 concepts": ((2, 3, 6, 2, 4, 3), 40),
}
"""Numbers of answers of the questions, and number of words."""

WORLDS = (("planted", 0.0), ("dense", 0.3))
"""Names of worlds, and difference of the values' populations in everything but the axis."""

ALARM = 0.05
TOLERANCE = 1e-9
DOMAINS = 4_000
"""Number of domains that are drawn from the simulated prompts."""

PROMPTS = (4, 12, 26)
"""Sizes of domains."""


@dataclass(frozen=True)
class Population:
    """Probabilities of the answers to each question, and of each word of the caption."""

    questions: tuple[Floats, ...]
    words: Floats

    @property
    def histogram(self) -> Floats:
        """Probabilities of all concepts: (concepts,)."""
        return np.concatenate([*self.questions, self.words])

    def sample(self, n: int, rng: np.random.Generator) -> Floats:
        """Draw the concept counts of n images: (n, concepts)."""
        answers = [np.eye(len(q))[rng.choice(len(q), size=n, p=q)] for q in self.questions]
        return np.concatenate([*answers, rng.random((n, len(self.words))) < self.words], axis=1)

    def shifted(self, share: float, rng: np.random.Generator) -> Population:
        """Return a population in which a share of every distribution is random."""
        questions = []
        for q in self.questions:
            questions.append((1 - share) * q + share * rng.dirichlet(np.full(len(q), 0.5)))
        words = (1 - share) * self.words + share * rng.permutation(self.words)
        return Population(questions=tuple(questions), words=words)

    def with_answer(self, value: int) -> Population:
        """Return a population in which the first question always has a certain answer."""
        first = np.eye(len(self.questions[0]))[value]
        return Population(questions=(first, *self.questions[1:]), words=self.words)


def population(questions: tuple[int, ...], words: int, rng: np.random.Generator) -> Population:
    """Return a population with random answers.

    The frequency of words falls with their rank, from .9 to about .03.
    """
    answers = tuple(rng.dirichlet(np.full(k, 1.5)) for k in questions)
    frequencies = np.asarray(0.9 / np.arange(1, words + 1) ** 0.9)
    return Population(questions=answers, words=frequencies)


def pairs(base: Population) -> Iterator[tuple[str, Population, Population]]:
    """Yield named pairs of populations, from equal to very different."""
    yield "equal", base, base
    yield "one question differs", base, base.with_answer(1)
    for name, share in (("slight", 0.1), ("moderate", 0.3), ("strong", 0.7), ("all new", 1.0)):
        yield name, base, base.shifted(share, np.random.default_rng(7))
    odd = np.arange(len(base.words)) % 2
    first_answers = tuple(np.eye(len(q))[0] for q in base.questions)
    second_answers = tuple(np.eye(len(q))[1] for q in base.questions)
    first = Population(questions=first_answers, words=base.words * odd)
    second = Population(questions=second_answers, words=base.words * (1 - odd))
    yield "nothing shared", first, second
    rarely = tuple(0.98 * q + 0.02 * np.eye(len(q))[0] for q in second_answers)
    yield "hardly anything shared", first, Population(questions=rarely, words=second.words)


@dataclass
class Tally:
    """Counts and sums of the intervals of a population score.

    Attributes
    ----------
    truth
        The population score.
    above, below
        Numbers of intervals above and below the true score.
    width, value, mark
        Sums of widths, of plug-in scores and of debiased scores.
    total
        Number of intervals.
    """

    truth: float
    above: int = 0
    below: int = 0
    width: float = 0.0
    value: float = 0.0
    mark: float = 0.0
    total: int = 0

    def add(self, value: float, low: float, high: float, mark: float) -> None:
        """Count an interval and its debiased score."""
        self.above += low > self.truth + TOLERANCE
        self.below += high < self.truth - TOLERANCE
        self.width += high - low
        self.value += value
        self.mark += mark
        self.total += 1

    def row(self) -> str:
        """Return the cells of the tally."""
        means = (self.value / self.total, self.mark / self.total)
        covered = 1 - (self.above + self.below) / self.total
        width = f"{self.width / self.total:.3f}"
        counts = (str(self.above), str(self.below))
        return " | ".join([*numbers([self.truth, *means, covered]), *counts, width])


HEADER = "true score | mean plug-in | mean debiased | coverage | interval too high | too low | mean width"


def cas_coverage(repeats: int, draws: int, sizes: list[int]) -> None:
    """Print the coverage of the intervals of CAS."""
    print(f"| images | concepts | populations | {HEADER} |\n" + "|---" * 10 + "|")
    for n, (size, (questions, words)) in itertools.product(sizes, SIZES.items()):
        base = population(questions, words, np.random.default_rng(5))
        for name, first, second in pairs(base):
            tally = _cas_tally(first, second, n, repeats, draws)
            print(table_row(str(n), size.split()[0], name, tally.row()), flush=True)


def _cas_tally(first: Population, second: Population, n: int, repeats: int, draws: int) -> Tally:
    tally = Tally(float(cas(first.histogram, second.histogram)))
    rng = np.random.default_rng(0)
    for _ in range(repeats):
        samples = [first.sample(n, rng), second.sample(n, rng)]
        errors = [bootstrap_errors(sample, draws, rng) for sample in samples]
        shift = concept_shift(samples[0], samples[1], errors[0], errors[1], rng)
        interval = shift.interval(0.95)
        tally.add(shift.score, interval.low, interval.high, interval.debiased)
    return tally


def axis(k: int, words: int, elsewhere: float, rng: np.random.Generator) -> list[Population]:
    """Return the populations of the k values of an axis.

    They differ completely on the first question, and by `elsewhere` on everything else.
    """
    base = population((k, 2, 3, 4), words, rng)
    return [base.shifted(elsewhere, rng).with_answer(value) for value in range(k)]


def mixture(
    populations: list[Population], shares: Floats, n: int, rng: np.random.Generator
) -> Floats:
    """Draw n images from a mixture of populations: (n, concepts)."""
    counts = rng.multinomial(n, shares)
    return np.concatenate([p.sample(m, rng) for p, m in zip(populations, counts, strict=True)])


def mad_coverage(repeats: int, draws: int, sizes: list[int]) -> None:
    """Print the coverage of the intervals of MAD and of the CAS contrast of the first value.

    Planted worlds differ only on the axis, dense worlds everywhere.
    """
    columns = ("images", "K", "world", "bias", "true MAD", "mean plug-in", "mean debiased")
    rates = ("coverage", "mean width", "excludes 0", "coverage of the contrast")
    print(table_row(*columns, *rates) + "\n" + "|---" * 11 + "|")
    for n, k, (world, elsewhere) in itertools.product(sizes, (2, 4, 6), WORLDS):
        populations = axis(k, 12, elsewhere, np.random.default_rng(k))
        for bias in (0.0, 0.3, 0.7, 1.0):
            shares = (1 - bias) / k + bias * np.eye(k)[0]
            simulation = AxisSimulation(populations=populations, shares=shares, n=n)
            rng = np.random.default_rng(0)
            rows = [simulation.mad_row(draws, rng) for _ in range(repeats)]
            cells = (f"{simulation.mad:.3f}", *numbers(np.mean(rows, axis=0)))
            print(table_row(str(n), str(k), world, str(bias), *cells), flush=True)


class AxisSimulation:
    """Simulated audits of an axis, with n images of the prompt and of each counterfactual.

    Attributes
    ----------
    scores
        True CAS of each value: (K,).
    mad
        True MAD.
    contrast
        True CAS of the first value minus the mean of the other values.
    """

    def __init__(self, populations: list[Population], shares: Floats, n: int) -> None:
        self._populations = populations
        self._shares = shares
        self._n = n
        mixed = sum(s * p.histogram for s, p in zip(shares, populations, strict=True))
        self.scores = np.array([cas(mixed, p.histogram) for p in populations])
        self.mad = float(mad(self.scores))
        self.contrast = float(self.scores[0] - self.scores[1:].mean())

    def mad_row(self, draws: int, rng: np.random.Generator) -> tuple[float, ...]:
        """Return plug-in, debiased MAD, coverage, width, exclusion of 0, contrast's coverage."""
        sets = [p.sample(self._n, rng) for p in self._populations]
        prompt = mixture(self._populations, self._shares, self._n, rng)
        result = associations(prompt, sets, rng=rng, draws=draws)
        low, high = ends(result.mad)
        contrast_low, contrast_high = ends(result.cas_contrast[0])
        return (
            result.mad.value,
            result.mad.mark,
            low <= self.mad + TOLERANCE and self.mad <= high + TOLERANCE,
            high - low,
            low > 0,
            contrast_low <= self.contrast <= contrast_high,
        )


MEANS: dict[str, Callable[[Floats, Floats], Estimate]] = {
    "CAS": mean_cas,
    "CAS difference": mean_cas_contrast,
}
"""Means over the prompts of a domain."""


def domain_coverage(repeats: int, draws: int, sizes: list[int]) -> None:
    """Print the coverage of the intervals of means over prompts.

    Each prompt has its world and its bias, and the axis has two values. Domains of several sizes are
    drawn from as many prompts as there are runs.
    """
    columns = ("images", "concepts", "world", "mean of", "true", "mean plug-in", "mean debiased")
    rates = ("prompts", "coverage", "mean width", "coverage, Student's", "width, Student's")
    print(table_row(*columns, *rates) + "\n" + "|---" * 12 + "|")
    for n, words, (world, elsewhere) in itertools.product(sizes, (12, 40), WORLDS):
        rng = np.random.default_rng(0)
        rows = []
        for bias in rng.uniform(-0.4, 1.0, repeats):
            populations = axis(2, words, elsewhere, rng)
            rows.append(_domain_rows(populations, bias, n, draws, rng))
        concepts = len(populations[0].histogram)
        for (name, mean), values in zip(MEANS.items(), np.array(rows).swapaxes(0, 1), strict=True):
            truth = numbers(values.mean(axis=0)[:3])
            for prompts in PROMPTS:
                cells = numbers(_domain_rates(mean, values, prompts, rng))
                head = (str(n), str(concepts), world, name, *truth, str(prompts))
                print(table_row(*head, *cells), flush=True)


def _domain_rows(
    populations: list[Population], bias: float, n: int, draws: int, rng: np.random.Generator
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return truth, plug-in, mark and contrast, of CAS and of the difference of CAS."""
    shares = np.array([1 + bias, 1 - bias]) / 2
    mixed = shares @ [p.histogram for p in populations]
    first, second = (float(cas(mixed, p.histogram)) for p in populations)
    sets = [p.sample(n, rng) for p in populations]
    result = associations(mixture(populations, shares, n, rng), sets, rng=rng, draws=draws)
    score = result.cas[0]
    contrast = result.cas_contrast[0]
    return (
        (first, score.value, score.mark, result.apart[0]),
        (first - second, contrast.value, contrast.mark, contrast.value),
    )


def _domain_rates(
    mean: Callable[[Floats, Floats], Estimate],
    values: Floats,
    prompts: int,
    rng: np.random.Generator,
) -> Floats:
    """Return coverage and width of the mean over domains, and of Student's interval: (4,)."""
    truth = values.mean(axis=0)[0]
    domains = values[rng.integers(0, len(values), (DOMAINS, prompts))]
    rates = []
    for domain in domains:
        low, high = ends(mean(domain[:, 2], domain[:, 3]))
        student_low, student_high = ends(student_mean(domain[:, 2]))
        rates.append(
            (
                low <= truth <= high,
                high - low,
                student_low <= truth <= student_high,
                student_high - student_low,
            )
        )
    return np.asarray(np.mean(rates, axis=0))


def fair_alarms(repeats: int, draws: int, sizes: list[int]) -> None:
    """Print the rate of false alarms of MAD's p-value in fair worlds."""
    print(
        "| images | K | words | axes | p < .05 | p < .5 | mean MAD | mean null |\n"
        + "|---" * 8
        + "|"
    )
    for n, k, words in itertools.product(sizes, (2, 3, 4, 6), (0, 12, 40)):
        rng = np.random.default_rng(3)
        results = []
        for i in range(repeats):
            populations = axis(k, words, 0.2 * (i % 2), rng)
            results.append(_fair_result(populations, n, draws, rng))
        p, values, nulls = np.array(results).T
        rates = numbers([(p < ALARM).mean(), (p < 0.5).mean(), values.mean(), nulls.mean()])
        print(table_row(str(n), str(k), str(words), str(repeats), *rates), flush=True)


def _fair_result(
    populations: Sequence[Population], n: int, draws: int, rng: np.random.Generator
) -> tuple[float, float, float]:
    """Return p, MAD and mean null of a simulated audit in a fair world."""
    k = len(populations)
    sets = [p.sample(n, rng) for p in populations]
    prompt = mixture(list(populations), np.full(k, 1 / k), n, rng)
    value = float(mad(np.array([cas(prompt.mean(axis=0), s.mean(axis=0)) for s in sets])))
    null = mad(np.moveaxis(cas(*fair_histograms(prompt, sets, draws, rng)), 0, -1))
    return p_value(value, null), value, null.mean()


TABLES = {
    "cas": cas_coverage,
    "mad": mad_coverage,
    "domain": domain_coverage,
    "fair": fair_alarms,
}


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "parts", nargs="*", default=[], help="parts to run: cas, mad, domain, fair [default: all]"
    )
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--draws", type=int, default=400)
    parser.add_argument("--pictures", type=int, nargs="+", default=[24, 48, 192])
    options = parser.parse_args()
    for part in options.parts or TABLES:
        print(f"\n{part}, {options.runs} runs, {options.draws} draws\n")
        TABLES[part](options.runs, options.draws, options.pictures)


if __name__ == "__main__":
    main()
