"""Formatting of numbers, scores, reasons and quoted text, for all renderers."""

import re
import unicodedata
from collections.abc import Mapping, Sequence

from askew.pages.blocks import (
    Column,
    Content,
    E,
    IntervalRow,
    Scale,
    TableCell,
    ValueGroup,
    ValueShare,
)
from askew.stats.significance import SIGNIFICANCE_LEVEL
from askew.types import REASON_TEXTS, Estimate, Missing

ABSENT = "–"
SIGNED = ("signed", "fine", "points", "degrees")
DIGITS: Mapping[Scale, int] = {
    "unit": 2,
    "share": 0,
    "signed": 2,
    "fine": 4,
    "points": 0,
    "degrees": 1,
    "range": 3,
}
UNITS: Mapping[Scale, str] = {"share": " %", "degrees": "°"}

RANGES: Mapping[Scale, tuple[float, float]] = {"share": (0.0, 1.0), "points": (-1.0, 1.0)}
"""Lowest and highest possible value, for each scale that has fixed limits."""

_APPEARANCE = frozenset(
    "gender sex age ethnicity race racial skin body disability ableism emotion religion".split()
)
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
_RIGHT_TO_LEFT = frozenset({"R", "AL", "RLE", "RLO", "RLI", "LRO", "LRE", "LRI"})
_NUMBER = re.compile(r"(?:[pq] ?[=<] ?|< ?)?[\[−+↑↓]?\s?\d.{0,30}|–|")


def number(value: float | None, digits: int = 2) -> str:
    """Return a number with a true minus sign, or a dash for None. Zero has no sign."""
    if value is None:
        return ABSENT
    text = f"{value:.{digits}f}"
    minus = "" if float(text) == 0 else "−"
    return text.replace("-", minus)


def signed(value: float | None, digits: int = 2) -> str:
    """Return a number with its sign, or a dash for None. Zero has no sign."""
    text = number(value, digits)
    if value is not None and value > 0 and float(text) > 0:
        return f"+{text}"
    return text


def format_value(value: float | None, scale: Scale = "unit", digits: int | None = None) -> str:
    """Return a value with the sign, digits and unit of its scale.

    Parameters
    ----------
    value : float or None
        Value to format. Shares and differences in percentage points are fractions from -1 to 1.
    scale : Scale
        Scale of the value.
    digits : int, optional
        Number of decimal places (by default, the number for the scale).

    Returns
    -------
    str
        The value as text, or a dash for None.
    """
    if value is None:
        return ABSENT
    if scale in ("share", "points"):
        value = 100 * value
    places = DIGITS[scale] if digits is None else digits
    text = signed(value, places) if scale in SIGNED else number(value, places)
    return text + UNITS.get(scale, "")


def percent(share: float | None) -> str:
    """Return a share as a percentage without decimal places."""
    return format_value(share, "share")


def possible_interval(score: Estimate, scale: Scale = "unit") -> tuple[float, float] | None:
    """Return a score's interval, clipped to the range of possible scores.

    Parameters
    ----------
    score : Estimate
        Score; it ranges from 0 to `max` if its `max` is known.
    scale : Scale
        Scale of the score; shares and points have a fixed range.

    Returns
    -------
    tuple of float or None
        Lower and upper end; None if the score has no interval.
    """
    if score.low is None or score.high is None:
        return None
    lowest, highest = RANGES.get(scale, (float("-inf"), float("inf")))
    if scale == "points" and score.max is not None and score.max > highest:
        # The difference of two differences of shares.
        lowest = -score.max
        highest = score.max
    if score.max is not None and 0 <= score.value <= score.max and scale not in SIGNED:
        lowest = 0.0
        highest = min(highest, score.max)
    low = min(max(score.low, lowest), highest)
    high = max(min(score.high, highest), lowest)
    return low, high


def interval(score: E | None, scale: Scale = "unit") -> str:
    """Return the interval of a score in brackets, or "" if the score has no interval."""
    ends = possible_interval(score, scale) if isinstance(score, Estimate) else None
    if ends is None:
        return ""
    low, high = ends
    if scale in ("signed", "fine", "degrees"):
        return f"[{number(low, DIGITS[scale])}, {number(high, DIGITS[scale])}]"
    return f"[{format_value(low, scale)}, {format_value(high, scale)}]".replace(" %", "")


