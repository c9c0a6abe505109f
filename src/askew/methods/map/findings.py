"""Findings of `askew map`, stored in section `biasmap` of results.json."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated

from askew.errors import UsageError
from askew.findings import (
    Address,
    E,
    Head,
    IdentifyingField,
    Identity,
    MappingKey,
    Seed,
    pattern,
)
from askew.method import Result
from askew.methods.map.plan import MapPlan
from askew.types import Estimate, Missing, record

MIDDLE = "mid"
"""Middle block of a UNet, between the down blocks and the up blocks.

As in OVAM, this block is excluded from the sum over layers and from mBIoU.
"""

UNTESTED = {
    ("overall", "miou"),
    ("overall", "mbiou"),
    ("overall", "blocks"),
    ("overall", "risk_difference"),
    ("pairs", "corrected"),
    ("pairs", "mbiou_corrected"),
}
"""Section and field of each estimate that is not tested."""


@record
class MapFile:
    """Fingerprint under which the store keeps the maps of a prompt's images."""

    model: str
    prompt: str
    fingerprint: str


@record
class ConceptPair:
    """Overlap between the masks of a concept `a` and of a word `b` in the prompt (Eq. 4-6).

    Attributes
    ----------
    prompt, model : str
        Prompt and model that were used to generate the images.
    a, b : str
        The concept (`a`), and the word in the prompt (`b`).
    miou : Estimate or Missing
        Mean IoU of the masks that are computed from the sum of all layers. The null of `miou` is
        the mean IoU of masks from different images.
    corrected : Estimate or Missing
        `miou`, rescaled so that 0 means the overlap expected by chance and 1 means full overlap.
    mbiou, mbiou_corrected : Estimate or Missing
        Mean of the block-wise scores over all blocks of the network except the middle block.
    blocks : mapping of str to Estimate or Missing
        Mean IoU in each block.
    chance_area : float or None
        IoU expected for random masks with the same areas.
    chance_other_picture : float or None
        Mean IoU of masks from different images.
    pictures, block_pictures : tuple of float or None
        IoU in each image: `pictures` from the sum of all layers, `block_pictures` as the mean over
        blocks. None if a map of the image is constant.
    seeds : tuple of int or None
        Seeds of the images.
    """

    prompt: str
    model: str
    a: str
    b: str
    miou: E
    corrected: E
    mbiou: E
    mbiou_corrected: E
    blocks: Annotated[Mapping[str, E], MappingKey("block")]
    chance_area: float | None
    chance_other_picture: float | None
    pictures: tuple[float | None, ...]
    block_pictures: tuple[float | None, ...]
    seeds: tuple[Seed | None, ...]


@record
class RiskDifference:
    """Difference between the shares of two groups in the images of one prompt.

    Attributes
    ----------
    prompt, model, axis, instrument : str
        Prompt, model, axis, and the instrument that labeled the images on the axis.
    groups : tuple of str
        The two groups.
    counts : mapping of str to int
        Number of images with each value.
    estimate : Estimate or Missing
        Absolute difference between the two shares.
    missing : mapping of str to int
        Number of unlabeled images, keyed by reason.
    """

    prompt: str
    model: str
    axis: str
    instrument: str
    groups: tuple[str, ...]
    counts: Mapping[str, int]
    estimate: E
    missing: Mapping[str, int] = field(default_factory=dict)


@record
class Overall:
    """Scores of a concept, averaged over the prompts of a model, with Student's t intervals."""

    model: str
    a: str
    prompts: int
    miou: E
    mbiou: E
    corrected: E
    risk_difference: E | None
    blocks: Annotated[Mapping[str, E], MappingKey("block")]


@record
class PromptChange:
    """Mean difference in IoU between two models, over pairs of images with the same seed."""

    prompt: str
    miou: E
    mbiou: E


@record
class ModelChange:
    """Differences in a concept's scores: a later model's scores minus the first model's scores."""

    models: tuple[str, str]
    a: str
    prompts: tuple[PromptChange, ...]
    miou: E
    mbiou: E
    corrected: E
    blocks: Annotated[Mapping[str, E], MappingKey("block")]
    risk_difference: E | None


@record
class Gradient:
    """Rank correlation, over concepts, between similarity of meaning and overlap (supplement E).

    Attributes
    ----------
    prompt, model : str
        Prompt and model that were used to generate the images.
    b : str
        Word in the prompt.
    cosines : mapping of str to float
        For each concept, the cosine similarity between its text embedding and the text embedding of
        `b`.
    spearman : Estimate or Missing
        Spearman correlation between the cosines and mIoU.
    """

    prompt: str
    model: str
    b: str
    cosines: Mapping[str, float]
    spearman: E


@record
class MaskAccuracy:
    """Accuracy of a word's masks at one threshold, compared with ground-truth masks (supplement F).

    The null is the accuracy of masks taken from other images.

    Attributes
    ----------
    prompt, model, word : str
        Prompt and model that generated the images, and the word whose masks were tested.
    tau : float
        Threshold, from 0 to 100.
    mask_accuracy : Estimate or Missing
        Share of the ground-truth mask's area that the mask covers.
    complement_accuracy : Estimate or Missing
        Share of the area outside the ground-truth mask that the mask leaves out.
    """

    prompt: str
    model: str
    word: str
    tau: Annotated[float, IdentifyingField()]
    mask_accuracy: E
    complement_accuracy: E


@record
class BiasMap:
    """Scores of all maps of a run."""

    pairs: tuple[ConceptPair, ...]
    risk_difference: tuple[RiskDifference, ...]
    overall: tuple[Overall, ...]
    changes: tuple[ModelChange, ...]
    gradient: tuple[Gradient, ...]
    accuracy: tuple[MaskAccuracy, ...] = ()


@record
class MapFindings(Head):
    """Content of the results.json of `askew map`."""

    plan: MapPlan
    models: tuple[Identity, ...]
    maps: tuple[MapFile, ...]
    biasmap: BiasMap


@dataclass(frozen=True)
class MapResult(Result[MapPlan, MapFindings]):
    """A finished run of `askew map`."""

    def miou(
        self, concept: str, prompt: str | None = None, model: str | None = None
    ) -> Estimate | Missing:
        """Return the mean IoU between a concept's mask and the mask of the prompt's word.

        Parameters
        ----------
        concept
            Concept of the run.
        prompt, model
            Prompt and model. [default: the first]

        Returns
        -------
        Estimate or Missing
            Mean IoU (Eq. 4).

        Raises
        ------
        UsageError
            If the run does not contain this concept, prompt or model.
        """
        model = model or self.findings.models[0].name
        prompt = prompt or self.plan.prompts[0].text
        for pair in self.findings.biasmap.pairs:
            if (pair.model, pair.prompt, pair.a) == (model, prompt, concept):
                return pair.miou
        raise UsageError(
            f"this run contains no maps of {concept!r} in images of {prompt!r} from {model}"
        )


def family(at: Address) -> Address | None:
    """Return the family in which an estimate's p-value is corrected; None if it has no p-value.

    The tests of each score form a family, and the tests of all blocks together form another.
    """
    name = pattern(at)
    if name[-2:-1] == ("blocks",):
        name = name[:-1]
    return None if name in UNTESTED else name
