"""Finished audits of one plan on several models: the difference of every score, pictures of one
seed being pairs.
"""

COMPARISON_FILE = "comparison.json"
