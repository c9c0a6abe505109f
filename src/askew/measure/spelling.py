"""From what a person wrote to the value of an axis that they meant."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from typing import cast

from askew.errors import UnknownName, UsageError
from askew.types import MISSING_REASONS, Missing, MissingReason

MISSING = "missing"

SPELLINGS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "gender": {"male": ("m", "man", "men", "boy"), "female": ("f", "w", "woman", "women", "girl")},
    "age": {"young": ("youth",), "middle-aged": ("middle age",), "old": ("elderly", "senior")},
    "ethnicity": {
        "white": ("caucasian",),
        "black": ("african american",),
        "hispanic": ("latino", "latina", "latinx", "latino hispanic", "hispanic or latino"),
    },
}
"""Other ways to write a value, by axis. Case, white space, hyphens and a plural s need no entry."""


def key(label: str) -> str:
    """A label without what spelling may vary: case, hyphens, underscores, the amount of white space."""
    return re.sub(r"[\s_-]+", " ", label).strip().casefold()


class Spelling:
    """The answers that labels of one axis mean: its values, their other spellings, and a user's aliases.

    Aliases go from a label to a value of the axis, to "missing" (unparseable) or to "missing:REASON". An alias to
    anything else is left out: with several axes, it may be meant for another.
    """

    def __init__(self, axis: str, values: Sequence[str], aliases: Mapping[str, str]) -> None:
        self.values = tuple(values)
        self._known: dict[str, str | Missing] = {
            spelling: value
            for value, spellings in SPELLINGS.get(axis, {}).items()
            if value in values
            for spelling in spellings
        }
        self._known |= {key(value): value for value in values}
        targets = {key(label): self.target(target) for label, target in aliases.items()}
        self._known |= {label: answer for label, answer in targets.items() if answer is not None}

    def read(self, label: str) -> str | Missing | None:
        """The value that `label` means, why it means none, or None where that is not known."""
        plain = key(label)
        if not plain:
            return Missing("not_asked", "no label")
        answer = self._known.get(plain) or self._known.get(plain.removesuffix("s"))
        return Missing(answer.reason, f"labelled {plain!r}") if isinstance(answer, Missing) else answer

    def target(self, target: str) -> str | Missing | None:
        """The answer that an alias's target names, None for no value. UsageError for an unknown reason."""
        word, _, reason = target.partition(":")
        if key(word) != MISSING:
            return next((value for value in self.values if key(value) == key(target)), None)
        if reason and reason not in MISSING_REASONS:
            raise UsageError(f"alias target {target!r}: {UnknownName('reason', reason, MISSING_REASONS)}")
        return Missing(cast(MissingReason, reason or "unparseable"))

    def nearest(self, label: str) -> str | None:
        """The value whose spelling resembles `label` most, None if none does."""
        spellings = {spelling: value for spelling, value in self._known.items() if isinstance(value, str)}
        near = difflib.get_close_matches(key(label), sorted(spellings), n=1)
        return spellings[near[0]] if near else None
