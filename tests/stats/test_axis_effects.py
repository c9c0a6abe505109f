"""Predicted deviations after the mitigation of several axes, against planted and exact truths."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from askew.prompts.axes import BIASCONNECT
from askew.stats.axis_effects import AffectedAxis, AxisEffects, EffectCounts, Pooling
from askew.stats.confusion import ReadingErrors
from askew.stats.subset_choice import greedy_subsets, ranked_subsets
from askew.studio.caption import CaptionContent
from askew.studio.planted import NAMES, conditional
from benchmarks.mitigation_strategies import deviations, effect_counts, margins, uniform_margins
from benchmarks.planted_interactions import SIZES

MANY = 1_000_000


def exact_table(occupation: str) -> np.ndarray:
    """Return the exact joint shares of the eight axes for an occupation."""
    joint = conditional(CaptionContent({}, occupation, True, ()), 1.0)
    return joint.sum(axis=tuple(range(len(BIASCONNECT), len(NAMES))))


def counts_of(table: np.ndarray, images: int, rng: np.random.Generator | None = None):
    """Return counts of all prompts: expected ones, or drawn ones."""
    cells = [()] + [((axis, value),) for axis, size in enumerate(SIZES) for value in range(size)]
    counts = {}
    for cell in cells:
        shares = margins(table, cell)
        if rng is None:
            counts[cell] = [images * margin for margin in shares]
        else:
            counts[cell] = [rng.multinomial(images, margin).astype(float) for margin in shares]
    return effect_counts(counts)


def driven(share: float, *, images: float = MANY) -> EffectCounts:
    """Return counts of three binary axes: the first drives the second, the third is independent.

    All have a share of `share`. The second is equal to the first.
    """
    half = np.array([0.5, 0.5])
    plain = images * np.array([share, 1 - share])
    stated = images * np.eye(2)
    unaffected = np.array([plain, plain])
    axes = [
        AffectedAxis(plain, [stated, unaffected, unaffected], half, "total_variation"),
        AffectedAxis(plain, [stated, stated, unaffected], half, "total_variation"),
        AffectedAxis(plain, [unaffected, unaffected, stated], half, "total_variation"),
    ]
    return EffectCounts(axes=axes, places=range(3), shares=[half] * 3, weights=np.ones(3))


def test_the_axis_that_drives_another_axis_is_chosen() -> None:
    """A mitigation of the driver leaves only the third axis, a mitigation of another axis leaves two."""
    effects = driven(0.9).corrected()

    def cost(members: tuple[int, ...]) -> float:
        return float(effects.mean_remaining(members))

    assert cost(()) == pytest.approx(0.4, abs=1e-3)
    ranked = ranked_subsets(3, 1, cost)
    assert [subset.cost for subset in ranked] == pytest.approx(
        [0.4 / 3, 0.8 / 3, 0.8 / 3], abs=1e-3
    )
    assert ranked[0].members == (0,)
    pairs = ranked_subsets(3, 2, cost)
    assert pairs[0].members == (0, 2)
    assert pairs[0].cost == pytest.approx(0, abs=1e-3)
    path = greedy_subsets(3, 3, cost, lambda members: cost(members) <= 0.1)
    assert path[-1].members == (0, 2)


def test_weights_decide_which_axis_matters() -> None:
    counts = driven(0.9)
    weighted = EffectCounts(counts.axes, counts.places, counts.shares, np.array([1.0, 0.0, 5.0]))
    effects = weighted.corrected()
    ranked = ranked_subsets(3, 1, lambda members: float(effects.mean_remaining(members)))
    assert ranked[0].members == (2,)


@pytest.mark.parametrize("occupation", ["nurse", "mechanic", "lawyer", "chef"])
def test_predictions_agree_with_the_exact_world(occupation: str) -> None:
    """The truth states the chosen axes together; the prediction adds effects of single statements."""
    table = exact_table(occupation)
    effects = counts_of(table, MANY).corrected()
    for size in (0, 1, 2, 3):
        for members in combinations(range(len(SIZES)), size):
            truth = deviations(uniform_margins(table, members)).mean()
            assert float(effects.mean_remaining(members)) == pytest.approx(truth, abs=0.02)


@pytest.mark.parametrize("occupation", ["nurse", "mechanic", "lawyer", "chef"])
def test_the_choice_leaves_nearly_as_little_as_the_best_subset(occupation: str) -> None:
    """Brute force over the exact world; the choice knows only exact single statements."""
    table = exact_table(occupation)
    effects = counts_of(table, MANY).corrected()
    for size in (1, 2, 3):
        ranked = ranked_subsets(
            len(SIZES), size, lambda members: float(effects.mean_remaining(members))
        )
        exact = {
            members: deviations(uniform_margins(table, members)).mean()
            for members in combinations(range(len(SIZES)), size)
        }
        assert exact[ranked[0].members] <= min(exact.values()) + 0.004


def test_pooling_is_the_posterior_mean_of_a_normal_model() -> None:
    """Solve the model by generalized least squares, with a vague prior of the deviation."""
    rng = np.random.default_rng(3)
    axes = 4
    effects = AxisEffects(
        rng.uniform(0.1, 0.5, axes),
        rng.normal(0, 0.1, (axes, axes)),
        rng.uniform(0, 0.05, axes),
        range(axes),
        np.ones(axes),
    )
    pooling = Pooling(rng.uniform(0.001, 0.01, axes), rng.uniform(0.001, 0.01, (axes, axes)), 0.004)
    pooled = pooling.pooled(effects)
    for axis in range(axes):
        others = [source for source in range(axes) if source != axis]
        after = effects.deviations[axis] - effects.sensitivities[others, axis]
        # unknown: the deviation, then the effect of each other axis, whose prior is a row, too
        design = np.zeros((1 + 2 * len(others), 1 + len(others)))
        design[: 1 + len(others), 0] = 1
        for place in range(len(others)):
            design[1 + place, 1 + place] = -1
            design[1 + len(others) + place, 1 + place] = 1
        observed = np.concatenate([[effects.deviations[axis]], after, np.zeros(len(others))])
        variances = np.concatenate(
            [[pooling.deviations[axis]], pooling.after[others, axis], np.full(len(others), 0.004)]
        )
        scaled = design / np.sqrt(variances)[:, None]
        solution = np.linalg.lstsq(scaled, observed / np.sqrt(variances), rcond=None)[0]
        assert pooled.deviations[axis] == pytest.approx(solution[0])
        assert pooled.sensitivities[others, axis] == pytest.approx(solution[1:])


@pytest.mark.slow
def test_pooled_effects_of_no_effect_are_small_and_real_effects_remain() -> None:
    rng = np.random.default_rng(0)
    exact = counts_of(exact_table("nurse"), MANY).corrected()
    errors = {"pooled": [], "not pooled": []}
    for _ in range(6):
        counts = counts_of(exact_table("nurse"), 48, rng)
        observed = counts.corrected()
        pooled = Pooling.of(observed, counts.sampled(60, rng)).pooled(observed)
        for members in combinations(range(len(SIZES)), 3):
            truth = float(exact.mean_remaining(members))
            errors["pooled"].append(float(pooled.mean_remaining(members)) - truth)
            errors["not pooled"].append(float(observed.mean_remaining(members)) - truth)
    assert np.std(errors["pooled"]) < 0.7 * np.std(errors["not pooled"])
    assert abs(np.mean(errors["pooled"])) < 0.03


def test_known_reading_errors_are_corrected() -> None:
    """An instrument that errs in a fifth of the images makes a deviation of .4 look like .24."""
    counts = np.array([[80.0, 20.0], [20.0, 80.0]])
    errors = ReadingErrors.of(1000 * counts)
    half = np.array([0.5, 0.5])
    labels = MANY * np.array([0.9, 0.1]) @ counts / 100
    stated = MANY * counts / 100
    axis = AffectedAxis(labels, [stated], half, "total_variation", errors)
    effects = EffectCounts([axis], [0], [half], np.ones(1)).corrected()
    assert float(effects.deviations[0]) == pytest.approx(0.4, abs=0.01)
    assert float(effects.mitigated[0]) == pytest.approx(0, abs=0.01)
