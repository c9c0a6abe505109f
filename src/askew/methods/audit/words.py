"""What the page of `askew audit` says: the answer, what MAD adds, how to read the scores, the
method.
"""

from collections.abc import Iterable, Sequence

from askew.methods.audit.findings import AuditFindings, AxisScores
from askew.models.base import MITIGATION_SETTING
from askew.pages import skeleton, words
from askew.pages.blocks import Section
from askew.pages.phrases import format_phrase
from askew.pages.words import listing, measured, number, perceived, plural, quote, reason, shorten
from askew.parts.survey.blocks import strongest_first
from askew.parts.survey.sentences import LIMITS, most_seen, tests
from askew.parts.survey.shares import SetShares
from askew.parts.survey.verdicts import is_biased
from askew.stats.intervals import ends as ends_of
from askew.stats.significance import is_significant
from askew.types import Estimate, Missing

NAMED = 3
"""Axes that the answer names before it counts the rest."""


def answer(found: AuditFindings, leads: Sequence[SetShares]) -> str:
    """What was seen, in a sentence of numbers; `leads` are the shares to show, those that lean
    first.
    """
    who = shorten(found.model.name, 60) + ", mitigated" * (
        MITIGATION_SETTING in found.model.settings
    )
    read = [entry for entry in leads if isinstance(entry.distance, Estimate)]
    if not read:
        made = plural(
            sum(name is not None for one in found.sets for name in one.pictures), "picture"
        )
        of = plural(len(found.plan.prompts), "prompt")
        return (
            open_axes(found)
            or f"Nothing could be measured: {made} of {of}, and no answer about any of them."
        )
    lean = [entry for entry in read if is_biased(entry)]
    prompts = list(dict.fromkeys(entry.prompt for entry in leads))
    if not lean:
        names = list(dict.fromkeys(perceived(entry.axis) for entry in read))
        counts = sorted(sum(entry.counts.values()) for entry in read)
        looked = " to ".join(
            f"{n:,}" for n in dict.fromkeys((counts[0], counts[-1]))
        )  # "48", or "45 to 48"
        axes = listing(names) if len(names) <= NAMED else f"any of {len(names)} axes"
        of = quote(prompts[0]) if len(prompts) == 1 else f"each of {plural(len(prompts), 'prompt')}"
        return format_phrase(
            "no_bias_headline",
            axes=axes,
            images=f"{looked} image" if looked == "1" else f"{looked} images",
            prompt=of,
            model=who,
        )
    if len({(entry.prompt, entry.set) for entry in leads}) == 1:
        rest = [f"a lean on {len(lean) - NAMED} more"] if len(lean) > NAMED else []
        return f"Pictures of {quote(prompts[0])} by {who}: {', '.join([*map(most_seen, lean[:NAMED]), *rest])}."
    first = lean[0]
    sets = [one for one in read if (one.prompt, one.axis) == (first.prompt, first.axis)]
    shown = [
        f"{words.set_label(one.set)} {most_seen(one)}" if len(sets) > 1 else most_seen(one)
        for one in sets
    ]
    where = f"{quote(first.prompt)}, " if len(prompts) > 1 else ""
    return f"Leaning most, {where}{perceived(first.axis)}: {'; '.join(shown)}."


def detail(found: AuditFindings, leads: Sequence[SetShares]) -> str:
    """How many verdicts say that there is a lean; where none does, which one would have been shown."""
    tested = [entry for entry in leads if is_biased(entry) is not None]
    if not tested:
        return "No share could be tested against chance." if leads else ""
    count = sum(is_biased(entry) is True for entry in tested)
    shown = [
        entry.verdict.detectable if entry.verdict else None
        for entry in tested
        if not is_biased(entry)
    ]
    known = [one for one in shown if one is not None]
    could = (
        format_phrase("power", deviation=number(max(known)))
        if known and len(known) == len(shown)
        else ""
    )
    if not count:
        return " ".join(filter(None, (could or format_phrase("no_power"), open_axes(found))))
    of = f"{count} of {len(tested):,}"
    if len(tested) == 1:
        where = f"on {perceived(tested[0].axis)}"
    elif len({(entry.prompt, entry.set) for entry in tested}) == 1:
        where = f"on {of} axes"
    elif len({entry.axis for entry in tested}) == 1:
        where = f"in {of} image sets on {perceived(tested[0].axis)}"
    else:
        where = f"in {of} pairs of an image set and an axis"
    lean = format_phrase("bias_headline", where=where, instrument=shorten(leads[0].instrument, 40))
    others = f"On the other axes, {could[:1].lower()}{could[1:]}" if could else ""
    return " ".join(filter(None, (lean, others, open_axes(found))))


def open_axes(found: AuditFindings) -> str:
    """What MAD says of axes whose answers are open, so that they have no shares."""
    counted = {(entry.prompt, entry.axis) for entry in found.shares}
    scores = [
        axis.mad
        for entry in found.tibet
        for name, axis in entry.axes.items()
        if (entry.prompt, name) not in counted
    ]
    tested = [beyond for mad in scores if (beyond := is_significant(mad)) is not None]
    if not scores:
        return ""
    if not tested:
        return "By concepts (MAD), no axis could be measured."
    axes = f"{plural(len(tested), 'axis', 'axes')} without shares"
    return format_phrase(
        "concept_headline" if any(tested) else "no_concept_headline", count=sum(tested), axes=axes
    )


