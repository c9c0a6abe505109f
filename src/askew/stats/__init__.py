"""Statistics of the scores: estimates, intervals, null values and tests."""
