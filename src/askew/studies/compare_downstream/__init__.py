"""Comparison of finished classifications, or of finished edits, of several models or inputs.

Runs on the same input images are compared in pairs of images, other runs as independent sets.
"""
