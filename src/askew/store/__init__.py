"""Storage of images, answers and vectors on disk."""
