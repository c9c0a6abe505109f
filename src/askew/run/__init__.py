"""Runs, which use a store and a run folder to carry out the remaining work of a plan."""
