"""Hypothesis on a busy machine: an example may take as long as it needs, and the same examples come every time."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("askew-stats", deadline=None, derandomize=True, max_examples=60)
settings.load_profile("askew-stats")
