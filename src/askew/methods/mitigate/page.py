"""The page of `askew mitigate`: what was asked for, what became of it, what else changed, and what
it costs.
"""

from collections.abc import Iterator, Sequence

from askew.findings import E
from askew.methods.mitigate.findings import AxisChange, MitigationFindings, TechniqueFindings
from askew.pages import blocks as b
from askew.pages import skeleton, words
from askew.pages.media import Media, shot
from askew.pages.phrases import format_phrase
from askew.pages.words import (
    axis_label,
    capital,
    listing,
    measured,
    number,
    perceived,
    percent,
    plural,
    quote,
    shorten,
)
from askew.parts.survey import blocks as survey
from askew.parts.survey.sentences import LIMITS
from askew.types import Estimate

FIRST = 12
"""Pictures of each way that stand side by side."""

TERMS = (
    (
        "Fresh pictures",
        "They judge: their seeds are none of those that planned. Those before and after have the same "
        "seeds, and are compared in pairs.",
    ),
    (
        "Distance",
        "Of the shares from the target; of axes that were not aimed at, from their ideal. Debiased for the "
        "number of pictures. The aimed axes and the watched ones are families of q of their own.",
    ),
    (
        "Hang together more",
        "Cramér's V of two axes rose beyond chance. It also rises where rare values get frequent: "
        "by the new shares alone is what it would be, did each value still go with the others as before.",
    ),
    (
        "Unlike those before",
        "A distance of the embedder's vectors between all pictures before and all after, squared "
        "and free of chance; 0 where one model could have made both.",
    ),
)


def page(found: MitigationFindings, media: Media) -> b.Page:
    """What to show of a run."""
    prompts = [prompt.text for prompt in found.plan.prompts]
    told = [verdict(technique, len(prompts) > 1) for technique in found.techniques]
    files = (
        b.Details(f"mitigation-{technique}.toml", (b.CodeBlock(text),))
        for technique, text in found.mitigations.items()
    )
    aimed_at = {
        one.axis for technique in found.techniques for one in technique.axes if one.is_target
    }
    is_target, others = (
        [one for one in found.shares if (one.axis in aimed_at) is wanted]
        for wanted in (True, False)
    )
    watched = b.Details("Axes that were not aimed at", survey.seen(others))
    pictures = (
        b.Details(one.caption, (one,)) if k else one
        for k, one in enumerate(_pictures(found, media))
    )
    sections = (
        b.Section("Who was seen, before and after", (*survey.seen(is_target), watched)),
        b.Section("The same seeds, before and after", pictures, screen=False),
        b.Section("Distance from the target", map(_distances, found.techniques)),
        b.Section("What else changed", map(_others, found.techniques)),
        b.Section("Predicted and measured", _predicted(found), screen=False),
        b.Section("The files", files, screen=False),
    )
    return skeleton.page(
        found,
        skeleton.Heading(
            kicker=f"askew mitigate · {skeleton.identity(found.model)}",
            title=quote(prompts[0], 160) if len(prompts) == 1 else plural(len(prompts), "prompt"),
            answer=" ".join(told[:2]),
            detail=" ".join(told[2:]),
        ),
        sections=sections,
        facts=(
            *skeleton.facts(found),
            ("Judged by", f"{plural(found.plan.eval_images, 'fresh picture')} before and after"),
        ),
        reading=skeleton.reading(TERMS, LIMITS),
        notes=skeleton.notes(found),
    )


def verdict(technique: TechniqueFindings, several: bool = False) -> str:
    """What a way did, in one sentence: never "helped" where the subject, the pictures or another
    axis paid for it.
    """
    where = (
        f"{capital(technique.technique)}, {quote(technique.prompt, 60)}"
        if several
        else capital(technique.technique)
    )
    is_target = [one for one in technique.axes if one.is_target]
    text = (
        format_phrase(
            "technique_improvement",
            technique=where,
            axes=listing([_moved(one) for one in technique.helped]),
        )
        if technique.helped
        else format_phrase(
            "no_technique_improvement",
            technique=where,
            axes=listing([_moved(one) for one in is_target]),
        )
    )
    paid = (
        [format_phrase("technique_harm", axes=listing([_moved(one) for one in technique.harmed]))]
        if technique.harmed
        else []
    )
    paid += (
        [
            format_phrase(
                "technique_association", pairs=listing([_pair(one.axes) for one in technique.built])
            )
        ]
        if technique.built
        else []
    )
    paid += map(format_phrase, technique.broken)
    paid += [
        format_phrase(
            "technique_doubt", instruments=listing(one.doubted), axis=axis_label(one.axis)
        )
        for one in is_target
        if one.doubted
    ]
    cost = f" A picture costs {technique.cost:.1f} times." if technique.cost != 1 else ""
    return f"{text}{f'; but {listing(paid)}' if paid else ''}.{cost}"


def _moved(one: AxisChange) -> str:
    return (
        f"{perceived(one.axis)} (distance {words.part(one.before, 'mark')} → {measured(one.after)})"
    )


