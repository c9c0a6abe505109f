"""Runs, which carry out the remaining work of a plan and use a store and a run folder."""
