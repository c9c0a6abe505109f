"""One script for each claim of speed or truth, and what they share: `python -m benchmarks.NAME`."""
