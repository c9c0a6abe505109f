"""Benjamini-Hochberg against two independent implementations."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import false_discovery_control
from statsmodels.stats.multitest import multipletests

from askew.stats.multiple import benjamini_hochberg

P_VALUES = st.lists(st.floats(0, 1) | st.sampled_from([0.0, 0.01, 0.05, 1.0]), min_size=1, max_size=40)


@given(P_VALUES)
def test_agrees_with_scipy_and_statsmodels(p: list[float]) -> None:
    q = benjamini_hochberg(p)
    np.testing.assert_allclose(q, false_discovery_control(p), atol=1e-12, rtol=0)
    np.testing.assert_allclose(q, multipletests(p, method="fdr_bh")[1], atol=1e-12, rtol=0)


@given(P_VALUES, st.randoms(use_true_random=False))
def test_order_does_not_matter_and_q_is_never_below_p(p: list[float], random: object) -> None:
    shuffled = list(range(len(p)))
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    q = benjamini_hochberg(p)
    np.testing.assert_allclose(benjamini_hochberg(np.array(p)[shuffled]), q[shuffled], atol=1e-15)
    assert np.all(q >= np.array(p) - 1e-15)


def test_an_empty_family_has_no_q_values() -> None:
    assert benjamini_hochberg([]).shape == (0,)


@pytest.mark.parametrize("p", [[0.1, float("nan")], [1.2], [-0.1], [[0.1]]])
def test_what_is_not_a_family_of_p_values_is_refused(p: list[object]) -> None:
    with pytest.raises(ValueError, match="p-values"):
        benjamini_hochberg(p)  # type: ignore[arg-type]
