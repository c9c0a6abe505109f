"""Finished runs in, findings out."""
