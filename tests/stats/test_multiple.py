"""Benjamini-Hochberg against two independent implementations."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import false_discovery_control
from statsmodels.stats.multitest import multipletests

from askew.stats.multiple import benjamini_hochberg

PROBABILITIES = st.lists(st.floats(0, 1, allow_subnormal=False), min_size=1, max_size=30)


@given(PROBABILITIES)
def test_agrees_with_scipy_and_statsmodels(p: list[float]) -> None:
    q = benjamini_hochberg(p)
    assert np.allclose(q, false_discovery_control(p, method="bh"), rtol=0, atol=1e-12)
    assert np.allclose(q, multipletests(p, method="fdr_bh")[1], rtol=0, atol=1e-12)
    assert np.all(q >= np.array(p) - 1e-15)


def test_no_tests_give_no_q_values_and_wrong_ones_are_refused() -> None:
    assert benjamini_hochberg([]).shape == (0,)
    for wrong in ([0.1, np.nan], [1.2], [[0.1]]):
        with pytest.raises(ValueError, match="p-values"):
            benjamini_hochberg(wrong)
