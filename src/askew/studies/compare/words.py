"""Differences between runs in plain language. What is said never goes further than the q-value allows."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from askew.pages import skeleton, words
from askew.pages.blocks import Section, Terms
from askew.pages.phrases import say
from askew.pages.words import capital, measured, number, perceived, percent, probability, quote, reason, shorten
from askew.parts.survey.words import exceeds_chance
from askew.stats.intervals import ends
from askew.studies.compare.findings import Change, Difference, Pair
from askew.types import Estimate, Missing

SCORES = {"mad": "MAD", "cas": "CAS", "share": "Share", "distance": "Distance"}
Own = Callable[[str, Difference], Estimate | None]
"""Who knows the score of a run that a difference is of."""


def pair_sentence(pair: Pair, found: Sequence[Change], own: Own) -> str:
    """What differs between two runs, in a sentence or two; `found` are their changes in order."""
    known = [change for change in found if change.size >= 0]
    a, b = (shorten(name, 60) for name in pair)
    if not known:
        return f"{b} and {a} could not be compared on any axis."
    count = sum(change.differs for change in known)
    if not count:
        return say("runs_alike", a=a, b=b)
    differs = say("run_differs", a=a, b=b, where=f"{_where(known, count)}{_leans(known, count)}")
    return f"{differs} {_most(known[0], count, own)}"


def change_sentence(change: Change, a: str, b: str, own: Own) -> str:
    """What differs between two runs, called `a` and `b`, on one axis of one picture set."""
    if change.size < 0:
        gap = change.lean or change.share
        why = reason(gap.difference) if gap and isinstance(gap.difference, Missing) else "no score"
        return f"{b} less {a}: not measured – {why}."
    ground = "; ".join(filter(None, [_lean_ground(change.lean), _share_ground(change.share, own)]))
    side = _side(change) if change.differs else ""
    verdict = (f"{b} is {say('less_or_more', word=side)} than {a}" if side
               else say("differs_here", a=a, b=b) if change.differs else say("alike_here"))  # fmt: skip
    return f"{verdict}. {capital(ground)}."


def score_label(entry: Difference) -> str:
    """A score in words, with the value that it is about."""
    name = SCORES[entry.score]
    return f"{name}, {shorten(entry.value, 40)}" if entry.value is not None else name


def _where(found: Sequence[Change], count: int) -> str:
    if len(found) == 1:
        return f"on {perceived(found[0].axis)}"
    if len({(change.prompt, change.set) for change in found}) == 1:
        return f"on {count} of {len(found)} axes"
    what = "prompt" if all(change.set == "initial" for change in found) else "picture set"
    return f"in {count} of {len(found)} pairs of a {what} and an axis"


def _leans(found: Sequence[Change], count: int) -> str:
    """In how many of the `count` that differ the second run is surely less or more one-sided."""
    sides = [_side(change) for change in found if change.differs]
    parts = [
        say("less_or_more", word=word) + (f" in {sides.count(word)}" if count > 1 else "")
        for word in ("less", "more") if word in sides
    ]  # fmt: skip
    return f": {' and '.join(parts)}" if parts else ""


def _side(change: Change) -> str:
    """Whether the second run is surely less or more one-sided: by q, and by an interval that leaves out 0."""
    lean = change.lean.difference if change.lean else None
    if not isinstance(lean, Estimate) or not exceeds_chance(lean) or ends(lean)[0] <= 0 <= ends(lean)[1]:
        return ""
    return "less" if lean.mark < 0 else "more"


def _most(change: Change, count: int, own: Own) -> str:
    what = "The largest of these differences" if count > 1 else "The difference"
    ground = _share_ground(change.share, own) or _lean_ground(change.lean)
    where = (
        quote(change.prompt) if change.set == "initial" else f"{quote(change.prompt)}, {words.set_label(change.set)}"
    )
    return f"{what} is on {perceived(change.axis)} of {where}: {ground}."


def _lean_ground(entry: Difference | None) -> str:
    if entry is None or not isinstance(entry.difference, Estimate):
        return ""
    score = entry.difference
    return f"{SCORES[entry.score]} {measured(score, 'signed')}{_tail(score)}"


def _share_ground(entry: Difference | None, own: Own) -> str:
    if entry is None or not isinstance(entry.difference, Estimate):
        return ""
    scores = [own(run, entry) for run in entry.runs]
    before, after = (f"{percent(e.value)}, {round(e.value * e.n)} of {e.n}" if e and e.n else "–" for e in scores)
    how = "perceived " if words.reads_appearance(entry.axis) else ""
    return (f"{how}{shorten(entry.value or '', 40)} {measured(entry.difference, 'points')} points "
            f"({after}, against {before}){_tail(entry.difference)}")  # fmt: skip


def _tail(score: Estimate) -> str:
    return f", {probability(score.q, 'q')}" if score.q is not None else ""


def reading(paired: bool, counterfactuals: bool, level: float) -> Section:
    """The terms of the page, what a difference does not mean, and how differences are computed."""
    seed = ("Same seed", "Picture 7 of a prompt starts from the same seed in every run. Pictures are compared in such "
            "pairs, so that what differs is the model and not the luck of the draw.")  # fmt: skip
    less = ("Difference", "The second run's score less the first one's, both allowing for few pictures. "
            "Whether two runs differ on an axis is one test, by its shares; every other score is a family of its "
            "own.")  # fmt: skip
    joined = "both scores' own intervals joined (MOVER; Newcombe's tenth method for shares)"
    joined += ", less the correlation of their errors over pairs of pictures" if paired else ", as independent sets"
    tested = ("of shares: exact (McNemar's test where every picture was read); of the others: the two pictures of each "
              "pair change places at random" if paired else
              "of shares: a score test; of the others: pictures are dealt to both runs at random")  # fmt: skip
    tibet = ("MAD and CAS", "as in TIBET (Chinchure et al., ECCV 2024), synonyms merged over both runs")
    computed = Terms((
        ("Intervals", f"{joined}; at {percent(level)}"),
        ("p", f"{tested}, (1 + draws at least as far from zero) ⁄ (1 + draws)"),
        ("q", "shares by Holm over the values of an axis, then by Benjamini and Hochberg (1995) over sets and axes"),
        *([tibet] if counterfactuals else []),
        ("Distance", "of the shares from equal shares, or from the plan's own ideal"),
    ))  # fmt: skip
    not_better = "Less one-sided is not better in itself: what would be right depends on the use."
    return skeleton.reading((*([seed] if paired else []), less), (not_better,), (computed,), of="difference")


def own_number(score: Estimate | Missing | None, share: bool) -> str:
    """A run's own score beside a difference, without the bias of few pictures, so that the columns subtract."""
    value = score.mark if isinstance(score, Estimate) else None
    return percent(value) if share else number(value)
