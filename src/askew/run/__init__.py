"""Runs, which carry out the remaining work of a plan with the help of a store and a run folder."""
