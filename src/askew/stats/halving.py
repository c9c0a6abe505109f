"""Successive halving: find the best of many prompts while using few images for all other prompts.

Each round adds images to the remaining prompts and keeps the better half of the prompts (sequential
halving, Karnin, Koren and Somekh 2013, ICML). The number of images per prompt doubles from round to
round. So the remaining prompts together have about as many images as all prompts had in the first
round. Each comparison uses all images generated for a prompt so far.
"""

from dataclasses import dataclass

FIRST_IMAGES = 4
"""Minimum number of images per prompt in the first round. Fewer images rarely show a skew."""


@dataclass(frozen=True, slots=True)
class HalvingRound:
    """Numbers of prompts and images in a round of successive halving.

    Attributes
    ----------
    prompts
        Number of prompts at the beginning of the round.
    images
        Number of images per prompt at the end of the round, including earlier rounds.
    survivors
        Number of prompts that remain after the round.
    """

    prompts: int
    images: int
    survivors: int


def halving_rounds(prompts: int, wanted: int, images: int) -> tuple[HalvingRound, ...]:
    """Return the rounds that are needed to find the `wanted` best prompts.

    Parameters
    ----------
    prompts
        Number of prompts, more than `wanted`.
    wanted
        Number of prompts to find, at least 1.
    images
        Number of images per prompt at the end of the last round.
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
    """Return the minimum number of images that each prompt needs at the end of the last round.

    With this number, each prompt has `FIRST_IMAGES` images in the first round.
    """
    doublings = len(halving_rounds(prompts, wanted, 1)) - 1
    return FIRST_IMAGES << doublings


def halving_images(rounds: tuple[HalvingRound, ...]) -> int:
    """Return the total number of images in all rounds."""
    total = 0
    before = 0
    for entry in rounds:
        total += entry.prompts * (entry.images - before)
        before = entry.images
    return total
