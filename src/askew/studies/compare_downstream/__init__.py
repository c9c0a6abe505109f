"""Compare finished classifications or edits that used different models or input images.

If the runs have the same input images, askew compares the runs image by image. If the runs have
different input images, askew compares the images as independent sets.
"""
