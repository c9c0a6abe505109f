"""An instrument that errs: shares to answers and back, and sensitivities corrected for it."""

from __future__ import annotations

import numpy as np
import pytest

from askew.errors import NotEnoughData
from askew.stats.distance import sensitivity
from askew.stats.intervals import Floats
from askew.stats.reading_errors import ReadingErrors
from askew.stats.sensitivity import CORRECTED_INTERVAL, Pair, debiased_value, interactions, null_sizes
from askew.types import Estimate, Missing

RATES = np.array([[0.8, 0.2], [0.15, 0.85]])
BEFORE, AFTER = np.array([0.9, 0.1]), np.array([[0.6, 0.4], [0.5, 0.5]])


def estimates(pairs: list[Pair], seed: int = 0, draws: int = 100) -> list[Estimate]:
    found = interactions(pairs, rng=np.random.default_rng(seed), draws=draws)
    return [one for one in found if isinstance(one, Estimate)]


def covered(found: list[Estimate], truth: float) -> float:
    return float(np.mean([(e.low or -1) <= truth <= (e.high or 1) for e in found]))


def noisy(rng: np.random.Generator, repeats: int, labels: int = 100) -> tuple[list[Pair], list[Pair]]:
    """Pairs read with errors: as read, and with as many labelled pictures of each value."""
    before, after = BEFORE @ RATES, AFTER @ RATES
    plain = [Pair(rng.multinomial(96, before), rng.multinomial(96, after), [1, 1]) for _ in range(repeats)]
    known = [Pair(p.initial, p.counterfactual, p.ideal, confusion=rng.multinomial(labels, RATES)) for p in plain]
    return plain, known


def test_correction_comes_closer_to_the_truth_and_covers_it() -> None:
    truth = float(sensitivity(BEFORE, AFTER.mean(axis=0), [1, 1]))
    plain, known = (estimates(pairs) for pairs in noisy(np.random.default_rng(0), 80))
    assert abs(np.mean([e.value for e in known]) - truth) < 0.4 * abs(np.mean([e.value for e in plain]) - truth)
    assert covered(known, truth) >= 0.9
    assert covered(plain, truth) < 0.75
    assert {e.interval for e in known} == {CORRECTED_INTERVAL}


def test_nothing_happens_behind_errors_either() -> None:
    rng = np.random.default_rng(1)
    still = np.array([0.8, 0.2])
    pairs = [
        Pair(rng.multinomial(96, still @ RATES), rng.multinomial(96, np.stack([still, still]) @ RATES), [1, 1],
             confusion=rng.multinomial(200, RATES))
        for _ in range(80)
    ]  # fmt: skip
    found = estimates(pairs)
    assert abs(np.mean([e.value for e in found])) < 0.03
    assert covered(found, 0.0) >= 0.9
    sizes = null_sizes(pairs[:20], rng=rng, draws=100)
    seen = np.mean([abs(float(debiased_value(pair))) for pair in pairs])  # type: ignore[arg-type]
    assert np.mean([float(size) for size in sizes]) == pytest.approx(seen, rel=0.4)  # type: ignore[arg-type]


def test_more_labels_give_a_narrower_interval() -> None:
    counts = [[90, 30], [[60, 60], [70, 50]]]
    few, many = estimates([Pair(*counts, [1, 1], confusion=n * RATES) for n in (20, 2000)], draws=300)
    assert (many.high or 0) - (many.low or 0) < 0.8 * ((few.high or 0) - (few.low or 0))


def test_an_instrument_without_errors_changes_nothing() -> None:
    tables = [40, 8, 12], [[20, 20, 20], [18, 22, 20]], [1, 1, 1], "wasserstein"
    plain, known = estimates([Pair(*tables), Pair(*tables, confusion=1e9 * np.eye(3))], draws=300)  # type: ignore[arg-type]
    for name in ("value", "low", "high", "null"):
        assert getattr(known, name) == pytest.approx(getattr(plain, name), abs=0.02)


def test_what_others_ask_changes_nothing() -> None:
    _, known = noisy(np.random.default_rng(2), 3)
    assert estimates(known)[1] == estimates(known[1:2])[0]


def test_answers_lead_back_to_the_shares() -> None:
    errors = ReadingErrors.of(1000 * RATES)
    assert errors.shares(BEFORE @ RATES) == pytest.approx(BEFORE)
    forms = np.eye(2)
    assert pytest.approx(BEFORE) == (BEFORE @ RATES) @ errors.coefficients(forms).T
    assert errors.drawn(400, 0).mean(axis=0) == pytest.approx(RATES, abs=0.01)


def test_standard_errors_are_those_of_simulated_answers() -> None:
    rng = np.random.default_rng(3)
    errors = ReadingErrors.of(200 * RATES)
    matrices = errors.drawn(4000, 1)
    answered: Floats = np.stack([rng.multinomial(80, BEFORE @ one) / 80 for one in matrices])
    corrected = answered @ errors.inverse
    assert errors.standard_errors(BEFORE, 80) == pytest.approx(corrected.std(axis=0), rel=0.07)


def test_what_cannot_be_corrected() -> None:
    blind = Pair([30, 10], [[20, 20]], [1, 1], confusion=[[60, 40], [58, 42]])
    (found,) = interactions([blind], rng=np.random.default_rng(0))
    assert isinstance(found, Missing)
    assert "apart" in found.detail
    with pytest.raises(NotEnoughData):
        debiased_value(Pair([1, 1], [[1, 1]], [1, 1], confusion=[[5, 0], [0, 0]]))
    with pytest.raises(ValueError, match="values"):
        debiased_value(Pair([1, 1], [[1, 1]], [1, 1], confusion=np.eye(3)))
