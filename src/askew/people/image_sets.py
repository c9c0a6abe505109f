"""Image sets that people compare in pairs."""

from dataclasses import dataclass

IMAGES_PER_SET = 15
"""Images of a set that raters see, as in MineTheGap."""


@dataclass(frozen=True)
class ImageSet:
    """Images of a prompt with their score.

    Attributes
    ----------
    name
        Name of the set: prompt, and run if there are several.
    prompt
        The prompt.
    source
        Position of the run.
    images
        Ids of the images.
    score
        Score that grows with the bias: the largest deviation from the reference over the axes, or
        minus the loss of a search.
    is_mined
        Whether a search selected the prompt.
    """

    name: str
    prompt: str
    source: int
    images: tuple[str, ...]
    score: float
    is_mined: bool = False


Pair = tuple[ImageSet, ImageSet]
