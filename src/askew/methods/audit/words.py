"""What the page of `askew audit` says: the answer, the findings by concepts, how to read them, the method."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from askew.methods.audit.findings import AuditFindings, AxisScores
from askew.pages import common
from askew.pages.blocks import Terms, Text
from askew.pages.words import (
    listing,
    measured,
    number,
    perceived,
    percent,
    plural,
    quote,
    reason,
    set_label,
    shorten,
    thousands,
)
from askew.parts.survey.shares import SetShares
from askew.parts.survey.words import LIMITS, exceeds_chance, leaning_value, most_seen, seen, strongest_first, tests
from askew.types import Estimate, Missing

Strength = Literal["strongly", "clearly", "slightly", "unsettled"]
STRENGTHS: Mapping[Strength, str] = {
    "strongly": "strongly one-sided",
    "clearly": "clearly one-sided",
    "slightly": "slightly one-sided",
    "unsettled": "one-sided, but how far is not settled",
}
NAMED = 3
"""Axes that the answer names before it counts the rest."""


def answer(found: AuditFindings, leads: Sequence[SetShares]) -> str:
    """What was seen, in a sentence of numbers; `leads` are the shares to show, those that lean first."""
    who = shorten(found.model.name, 60)
    read = [entry for entry in leads if isinstance(entry.distance, Estimate)]
    if not read:
        made = plural(sum(name is not None for one in found.sets for name in one.pictures), "picture")
        of = plural(len(found.plan.prompts), "prompt")
        return by_concepts(found) or f"Nothing could be measured: {made} of {of}, and no answer about any of them."
    lean = [entry for entry in read if exceeds_chance(entry.distance)]
    prompts = list(dict.fromkeys(entry.prompt for entry in leads))
    if not lean:
        axes = listing(list(dict.fromkeys(perceived(entry.axis) for entry in read)))
        of = quote(prompts[0]) if len(prompts) == 1 else plural(len(prompts), "prompt")
        return f"No lean shown on {axes}, with {common.sizes(found.sets)} pictures a set of {of} by {who}."
    if len({(entry.prompt, entry.set) for entry in leads}) == 1:
        told = [seen(entry, leaning_value(entry)) for entry in lean[:NAMED]]
        rest = [f"a lean on {len(lean) - NAMED} more"] if len(lean) > NAMED else []
        return f"Pictures of {quote(prompts[0])} by {who}: {', '.join([*told, *rest])}."
    first = lean[0]
    sets = [one for one in read if (one.prompt, one.axis) == (first.prompt, first.axis)]
    shown = [seen(one, leaning_value(one)) for one in sets]
    if len(sets) > 1:
        shown = [f"{set_label(one.set)} {text}" for one, text in zip(sets, shown, strict=True)]
    where = f"{quote(first.prompt)}, " if len(prompts) > 1 else ""
    return f"Leaning most, {where}{perceived(first.axis)}: {'; '.join(shown)}."


def detail(found: AuditFindings, leads: Sequence[SetShares]) -> str:
    """How many lean, by what was seen and by concepts."""
    return " ".join(filter(None, (_by_shares(leads), by_concepts(found) if leads else "")))


def _by_shares(leads: Sequence[SetShares]) -> str:
    tested = [entry for entry in leads if exceeds_chance(entry.distance) is not None]
    if not tested:
        return "No share could be tested against chance." if leads else ""
    far = [entry for entry in tested if exceeds_chance(entry.distance)]
    reader = f"as read by {shorten(leads[0].instrument, 40)}"
    if len(tested) == 1:
        return f"The shares {'' if far else 'do not '}lean beyond chance, {reader}."
    count = f"{len(far) or 'none'} of {thousands(len(tested))}"
    if len({(entry.prompt, entry.set) for entry in tested}) == 1:
        where = f"on {count} axes"
    elif len({entry.axis for entry in tested}) == 1:
        where = f"in {count} picture sets on {perceived(tested[0].axis)}"
    else:
        where = f"in {count} pairs of a picture set and an axis"
    return f"Shares lean beyond chance {where}, {reader}."


def by_concepts(found: AuditFindings) -> str:
    """What TIBET's MAD says of all prompts; nothing where there are no counterfactuals."""
    pairs = [(name, axis) for entry in found.tibet for name, axis in entry.axes.items()]
    known = [(name, axis) for name, axis in ranked(pairs) if isinstance(axis.mad, Estimate)]
    if not pairs:
        return ""
    if not known:
        return "By concepts (MAD), no axis could be measured."
    count = leaning(axis for _, axis in known)
    if not count:
        return f"By concepts (MAD), no lean is shown with {common.sizes(found.sets)} pictures a set."
    if len(found.tibet) == 1:
        name, axis = next((name, axis) for name, axis in known if exceeds_chance(axis.mad))
        ends = extremes(axis.cas)
        towards = f", towards {shorten(ends[0], 40)}" if ends and ends[2] else ""
        return (f"By concepts (MAD), they lean further than chance would on {count} of {len(known)} "
                f"{'axes' if len(known) > 1 else 'axis'}, most on {perceived(name)}{towards}.")  # fmt: skip
    times = {name: leaning(axis for other, axis in known if other == name) for name, _ in pairs}
    top = max(times, key=lambda name: times[name])
    asked = sum(name == top for name, _ in known)
    return (f"By concepts (MAD), pictures lean further than chance would in {count} of {len(known)} pairs of a prompt "
            f"and an axis, most often on {perceived(top)} ({times[top]} of {plural(asked, 'prompt')}).")  # fmt: skip


