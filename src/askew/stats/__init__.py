"""Statistics of the scores: estimates, intervals, nulls and tests."""
