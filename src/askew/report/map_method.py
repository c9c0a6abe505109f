"""How the maps of a run were made, in the words of its report: by definition, and by kind of network."""

from __future__ import annotations

from dataclasses import dataclass

from askew.report.formatting import listing, shorten
from askew.report.map_reading import MapReading

UNET_LAYERS = ("down", "up", "mid")

OVAM = "open-vocabulary attention maps (OVAM, Marcos-Manchón et al., CVPR 2024)"
PASSIVE = (
    "attention weights of words that listen in every block of a transformer without being heard (after "
    "ConceptAttention, Helbling et al., arXiv 2502.04320)"
)
DAAM = "attention to the words of the prompt itself (DAAM, Tang et al., ACL 2023)"


@dataclass(frozen=True, slots=True)
class Method:
    """Sentences and parts of sentences.

    source  whose maps they are
    words   what a word must be, to have a map
    branch  whose image was listened to
    sum     how layers become one map
    prime   the mark at the keys that are not the prompt's own
    """

    source: str
    words: str
    branch: str
    sum: str
    prime: str


def described(reading: MapReading) -> Method:
    """What was done in a run, by its plan and by the layers of its models."""
    own, layers = reading.plan.get("definition") == "daam", _layers(reading)
    unet = any(name.partition("-")[0] in UNET_LAYERS for name in layers)
    transformer = any(name.partition("-")[0] not in UNET_LAYERS for name in layers)
    added = f"“and {shorten(reading.concepts[0], 30)}”"
    return Method(
        DAAM if own else listing([name for name, used in ((OVAM, unet or not transformer), (PASSIVE, transformer))
                                  if used]),
        "Only words of the prompt have a map." if own
        else f"A word need not stand in the prompt: it is read as if {added} followed.",
        "It is the unconditional image, without the prompt, that was listened to."
        if reading.plan.get("branch") == "uncond" else "",
        _sum(own, any(name.startswith("mid") for name in layers)),
        "" if own else "′",
    )  # fmt: skip


def _layers(reading: MapReading) -> list[str]:
    return list(dict.fromkeys(name for entry in reading.pairs() for name in entry["layers"]))


def _sum(own: bool, middle: bool) -> str:
    resized = "each layer resized to the largest by bilinear interpolation"
    if own:
        return (
            f"with the softmax over the prompt and its padding; {resized} after its heads were summed, where DAAM "
            f"enlarges every head by bicubic interpolation and cuts it off below 0; the middle block is not read"
        )
    return f"{resized}; the middle block is shown by block only" if middle else resized
