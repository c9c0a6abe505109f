"""Differences between runs in plain language. What is said never goes further than the q-value allows."""

from __future__ import annotations

from askew.report.compare import Change, CompareReading, Pair
from askew.report.formatting import (
    Record,
    capital,
    interval,
    measured,
    number,
    perceived,
    percent,
    points,
    probability,
    quote,
    reads_appearance,
    reason,
    shorten,
)
from askew.report.reading import exceeds_chance, is_estimate
from askew.report.sentences import set_label

SCORES = {
    "mad": "MAD",
    "mad_clip": "MAD by embedding",
    "cas": "CAS",
    "cas_clip": "CAS by embedding",
    "wasserstein": "Wasserstein distance from equal CAS",
    "standard_deviation": "Standard deviation of CAS",
    "share": "Share",
    "distance": "Distance",
}


def pair_sentence(reading: CompareReading, pair: Pair) -> str:
    """What differs between two runs, in a sentence or two."""
    changes = [c for c in reading.changes(pair) if c.size >= 0]
    a, b = (shorten(name, 60) for name in pair)
    if not changes:
        return f"{b} and {a} could not be compared on any axis."
    count = sum(change.differs for change in changes)
    if not count:
        return f"{b} and {a} differ by nothing that chance would not produce at this number of pictures."
    where = f"{_where(reading, changes, count)}{_leans(changes)}"
    return f"{b} differs from {a} beyond chance {where}. {_most(reading, changes[0], count)}"


def change_sentence(reading: CompareReading, pair: Pair, change: Change) -> str:
    """What differs between two runs on one axis of one picture set."""
    a, b = (reading.letter(name) for name in pair)
    if change.size < 0:
        gap = change.lean or change.share
        return f"{b} less {a}: not measured – {reason(gap['difference']) if gap else 'no score'}."
    verdict = _verdict(change, a, b)
    parts = [_lean_ground(change.lean), _share_ground(reading, change.share)]
    return f"{verdict}. {capital('; '.join(filter(None, parts)))}."


def score_label(entry: Record) -> str:
    """A score in words, with the value that it is about."""
    name = SCORES[entry["score"]]
    return f"{name}, {shorten(entry['value'], 40)}" if entry["value"] is not None else name


def _where(reading: CompareReading, changes: list[Change], count: int) -> str:
    if len(changes) == 1:
        return f"on {perceived(changes[0].axis)}"
    if len(reading.prompts) == 1 and all(change.set == "initial" for change in changes):
        return f"on {count} of {len(changes)} axes"
    what = "prompt" if all(change.set == "initial" for change in changes) else "picture set"
    return f"in {count} of {len(changes)} pairs of a {what} and an axis"


def _leans(changes: list[Change]) -> str:
    """In how many of them the second run is less or more one-sided."""
    signs = [c.lean["difference"]["value"] for c in changes if c.lean and exceeds_chance(c.lean["difference"])]
    less, more = sum(s < 0 for s in signs), sum(s > 0 for s in signs)
    parts = [f"{word} one-sided in {count}" for word, count in (("less", less), ("more", more)) if count]
    if not parts:
        return ""
    return f": {' and '.join(parts)}" if len(changes) > 1 else f": {'less' if less else 'more'} one-sided"


def _most(reading: CompareReading, change: Change, count: int) -> str:
    what = "The largest of these differences" if count > 1 else "The difference"
    ground = _share_ground(reading, change.share) or _lean_ground(change.lean)
    return f"{what} is on {perceived(change.axis)} of {_pictures(change)}: {ground}."


def _pictures(change: Change) -> str:
    text = quote(change.prompt)
    return text if change.set == "initial" else f"{text}, {set_label(change.set)}"


def _verdict(change: Change, a: str, b: str) -> str:
    if not change.differs:
        return "No difference that chance would not produce at this number of pictures"
    lean = change.lean["difference"] if change.lean else None
    if lean is None or not exceeds_chance(lean):
        return f"{b} differs from {a} beyond chance"
    word = "less" if lean["value"] < 0 else "more"
    settled = lean["low"] > 0 or lean["high"] < 0
    return f"{b} is {word} one-sided than {a}" + ("" if settled else ", but how much is not settled")


def _lean_ground(entry: Record | None) -> str:
    if entry is None or not is_estimate(entry["difference"]):
        return ""
    difference = entry["difference"]
    return f"{SCORES[entry['score']]} {signed(difference)}{_tail(difference)}"


def _share_ground(reading: CompareReading, entry: Record | None) -> str:
    if entry is None or not is_estimate(entry["difference"]):
        return ""
    own = [reading.estimate(model, entry) for model in reading.models if model.name in entry["runs"]]
    order = [model.name for model in reading.models if model.name in entry["runs"]]
    by_name = dict(zip(order, own, strict=True))
    before, after = (percent((by_name[name] or {}).get("value")) for name in entry["runs"])
    how = "perceived " if reads_appearance(entry["axis"]) else ""
    difference = entry["difference"]
    return (
        f"{how}{shorten(entry['value'], 40)} {measured(difference, points)} points "
        f"({after} against {before}){_tail(difference)}"
    )


def signed(difference: Record) -> str:
    """A difference with its sign and interval."""
    return f"{plus(difference['value'])} {interval(difference)}"


def plus(value: float | None) -> str:
    """A number with its sign."""
    text = number(value)
    return f"+{text}" if value is not None and value > 0 and float(text) > 0 else text


def _tail(difference: Record) -> str:
    return f", {probability(difference['q'], 'q')}" if difference.get("q") is not None else ""
