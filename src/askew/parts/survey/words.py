"""What people show in pictures, in plain words: no further than the test and the interval allow."""

from __future__ import annotations

from askew.pages import words
from askew.pages.phrases import say
from askew.pages.words import SIGNIFICANT, capital, measured, number, perceived, percent, plural, probability, shorten
from askew.parts.survey.observed import MissingPictures
from askew.parts.survey.shares import SetShares, SharesDifference
from askew.stats.intervals import ends
from askew.types import Estimate, Missing

LIMITS = (
    "Equal shares are the reference unless the plan says otherwise. They are a point to measure from; what would be "
    "right depends on the use.",
)
"""What a score of shares does not mean."""


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


def leans(entry: SetShares) -> bool | None:
    """By the verdict on the set; None where nothing was tested."""
    return exceeds_chance(entry.distance) if entry.verdict is None else entry.verdict.q < SIGNIFICANT


def verdict(entry: SetShares) -> str:
    """What a set shows on an axis, in a few words: "more female than even", "none shown"."""
    if isinstance(entry.distance, Missing):
        return "not measured"
    lean = leans(entry)
    if not lean:
        return "not tested against chance" if lean is None else say("none")
    if not any(map(exceeds_chance, entry.from_ideal)):
        return say("lean_elsewhere")
    ideal, value = "even" if entry.even else "the ideal", entry.leading
    known = {v: (low, high) for v, e in entry.shares.items() if isinstance(e, Estimate) for low, high in [ends(e)]}
    under = [v for v, (_, high) in known.items() if high < entry.ideal[v]]
    if value in known and known[value][0] > entry.ideal[value]:
        return say("lean", value=shorten(value, 40), ideal=ideal)
    if under:
        return say("lean_less", value=shorten(min(under, key=lambda v: known[v][1] - entry.ideal[v]), 40), ideal=ideal)
    return say("lean_spread", ideal=ideal)


def seen(entry: SetShares) -> str:
    """How many show the value furthest above its ideal: "88 % perceived female (42 of 48)"."""
    value, read = entry.leading, sum(entry.counts.values())
    how = "perceived" if words.reads_appearance(entry.axis) else "seen as"
    ideal = "" if entry.even else f", ideal {percent(entry.ideal.get(value))}"
    return say("seen", share=percent(entry.counts[value] / read), how=how, value=shorten(value, 40),
               count=words.thousands(entry.counts[value]), n=f"{words.thousands(read)}{ideal}")  # fmt: skip


def sentence(entry: SetShares) -> str:
    """What was seen, and the verdict, in one sentence: without its end."""
    if isinstance(entry.distance, Missing):
        return f"not measured – {words.reason(entry.distance)}"
    found, lost = verdict(entry), sum(entry.missing.values())
    if leans(entry) is False:
        pictures = plural(sum(entry.counts.values()), "picture")
        shown = entry.verdict.detectable if entry.verdict else None
        found = (say("none_possible", pictures=pictures) if shown is None
                 else say("none_with", pictures=pictures, distance=number(shown)))  # fmt: skip
    unread = f"; {plural(lost, 'picture')} could not be read" if lost else ""
    q = f"; {probability(entry.verdict.q, 'q')}" if entry.verdict else ""
    return f"{seen(entry)}{unread}: {found}{q}"


def difference_sentence(entry: SharesDifference) -> str | None:
    """The largest difference between two picture sets that exceeds chance, None if none does."""
    found = {v: e for v, e in entry.shares.items() if isinstance(e, Estimate) and exceeds_chance(e)}
    if not found:
        return None
    value = max(found, key=lambda v: abs(found[v].value))
    before, after = map(words.set_label, entry.sets)
    more = "more" if found[value].value > 0 else "less"
    return say("set_differs", axis=capital(perceived(entry.axis)), value=shorten(value, 40), more=more, after=after,
               before=before, points=measured(found[value], "points"), q=probability(found[value].q, "q"))  # fmt: skip


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
        f"{capital(words.axis_label(entry.axis))}: {what} are missing more often for {often} than for {seldom}; "
        f"{probability(entry.q, 'q')}. What is missing may differ from what is left, and no score can correct that."
    )


def tests(score: Estimate) -> str:
    """The p- and q-value, to follow a score: "; p = 0.002, q = 0.004"."""
    told = [probability(value, name) for name, value in (("p", score.p), ("q", score.q)) if value is not None]
    return f"; {', '.join(told)}" if told else ""
