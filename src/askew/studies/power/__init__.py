"""Power of planned audits and comparisons: how many images they need and what they can detect."""
