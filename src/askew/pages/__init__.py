"""One document for every method: a `Page` of blocks (`blocks`, which says how to write one), and
what draws it.
"""
