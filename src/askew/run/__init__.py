"""Runs: a plan, a store and a folder, and the execution of the remaining work."""
