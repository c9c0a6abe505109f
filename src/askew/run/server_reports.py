"""Sentences about rewritten prompts and costs, based on what servers reported about images."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from askew.models.base import Setting
from askew.models.prices import ListPrice

SHOWN = 200
"""Number of characters to which a rewritten prompt is shortened."""


@dataclass(slots=True)
class ListedImages:
    """Images from a hosted model whose list price is known.

    Attributes
    ----------
    price
        The list price.
    keys
        Keys of the images.
    """

    price: ListPrice
    keys: set[str] = field(default_factory=set)


def server_sentences(
    reports: Mapping[str, Mapping[str, Setting]],
    price: float | None,
    listed: Iterable[ListedImages] = (),
) -> list[str]:
    """Return sentences about rewritten prompts and about the cost of a run's images.

    Parameters
    ----------
    reports
        Servers' reports about images, keyed by image key.
    price
        Price per image in dollars, which overrides list prices; None if not given.
    listed
        Images with list prices.
    """
    sentences = []
    rewritten = [
        str(report["revised_prompt"]) for report in reports.values() if "revised_prompt" in report
    ]
    if rewritten:
        example = rewritten[0] if len(rewritten[0]) <= SHOWN else rewritten[0][: SHOWN - 1] + "…"
        sentences.append(
            f"the server rewrote the prompts for {len(rewritten)} of {len(reports)} images, for "
            f"example to {example!r}. The scores describe the model combined with this rewriting"
        )
    if price is not None and reports:
        sentences.append(_cost(len(reports), price, "per image"))
    elif price is None:
        for images in listed:
            paid = len(images.keys & reports.keys())
            if paid:
                words = f"per image ({images.price.words()})"
                sentences.append(_cost(paid, images.price.dollars, words))
    return sentences


def _cost(images: int, price: float, words: str) -> str:
    noun = "image" if images == 1 else "images"
    verb = "costs" if images == 1 else "cost"
    return f"the {images} {noun} {verb} about ${images * price:,.2f} at ${price:g} {words}"
