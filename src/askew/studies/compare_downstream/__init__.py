"""Comparison of finished classifications, or of finished edits, between models or input images.

If runs have the same input images, askew compares them image by image. Otherwise it compares their
images as independent sets.
"""
