"""The lexicon kept inside the studio's words, so that a studio model understands all that is
written.
"""

from askew.prompts.base import AxesOn
from askew.prompts.lexicon import LexiconWriter
from askew.prompts.llm import CompletionCache
from askew.studio.caption import parse
from askew.studio.scene import OCCUPATIONS

_OTHER_NAMES = frozenset(
    alias for occupation in OCCUPATIONS.values() for alias in occupation.aliases
)
"""Names that show the same as others: "surgeon" is drawn as "doctor" is."""


def knows(text: str) -> bool:
    """Whether the studio can show all that a text says. A second name of the same occupation adds
    nothing.
    """
    return not parse(text).unknown and text not in _OTHER_NAMES


def create(
    name: str = "",
    *,
    axes: int | None = None,
    axes_on: AxesOn = "unstated",
    cache: CompletionCache | None = None,
) -> LexiconWriter:
    """The writer that `--llm lexicon/studio` names; see `askew.prompts.lexicon.create`."""
    return LexiconWriter(axes, knows, "studio", axes_on)