def interval_in_words(score: E | None, scale: Scale = "unit") -> str:
    """Return the interval of a score with its confidence level, such as "95 % CI 81 to 97"."""
    ends = possible_interval(score, scale) if isinstance(score, Estimate) else None
    if ends is None or not isinstance(score, Estimate):
        return "no interval"
    low, high = (format_value(end, scale).removesuffix(" %") for end in ends)
    level = "" if score.level is None else f"{percent(score.level)} "
    return f"{level}CI {low} to {high}"


def measured(score: E | None, scale: Scale = "unit") -> str:
    """Return a score's estimate and interval, such as "0.71 [0.66, 0.75]", or a dash."""
    return f"{part(score, 'mark', scale)} {interval(score, scale)}".strip()


def part(score: E | None, column: Column, scale: Scale = "unit") -> str:
    """Return a part of a score as text, or a dash if the part is missing."""
    if column == "interval":
        return interval(score, scale)
    if not isinstance(score, Estimate):
        return ABSENT
    if column in ("p", "q"):
        return probability(getattr(score, column))
    return format_value(getattr(score, column), scale)


def describe_score(score: E | None, name: str = "", scale: Scale = "unit") -> str:
    """Return a score in words, for readers who cannot see its plot.

    Parameters
    ----------
    score : Estimate, Missing or None
        The score, the reason why it is missing, or None if it was not requested.
    name : str
        Name of the score.
    scale : Scale
        Scale of the score.

    Returns
    -------
    str
        Text with the value, the value expected by chance, and the bias-corrected estimate with its
        interval.
    """
    if score is None:
        return "not asked"
    if isinstance(score, Missing):
        return f"not measured: {reason(score)}"
    parts = [measured(score, scale)]
    if score.null:
        parts.append(f"expected by chance {format_value(score.null, scale)}")
    value = format_value(score.value, scale)
    if value != format_value(score.mark, scale):
        parts = [value, *parts[1:], f"bias-corrected estimate {parts[0]}"]
    return f"{name} {'; '.join(parts)}".strip()


def has_significant_q(score: E | None) -> bool:
    """Check whether a score has a q-value below the significance level."""
    return isinstance(score, Estimate) and score.q is not None and score.q < SIGNIFICANCE_LEVEL


def largest_first(score: E | None) -> float:
    """Return a sort key that puts large scores first and missing scores last."""
    return -score.mark if isinstance(score, Estimate) else float("inf")


def absence(score: E | None) -> str:
    """Return why a score is missing, or the number of missing images; "" if nothing is missing."""
    if isinstance(score, Missing):
        return reason(score)
    if score is None or not score.missing:
        return ""
    return f"{plural(score.missing, 'image')} missing"


def reason(missing: Missing) -> str:
    """Return the reason why something is missing, with its details in parentheses."""
    text = REASON_TEXTS[missing.reason]
    return f"{text} ({shorten(missing.detail, 120)})" if missing.detail else text


def reasons(missing: Mapping[str, int]) -> str:
    """Return reasons with their counts, such as "no person detected 2, blank image 1"."""
    counts = (
        f"{REASON_TEXTS.get(name, name)} {count:,}" for name, count in missing.items() if count
    )
    return ", ".join(counts)


def leading(group: ValueGroup) -> ValueShare | None:
    """Return the main value of a group, or None if no share is known.

    Parameters
    ----------
    group : ValueGroup
        Shares of one image set on one axis.

    Returns
    -------
    ValueShare or None
        The value `group.leading` if it is set, otherwise the value whose share exceeds its
        reference share the most.
    """

    def rank(value: ValueShare) -> tuple[bool, float]:
        share = value.share.value if isinstance(value.share, Estimate) else 0.0
        return value.value == group.leading, share - (value.reference or 0.0)

    known = [value for value in group.values if isinstance(value.share, Estimate)]
    return max(known, key=rank, default=None)


def value_text(value: ValueShare) -> str:
    """Return a value's count and share as text, such as "female 42, 88 % [76, 95]"."""
    count = "" if value.count is None else f" {value.count:,},"
    return f"{value.value}{count} {measured(value.share, 'share')}"


def missing_note(group: ValueGroup) -> str:
    """Return the number of images without a label and the reasons; "" if all are labeled."""
    unlabeled = sum(group.missing.values())
    if not group.n and unlabeled:
        return f"none of {unlabeled:,} labeled: {reasons(group.missing)}"
    if not group.n:
        return "no images"
    return f"{unlabeled:,} unlabeled: {reasons(group.missing)}" if unlabeled else ""


