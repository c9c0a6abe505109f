"""Prompt generators, which write axes, counterfactual prompts, and prompts for a search."""
