"""Assignment of values and prompts to images, so that each gets its share."""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import Literal

from askew.models.base import Request
from askew.store.files import sha256

HALTON_BASES = (2, 3, 5, 7, 11, 13)
"""Bases of Halton's sequence, a base for every axis whose values are requested separately."""

HASH_DIGITS = 13
HASH_VALUES = 16**13
"""Hexadecimal digits of a hash that become a number in [0, 1): 52 bits, which a float holds."""

Rule = Literal["quota", "independent"]
"""Rule by which a value or prompt is assigned to an image.

"quota" gives each part its share of n images to within a few, for every n. With "independent" each
image draws by its seed, as a service would.
"""


def choose_part(
    shares: Sequence[float], prompt: str, request: Request, rule: Rule = "quota", axis: int = 0
) -> int:
    """Return the index of the part that is assigned to an image.

    By quota, the `number`-th point of Halton's sequence, shifted by the prompt, decides. Halves of
    an even number of images are then exact at `axis` 0, and the points of several axes fill the
    square evenly. Without a number, or by the rule "independent", the image's seed decides.

    Parameters
    ----------
    shares
        Share of each part. Shares sum to 1.
    prompt
        Text that decides the shift.
    request
        The requested image.
    rule
        Rule of assignment.
    axis
        Position of the axis, for which the sequence has a base.

    Returns
    -------
    int
        Index into `shares`.
    """
    if request.number is None or rule == "independent":
        point = _uniform(f"{prompt} {axis} {request.seed}")
    else:
        base = HALTON_BASES[axis % len(HALTON_BASES)]
        point = _halton_point(request.number, base, shift=_uniform(prompt))
    return min(bisect_right([*accumulate(shares)], point % 1.0), len(shares) - 1)


def _halton_point(number: int, base: int, shift: float) -> float:
    """Return the `number`-th point of Halton's sequence plus `shift`, in [0, 2)."""
    point = shift
    unit = 1.0
    while number:
        number, digit = divmod(number, base)
        unit /= base
        point += digit * unit
    return point


def _uniform(text: str) -> float:
    """Return a number in [0, 1) that depends on a text only."""
    return int(sha256(text.encode())[:HASH_DIGITS], 16) / HASH_VALUES
