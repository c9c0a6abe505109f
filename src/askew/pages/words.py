"""How numbers, scores, reasons and other people's text are written, by every renderer alike."""

import re
import unicodedata
from collections.abc import Mapping, Sequence

from askew.pages.blocks import Bar, Column, Content, E, IntervalRow, Scale, ShareSegment, TableCell
from askew.stats.significance import SIGNIFICANCE_LEVEL
from askew.types import Estimate, Missing

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

_REASONS: Mapping[str, str] = {
    "no_person": "no person seen",
    "several_people": "several people seen",
    "refused": "the model or instrument refused",
    "unparseable": "the answer could not be read",
    "blank_image": "blank picture",
    "corrupt_file": "file cannot be opened",
    "absent_file": "file is absent",
    "other_group": "shows another group",
    "no_face": "no face found",
    "not_asked": "not asked",
    "error": "an error occurred",
}
_APPEARANCE = frozenset(
    "gender sex age ethnicity race racial skin body disability ableism emotion religion".split()
)
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
_RIGHT_TO_LEFT = frozenset({"R", "AL", "RLE", "RLO", "RLI", "LRO", "LRE", "LRI"})
_NUMBER = re.compile(r"(?:[pq] ?[=<] ?|< ?)?[\[−+↑↓]?\s?\d.{0,30}|–|")


def number(value: float | None, digits: int = 2) -> str:
    """A number with a true minus sign, a dash if absent; never a negative zero."""
    if value is None:
        return ABSENT
    text = f"{value:.{digits}f}"
    return text.replace("-", "" if float(text) == 0 else "−")


def signed(value: float | None, digits: int = 2) -> str:
    """A number with its sign."""
    text = number(value, digits)
    return f"+{text}" if value is not None and value > 0 and float(text) > 0 else text


def format_value(value: float | None, scale: Scale = "unit", digits: int | None = None) -> str:
    """A value on a scale."""
    if value is None:
        return ABSENT
    shown = 100 * value if scale in ("share", "points") else value
    text = (signed if scale in SIGNED else number)(
        shown, DIGITS[scale] if digits is None else digits
    )
    return text + {"share": " %", "degrees": "°"}.get(scale, "")


def percent(share: float | None) -> str:
    """A share as a whole percentage."""
    return format_value(share, "share")


def interval(score: E | None, scale: Scale = "unit") -> str:
    """The interval in brackets; nothing where there is none."""
    if not isinstance(score, Estimate) or score.low is None or score.high is None:
        return ""
    if scale in ("signed", "fine", "degrees"):
        return f"[{number(score.low, DIGITS[scale])}, {number(score.high, DIGITS[scale])}]"
    return f"[{written(score.low, scale)}, {written(score.high, scale)}]".replace(" %", "")


def measured(score: E | None, scale: Scale = "unit") -> str:
    """A score's mark as "0.71 [0.66, 0.75]", or a dash if it is missing."""
    return f"{part(score, 'mark', scale)} {interval(score, scale)}".strip()


def part(score: E | None, column: Column, scale: Scale = "unit") -> str:
    """One part of a score; in place of an absent q its p, which says that it is one."""
    if not isinstance(score, Estimate):
        return "" if column == "interval" else ABSENT
    if column == "interval":
        return interval(score, scale)
    if column in ("p", "q"):
        return (
            probability(score.p, "p")
            if column == "q" and score.q is None
            else probability(getattr(score, column))
        )
    return format_value(getattr(score, column), scale)


def describe_score(score: E | None, name: str = "", scale: Scale = "unit") -> str:
    """A score in a sentence, for who cannot see its plot: beside chance as it is, then allowing for
    few pictures.
    """
    if not isinstance(score, Estimate):
        return f"not measured: {absence(score)}" if score else "not asked"
    found = measured(score, scale)
    if score.null:
        value, mark, null = (format_value(v, scale) for v in (score.value, score.mark, score.null))
        chance = f"chance alone would give {null}"
        found = (
            f"{found}; {chance}"
            if value == mark
            else f"{value}; {chance}; allowing for few pictures {found}"
        )
    return f"{name} {found}".strip()


def has_significant_q(score: E | None) -> bool:
    """Whether q is below .05."""
    return isinstance(score, Estimate) and score.q is not None and score.q < SIGNIFICANCE_LEVEL


def largest_first(score: E | None) -> float:
    """Sort key: missing scores come last."""
    return -score.mark if isinstance(score, Estimate) else float("inf")


def absence(score: E | None) -> str:
    """Why a score is missing, or how many pictures it lacks; nothing if it has all."""
    if isinstance(score, Missing):
        return reason(score)
    return f"{plural(score.missing, 'picture')} missing" if score and score.missing else ""


def reason(missing: Missing) -> str:
    """Why something is missing, in words and with what is known of it."""
    words = _REASONS.get(missing.reason, missing.reason)
    return f"{words} ({shorten(missing.detail, 120)})" if missing.detail else words


def reasons(missing: Mapping[str, int]) -> str:
    """How many are missing and why: "no person seen 2, refused 1"."""
    return ", ".join(
        f"{_REASONS.get(name, name)} {count:,}" for name, count in missing.items() if count
    )


def leading(bar: Bar) -> ShareSegment | None:
    """The part that a bar is about: the one named, or the one furthest above its ideal."""
    known = [
        (p.value == bar.leading, p.share.value - (p.reference or 0.0), p)
        for p in bar.parts
        if isinstance(p.share, Estimate)
    ]
    return max(known, key=lambda one: one[:2])[2] if known else None


