"""What people show in pictures, in plain words: no further than the test and the interval allow."""

from __future__ import annotations

from askew.pages.words import (
    SIGNIFICANT,
    axis_label,
    capital,
    measured,
    perceived,
    percent,
    plural,
    probability,
    reads_appearance,
    reason,
    set_label,
    shorten,
    thousands,
)
from askew.parts.survey.missing import MissingPictures
from askew.parts.survey.shares import SetShares, SharesDifference
from askew.types import Estimate, Missing

LIMITS = (
    "Instruments read how people look in pictures, and they err. Gender, age, ethnicity and the like are perceived: "
    "nobody's identity is known.",
    "Equal shares are the reference unless the plan says otherwise. They are a point to measure from; what would be "
    "right depends on the use.",
)
"""What is true of all that is read in pictures of people."""


def exceeds_chance(score: Estimate | Missing | None) -> bool | None:
    """Whether chance alone would rarely give this score, by q, else by p; None if it is missing or was not tested."""
    if not isinstance(score, Estimate):
        return None
    p = score.p if score.q is None else score.q
    return None if p is None else p < SIGNIFICANT


def strongest_first(score: Estimate | Missing) -> tuple[int, float, float]:
    """Sort key: corrected score from large to small, scores without correction after, missing ones last."""
    if isinstance(score, Missing):
        return 2, 0.0, 0.0
    return (1, 0.0, -score.value) if score.corrected is None else (0, -score.corrected, -score.value)


def lean_first(entry: SetShares) -> tuple[bool, tuple[int, float, float]]:
    """Sort key: sets that lean, then the others, each by their distance from the ideal."""
    return not exceeds_chance(entry.distance), strongest_first(entry.distance)


def verdict(entry: SetShares) -> str:
    """What a set shows on an axis, in a few words: "more female than even", "no lean shown"."""
    if isinstance(entry.distance, Missing):
        return "not measured"
    beyond = exceeds_chance(entry.distance)
    if not beyond:
        return "not tested against chance" if beyond is None else "no lean shown"
    even = len({round(share, 9) for share in entry.ideal.values()}) == 1
    return f"more {shorten(leaning_value(entry), 40)} than {'even' if even else 'the ideal'}"


def leaning_value(entry: SetShares) -> str:
    """The value that is furthest above its ideal."""
    read = sum(entry.counts.values()) or 1
    return max(entry.counts, key=lambda value: entry.counts[value] / read - entry.ideal.get(value, 0.0))


def seen(entry: SetShares, value: str) -> str:
    """How many show a value: "42 of 48 perceived as female"."""
    how = "perceived as" if reads_appearance(entry.axis) else "seen as"
    return f"{thousands(entry.counts[value])} of {thousands(sum(entry.counts.values()))} {how} {shorten(value, 40)}"


def most_seen(entry: SetShares, remark: str = "") -> str:
    """The value read most often, as "perceived female in 44 of the 46 pictures that could be read"."""
    read = sum(entry.counts.values())
    if not read:
        return ""
    value = max(entry.counts, key=lambda v: entry.counts[v])
    unread = sum(entry.missing.values())
    of = f"{read}" if not unread else f"the {plural(read, 'picture')} that could be read ({unread} could not)"
    how = "perceived" if reads_appearance(entry.axis) else "seen as"
    ideal = entry.ideal.get(value)
    share = "" if ideal is None else f" ({percent(entry.counts[value] / read)}, ideal {percent(ideal)}{remark})"
    return f"{how} {shorten(value, 40)} in {entry.counts[value]} of {of}{share}"


def shares_sentence(entry: SetShares) -> str:
    """What an instrument read on one axis in one picture set, against the ideal."""
    who = f"{capital(perceived(entry.axis))} in {set_label(entry.set)}"
    distance, shown = entry.distance, most_seen(entry)
    if isinstance(distance, Missing):
        return f"{who}: not measured – {reason(distance)}."
    found = {
        True: "further from the ideal than chance would bring it",
        False: f"no lean shown with {plural(distance.n or 0, 'picture')}",
        None: "not tested against chance",
    }[exceeds_chance(distance)]
    told = f" {capital(shown)}." if shown else ""
    return f"{who}: {found}.{told} Distance {measured(distance)}{tests(distance)}."


def difference_sentence(entry: SharesDifference) -> str | None:
    """The largest difference between two picture sets that exceeds chance, None if none does."""
    found = {v: e for v, e in entry.shares.items() if isinstance(e, Estimate) and exceeds_chance(e)}
    if not found:
        return None
    value = max(found, key=lambda v: abs(found[v].value))
    before, after = map(set_label, entry.sets)
    more = "more" if found[value].value > 0 else "less"
    return (
        f"{capital(perceived(entry.axis))}: {shorten(value, 40)} is seen {more} often in {after} than in {before}, "
        f"{measured(found[value], 'points')} points{tests(found[value])}."
    )


def missing_sentence(entry: MissingPictures, what: str) -> str | None:
    """On which value of an axis pictures, which `what` names, are missing most often; None if chance would do it."""
    if entry.q >= SIGNIFICANT:
        return None
    rates = {value: one.missing / one.planned for value, one in entry.counts.items()}
    often, seldom = (
        f"{shorten(value, 40)} ({entry.counts[value].missing} of {entry.counts[value].planned})"
        for value in (max(rates, key=lambda v: rates[v]), min(rates, key=lambda v: rates[v]))
    )
    return (
        f"{capital(axis_label(entry.axis))}: {what} are missing more often for {often} than for {seldom}; "
        f"{probability(entry.q, 'q')}. What is missing may differ from what is left, and no score can correct that."
    )


def tests(score: Estimate) -> str:
    """The p- and q-value, to follow a score: "; p = 0.002, q = 0.004"."""
    told = [probability(value, name) for name, value in (("p", score.p), ("q", score.q)) if value is not None]
    return f"; {', '.join(told)}" if told else ""
