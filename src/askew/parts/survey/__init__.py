"""Surveys of people in images: image sets, shares, labeling errors, and missing images."""
