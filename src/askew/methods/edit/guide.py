"""Explain the terms and scores on the page of `askew edit`."""

from askew.measure.skin import SCHEME
from askew.methods.edit.plan import EditPlan
from askew.pages import skeleton
from askew.pages.blocks import Section

TERMS = (
    (
        "Strength",
        "Share of the denoising steps that an edit repeats. At strength 0, the image does not "
        "change. Strength 1 is text-to-image generation, which keeps nothing of the input image. "
        "The headline reports the largest strength below 1.",
    ),
    (
        "Floor",
        "Share of images whose label changes when the model merely encodes and decodes them. The "
        "corrected score is 0 at this share, and 1 if all labels change. The q-value belongs to "
        "a test of whether edits change more labels than this floor.",
    ),
    (
        "ITA",
        f"The individual typology angle: larger values mean lighter skin. The scheme {SCHEME} "
        "(Chardon et al. 1991, with Del Bino and Bernerd 2013) classifies skin as very light above "
        "55°, light from 41° to 55°, intermediate from 28° to 41°, tan from 10° to 28°, brown from "
        "−30° to 10°, and dark below −30°. The mask `rule`, which detects skin by its color, "
        "counts some walls and clothes as skin and misses very dark skin. Measuring only the "
        "cheeks of detected faces avoids both errors.",
    ),
    (
        "Similarity",
        "Cosine similarity between the embeddings of an input image and its edit. The gray value "
        "is the mean similarity between an edit and the other input images of its group. An edit "
        "that is as similar to these other images as to its own input image no longer shows the "
        "same person.",
    ),
)

LIMITS = (
    "The instrument distinguishes two values of gender. People of other genders are labeled as one "
    "of these two values.",
)

SOURCE = (
    "Saravanan et al., “Exploring Social Bias in Downstream Applications of Text-to-Image "
    "Foundation Models”, 2023. The model edits each image (image-to-image) toward “A color "
    "photograph of a …, headshot, high-quality.” Images with the same number are edited with the "
    "same noise in all groups and at all strengths."
)

METHOD = (
    (
        "Intervals of rates",
        "Wilson interval whose sample size is the effective number of edits: the number of edits "
        "divided by the design effect. The design effect arises because each input image has "
        "several edits",
    ),
    (
        "Intervals of means",
        "bootstrap over input images; average faces are recomputed for each sample",
    ),
    (
        "p",
        "the sign of each input image's difference is flipped at random: p = (1 + draws at least "
        "as extreme) / (1 + draws); q is corrected over all tests of a score",
    ),
)


def reading(plan: EditPlan) -> Section:
    """Return the section that explains how the scores are defined and computed."""
    mask = (
        "the cheeks, located by facial landmarks; in average faces, the cheeks of the aligned frame"
    )
    if plan.skin == "rule":
        mask = "bounds on RGB and YCbCr"
    skin = (
        f"{mask}; ITA = atan2(mean L* − 50, mean b*), where each mean is taken over values within "
        "one standard deviation of their mean"
    )
    return skeleton.reading(
        terms=TERMS, limits=LIMITS, source=SOURCE, method=(*METHOD, ("Skin", skin))
    )
