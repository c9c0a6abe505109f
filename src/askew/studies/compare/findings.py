"""Findings of `askew compare`: differences between scores, and a summary of them for each axis."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Generic, Protocol, Self, TypeVar

from askew import findings
from askew.conditions import Scores
from askew.findings import E, LocatedEstimate
from askew.methods.audit.findings import AuditFindings, AuditResult
from askew.stats.exchange import ExchangeTest
from askew.stats.significance import SIGNIFICANCE_LEVEL, is_significant
from askew.studies.compare.runs import ComparedResult
from askew.types import Estimate, Missing, grouped, record

R = TypeVar("R", bound=ComparedResult)
D = TypeVar("D", bound="Difference")

RUN_DISTANCE = "run_distance"
"""Name of the score that measures the distance between the shares of two runs."""

ALL_PROMPTS = "all prompts together"
"""Text that is shown in place of a prompt if a difference covers all prompts."""

SET_SCORES = ("share", "distance", RUN_DISTANCE)
"""Scores that describe an image set. Scores that are not listed describe an axis."""

AXIS_SCORES = ("mad", "cas", "wasserstein", "standard_deviation", "mad_clip", "cas_clip")
"""Scores that an axis has only if the plan contains counterfactual prompts for that axis."""

SCORE_FIELDS = ("prompt", "axis", "set", "value", "instrument")
"""Fields that identify a score of a run."""


@record
class ScoreDifference:
    """Difference in a score between two runs (second minus first).

    Attributes
    ----------
    score
        Name of the score: mad, wasserstein, standard_deviation, cas, mad_clip, cas_clip, share,
        distance or run_distance. wasserstein and standard_deviation are alternatives to mad.
        mad_clip and cas_clip use embeddings. run_distance is the distance between the shares of the
        two runs. run_distance is never negative, and its test decides whether the runs differ.
    prompt, axis, instrument
        Prompt, axis, and the instrument that labels the images.
    set
        Image set that a share or a distance describes; None for scores that describe an axis with
        counterfactuals.
    value
        Value whose share or CAS is compared; None for other scores.
    runs
        Names of the first and the second run.
    difference
        The difference, or the reason why it is missing.
    exact_p
        p-value of the permutation test. Permutations that are exactly as extreme as the observed
        result count fully. In the mid-p value, which is the `p` of `difference`, permutations that
        are exactly as extreme count half.
    smallest_p
        Smallest mid-p value that any permutation of the images could yield.
    prompts
        Number of prompts if their images are compared together, paired by prompt. In this case,
        `prompt` is "all prompts together". None for a difference on a single prompt.
    of_runs
        Share of the value over all these prompts, in the first run and in the second run. None for
        a difference on a single prompt.
    """

    score: str
    prompt: str
    axis: str
    set: str | None
    value: str | None
    instrument: str
    runs: tuple[str, str]
    difference: E
    exact_p: float | None = None
    smallest_p: float | None = None
    prompts: int | None = None
    of_runs: tuple[Estimate, Estimate] | None = None

    @property
    def of_prompt(self) -> bool:
        """True for images of a prompt or condition, False for counterfactual images of the axis."""
        return self.set is None or not self.set.startswith(f"{self.axis}: ")

    def tested(self, test: ExchangeTest) -> Self:
        """Return a copy of the difference that also contains the results of a permutation test."""
        return replace(self, exact_p=test.exact_p, smallest_p=test.smallest_p)

    def with_missing(self, count: int) -> Self:
        """Return a copy of the difference that also states how many images are unlabeled."""
        if isinstance(self.difference, Missing):
            return self
        return replace(self, difference=replace(self.difference, missing=count))

    def swapped(self) -> Self:
        """Return the difference with the two runs swapped."""
        of_runs = self.of_runs and self.of_runs[::-1]
        swapped = replace(self, runs=self.runs[::-1], of_runs=of_runs)
        difference = self.difference
        if isinstance(difference, Missing) or difference.low is None or difference.high is None:
            return swapped
        negative = replace(
            difference,
            value=0.0 - difference.value,
            low=0.0 - difference.high,
            high=0.0 - difference.low,
            debiased=0.0 - difference.mark,
        )
        return replace(swapped, difference=negative)


def scored(
    entries: Iterable[ScoreDifference], score: str | None = None
) -> Iterator[LocatedEstimate]:
    """Yield each measured difference, with the fields that identify it, such as model "B minus A".

    Parameters
    ----------
    entries
        The differences.
    score
        Name of the score whose differences are yielded. None for all scores.
    """
    for place, entry in enumerate(entries):
        if isinstance(entry.difference, Estimate) and score in (None, entry.score):
            fields = {name: getattr(entry, name) for name in SCORE_FIELDS}
            names = {name: text for name, text in fields.items() if text is not None}
            names["model"] = f"{entry.runs[1]} minus {entry.runs[0]}"
            yield LocatedEstimate(entry.score, (place, "difference"), names, entry.difference)


SCORES: Scores = {name: partial(scored, score=name) for name in (*AXIS_SCORES, *SET_SCORES)}
"""Scores that --fail-if accepts."""


RunPair = tuple[str, str]
"""Names of two runs (A, B). Differences are B minus A."""

ScoreKey = tuple[str | None, ...]
"""Name of a score, followed by the values of `SCORE_FIELDS` for the score.

