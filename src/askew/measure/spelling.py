"""Compare labels regardless of differences in spelling, such as case and hyphens.

All spellings of a label have the same key. Case, white space and underscores do not matter. A
hyphen between letters or digits does not matter either: "middle-aged" is "middle aged", and "3-9"
is "3 9". If only one side of a hyphen has a letter or digit, the hyphen is a sign and changes the
meaning: -1 is not 1, and A- is not A.
"""

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import cast

from askew.errors import UnknownName, UsageError
from askew.types import MISSING_REASONS, Missing, MissingReason, grouped

MISSING = "missing"
NO_LABEL = Missing("not_asked", "no label")

SPELLINGS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "gender": {"male": ("m", "man", "men", "boy"), "female": ("f", "w", "woman", "women", "girl")},
    "age": {"young": ("youth",), "middle-aged": ("middle age",), "old": ("elderly", "senior")},
    "ethnicity": {
        "white": ("caucasian",),
        "black": ("african american",),
        "hispanic": ("latino", "latina", "latinx", "latino hispanic", "hispanic or latino"),
    },
}
"""Alternative spellings of each axis's values. Case, spaces, hyphens and plural s need no entry."""

DASHES = dict.fromkeys(map(ord, "‐‑‒–—―−﹣－"), "-")
"""Unicode's hyphens, dashes and minus signs, for `str.translate`."""

_HYPHEN = re.compile(r"(?<=[^\W_])(?:-|\s+-\s+)(?=[^\W_])")
"""Pattern for a hyphen between letters or digits, with spaces on both sides or on neither side."""

_NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?")


def key(label: str) -> str:
    """Return a label's key: lower case, with single spaces instead of underscores and hyphens.

    Signs are kept: "-1", "A-" and "level -1" keep their hyphens.
    """
    plain = re.sub(r"[\s_]+", " ", label.translate(DASHES)).strip().casefold()
    return re.sub(r" {2,}", " ", _HYPHEN.sub(" ", plain))


def repeated_keys(labels: Iterable[str]) -> list[list[str]]:
    """Group labels that have the same key, and return the groups, keyed by this key."""
    by_key = grouped(dict.fromkeys(labels), key)
    return [spellings for spellings in by_key.values() if len(spellings) > 1]


def ordered(values: Iterable[str]) -> tuple[str, ...]:
    """Sort values by the number that they begin with, or by key if not all begin with a number."""
    listed = list(values)
    numbers = [_NUMBER.match(value.translate(DASHES)) for value in listed]
    leading = {
        value: float(number[0]) for value, number in zip(listed, numbers, strict=True) if number
    }
    if len(leading) < len(listed):
        return tuple(sorted(listed, key=key))
    return tuple(sorted(listed, key=lambda value: (leading[value], key(value))))


def aliases_of(axis: str, aliases: Mapping[str, str]) -> dict[str, str]:
    """Return an axis's aliases, keyed by spelling. "AXIS:LABEL" overrides "LABEL".

    Raises
    ------
    UsageError
        If two labels with the same key have different aliases.
    """
    of_all_axes = {label: target for label, target in aliases.items() if ":" not in label}
    of_this_axis = {
        label.partition(":")[2]: target
        for label, target in aliases.items()
        if label.startswith(f"{axis}:")
    }
    return _by_key(of_all_axes) | _by_key(of_this_axis)


def _by_key(aliases: Mapping[str, str]) -> dict[str, str]:
    for labels in repeated_keys(aliases):
        if len({key(aliases[label]) for label in labels}) > 1:
            given = " and ".join(f"--alias {label}={aliases[label]}" for label in labels)
            raise UsageError(
                f"{given} refer to the same label, because they differ only in spelling; "
                "give only one of them"
            )
    return {key(label): target for label, target in aliases.items()}


class Spelling:
    """Table that maps labels to an axis's answers, based on values, spellings and aliases.

    Parameters
    ----------
    axis
        Name of the axis.
    values
        Values of the axis.
    aliases
        Target of each label: a value of the axis, "missing" (unparseable) or "missing:REASON".
        Aliases with other targets are ignored, because they may belong to other axes.

    Raises
    ------
    UsageError
        If two values have the same key.
    """

    def __init__(self, axis: str, values: Sequence[str], aliases: Mapping[str, str]) -> None:
        for repeated in repeated_keys(values):
            raise UsageError(
                f"the values {' and '.join(map(repr, repeated))} of axis {axis!r} differ only in "
                "spelling, so a label could mean either; rename one of them with --values"
            )
        self.values = tuple(values)
        self._known: dict[str, str | Missing] = {}
        spellings = SPELLINGS.get(axis, {})
        for value in values:
            self._known |= dict.fromkeys(spellings.get(value, ()), value)
        self._known |= {key(value): value for value in values}
        targets = {key(label): self.target(target) for label, target in aliases.items()}
        self._known |= {label: answer for label, answer in targets.items() if answer is not None}

    def read(self, label: str) -> str | Missing | None:
        """Return the answer for a label, or None if its meaning is unknown."""
        plain = key(label)
        if not plain:
            return NO_LABEL
        answer = self._known.get(plain) or self._known.get(plain.removesuffix("s"))
        if isinstance(answer, Missing):
            # The detail is part of the instrument's fingerprint, so its spelling stays.
            return Missing(answer.reason, f"labelled {plain!r}")
        return answer

    def target(self, target: str) -> str | Missing | None:
        """Return the answer for the target of an alias, or None for an unknown value.

        Raises
        ------
        UsageError
            If the target names an unknown reason.
        """
        word, _, reason = target.partition(":")
        if key(word) != MISSING:
            return next((value for value in self.values if key(value) == key(target)), None)
        if reason and reason not in MISSING_REASONS:
            unknown = UnknownName("reason", reason, MISSING_REASONS)
            raise UsageError(f"--alias LABEL={target}: {unknown}")
        return Missing(cast("MissingReason", reason or "unparseable"))

    def nearest(self, label: str) -> str | None:
        """Return the value with the most similar spelling, or None if no spelling is similar."""
        spellings = {
            spelling: value for spelling, value in self._known.items() if isinstance(value, str)
        }
        near = difflib.get_close_matches(key(label), sorted(spellings), n=1)
        return spellings[near[0]] if near else None
