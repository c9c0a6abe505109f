"""A prompt generator that uses only words that the studio models understand."""

from askew.prompts.base import AxesOn
from askew.prompts.lexicon import LexiconWriter
from askew.prompts.llm import CompletionCache
from askew.studio.caption import parse
from askew.studio.scene import OCCUPATIONS

_OTHER_NAMES = frozenset(
    alias for occupation in OCCUPATIONS.values() for alias in occupation.aliases
)
"""Other names of occupations. For example, the studio draws a "surgeon" like a "doctor"."""


def knows(text: str) -> bool:
    """Check whether the studio can show the content of a text.

    The result is False for aliases of an occupation, because the studio draws all names of an
    occupation alike.

    Parameters
    ----------
    text
        A phrase in a prompt.
    """
    return not parse(text).unknown and text not in _OTHER_NAMES


def create(
    name: str = "",
    *,
    axes: int | None = None,
    axes_on: AxesOn = "unstated",
    cache: CompletionCache | None = None,
) -> LexiconWriter:
    """Create the prompt generator for `--llm lexicon/studio`. See `askew.prompts.lexicon.create`."""
    return LexiconWriter(axes, knows, "studio", axes_on)
