"""The command line: one module a command; options in, one call, a table out."""

from askew.cli import audit, classify, compare, edit, interact, map, mine, models, runs, studio  # noqa: F401  (each registers its commands)
from askew.cli.base import app, main

__all__ = ["app", "main"]
