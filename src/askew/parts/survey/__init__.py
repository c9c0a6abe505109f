"""Surveys of people in images: sets, shares, confusion, and missing images."""
