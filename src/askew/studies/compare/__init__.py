"""Compare finished audits that used the same plan on several models.

Each difference is the score of one run minus the corresponding score of another run. Images that
have the same seed form pairs.
"""

COMPARISON_FILE = "comparison.json"
