"""Serving of a model through an OpenAI-compatible interface, with faults on purpose."""
