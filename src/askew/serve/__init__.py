"""Server for a model with an OpenAI-compatible interface, which can show faults on purpose."""
