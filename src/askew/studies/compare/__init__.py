"""Comparison of finished audits of the same plan on several models.

Every score of a run is subtracted from the score of another run. Images of the same seed are pairs.
"""

COMPARISON_FILE = "comparison.json"
