"""Monitor the checkpoints of a model for changes in bias, while training writes them."""
