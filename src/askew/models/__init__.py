"""Text-to-image models from several providers, and collections of existing images."""
