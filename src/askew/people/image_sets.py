"""Records for image sets that people compare in pairs."""

from dataclasses import dataclass

IMAGES_PER_SET = 15
"""Maximum number of images that raters see from each set, as in MineTheGap."""


@dataclass(frozen=True)
class ImageSet:
    """Images of a prompt, with a bias score.

    Attributes
    ----------
    name
        Name of the set, composed of its prompt and the name of its run.
    prompt
        Prompt of the images.
    source
        Position of the run in the study's list of runs.
    images
        Ids of the images.
    score
        Bias score; a larger score means more bias. In an audit, the score is the largest deviation
        from the reference across all axes. In a search for prompts, the score is the negated loss.
    is_mined
        Whether `askew mine` selected the prompt.
    """

    name: str
    prompt: str
    source: int
    images: tuple[str, ...]
    score: float
    is_mined: bool = False


Pair = tuple[ImageSet, ImageSet]
