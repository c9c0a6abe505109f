"""Text-to-image models, by provider, and collections of existing images."""
