"""Findings of `askew map`; section `biasmap` of results.json."""

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
"""Block between the two sides of a UNet. As in OVAM, the sum of the layers and mBIoU omit it."""

UNTESTED = {
    ("overall", "miou"),
    ("overall", "mbiou"),
    ("overall", "blocks"),
    ("overall", "risk_difference"),
    ("pairs", "corrected"),
    ("pairs", "mbiou_corrected"),
}
"""Estimates that are not tested."""


@record
class MapFile:
    """Fingerprint under which the store holds the maps of a prompt's images."""

    model: str
    prompt: str
    fingerprint: str


@record
class ConceptPair:
    """Overlap of the masks of a concept `a` and of a word `b` of the prompt (Eq. 4-6).

    Attributes
    ----------
    prompt, model : str
        Prompt and model of the images.
    a, b : str
        Concept, and word of the prompt.
    miou : Estimate or Missing
        Mean IoU of the sum of all layers. Its null is the IoU of masks of different images.
    corrected : Estimate or Missing
        `miou`, rescaled so that 0 is the overlap expected by chance and 1 is full overlap.
    mbiou, mbiou_corrected : Estimate or Missing
        The same for the mean over the blocks of the network, without the middle block.
    blocks : mapping of str to Estimate or Missing
        Mean IoU by block.
    chance_area : float or None
        IoU of random masks of the same areas.
    chance_other_picture : float or None
        IoU of masks of different images.
    pictures, block_pictures : tuple of float or None
        IoU of each image, for `miou` and for `mbiou`; None if a map of the image is constant.
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
    """Difference between the shares of two groups in a prompt's images.

    Attributes
    ----------
    prompt, model, axis, instrument : str
        Prompt, model, axis and the instrument that labels it.
    groups : tuple of str
        The two groups.
    counts : mapping of str to int
        Number of images by value.
    estimate : Estimate or Missing
        Absolute difference of the two shares.
    missing : mapping of str to int
        Number of unlabeled images by reason.
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
    """Means of a concept's scores over the prompts of a model, with t intervals over prompts."""

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
    """Mean difference in IoU between two models' images that have the same seed."""

    prompt: str
    miou: E
    mbiou: E


@record
class ModelChange:
    """Scores of a later model minus scores of the first model, for one concept."""

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
    """Rank correlation between similarity of meaning and overlap, over words (supplement E).

    Attributes
    ----------
    prompt, model : str
        Prompt and model of the images.
    b : str
        Word of the prompt.
    cosines : mapping of str to float
        For each concept, the cosine of its text embedding and the text embedding of `b`.
    spearman : Estimate or Missing
        Correlation of the cosines with mIoU.
    """

    prompt: str
    model: str
    b: str
    cosines: Mapping[str, float]
    spearman: E


@record
class MaskAccuracy:
    """Accuracy of a word's masks at a threshold, compared with true masks (supplement F).

    The null is the accuracy of masks of other images.

    Attributes
    ----------
    prompt, model, word : str
        Prompt and model of the images, and the word.
    tau : float
        Threshold, from 0 to 100.
    mask_accuracy : Estimate or Missing
        Share of the true mask that the mask covers.
    complement_accuracy : Estimate or Missing
        Share of the rest of the image that the mask omits.
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
    """Content of results.json of `askew map`."""

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
        """Return the mean IoU of the masks of a concept and of the prompt's word.

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
            If the run has no such concept, prompt or model.
        """
        model = model or self.findings.models[0].name
        prompt = prompt or self.plan.prompts[0].text
        for pair in self.findings.biasmap.pairs:
            if (pair.model, pair.prompt, pair.a) == (model, prompt, concept):
                return pair.miou
        raise UsageError(f"this run has no maps of {concept!r} in images of {prompt!r} by {model}")


def family(at: Address) -> Address | None:
    """Return the name of the tests that are corrected together, or None for an untested estimate.

    Each score has its own family. All blocks together form one family.
    """
    name = pattern(at)
    if name[-2:-1] == ("blocks",):
        name = name[:-1]
    return None if name in UNTESTED else name
