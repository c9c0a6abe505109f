"""Compute shares pooled over all prompts, and their differences between conditions.

A single image per prompt is not enough for a verdict on a single prompt, but if there are many
prompts, it may be enough for a verdict on their pooled images.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations

from askew.parts.scoring import Scoring
from askew.parts.survey.confusion import Errors
from askew.parts.survey.shares import (
    DISTANCE,
    SetShares,
    SharesDifference,
    Verdict,
    usable_errors,
    worst_case_p,
)
from askew.stats.goodness_of_fit import FitTest
from askew.stats.over_prompts import (
    PromptCounts,
    distance_over_prompts,
    over_prompts_test,
    shares_over_prompts,
)
from askew.stats.prompt_pairs import FEWEST_PAIRS, PromptPairs
from askew.types import Estimate, Missing, grouped, record

NO_DEVIATIONS = "deviations in the images of several prompts together are not compared"


@record
class SharesOverPrompts(SetShares):
    """Shares of an instrument's labels on an axis, pooled over all prompts.

    `prompt` is a text such as "26 prompts together", `reference` is the mean of the prompts'
    references, and `set` is the condition. Intervals and tests take into account that the images
    are clustered by prompt.

    Attributes
    ----------
    prompts : int
        Number of prompts with labeled images.
    independent_images : int
        Effective sample size: the number of independent images that would yield the same sampling
        error. This number is smaller than the actual number of images if the shares differ more
        between prompts than expected by chance.
    """

    prompts: int = 0
    independent_images: int = 0

    @property
    def tested_images(self) -> int:
        """Number of independent images."""
        return self.independent_images


def over_prompts(
    entries: Iterable[SetShares], scoring: Scoring, errors: Errors
) -> list[SharesOverPrompts]:
    """Compute the shares pooled over all prompts, per condition, axis and instrument.

    q-values are added later (`verdicts.with_verdicts`).

    Parameters
    ----------
    entries
        Shares in the image sets of each prompt.
    scoring
        Settings of the run.
    errors
        Known errors of the instruments.
    """
    return [_row(of_prompts, scoring, errors) for of_prompts in _by_condition(entries)]


def _by_condition(entries: Iterable[SetShares]) -> Iterator[list[SetShares]]:
    """Yield groups of entries with the same condition, axis and instrument for several prompts."""
    measured = [
        entry for entry in entries if entry.of_prompt and isinstance(entry.distance, Estimate)
    ]
    groups = grouped(
        measured, lambda entry: (entry.set, entry.axis, entry.instrument, tuple(entry.reference))
    )
    for group in groups.values():
        if len(group) > 1:
            yield group


def _row(entries: Sequence[SetShares], scoring: Scoring, errors: Errors) -> SharesOverPrompts:
    """Combine the shares of entries that have the same condition, axis and instrument."""
    first = entries[0]
    counts = _prompt_counts(entries)
    reference_images = _reference_images(entries)
    test = over_prompts_test(
        counts,
        reference_images=reference_images,
        errors=usable_errors(errors.get((first.instrument, first.axis))),
    )
    name = _name(entries)
    rng = scoring.rng(name, first.set, first.axis, first.instrument, "over prompts")

    def deviation(distance: str) -> Estimate:
        return distance_over_prompts(
            counts,
            p=test.p,
            distance=distance,
            rng=rng,
            reference_images=reference_images,
            **scoring.interval_options,
        )

    values = list(first.counts)
    estimates = shares_over_prompts(counts, level=scoring.level)
    row = SharesOverPrompts(
        prompt=name,
        set=first.set,
        axis=first.axis,
        instrument=first.instrument,
        reference=dict(zip(values, counts.reference.tolist(), strict=True)),
        counts=dict(zip(values, counts.together.astype(int).tolist(), strict=True)),
        missing=_missing(entries),
        shares=dict(zip(values, estimates, strict=True)),
        distance=deviation(DISTANCE[first.scale]),
        bounds=None,
        instrument_corrected=None,
        reference_images=reference_images,
        total_variation=deviation("total_variation") if first.scale == "ordinal" else None,
        prompts=len(entries),
        independent_images=counts.independent_images(scoring.level),
    )
    verdict = _verdict(row.leading, test, entries)
    known_errors = usable_errors(errors.get((first.instrument, first.axis)))
    worst_case = worst_case_p(row, known_errors)
    if worst_case is not None:
        verdict = replace(verdict, worst_case_p=max(worst_case, test.p))
    return replace(row, verdict=verdict)


def _name(entries: Sequence[SetShares]) -> str:
    return f"{len(entries)} prompts together"


def _prompt_counts(entries: Sequence[SetShares]) -> PromptCounts:
    return PromptCounts.of(
        [list(entry.counts.values()) for entry in entries],
        [list(entry.reference.values()) for entry in entries],
    )


def _reference_images(entries: Iterable[SetShares]) -> int | None:
    """Return the number of images behind the references; None if all references are exact."""
    known = [entry.reference_images for entry in entries if entry.reference_images is not None]
    return sum(known) if known else None


def _missing(entries: Iterable[SetShares]) -> dict[str, int]:
    """Return the number of images without a label, keyed by reason."""
    missing: dict[str, int] = {}
    for entry in entries:
        for reason, count in entry.missing.items():
            missing[reason] = missing.get(reason, 0) + count
    return missing


def _verdict(value: str, test: FitTest, entries: Iterable[SetShares]) -> Verdict:
    corrected = any(entry.verdict and entry.verdict.corrected_for_errors for entry in entries)
    return Verdict(
        value=value,
        p=test.p,
        q=test.p,
        exact_p=test.exact_p,
        detectable=None,
        corrected_for_errors=corrected,
    )


def differences_over_prompts(
    entries: Iterable[SetShares], scoring: Scoring
) -> list[SharesDifference]:
    """Return differences between conditions.

    The sets are paired by prompt. q-values are added later.

    Two conditions are compared only if both have labeled images of at least `FEWEST_PAIRS` shared
    prompts. With fewer prompts, a test that swaps the two conditions within each prompt cannot
    reach significance.

    Parameters
    ----------
    entries
        Shares in the image sets of each prompt.
    scoring
        Settings of the run.
    """
    differences = []
    conditions = grouped(_by_condition(entries), lambda group: (group[0].axis, group[0].instrument))
    for of_axis in conditions.values():
        for first, second in combinations(of_axis, 2):
            pairs = _pairs(first, second)
            if len(pairs) >= FEWEST_PAIRS:
                differences.append(_difference(pairs, scoring))
    return differences


def _pairs(
    first: Sequence[SetShares], second: Sequence[SetShares]
) -> list[tuple[SetShares, SetShares]]:
    """Return pairs of entries with the same prompt and values, one from each condition."""
    others = {entry.prompt: entry for entry in second}
    pairs = []
    for entry in first:
        other = others.get(entry.prompt)
        if other and list(other.counts) == list(entry.counts):
            pairs.append((entry, other))
    return pairs


def _difference(pairs: Sequence[tuple[SetShares, SetShares]], scoring: Scoring) -> SharesDifference:
    """Return the differences in shares between two conditions (second minus first)."""
    first = [before for before, _ in pairs]
    second = [after for _, after in pairs]
    values = list(first[0].counts)
    sets = (first[0].set, second[0].set)
    pairs_of_prompts = PromptPairs.of(
        [list(entry.counts.values()) for entry in second],
        [list(entry.counts.values()) for entry in first],
    )
    shares = {
        value: pairs_of_prompts.share_difference(place, level=scoring.level)
        for place, value in enumerate(values)
    }
    return SharesDifference(
        prompt=_name(first),
        axis=first[0].axis,
        instrument=first[0].instrument,
        sets=sets,
        shares=shares,
        distance=Missing("not_asked", NO_DEVIATIONS),
    )
