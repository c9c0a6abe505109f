"""Text-to-image models of several providers, and collections of existing images."""
