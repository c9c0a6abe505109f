"""Who used the studio's instruments on other pictures than the studio's drawings, as told by their names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

STUDIO = "studio"

READ = (
    ("vqa", "the studio's VQA reads the studio's drawings alone: what it says about {} means nothing"),
    ("embedder", "the studio's embedder knows the studio's drawings alone: a score by its vectors of {} means nothing"),
)
"""What is said of each kind of instrument."""


def beyond(makers: Iterable[str], instruments: Mapping[str, Iterable[str] | None]) -> list[str]:
    """A warning per instrument of the studio that read pictures by anybody else.

    `makers` are names of models and collections, `instruments` by kind ("vqa", "embedder") names of instruments.
    """
    others = list(dict.fromkeys(name for name in makers if not is_studio(name)))
    if not others:
        return []
    pictures = f"pictures by {', '.join(others)}"
    return [
        f"{text.format(pictures)}, unless they are such drawings; choose another (--{kind})"
        for kind, text in READ
        if any(map(is_studio, instruments.get(kind) or ()))
    ]


def is_studio(name: str) -> bool:
    """Whether a model or an instrument is the studio's own: studio, studio/balanced, studio/planted."""
    return re.split("[/ ]", name, maxsplit=1)[0] == STUDIO
