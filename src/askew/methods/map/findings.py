"""What `askew map` finds; section `biasmap` of results.json."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated

from askew.errors import UsageError
from askew.findings import Address, E, Head, IdentifyingField, Identity, MappingKey, pattern
from askew.method import Result
from askew.methods.map.plan import MapPlan
from askew.types import Estimate, Missing, record

MIDDLE = "mid"
"""The block between the two sides of a UNet; neither the sum of all layers nor mBIoU counts it, as
in OVAM.
"""


@record
class MapFile:
    """Under which fingerprint the store holds the maps of a prompt's pictures."""

    model: str
    prompt: str
    fingerprint: str


@record
class ConceptPair:
    """How much the places of a concept `a` and of a word `b` of the prompt overlap in its pictures
    (Eq. 4-6).

    miou       of the sum of all layers; `corrected` for chance, the same words in other pictures
    mbiou      mean over the blocks of the network but the middle
    pictures   IoU of every picture, None where a map is the same everywhere; `block_pictures` the same of mBIoU
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
    seeds: tuple[int | None, ...]


@record
class RiskDifference:
    """How much more often one group is seen than another; `missing` pictures could not be read, by
    reason.
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
    """Means over the prompts of a model, with t intervals over prompts."""

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
    """Mean difference of IoU between pictures of one seed."""

    prompt: str
    miou: E
    mbiou: E


@record
class ModelChange:
    """A later model less the first, for one concept."""

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
    """Whether words that are nearer in meaning overlap more (supplement E)."""

    prompt: str
    model: str
    b: str
    cosines: Mapping[str, float]
    spearman: E


@record
class MaskAccuracy:
    """How well masks at a threshold find the given places of a word (supplement F; null: masks of
    other pictures).

    The share of the place that the mask covers, and of the rest of the picture that it leaves out.
    """

    prompt: str
    model: str
    word: str
    tau: Annotated[float, IdentifyingField()]
    mask_accuracy: E
    complement_accuracy: E


@record
class BiasMap:
    """Everything about overlaps."""

    pairs: tuple[ConceptPair, ...]
    risk_difference: tuple[RiskDifference, ...]
    overall: tuple[Overall, ...]
    changes: tuple[ModelChange, ...]
    gradient: tuple[Gradient, ...]
    accuracy: tuple[MaskAccuracy, ...] = ()


@record
class MapFindings(Head):
    """The content of results.json."""

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
        """How much of their union the places of a concept, and of the word that it is held against,
        share.

        Of the first prompt and model unless named. Raises UsageError for what the run did not look
        at.
        """
        wanted = (
            model or self.findings.models[0].name,
            prompt or self.plan.prompts[0].text,
            concept,
        )
        for pair in self.findings.biasmap.pairs:
            if (pair.model, pair.prompt, pair.a) == wanted:
                return pair.miou
        raise UsageError(f"this run has no maps of {concept!r} in {wanted[1]!r} by {wanted[0]}")


def family(at: Address) -> Address | None:
    """Tests that are adjusted together: one family per score; all blocks are one."""
    name = pattern(at)
    name = name[:-1] if name[-2:-1] == ("blocks",) else name
    untested = {("overall", score) for score in ("miou", "mbiou", "blocks", "risk_difference")}
    return (
        None if name in untested | {("pairs", "corrected"), ("pairs", "mbiou_corrected")} else name
    )
