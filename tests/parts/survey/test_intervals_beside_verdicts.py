"""An interval that excludes the reference beside "not significant" has a reason in its row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from askew.pages.plain import as_table
from askew.pages.words import content
from askew.parts.survey.blocks import seen, value_group
from askew.parts.survey.sentences import above_reference, below_reference, sentence, verdict
from askew.parts.survey.shares import SetShares, Verdict
from askew.parts.survey.verdicts import is_biased
from askew.stats.goodness_of_fit import reference_test
from askew.stats.shares import share_intervals
from askew.types import Estimate
from benchmarks.calibration_verdicts import fair_page, is_explained

REASON = "not significant after correction for "


def entry_of(counts: Sequence[int], reference: Sequence[float]) -> SetShares:
    """Shares of an axis whose values have these counts, tested against a reference."""
    weights = np.array(reference) / sum(reference)
    names = [f"v{place}" for place in range(len(counts))]
    test = reference_test(counts, weights)
    unnamed = SetShares(
        prompt="a nurse",
        set="initial",
        axis="gender",
        instrument="planted",
        reference=dict(zip(names, weights.tolist(), strict=True)),
        counts=dict(zip(names, counts, strict=True)),
        missing={},
        shares=dict(zip(names, share_intervals(counts), strict=True)),
        distance=Estimate(0.1, p=test.p),
        bounds=None,
        instrument_corrected=None,
    )
    judged = Verdict(
        value=unnamed.leading, p=test.p, q=test.p, exact_p=test.exact_p, detectable=None
    )
    return replace(unnamed, verdict=judged)


def in_family(entry: SetShares, tests: int) -> SetShares:
    """The entry with the q that it has beside tests with larger p."""
    assert entry.verdict
    q = min(entry.verdict.p * tests, 1.0)
    return replace(entry, verdict=replace(entry.verdict, q=q, tests=tests))


def differs(entry: SetShares) -> bool:
    return bool(above_reference(entry) or below_reference(entry))


@given(
    counts=st.lists(st.integers(0, 12), min_size=2, max_size=4),
    weights=st.lists(st.integers(1, 3), min_size=4, max_size=4),
    others=st.integers(0, 9),
)
@settings(max_examples=30, deadline=None)
def test_every_such_row_and_sentence_has_a_reason(
    counts: list[int], weights: list[int], others: int
) -> None:
    """For any counts, references and numbers of tests, in words, in the table and in the chart."""
    assume(sum(counts))
    entry = in_family(entry_of(counts, weights[: len(counts)]), others + 1)
    explained = not is_biased(entry) and differs(entry)
    for text in (verdict(entry), value_group(entry, "Gender").verdict):
        assert text.startswith(REASON) == explained
    assert ("after correction for" in sentence(entry)) == explained
    (chart,) = seen([entry])
    table = as_table(chart)
    assert table is not None
    assert any(content(cell).startswith(REASON) for cell in table.rows[0]) == explained


@pytest.mark.parametrize(
    ("others", "changes", "reason"),
    [
        (0, {}, "6 values"),
        (7, {}, "8 tests"),
        (0, {"corrected_for_errors": True}, "labeling errors"),
        (7, {"corrected_for_errors": True}, "8 tests and labeling errors"),
    ],
)
def test_the_reason_is_the_difference_of_test_and_interval(
    others: int, changes: dict[str, bool], reason: str
) -> None:
    entry = entry_of((15, 8, 7, 6, 6, 6), (1, 1, 1, 1, 1, 1))
    entry = replace(entry, verdict=replace(entry.verdict, **changes))
    judged = in_family(entry, others + 1)
    assert is_biased(judged) is False
    assert differs(judged)
    assert f"{REASON}{reason} (q = " in verdict(judged)


def test_a_reference_that_was_counted_is_a_reason() -> None:
    entry = replace(entry_of((33, 15), (1, 1)), reference_images=12)
    judged = in_family(replace(entry, verdict=replace(entry.verdict, p=0.2)), 1)
    assert f"{REASON}12 images of the reference (q = " in verdict(judged)


def test_most_fair_pages_have_such_rows_and_none_lacks_the_reason() -> None:
    rng = np.random.default_rng(3)
    pages = 0
    for _ in range(12):
        rows = [entry for entry in fair_page(24, rng) if not is_biased(entry) and differs(entry)]
        pages += bool(rows)
        assert all(map(is_explained, rows))
    assert pages >= 4
