"""Power of planned audits and comparisons: how many images they need, what deviations they detect."""
