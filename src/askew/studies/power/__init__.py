"""Power of planned audits and comparisons: images that they need, and deviations they detect."""
