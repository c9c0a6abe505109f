"""What the page of `askew map` explains."""

from __future__ import annotations

from askew.methods.map.findings import MapFindings
from askew.pages import skeleton
from askew.pages.blocks import Section, Terms, Text

LISTENING = frozenset(("joint", "single"))
"""Layers with passive streams."""

OVAM = "open-vocabulary attention maps (OVAM, Marcos-Manchón et al., CVPR 2024)"
PASSIVE = (
    "attention weights of words that listen in every block of a transformer without being heard (after "
    "ConceptAttention, Helbling et al., arXiv 2502.04320)"
)
OUTPUT = (
    "what pixels gather from attention against what words gather that listen in every block of a transformer without "
    "being heard: softmax(o_x o_cᵀ) over the words (ConceptAttention, Helbling et al., arXiv 2502.04320)"
)

SOURCE = Text("BiasMap (Chakraborty et al., “BiasMap: Can Cross-Attention Uncover Hidden Social Biases?”). Maps are "
              "made while the pictures are. Intervals are at the level of the plan, q-values by Benjamini and Hochberg "
              "(1995).")  # fmt: skip

SCORES = (
    ("mIoU", "The places where two words' maps are high, by the mask of the plan: what both cover over what either "
             "covers, from 0 to 1, mean over the pictures. mBIoU: the mean of the same over the network's blocks."),
    ("Chance", "Not zero. Two random masks of 30 % share .176 of their union. Maps are smooth, and models put heads "
               "and signs where they always are. So the grey band is the overlap of the one word in a picture with the "
               "other word in another picture of the prompt. Corrected sets that to 0 and full overlap to 1: what is "
               "left happens picture by picture."),
)  # fmt: skip

OVERLAP = (
    "Overlap says that two words are attended to in one place. A word for a whole person and a word for how people "
    "look overlap wherever there is one person to see. That is not by itself an unfair link."
)


def reading(found: MapFindings) -> Section:
    """What the words of the page mean, and how maps were made."""
    return skeleton.reading(SCORES, (OVERLAP,), (SOURCE, Terms(method_terms(found))))


def method_terms(found: MapFindings) -> tuple[tuple[str, str], ...]:
    """How the maps were made, by the plan and by the layers of its models."""
    layers = {name.partition("-")[0] for pair in found.biasmap.pairs for name in pair.blocks}
    passive = OUTPUT if found.plan.definition == "output" else PASSIVE
    sources = [name for name, used in ((OVAM, layers - LISTENING or not layers), (passive, layers & LISTENING)) if used]
    resized = "each layer resized to the largest by bilinear interpolation"
    summed = f"{resized}; the middle block is shown by block only" if "mid" in layers else resized
    return (
        ("Source", " and ".join(sources)),
        ("Words", "A word need not stand in the prompt: it is read as if it followed."),
        *([("Branch", "It is the unconditional image, without the prompt, that was listened to.")]
          if found.plan.branch == "uncond" else []),
        ("Map", f"Σ over layers and steps of softmax(oₓ o_cᵀ), {summed}") if found.plan.definition == "output" else
        ("Map (Eq. 1–2)", f"Σ over layers, steps and heads of softmax(Q K′ᵀ ⁄ √d), {summed}"),
        ("IoU (Eq. 4)", "|A ∩ B| ⁄ |A ∪ B| of the masks"),
        ("mBIoU (Eq. 6)", "mean of the IoU of every block's maps"),
        ("Chance", "mean IoU of A in one picture and B in another of the prompt; by area: pq ⁄ (p + q − pq)"),
        *([("Accuracy of masks (supplement F)", "of the place that was given, the share that the mask covers; of the "
            "rest, the share that it leaves out")] if found.biasmap.accuracy else []),
        ("Corrected", "(mIoU − chance) ⁄ (1 − chance)"),
        ("Risk difference", "|share of one group − share of another| among the pictures"),
    )  # fmt: skip