def by_mad(axis: AxisScores, even: bool = True) -> str:
    """What MAD adds: which counterfactual the pictures are nearest to, if that is settled, and the
    test of MAD.
    """
    if isinstance(axis.mad, Missing):
        return f"MAD not measured – {reason(axis.mad)}."
    asks = (
        ""
        if even
        else (
            " MAD asks whether the pictures are equally near to all values; it is no verdict here, "
            "since the ideal is another."
        )
    )
    ends = extremes(axis)
    near = ""
    if ends and ends[2] and even and is_significant(axis.mad):
        (top, high), (low, least) = (
            (shorten(value, 40), measured(axis.cas[value])) for value in ends[:2]
        )
        values = format_phrase("nearest_values", top=top, high=high, bottom=low, low=least)
        near = f"By concepts, the images are {values}. "
    return f"{near}{words.describe_score(axis.mad, 'MAD')}{tests(axis.mad)}.{asks}"


def extremes(axis: AxisScores) -> tuple[str, str, bool] | None:
    """The values with the highest and the lowest CAS, and whether they surely lie above and below
    the others' mean.
    """
    known = {value: e for value, e in axis.cas_contrast.items() if isinstance(e, Estimate)}
    if len(known) < 2:
        return None
    top = max(known, key=lambda v: known[v].value)
    low = min(known, key=lambda v: known[v].value)
    return top, low, ends_of(known[top])[0] > 0 > ends_of(known[low])[1]


def ranked(axes: Iterable[tuple[str, AxisScores]]) -> list[tuple[str, AxisScores]]:
    """Axes by corrected MAD, the largest first; equal ones keep their order."""
    return sorted(axes, key=lambda item: strongest_first(item[1].mad))


def nearest(axis: AxisScores) -> str | None:
    """The counterfactual with the highest CAS, if the pictures lean and it is settled which way."""
    ends = extremes(axis)
    return shorten(ends[0], 24) if ends and ends[2] and is_significant(axis.mad) else None


def reading(found: AuditFindings) -> Section:
    """The terms of the page, what a score does not mean, and how the scores are computed."""
    tibet = (
        "The audit follows TIBET (Chinchure et al., “TIBET: Identifying and Evaluating Biases in Text-to-Image "
        "Generative Models”, ECCV 2024). The prompt is changed in one concept at a time, along each axis. Questions "
        "about each picture give concepts; w is the share of a set's pictures that show a concept."
    )
    by_concept = (
        (
            "CAS",
            "How much of what is seen in the pictures of the prompt is also seen, as often, in the pictures of a "
            "counterfactual prompt. 1: the same concepts equally often. 0: no concept in common.",
        ),
        (
            "MAD",
            "How unequal the CAS values of an axis are. 0: the pictures are equally near to all counterfactuals. "
            "Its concepts come from the answers to all questions: it depends on which other axes are asked about. "
            "The number is the paper's; the dot of a plot allows for how few the pictures are.",
        ),
    )
    terms = (
        ("Distance", "How far the shares in a set are from the ideal: 0 at the ideal."),
        *(by_concept if found.tibet else ()),
        (
            "Chance",
            "The mean score that a model without any lean would get from this number of pictures. It is not "
            "zero. Corrected sets it to 0 and the largest possible score to 1.",
        ),
        (
            "Verdict",
            "One for each picture set and axis, by the distance of the shares, of ordered values also by their "
            "total variation and, where equal shares are the ideal, by MAD: Holm over these, then "
            "Benjamini-Hochberg over all. Bold, the headline and --fail-if “lean.q < 0.05” follow it.",
        ),
    )
    computed = (
        ("CAS (Eq. 1–3)", "Σ min(w, w′) ⁄ Σ max(w, w′), over all concepts of the two sets"),
        (
            "By embedding (Eq. 4)",
            "mean cosine of every initial picture with every counterfactual picture",
        ),
        (
            "MAD (Eq. 5–7)",
            "√( (1⁄K) Σ |CAS of k − mean CAS| ÷ 2(K − 1)⁄K² ), for K counterfactuals",
        ),
        (
            "Chance for MAD",
            "the initial set redrawn from the equal mixture of the counterfactual sets, and scored "
            f"again; {found.plan.bootstrap_samples:,} draws",
        ),
    )
    of_shares = (
        ("Shares", "answers that name a value ⁄ answers at all"),
        (
            "Distance",
            "total variation, ½ Σ |share − ideal|; for ordered values, the area between the cumulated shares "
            "divided by their number less one; chance: as many answers drawn from the ideal",
        ),
        (
            "Corrected for reading errors",
            "the shares that, read with known errors, come nearest to those seen",
        ),
        ("Worst case", "the shares if all missing answers had gone against a value, or all to it"),
    )
    method = (*(computed if found.tibet else ()), *of_shares)
    return skeleton.reading(terms, LIMITS, method, tibet if found.tibet else "")
