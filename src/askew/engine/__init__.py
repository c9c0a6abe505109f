"""Engines, which carry out the work of a run in this process, in threads or on a cluster."""
