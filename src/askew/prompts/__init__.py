"""Prompt generators, which propose axes and write counterfactual prompts and search prompts."""
