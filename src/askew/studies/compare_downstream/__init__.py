"""Compare finished classifications or finished edits between models or input images.

If the runs have the same input images, askew compares them image by image. If the runs have
different input images, askew compares the images as independent sets.
"""
