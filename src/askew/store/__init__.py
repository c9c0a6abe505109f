"""Pictures, answers and vectors on disk."""
