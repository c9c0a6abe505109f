"""Compare finished audits that used the same plan on several models.

askew subtracts each score of a run from the corresponding score of another run. Images that have
the same seed form pairs.
"""

COMPARISON_FILE = "comparison.json"
