"""Checkpoints of a model, watched for a change of bias while they appear."""
