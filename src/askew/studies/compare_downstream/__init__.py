"""Compare finished classifications or finished edits between models or input images.

If the runs have the same input images, askew compares them image by image. If not, askew compares
the input images as independent sets.
"""