def _ring(score: E, name: str) -> tuple[b.ReferenceMark, ...]:
    return (b.ReferenceMark(score.mark, name, "ring"),) if isinstance(score, Estimate) else ()


def _pair(axes: tuple[str, str]) -> str:
    return " and ".join(map(axis_label, axes))


def _pictures(found: MitigationFindings, media: Media) -> Iterator[b.PictureGrid]:
    """Of every prompt, the fewer the more prompts there are."""
    most = max(4, FIRST // len(found.plan.prompts))
    for prompt in found.plan.prompts:
        rows = tuple(
            b.PictureRow(
                tuple(
                    shot(media, name, f"Picture {k + 1}, {_label(one.value)}")
                    for k, name in enumerate(one.pictures[:most])
                ),
                _label(one.value),
            )
            for one in found.sets
            if one.prompt == prompt.text
        )
        yield b.PictureGrid(
            f"{quote(prompt.text, 100)}: one seed under another", rows, aligned=True
        )


def _label(technique: str | None) -> str:
    return "before" if technique is None else f"after {technique}"


def _distances(technique: TechniqueFindings) -> b.IntervalChart:
    rows = tuple(
        b.IntervalRow(
            f"{capital(axis_label(one.axis))}{'' if one.is_target else ' (watched)'}",
            one.after,
            (
                measured(one.change, "signed"),
                words.part(one.change, "q"),
                f"{percent(one.followed.value)} of {one.followed.n}"
                if isinstance(one.followed, Estimate)
                else None,
            ),
            strong=one.fell or one.rose,
            marks=_ring(one.before, "before"),
        )
        for one in technique.axes
    )
    return b.IntervalChart(
        f"{capital(technique.technique)}, {quote(technique.prompt, 60)}: distance after",
        "Axis",
        rows,
        "distance",
        columns=("mark", "interval"),
        more=("change", "q", "followed"),
    )


def _others(technique: TechniqueFindings) -> b.Details:
    was = (
        f" ({words.part(technique.subject_before, 'mark', 'share')} before)"
        if technique.subject_before is not None
        else ""
    )
    shares = [
        (f"subject shown{was}", technique.subject),
        ("aimed axis unread", technique.unlabeled),
    ]
    small = [
        ("fit to the prompt (cosine)", technique.nearness),
        ("unlike those before, as a whole", technique.quality),
    ]
    lanes = (
        b.IntervalChart(
            "After less before, in percentage points",
            "What",
            _lanes(shares),
            "change",
            "points",
            b.DIFFERENCE,
        ),
        b.IntervalChart("After less before", "What", _lanes(small), "change", "fine", b.DIFFERENCE),
    )
    rows = tuple(
        b.IntervalRow(
            capital(_pair(one.axes)),
            one.rise,
            (*map(number, (one.before, one.carried, one.after)),),
        )
        for one in sorted(technique.pairs, key=lambda one: words.largest_first(one.rise))[:10]
    )
    tied = b.IntervalChart(
        "Pairs of axes: rise of Cramér's V",
        "Pair",
        rows,
        "rise",
        "signed",
        b.DIFFERENCE,
        more=("before", "by the new shares alone", "after"),
    )
    worse = [
        one
        for one in technique.axes
        if not one.is_target and isinstance(one.change, Estimate) and one.change.value > 0
    ]
    watched = sum(not one.is_target for one in technique.axes)
    sides = (
        f"{len(worse)} of {watched} watched axes are further from their ideal than before, "
        f"{len([one for one in technique.harmed if not one.is_target])} beyond chance; where nothing is done, chance moves "
        "about half of them so."
    )
    summary = f"{capital(technique.technique)}, {quote(technique.prompt, 60)}: subject, pictures, pairs of axes, watched axes"
    return b.Details(summary, (b.Paragraph(sides if watched else ""), *lanes, tied), screen=True)


def _lanes(told: Sequence[tuple[str, E | None]]) -> tuple[b.IntervalRow, ...]:
    return tuple(b.IntervalRow(name, score) for name, score in told if score is not None)


def _predicted(found: MitigationFindings) -> Iterator[b.Block]:
    """Of policies over prompts, which alone are predicted."""
    told = [
        (technique.prompt, one)
        for technique in found.techniques
        for one in technique.axes
        if one.predicted is not None
    ]
    if told:
        within = f"{sum(one.as_predicted for _, one in told)} of {plural(len(told), 'measured distance')}"
        yield b.Paragraph(
            f"{within} lie within what was predicted; pictures that measure err by themselves."
        )
    rows = tuple(
        b.IntervalRow(
            capital(axis_label(one.axis)),
            one.predicted,
            (words.part(one.before, "mark"), measured(one.after)),
            shorten(prompt, 50),
            marks=_ring(one.after, "measured"),
        )
        for prompt, one in told
    )
    yield b.IntervalChart(
        "Distances from the target, of watched axes from their ideal",
        "Axis",
        rows,
        "predicted",
        columns=("mark", "interval"),
        more=("before", "measured"),
    )