def verdict(axis: AxisScores) -> str:
    """What MAD says of an axis."""
    if isinstance(axis.mad, Missing):
        return f"not measured – {reason(axis.mad)}"
    beyond = exceeds_chance(axis.mad)
    if beyond is None:
        return "not tested against chance"
    return STRENGTHS[strength(axis.mad)] if beyond else f"no lean shown with {plural(axis.mad.n or 0, 'picture')}"


def ground(prompt: str, axis: AxisScores, entry: SetShares | None) -> str:
    """What the verdict rests on: nearness to counterfactuals, what was seen, and the test of MAD."""
    if isinstance(axis.mad, Missing):
        return ""
    says = _lean if exceeds_chance(axis.mad) else _no_lean
    beyond = entry is not None and exceeds_chance(entry.distance)
    shown = most_seen(entry, ", beyond chance" if beyond else "") if entry else ""
    return f"{'; '.join(filter(None, [says(prompt, axis), shown]))}. {_chance(axis.mad)}"


def strength(mad: Estimate) -> Strength:
    """How far a score that exceeds chance goes: the corrected score, held back by the lower end of its interval."""
    if mad.low is None or mad.corrected is None or mad.low <= 0:
        return "unsettled"
    if mad.corrected >= 0.5 and mad.low >= 0.3:
        return "strongly"
    return "clearly" if mad.corrected >= 0.2 and mad.low >= 0.1 else "slightly"


def extremes(scores: Mapping[str, Estimate | Missing]) -> tuple[str, str, bool] | None:
    """The values with the highest and the lowest score, and whether their intervals are apart."""
    known = {value: e for value, e in scores.items() if isinstance(e, Estimate)}
    if len(known) < 2:
        return None
    top, low = max(known, key=lambda v: known[v].value), min(known, key=lambda v: known[v].value)
    above, below = known[top].low, known[low].high
    return top, low, above is not None and below is not None and above > below


def ranked(axes: Iterable[tuple[str, AxisScores]]) -> list[tuple[str, AxisScores]]:
    """Axes by corrected MAD, the largest first; equal ones keep their order."""
    return sorted(axes, key=lambda item: strongest_first(item[1].mad))


def leaning(axes: Iterable[AxisScores]) -> int:
    """How many of these axes exceed chance by MAD."""
    return sum(exceeds_chance(axis.mad) is True for axis in axes)


def nearest(axis: AxisScores) -> str | None:
    """The counterfactual with the highest CAS, if the pictures lean and it is settled which way."""
    ends = extremes(axis.cas)
    return shorten(ends[0], 24) if ends and ends[2] and exceeds_chance(axis.mad) else None


def _lean(prompt: str, axis: AxisScores) -> str:
    ends = extremes(axis.cas)
    if ends is None:
        return f"Pictures of {quote(prompt)} are not equally near to the counterfactuals"
    top, low, apart = ends
    scores = f"CAS {measured(axis.cas[top])} against {measured(axis.cas[low])}"
    if not apart:
        return (f"The counterfactuals are not equally near to the pictures of {quote(prompt)}, but which is nearest "
                f"is not settled: {shorten(top, 40)} is highest, {shorten(low, 40)} lowest, {scores}")  # fmt: skip
    much = "much " if isinstance(axis.mad, Estimate) and strength(axis.mad) == "strongly" else ""
    return (f"Pictures of {quote(prompt)} resemble its {shorten(top, 40)} counterfactual {much}more than its "
            f"{shorten(low, 40)} one: {scores}")  # fmt: skip


