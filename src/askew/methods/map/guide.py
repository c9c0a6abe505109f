"""Explain the terms and the method on the page of `askew map`."""

from askew.methods.map.findings import MIDDLE, MapFindings
from askew.pages import blocks as b
from askew.pages import skeleton

OVAM = "open-vocabulary attention maps (OVAM, Marcos-Manchón et al., CVPR 2024)"
PASSIVE_WORDS = (
    "passive concept words, which take part in the attention of every block of a transformer but "
    "do not change the image (after ConceptAttention, Helbling et al., arXiv 2502.04320)"
)

MIOU = (
    "mIoU",
    "Intersection over union of the masks of two words: the area that both masks cover, divided "
    "by the area that at least one mask covers. mIoU is the mean over the images (Eq. 4). mBIoU "
    "is the mean over the blocks of the network (Eq. 6).",
)
CHANCE = (
    "Chance",
    "The gray band shows the overlap between one word's mask in an image and the other word's "
    "mask in another image of the prompt. This overlap is not zero: two random masks that each "
    "cover 30 % of an image have an IoU of .176. In addition, maps are smooth, and models place "
    "objects such as heads in similar positions. The corrected overlap is 0 at chance and 1 at full "
    "overlap. The corrected overlap measures only the overlap that is specific to each image.",
)
LIMIT = (
    "Overlap means that the model attends to two words in the same place. In an image of a "
    "single person, a word for the person and a word for the person's appearance always overlap. "
    "Overlap alone is therefore not evidence of an unfair association."
)
SOURCE = (
    "BiasMap (Chakraborty et al., “BiasMap: Can Cross-Attention Uncover Hidden Social Biases?”). "
    "askew records the maps while the model generates the images."
)
WORDS = (
    "Words",
    "A mapped word need not be in the prompt. A word that is not in the prompt is encoded as if it "
    "followed the prompt.",
)
UNCONDITIONAL = (
    "Branch",
    "The maps show the attention in the unconditional branch of classifier-free guidance, which "
    "does not use the prompt.",
)
NULL = (
    "Chance",
    "mean IoU between A's mask in one image and B's mask in another image of the prompt; for "
    "random masks with areas p and q: pq ⁄ (p + q − pq)",
)
ACCURACY = (
    "Accuracy of masks (supplement F)",
    "share of the ground-truth mask that the computed mask covers, and share of the remaining area "
    "that the computed mask leaves out",
)
RISK_DIFFERENCE = (
    "Risk difference",
    "|share of one group − share of another group| in the images",
)


def guide(findings: MapFindings) -> b.Section:
    """Return the section that explains terms, limits and method."""
    layers = {name.partition("-")[0] for pair in findings.biasmap.pairs for name in pair.blocks}
    method = [("Source", _source(findings, layers)), WORDS]
    if findings.plan.branch == "uncond":
        method.append(UNCONDITIONAL)
    method += [_map_formula(findings, layers), NULL]
    if findings.biasmap.accuracy:
        method.append(ACCURACY)
    method.append(RISK_DIFFERENCE)
    return skeleton.reading((MIOU, CHANCE), limits=(LIMIT,), source=SOURCE, method=tuple(method))


def _source(findings: MapFindings, layers: set[str]) -> str:
    """Return the names and sources of the techniques that recorded the maps."""
    passive = layers & {"joint", "single"}
    sources = []
    if layers - passive or not layers:
        sources.append(OVAM)
    if passive:
        quantity = "attention weights"
        if findings.plan.definition == "output":
            quantity = "similarity of the attention outputs of pixels and"
        sources.append(f"{quantity} of {PASSIVE_WORDS}")
    return " and ".join(sources)


def _map_formula(findings: MapFindings, layers: set[str]) -> tuple[str, str]:
    """Return a label and the formula by which a map is computed."""
    resized = "each layer is resized to the size of the largest layer by bilinear interpolation"
    if MIDDLE in layers:
        resized += "; the sum leaves out the middle block"
    if findings.plan.definition == "output":
        return "Map", f"Σ over layers and steps of softmax(oₓ o_cᵀ), {resized}"
    return "Map (Eq. 1–2)", f"Σ over layers, steps and heads of softmax(Q K′ᵀ ⁄ √d), {resized}"
