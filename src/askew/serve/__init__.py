"""Server that offers a model through an OpenAI-compatible interface.

The server can also produce deliberate faults.
"""
