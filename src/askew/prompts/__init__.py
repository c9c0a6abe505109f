"""Prompt generators: axes, counterfactual prompts, and prompts for a search."""