def content(cell: Content, scale: Scale = "unit") -> str:
    """Return the text of a table cell."""
    if isinstance(cell, TableCell):
        return content(cell.value, scale)
    if isinstance(cell, tuple):
        return ", ".join(cell)
    if isinstance(cell, Estimate | Missing):
        return measured(cell, scale)
    if isinstance(cell, int):
        return f"{cell:,}"
    return ABSENT if cell is None else cell


def is_bold(item: Content | IntervalRow) -> bool:
    """Check whether a cell or an interval row is printed in bold."""
    if isinstance(item, TableCell | IntervalRow) and item.strong is not None:
        return item.strong
    return has_significant_q(item.score if isinstance(item, IntervalRow) else score_in(item))


def score_in(cell: Content) -> E | None:
    """Return the score in a cell, or None if the cell contains no score."""
    value = cell.value if isinstance(cell, TableCell) else cell
    return value if isinstance(value, Estimate | Missing) else None


def notes(cell: Content) -> str:
    """Return the small text for a cell: its note, and the reason why its score is missing."""
    note = cell.note if isinstance(cell, TableCell) else ""
    return "; ".join(filter(None, (note, absence(score_in(cell)))))


def probability(value: float | None, name: str = "") -> str:
    """Return a p-value or q-value as text, such as "< 0.001", or "q = 0.003" if a name is given."""
    if value is None:
        return ABSENT
    if value < 0.0005:
        return f"{name} < 0.001".strip()
    text = number(value, 3 if value < 0.1 else 2)
    return f"{name} = {text}" if name else text


def plural(count: int, noun: str, plural_noun: str = "") -> str:
    """Return a count with its noun, such as "1 image" or "48 images".

    Parameters
    ----------
    count : int
        Number to state before the noun.
    noun : str
        Singular form.
    plural_noun : str
        Plural form (by default, the singular form with an "s").

    Returns
    -------
    str
        The count with a thousands separator, and the noun in its singular or plural form.
    """
    if count == 1:
        return f"{count:,} {noun}"
    return f"{count:,} {plural_noun or noun + 's'}"


def listing(words: Sequence[str]) -> str:
    """Join words into a list, such as "a", "a and b" or "a, b and c"."""
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} and {words[-1]}"


def clean(text: str) -> str:
    """Replace each character that is invalid in pages or terminals with a placeholder."""
    return _CONTROL.sub("\ufffd", text)


def shorten(text: str, width: int = 80) -> str:
    """Return a text on one line, cut to at most `width` characters, between words if possible."""
    line = " ".join(clean(text).split())
    if len(line) <= width:
        return line
    cut = line[: width - 1]
    if line[width - 1] != " ":
        cut = cut.rpartition(" ")[0] or cut
    return cut.rstrip() + "…"


def quote(text: str, width: int = 80) -> str:
    """Return a prompt in quotation marks, cut to at most `width` characters.

    Right-to-left text is isolated so that it does not affect the order of the text after it.
    """
    line = shorten(text, width)
    if any(unicodedata.bidirectional(letter) in _RIGHT_TO_LEFT for letter in line):
        line = f"\u2068{line}\u2069"
    return f"“{line}”"


def axis_label(name: str) -> str:
    """Return the name of an axis with spaces instead of underscores."""
    return shorten(name.replace("_", " "), 60)


def reads_appearance(name: str) -> bool:
    """Check whether an axis is about how people look, so that its labels are only perceptions."""
    return not _APPEARANCE.isdisjoint(name.lower().replace("_", " ").replace("-", " ").split())


def perceived(axis: str) -> str:
    """Return the name of an axis, such as "perceived gender" for an axis about appearance."""
    return f"perceived {axis_label(axis)}" if reads_appearance(axis) else axis_label(axis)


def set_label(name: str) -> str:
    """Return the name of an image set: "the baseline images", or the condition of the set."""
    if name == "initial":
        return "the baseline images"
    return shorten(name.removeprefix("condition: "), 60)


def capital(text: str) -> str:
    """Return a text with its first letter capitalized."""
    return text[:1].upper() + text[1:]


def is_number(text: str) -> bool:
    """Check whether the text of a cell is a number, an interval or a dash."""
    return _NUMBER.fullmatch(text) is not None
