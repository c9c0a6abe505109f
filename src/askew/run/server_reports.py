"""Sentences about what servers reported about images: rewritten prompts, and the cost."""

from collections.abc import Mapping, Sequence

from askew.models.base import Setting

SHOWN = 200
"""Largest number of characters of an example of a rewritten prompt."""


def server_sentences(
    reports: Sequence[Mapping[str, Setting]], images: int, price: float | None
) -> list[str]:
    """Return what servers reported about the images of a run, in words.

    Parameters
    ----------
    reports
        Reports of the images that servers made.
    images
        Number of images of the run.
    price
        Price of an image in dollars; None if it is unknown.
    """
    sentences = []
    rewritten = [str(report["revised_prompt"]) for report in reports if "revised_prompt" in report]
    if rewritten:
        example = rewritten[0] if len(rewritten[0]) <= SHOWN else rewritten[0][: SHOWN - 1] + "…"
        sentences.append(
            f"the server rewrote the prompts of {len(rewritten)} of {len(reports)} images, for "
            f"example to {example!r}. The scores describe the model together with this rewriting"
        )
    if reports and price is not None:
        sentences.append(
            f"the {images} images cost about ${images * price:,.2f} at ${price:g} per image"
        )
    return sentences
