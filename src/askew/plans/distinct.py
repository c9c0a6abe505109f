"""Names that must differ by more than upper and lower case."""

from __future__ import annotations

from collections.abc import Sequence


def check_distinct(what: str, names: Sequence[str]) -> None:
    """Raises ValueError for a name that stands among them twice, in whatever case."""
    folded = [name.lower() for name in names]
    twice = [name for name in names if folded.count(name.lower()) > 1]
    if twice:
        raise ValueError(f"the {what} {twice[0]!r} is named twice")
