"""Comparison of finished audits of the same plan on several models.

askew subtracts every score of a run from the same score of another run. Images that have the same
seed form pairs.
"""

COMPARISON_FILE = "comparison.json"
