"""Finished runs of one plan on several models, compared picture by picture."""
