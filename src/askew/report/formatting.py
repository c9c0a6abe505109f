"""How numbers, names and other people's text are written in every report."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from typing import Any

Record = Mapping[str, Any]
"""A JSON object of results.json; as an estimate it has the fields of `types.Estimate`, or a reason for its absence."""

ABSENT = "–"

_REASONS: Mapping[str, str] = {
    "no_person": "no person seen",
    "several_people": "several people seen",
    "refused": "the model or instrument refused",
    "unparseable": "the answer could not be read",
    "blank_image": "blank picture",
    "corrupt_file": "file cannot be opened",
    "absent_file": "file is absent",
    "not_asked": "not asked",
    "error": "an error occurred",
}

_APPEARANCE = frozenset(
    {
        "gender",
        "sex",
        "age",
        "ethnicity",
        "race",
        "racial",
        "skin",
        "body",
        "disability",
        "ableism",
        "emotion",
        "religion",
    }
)
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
_RIGHT_TO_LEFT = frozenset({"R", "AL", "RLE", "RLO", "RLI", "LRO", "LRE", "LRI"})


def number(value: float | None, digits: int = 2) -> str:
    """A number with a true minus sign, a dash if absent; never a negative zero."""
    if value is None:
        return ABSENT
    text = f"{value:.{digits}f}"
    return text.replace("-", "" if float(text) == 0 else "−")


def percent(share: float | None) -> str:
    """A share as a whole percentage."""
    return ABSENT if share is None else f"{number(100 * share, 0)} %"


def points(difference: float | None) -> str:
    """A difference of shares in percentage points, with its sign."""
    if difference is None:
        return ABSENT
    text = number(100 * difference, 0)
    return text if text.startswith("−") or text == "0" else f"+{text}"


def interval(estimate: Record, write: Any = number) -> str:
    """The interval in brackets, or nothing where there is none."""
    low, high = estimate.get("low"), estimate.get("high")
    return "" if low is None or high is None else f"[{write(low)}, {write(high)}]".replace(" %", "")


def measured(estimate: Record, write: Any = number) -> str:
    """An estimate as "0.71 [0.66, 0.75]", or a dash if it is missing."""
    return f"{write(estimate.get('value'))} {interval(estimate, write)}".strip()


def probability(value: float | None, name: str = "") -> str:
    """A p- or q-value: "0.003", "< 0.001"; with a name, "q = 0.003"."""
    if value is None:
        return ABSENT
    digits = 3 if value < 0.1 else 2
    text = "< 0.001" if value < 0.0005 else number(value, digits)
    if not name:
        return text
    return f"{name} {text}" if text.startswith("<") else f"{name} = {text}"


def thousands(count: int) -> str:
    """A count with commas."""
    return f"{count:,}"


def plural(count: int, noun: str) -> str:
    """ "1 picture", "48 pictures"."""
    return f"{thousands(count)} {noun}{'' if count == 1 else 's'}"


def listing(words: list[str]) -> str:
    """ "a", "a and b", "a, b and c"."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}" if words else ""


def clean(text: str) -> str:
    """The text without characters that no page and no terminal should be sent."""
    return _CONTROL.sub("\ufffd", text)


def shorten(text: str, width: int = 80) -> str:
    """The text on one line, cut to `width` characters."""
    line = " ".join(clean(text).split())
    return line if len(line) <= width else f"{line[: width - 1].rstrip()}…"


def quote(text: str, width: int = 80) -> str:
    """A prompt in quotation marks, cut to `width`; right-to-left text cannot turn what follows it."""
    line = shorten(text, width)
    if any(unicodedata.bidirectional(c) in _RIGHT_TO_LEFT for c in line):
        line = f"\u2068{line}\u2069"
    return f"“{line}”"


def short_reason(missing: Record) -> str:
    """Why an estimate is missing, in two or three words."""
    name = str(missing.get("reason") or "no reason given")
    return _REASONS.get(name, name.replace("_", " "))


def reason(missing: Record) -> str:
    """Why an estimate is missing, in words and with what is known of it."""
    words, detail = short_reason(missing), missing.get("detail")
    return f"{words} ({shorten(str(detail), 120)})" if detail else words


def axis_label(name: str) -> str:
    """An axis in words."""
    return shorten(name.replace("_", " "), 60)


def reads_appearance(name: str) -> bool:
    """Whether the axis is about people's looks, which are perceived, never known."""
    return not _APPEARANCE.isdisjoint(name.lower().replace("_", " ").replace("-", " ").split())


def perceived(axis: str) -> str:
    """An axis in words, "perceived gender" where an instrument reads people's appearance."""
    return f"perceived {axis_label(axis)}" if reads_appearance(axis) else axis_label(axis)


def capital(text: str) -> str:
    """The text with a capital first letter."""
    return text[:1].upper() + text[1:]