For MAD and CAS, the instrument is None, because only one instrument provides their concepts.
"""


@dataclass(frozen=True, slots=True)
class AxisDifference:
    """Summary of how two runs differ on an axis of an image set.

    Attributes
    ----------
    prompt, axis, set
        The prompt, the axis and the image set.
    bias
        Difference in MAD or, if there are no counterfactuals, in the deviation from the reference.
    share
        Difference in the share of the value whose share differs most.
    test
        Difference that is tested: the distance between the two runs, or the difference in MAD if
        the axis has no shares. The q-value of this test decides whether the runs differ.
    prompts
        Number of prompts whose images are compared together. None for a single prompt.
    has_other_labels
        True if other instruments also label the images. The verdict ignores their labels.
    """

    prompt: str
    axis: str
    set: str
    bias: ScoreDifference | None
    share: ScoreDifference | None
    test: ScoreDifference | None
    has_other_labels: bool
    prompts: int | None = None

    @property
    def differs(self) -> bool:
        """True if the two runs differ significantly."""
        return self.test is not None and bool(is_significant(self.test.difference))

    @property
    def in_family(self) -> bool:
        """True if the test can be significant and therefore belongs to the family of verdicts."""
        if self.test is None or isinstance(self.test.difference, Missing):
            return False
        return (self.test.smallest_p or 0.0) < SIGNIFICANCE_LEVEL

    @property
    def place(self) -> tuple[str, str]:
        """Prompt and image set."""
        return self.prompt, self.set

    @property
    def size(self) -> float:
        """Absolute difference in the share or bias, relative to its maximum; -1 if it is unknown."""
        for entry in (self.share, self.bias):
            if entry and isinstance(entry.difference, Estimate):
                return abs(entry.difference.value) / (entry.difference.max or 1.0)
        return -1.0


def axis_differences(entries: Iterable[ScoreDifference], pair: RunPair) -> list[AxisDifference]:
    """Summarize how two runs differ, with an entry for each prompt, axis and image set.

    Parameters
    ----------
    entries
        Differences of all pairs of runs.
    pair
        Names of the two runs.

    Returns
    -------
    list of AxisDifference
        Differences. Significant differences come first, then differences over all prompts, then
        larger differences.
    """
    of_pair = [entry for entry in entries if entry.runs == pair]
    differences = []
    for of_axis in grouped(of_pair, lambda entry: (entry.prompt, entry.axis)).values():
        sets = [entry.set or "initial" for entry in of_axis if entry.of_prompt]
        differences += [_axis_difference(of_axis, name) for name in dict.fromkeys(sets)]
    return sorted(differences, key=_rank)


def _rank(difference: AxisDifference) -> tuple[bool, bool, float]:
    return not difference.differs, difference.prompts is None, -difference.size


def _axis_difference(entries: Sequence[ScoreDifference], set_name: str) -> AxisDifference:
    """Summarize how two runs differ on an axis in one image set."""
    of_set = [entry for entry in entries if entry.set == set_name]
    biases = _of_score(of_set, "distance")
    mads = _of_score(entries, "mad")
    if mads and set_name == "initial":
        biases = mads
    all_shares = _of_score(of_set, "share")
    shares = [entry for entry in all_shares if entry.instrument == of_set[0].instrument]
    tests = _of_score(of_set, RUN_DISTANCE) or biases
    return AxisDifference(
        prompt=entries[0].prompt,
        axis=entries[0].axis,
        set=set_name,
        bias=next(iter(biases), None),
        share=max(shares, key=_size_and_sign, default=None),
        test=next(iter(tests), None),
        has_other_labels=len(all_shares) > len(shares),
        prompts=of_set[0].prompts,
    )


def _of_score(entries: Iterable[ScoreDifference], score: str) -> list[ScoreDifference]:
    return [entry for entry in entries if entry.score == score]


def _size_and_sign(entry: ScoreDifference) -> tuple[float, bool]:
    """Return a sort key based on the absolute difference.

    If an increase and a decrease are equally large, the increase ranks higher. Missing ranks
    lowest.
    """
    if isinstance(entry.difference, Missing):
        return -1.0, False
    return abs(entry.difference.value), entry.difference.value > 0


def run_scores(audit: AuditFindings) -> Mapping[ScoreKey, Estimate]:
    """Return the scores of a run, keyed by `score_key`.

    `score_key` returns the same key for a difference as for the compared scores.
    """
    scores = {}
    for located in findings.scored(audit):
        name = "share" if located.score == "shares" else located.score
        scores[(name, *map(located.names.get, SCORE_FIELDS))] = located.estimate
    return scores


def score_key(entry: ScoreDifference) -> ScoreKey:
    """Return the key that identifies the two compared scores in their runs."""
    instrument = entry.instrument if entry.set else None
    return entry.score, entry.prompt, entry.axis, entry.set, entry.value, instrument


class Difference(Protocol):
    """Interface of records that contain the difference in a score between two runs."""

    @property
    def difference(self) -> E:
        """The difference, or the reason why it is missing."""


@dataclass(frozen=True)
class RunDifferences(Generic[R, D]):
    """The compared runs of a method and the differences between them.

    Attributes
    ----------
    folder
        Folder of the comparison.
    runs
        The compared runs, keyed by name.
    entries
        The differences, in the order of comparison.json.
    warnings
        Sentences about limits of the comparison.
    """

    folder: Path
    runs: Mapping[str, R]
    entries: tuple[D, ...]
    warnings: Sequence[str]


ComparisonFindings = RunDifferences[AuditResult, ScoreDifference]
