"""Consoles that prevent untrusted text (such as labels or model answers) from moving the cursor."""

import re
import sys
from collections.abc import Iterator
from typing import Any, TextIO

from rich.console import Console
from rich.segment import Segment

# control characters except tab and line feed, and marks that change the direction of writing
_MOVING = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def neutral(text: str) -> str:
    """Replace each control character in a text with a visible mark."""
    return _MOVING.sub("\N{REPLACEMENT CHARACTER}", text)


def write(text: str, stream: TextIO | None = None) -> None:
    """Write text to a stream. On a terminal, control characters are replaced with visible marks.

    Parameters
    ----------
    text
        The text, including its final line feed.
    stream
        The stream. By default standard output.
    """
    target = sys.stdout if stream is None else stream
    target.write(neutral(text) if target.isatty() else text)


class NeutralConsole(Console):
    """Console that replaces control characters in text, but keeps the codes that rich adds.

    Labels and names may look like markup ("[red]") or like an emoji (":x:"). The console prints
    such text unchanged.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"markup": False, "emoji": False, **options})

    def render(self, *args: Any, **options: Any) -> Iterator[Segment]:
        """Yield the segments of a text after replacing control characters."""
        for segment in super().render(*args, **options):
            yield segment if segment.control else Segment(neutral(segment.text), segment.style)
