"""Graphs of interactions of several models, side by side and together."""
