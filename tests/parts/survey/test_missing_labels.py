"""Verdicts report whether they hold in the worst case of missing labels."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from askew.pages.plain import as_table
from askew.pages.words import content
from askew.parts.survey.blocks import numbers, seen
from askew.parts.survey.sentences import sentence, verdict
from askew.parts.survey.shares import SetShares, Verdict, worst_case_p
from askew.parts.survey.verdicts import holds_in_worst_case, is_biased, with_verdicts
from askew.stats.confusion import ReadingErrors
from askew.stats.goodness_of_fit import reference_test
from askew.stats.missing_labels import worst_case_intervals
from askew.stats.shares import share_intervals
from askew.types import Estimate


def entry_of(counts: tuple[int, ...], missing: int, axis: str = "gender") -> SetShares:
    """Shares of equally frequent values with missing labels, before their family is known."""
    names = [f"v{place}" for place in range(len(counts))]
    reference = [1 / len(counts)] * len(counts)
    test = reference_test(counts, reference)
    lows, highs = worst_case_intervals(counts, missing)
    pairs = zip(lows.tolist(), highs.tolist(), strict=True)
    entry = SetShares(
        prompt="a nurse",
        set="initial",
        axis=axis,
        instrument="planted",
        reference=dict(zip(names, reference, strict=True)),
        counts=dict(zip(names, counts, strict=True)),
        missing={"no_face": missing} if missing else {},
        shares=dict(zip(names, share_intervals(counts, missing=missing), strict=True)),
        distance=Estimate(0.1, p=test.p),
        bounds=dict(zip(names, pairs, strict=True)) if missing else None,
        instrument_corrected=None,
    )
    judged = Verdict(
        value=entry.leading,
        p=test.p,
        q=test.p,
        exact_p=test.exact_p,
        detectable=None,
        worst_case_p=worst_case_p(entry, None),
    )
    return replace(entry, verdict=judged)


@pytest.mark.parametrize(
    ("counts", "missing", "holds", "text"),
    [
        ((40, 8), 0, None, "v0 over-represented"),
        ((40, 8), 4, True, "v0 over-represented, also in the worst case of 4 missing labels"),
        ((40, 8), 1, True, "v0 over-represented, also in the worst case of 1 missing label"),
        ((34, 8), 20, False, "v0 over-represented, but not in the worst case of 20 missing labels"),
        ((26, 22), 20, None, "not significant"),
    ],
)
def test_the_verdict_says_whether_it_holds(
    counts: tuple[int, int], missing: int, holds: bool | None, text: str
) -> None:
    (entry,) = with_verdicts([entry_of(counts, missing)])
    assert holds_in_worst_case(entry) is holds
    assert verdict(entry) == text
    assert f": {text}" in sentence(entry)
    (chart,) = seen([entry])
    table = as_table(chart)
    assert table is not None
    assert any(content(cell).startswith(text) for cell in table.rows[0])
    assert ("worst case of missing labels" in numbers(entry).more) == bool(missing)


def test_the_worst_case_has_the_family_of_the_verdict() -> None:
    """A p of the worst case below .05 is not enough beside seven other axes."""
    alone = entry_of((33, 12), 3)
    assert alone.verdict
    assert 0.05 / 8 < alone.verdict.worst_case_p < 0.05
    (judged,) = with_verdicts([alone])
    assert holds_in_worst_case(judged) is True
    others = [entry_of((24, 24), 0, f"axis {place}") for place in range(7)]
    judged, *rest = with_verdicts([alone, *others])
    assert is_biased(judged)
    assert holds_in_worst_case(judged) is False
    assert judged.verdict.worst_case_q == pytest.approx(8 * alone.verdict.worst_case_p)
    assert all(entry.verdict.worst_case_q is None for entry in rest)


def test_labeling_errors_count_in_the_worst_case() -> None:
    """The missing labels are then closest to the labels that a fair set would have."""
    errors = ReadingErrors.of(np.array([[90, 10], [30, 70]]))
    entry = entry_of((38, 10), 6)
    fair = worst_case_p(entry, None)
    allowed = worst_case_p(entry, errors)
    assert fair is not None
    assert allowed is not None
    assert allowed > fair
    assert worst_case_p(entry_of((38, 10), 0), errors) is None


@pytest.mark.slow
@pytest.mark.parametrize("rate", [pytest.param(0.2, marks=pytest.mark.slow), 0.4])
def test_fair_models_whose_women_are_unlabeled_have_no_bias_in_the_worst_case(rate: float) -> None:
    rng = np.random.default_rng(7)
    biased = 0
    held = 0
    for _ in range(150):
        men = int(rng.binomial(96, 0.5))
        women = int(rng.binomial(96 - men, 1 - rate))
        entry = entry_of((men, women), 96 - men - women)
        biased += is_biased(entry) is True
        (judged,) = with_verdicts([entry])
        held += holds_in_worst_case(judged) is True
    assert biased / 150 > 0.1
    assert held / 150 <= 0.06
