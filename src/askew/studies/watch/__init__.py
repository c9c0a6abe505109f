"""Monitor a model's checkpoints for changes in bias while the model is being trained."""
