"""Images, answers and vectors on disk."""
