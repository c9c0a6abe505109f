"""Assign values and prompts to images so that each value or prompt gets its share of the images."""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import Literal

from askew.models.base import Request
from askew.store.files import sha256

HALTON_BASES = (2, 3, 5, 7, 11, 13)
"""Bases of Halton sequences: one base for each axis whose values are requested separately."""

HASH_DIGITS = 13
HASH_VALUES = 16**13
"""Number of leading hexadecimal digits of a hash that askew converts to a number in [0, 1).

Thirteen digits have 52 bits, which fit into a float. `HASH_VALUES` is the number of values that 13
digits can have.
"""

Rule = Literal["quota", "independent"]
"""Rule that assigns a value or a prompt to each image.

With "quota", each value or prompt gets its share of the images, to within a few images, however
many images are generated. With "independent", each image's seed determines its value or prompt, as
in a service that draws a value or prompt at random for each image.
"""


def choose_part(
    shares: Sequence[float], prompt: str, request: Request, rule: Rule = "quota", axis: int = 0
) -> int:
    """Return the index of the part (value or prompt) that is assigned to an image.

    With the rule "quota", a point in [0, 1) selects the part: the point at position `number` in a
    Halton sequence, shifted by an amount that depends on the prompt. For `axis` 0 and any even
    number of images, two parts with equal shares then receive exactly half of the images each. The
    points of two axes fill the unit square evenly. If the request has no number, or the rule is
    "independent", the image's seed determines the point.

    Parameters
    ----------
    shares
        Share of each part. Shares sum to 1.
    prompt
        Prompt of the image. The prompt determines the shift.
    request
        The requested image.
    rule
        Rule of assignment.
    axis
        Position of the axis. The position selects the base of the Halton sequence.

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
    """Return `shift` plus the point at position `number` in a Halton sequence."""
    point = shift
    unit = 1.0
    while number:
        number, digit = divmod(number, base)
        unit /= base
        point += digit * unit
    return point


def _uniform(text: str) -> float:
    """Return a number in [0, 1) that depends only on a text."""
    return int(sha256(text.encode())[:HASH_DIGITS], 16) / HASH_VALUES
