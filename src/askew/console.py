"""Consoles on which text from others, such as labels, file names and answers of models, moves no
cursor.
"""

import re
from collections.abc import Iterator
from typing import Any

from rich.console import Console
from rich.segment import Segment

# control characters but tab and line feed, and marks that turn the direction of writing
_MOVING = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def neutral(text: str) -> str:
    """The text with a mark in the place of everything that a terminal would obey."""
    return _MOVING.sub("\N{REPLACEMENT CHARACTER}", text)


class NeutralConsole(Console):
    """A console that prints texts neutrally; colours and movements of its own stay."""

    def render(self, *args: Any, **options: Any) -> Iterator[Segment]:
        """The segments of what is printed."""
        for segment in super().render(*args, **options):
            yield segment if segment.control else Segment(neutral(segment.text), segment.style)
