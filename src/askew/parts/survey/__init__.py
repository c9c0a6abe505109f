"""Asking about people in pictures: sets, shares, confusion, and what is missing by group."""
