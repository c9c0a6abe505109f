"""Successive halving: a few of many prompts are found with images mostly of the best ones.

Each round adds images to the remaining prompts and keeps the better half (sequential halving, Karnin,
Koren and Somekh 2013, ICML). The images of a prompt double from round to round. So each round has
about as many images as the first, and a prompt is compared by all its images so far.
"""

from dataclasses import dataclass

FIRST_IMAGES = 4
"""Fewest images of a prompt in the first round. Fewer images hardly have a skew."""


@dataclass(frozen=True, slots=True)
class HalvingRound:
    """A round of successive halving.

    Attributes
    ----------
    prompts
        Number of prompts at the beginning of the round.
    images
        Images of each prompt at the end of the round, with those of earlier rounds.
    survivors
        Number of prompts that the round keeps.
    """

    prompts: int
    images: int
    survivors: int


def halving_rounds(prompts: int, wanted: int, images: int) -> tuple[HalvingRound, ...]:
    """Return the rounds that find `wanted` of `prompts` prompts.

    Parameters
    ----------
    prompts
        Number of prompts, more than `wanted`.
    wanted
        Number of prompts to find, at least 1.
    images
        Images of each prompt of the last round.
    """
    sizes = [prompts]
    while sizes[-1] > wanted:
        sizes.append(max(wanted, -(-sizes[-1] // 2)))
    count = len(sizes) - 1
    rounds = []
    for number in range(count):
        share = 2 ** (count - 1 - number)
        rounds.append(HalvingRound(sizes[number], -(-images // share), sizes[number + 1]))
    return tuple(rounds)


def least_images(prompts: int, wanted: int) -> int:
    """Return the fewest images of the last round with which the first round has `FIRST_IMAGES`."""
    doublings = len(halving_rounds(prompts, wanted, 1)) - 1
    return FIRST_IMAGES << doublings


def halving_images(rounds: tuple[HalvingRound, ...]) -> int:
    """Return the number of images of all rounds."""
    total = 0
    before = 0
    for entry in rounds:
        total += entry.prompts * (entry.images - before)
        before = entry.images
    return total
