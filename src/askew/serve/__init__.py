"""Server that offers a model through an OpenAI-compatible interface.

It can also produce faults on purpose.
"""
