"""A plan, a store and a folder together: what is left to do, and doing it."""