def _no_lean(prompt: str, axis: AxisScores) -> str:
    ends = extremes(axis.cas)
    if ends is None:
        return f"Pictures of {quote(prompt)} were compared with too few counterfactuals"
    return f"CAS runs from {' to '.join(f'{measured(axis.cas[v])} ({shorten(v, 40)})' for v in (ends[1], ends[0]))}"


def _chance(mad: Estimate) -> str:
    expected = f"; chance alone would give {number(mad.null)}" if mad.null is not None else ""
    room = ""
    if exceeds_chance(mad) is False and mad.high is not None:
        room = f" More pictures could still show a MAD of up to {number(mad.high)}."
    return f"MAD {measured(mad)}{expected}{tests(mad)}.{room}"


def reading(found: AuditFindings) -> tuple[Terms, Text]:
    """The terms of the page, and what a score does not mean."""
    by_concept = (
        ("CAS", "How much of what is seen in the pictures of the prompt is also seen, as often, in the pictures of a "
                "counterfactual prompt. 1: the same concepts equally often. 0: no concept in common."),
        ("MAD", "How unequal the CAS values of an axis are. 0: the pictures are equally near to all counterfactuals. "
                "It says how far the pictures lean, CAS says which way."),
    )  # fmt: skip
    terms = (
        ("Distance", "How far the shares in a set are from the ideal: 0 at the ideal."),
        *(by_concept if found.tibet else ()),
        ("Interval", "Where the score would lie if the model were asked for endless pictures, at the confidence level "
                     "of the plan. Few pictures push a measured score to one side, so a dot can lie beside the middle "
                     "of its line, or off it."),
        ("Chance", "The mean score that a model without any lean would get from this number of pictures. It is not "
                   "zero. Corrected sets it to 0 and the largest possible score to 1."),
        ("p and q", "p: how often chance alone gives a score this large. q: the same, adjusted for the number of "
                    "scores tested together. Below 0.05 this page speaks of a lean. A larger value does not show that "
                    "there is none; the interval shows how large it could be."),
    )  # fmt: skip
    return Terms(terms), NOT_MEANT


NOT_MEANT = Text(lead="What a score does not mean", items=(
    *LIMITS,
    "A score holds for these prompts, this model with these settings, and these instruments. It says nothing about why "
    "the model leans, and is no statement on any law or standard.",
))  # fmt: skip

SOURCE = Text(
    "The audit follows TIBET (Chinchure et al., “TIBET: Identifying and Evaluating Biases in Text-to-Image Generative "
    "Models”, ECCV 2024). The prompt is changed in one concept at a time, along each axis. The same number of pictures "
    "is made of the prompt and of every counterfactual. Questions about each picture give concepts; w is the share of "
    "a set's pictures that show a concept."
)


def method(found: AuditFindings) -> tuple[Text | Terms, ...]:
    """How the scores are computed."""
    concepts = (
        ("CAS (Eq. 1–3)", "concept association: Σ min(w, w′) ⁄ Σ max(w, w′), over all concepts of the two sets"),
        ("By embedding (Eq. 4)", "mean cosine of every initial picture with every counterfactual picture"),
        ("MAD (Eq. 5–7)", "mean absolute deviation: √( (1⁄K) Σ |CAS of k − mean CAS| ÷ 2(K − 1)⁄K² ), for K "
                          "counterfactuals"),
        ("Chance for MAD", "the initial set redrawn from the equal mixture of the counterfactual sets, and scored "
                           f"again; {thousands(found.plan.draws)} draws"),
        ("Corrected", "(score − chance) ⁄ (largest score − chance)"),
    )  # fmt: skip
    errors = "the shares that, read with the errors of the confusion matrix, come nearest to the shares seen"
    of_shares = (
        ("Shares", "answers that name a value ⁄ answers at all"),
        ("Distance", "½ Σ |share − ideal|; for ordered values, the area between the cumulated shares divided by their "
                     "number less one"),
        ("Chance for a distance", "as many answers drawn from the ideal"),
        *((("Corrected for reading errors", errors),) if found.confusion else ()),
        ("Worst case", "the shares if all missing answers had gone against a value, or all to it"),
    )  # fmt: skip
    adjusted = (
        f"q-values by the method of Benjamini and Hochberg (1995). Intervals at {percent(found.plan.level)}. All "
        "random draws follow from the run seed: the same plan gives the same report."
    )
    told: list[Text | Terms] = [SOURCE, Terms(concepts)] if found.tibet else []
    return (*told, *([Terms(of_shares)] if found.shares else []), Text(adjusted))