def segment_text(one: ShareSegment) -> str:
    """A part of a bar: "female 42, 88 % [76, 95]"."""
    return f"{one.value}{'' if one.count is None else f' {one.count:,},'} {measured(one.share, 'share')}"


def bar_note(bar: Bar) -> str:
    """What a bar's leading part rests on: "female 42 of 48, 88 % [76, 95]; even would be 50 %"."""
    lost = sum(bar.missing.values())
    if not bar.n:
        return f"none of {lost:,} could be read: {reasons(bar.missing)}" if lost else "no pictures"
    told = [plural(bar.n, "picture")]
    missing = f"{lost:,} not read: {reasons(bar.missing)}"
    one = leading(bar)
    if one:
        counted = f"of {bar.n:,}" if one.count is None else f"{one.count:,} of {bar.n:,}"
        alike = len({p.reference and round(p.reference, 9) for p in bar.parts}) == 1
        reference = (
            []
            if one.reference is None
            else [f"{'even' if alike else 'reference'}: {percent(one.reference)}"]
        )
        told = [f"{one.value} {counted}, {measured(one.share, 'share')}", *reference]
    return "; ".join([*told, missing] if lost else told)


def content(found: Content, scale: Scale = "unit") -> str:
    """What a cell holds, as text."""
    if isinstance(found, TableCell):
        return content(found.value, scale)
    if isinstance(found, tuple):
        return ", ".join(found)
    if isinstance(found, Estimate | Missing):
        return measured(found, scale)
    return ABSENT if found is None else f"{found:,}" if isinstance(found, int) else found


def is_bold(found: Content | IntervalRow) -> bool:
    """Whether a cell, or a lane, stands in bold."""
    if isinstance(found, TableCell | IntervalRow) and found.strong is not None:
        return found.strong
    return has_significant_q(found.score if isinstance(found, IntervalRow) else score_in(found))


def score_in(found: Content) -> E | None:
    """The score that a cell holds."""
    value = found.value if isinstance(found, TableCell) else found
    return value if isinstance(value, Estimate | Missing) else None


def notes(found: Content) -> str:
    """What stands small below a cell: its note, and why a score is missing."""
    return "; ".join(
        filter(None, (found.note if isinstance(found, TableCell) else "", absence(score_in(found))))
    )


def probability(value: float | None, name: str = "") -> str:
    """A p- or q-value: "0.003", "< 0.001"; with a name, "q = 0.003"."""
    if value is None:
        return ABSENT
    text = "< 0.001" if value < 0.0005 else number(value, 3 if value < 0.1 else 2)
    return text if not name else f"{name} {text}" if text.startswith("<") else f"{name} = {text}"


def plural(count: int, noun: str, plural_noun: str = "") -> str:
    """Return a count with its noun: "1 image", "48 images", "8 axes".

    Parameters
    ----------
    count : int
        Number of things.
    noun : str
        Singular form.
    plural_noun : str
        Plural form, if it is not the singular form with an "s".

    Returns
    -------
    str
        The count with a thousands separator, and the form of the noun that it needs.
    """
    if count == 1:
        return f"{count:,} {noun}"
    return f"{count:,} {plural_noun or noun + 's'}"


def listing(words: Sequence[str]) -> str:
    """ "a", "a and b", "a, b and c"."""
    return (
        words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}" if words else ""
    )


def clean(text: str) -> str:
    """The text without characters that no page and no terminal should be sent."""
    return _CONTROL.sub("\ufffd", text)


def shorten(text: str, width: int = 80) -> str:
    """The text on one line, cut to `width` characters: between words, if there are any."""
    line = " ".join(clean(text).split())
    if len(line) <= width:
        return line
    cut = line[: width - 1]
    return (cut if line[width - 1] == " " else cut.rpartition(" ")[0] or cut).rstrip() + "…"


def quote(text: str, width: int = 80) -> str:
    """A prompt in quotation marks, cut to `width`; right-to-left text cannot turn what follows it."""
    line = shorten(text, width)
    if any(unicodedata.bidirectional(c) in _RIGHT_TO_LEFT for c in line):
        line = f"\u2068{line}\u2069"
    return f"“{line}”"


def axis_label(name: str) -> str:
    """An axis in words."""
    return shorten(name.replace("_", " "), 60)


def reads_appearance(name: str) -> bool:
    """Whether the axis is about people's looks, which are perceived, never known."""
    return not _APPEARANCE.isdisjoint(name.lower().replace("_", " ").replace("-", " ").split())


def perceived(axis: str) -> str:
    """An axis in words, "perceived gender" where an instrument reads people's appearance."""
    return f"perceived {axis_label(axis)}" if reads_appearance(axis) else axis_label(axis)


def set_label(name: str) -> str:
    """A picture set in words: "the initial pictures", or its condition."""
    return (
        "the initial pictures"
        if name == "initial"
        else shorten(name.removeprefix("condition: "), 60)
    )


def capital(text: str) -> str:
    """The text with a capital first letter."""
    return text[:1].upper() + text[1:]


def is_number(text: str) -> bool:
    """Whether a cell's text is a number, an interval, or a dash in place of one."""
    return _NUMBER.fullmatch(text) is not None
