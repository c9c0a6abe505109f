"""Power of planned audits and comparisons: the images they need, the deviations they detect."""
