"""The page of `askew mitigate`: what was asked for, what became of it, what else changed, and what it costs."""

from __future__ import annotations

from collections.abc import Iterator

from askew.methods.mitigate.findings import AxisChange, MitigationFindings, WayFindings
from askew.pages import common
from askew.pages.blocks import (
    DIFFERENCE,
    PLAIN,
    Code,
    Fold,
    Lane,
    Lanes,
    Mark,
    Page,
    PictureRow,
    Pictures,
    Section,
    Table,
    Text,
)
from askew.pages.media import Media, shot
from askew.pages.words import axis_label, capital, listing, measured, number, perceived, percent, plural, quote, shorten
from askew.parts.survey import blocks as survey
from askew.types import Estimate

FIRST = 12
"""Pictures of each way that stand side by side."""


def page(found: MitigationFindings, media: Media) -> Page:
    """What to show of a run."""
    prompts = [prompt.text for prompt in found.plan.prompts]
    return Page(
        kicker=f"askew mitigate · {common.identity(found.model)}",
        title=quote(prompts[0], 160) if len(prompts) == 1 else plural(len(prompts), "prompt"),
        answer=" ".join(verdict(way, len(prompts) > 1) for way in found.ways[:2]),
        detail=" ".join(verdict(way, len(prompts) > 1) for way in found.ways[2:]),
        facts=(*common.facts(found), ("Judged by", f"{plural(found.plan.confirm, 'fresh picture')} before and after")),
        sections=tuple(_sections(found, media)),
        warnings=found.warnings,
        notes=common.notes(found),
        version=found.askew,
    )


def verdict(way: WayFindings, several: bool = False) -> str:
    """What a way did, in one sentence: never "helped" where the subject, the pictures or another axis paid for it."""
    where = f"{capital(way.way)}, {quote(way.prompt, 60)}" if several else capital(way.way)
    aimed = [one for one in way.axes if one.aimed]
    if way.helped:
        told = listing([_moved(one) for one in way.helped])
        text = f"{where}: nearer to the target on {told}"
    else:
        names = listing([axis_label(one.axis) for one in aimed])
        text = f"{where}: no change shown on {names} ({listing([_moved(one) for one in aimed])})"
    paid = [f"further from it on {listing([_moved(one) for one in way.harmed])}"] if way.harmed else []
    paid += [f"{listing([_pair(one.axes) for one in way.built])} hang together more"] if way.built else []
    paid += way.broken
    paid += [
        f"{listing(one.doubted)} does not see the change of {axis_label(one.axis)}" for one in aimed if one.doubted
    ]
    price = f"; but {listing(paid)}" if paid else ""
    cost = f" A picture costs {way.cost:.1f} times." if way.cost != 1 else ""
    return f"{text}{price}.{cost}"


def _moved(one: AxisChange) -> str:
    return f"{perceived(one.axis)} {number(_value(one.before))} → {measured(one.after)}"


def _value(score: object) -> float | None:
    return score.value if isinstance(score, Estimate) else None


def _pair(axes: tuple[str, str]) -> str:
    return " and ".join(map(axis_label, axes))


def _sections(found: MitigationFindings, media: Media) -> Iterator[Section]:
    prompts = [prompt.text for prompt in found.plan.prompts]
    seen = [entry for entry in found.shares if entry.prompt == prompts[0]]
    yield Section("Who was seen, before and after", tuple(survey.seen(seen)))
    yield Section("The same seeds, before and after", (_pictures(found, media, prompts[0]),), screen=False)
    yield Section("Distance from the target", tuple(_distances(way) for way in found.ways))
    yield Section("What else changed", tuple(_others(way) for way in found.ways))
    yield Section("Predicted and measured", tuple(_predicted(found)), screen=False)
    yield common.missing_data(found)
    files = tuple(Fold(f"mitigation-{way}.toml", (Code(text),)) for way, text in found.mitigations.items())
    how = Text(
        "Fresh pictures judge: their seeds are none of those that planned. A change is beyond chance where its q is "
        "below 0.05, the aimed axes and the watched ones being families of their own. Distances are debiased for the "
        "number of pictures. “Hang together more”: Cramér's V rose beyond chance. No axis is promised to stay."
    )  # fmt: skip
    yield Section("Method, and the files", (how, *files), screen=False)
    yield from common.provenance(found)


def _pictures(found: MitigationFindings, media: Media, prompt: str) -> Pictures:
    sets = [one for one in found.sets if one.prompt == prompt]
    rows = tuple(
        PictureRow(tuple(shot(media, name, f"Picture {k + 1}, {_label(one.value)}") for k, name in
                         enumerate(one.pictures[:FIRST])), _label(one.value))
        for one in sets
    )  # fmt: skip
    return Pictures(f"{quote(prompt, 100)}: one seed under another", rows, aligned=True)


def _label(way: str | None) -> str:
    return "before" if way is None else f"after {way}"


def _distances(way: WayFindings) -> Lanes:
    rows = tuple(
        Lane(f"{capital(axis_label(one.axis))}{'' if one.aimed else ' (watched)'}", one.after,
             (measured(one.change) if isinstance(one.change, Estimate) else None, _q(one),
              percent(_value(one.obeyed)) if one.obeyed is not None else None),
             strong=one.fell or one.rose,
             marks=(Mark(before, "before", "ring"),) if (before := _value(one.before)) is not None else ())
        for one in way.axes
    )  # fmt: skip
    return Lanes(f"{capital(way.way)}, {quote(way.prompt, 60)}: distance after", "Axis", rows, "distance",
                 columns=PLAIN, more=("change", "q", "obeyed"))  # fmt: skip


def _q(one: AxisChange) -> str | None:
    return number(one.change.q, 3) if isinstance(one.change, Estimate) else None


def _others(way: WayFindings) -> Fold:
    told = [("subject shown", way.subject), ("aimed axis unread", way.unread), ("cosine to the prompt", way.nearness),
            ("kernel distance", way.quality)]  # fmt: skip
    rows = tuple(Lane(name, score) for name, score in told if score is not None)
    lanes = Lanes("After less before", "What", rows, "change", "signed", DIFFERENCE, digits=4)
    pairs = sorted(way.pairs, key=lambda one: -(_value(one.rise) or 0))
    tied = Lanes(
        "Pairs of axes: rise of Cramér's V", "Pair",
        tuple(Lane(capital(_pair(one.axes)), one.rise, (number(one.before), number(one.after))) for one in pairs[:10]),
        "rise", "signed", DIFFERENCE, more=("before", "after"),
    )  # fmt: skip
    worse = [one for one in way.axes if not one.aimed and isinstance(one.change, Estimate) and one.change.value > 0]
    watched = sum(not one.aimed for one in way.axes)
    sides = Text(f"{len(worse)} of {watched} watched axes are further from their ideal than before, "
                 f"{len([one for one in way.harmed if not one.aimed])} beyond chance; where nothing is done, chance "
                 "moves about half of them so.") if watched else Text()  # fmt: skip
    summary = f"{capital(way.way)}, {quote(way.prompt, 60)}: subject, pictures, pairs of axes, watched axes"
    return Fold(summary, (sides, lanes, tied), screen=True)


def _predicted(found: MitigationFindings) -> Iterator[Table | Text]:
    rows = tuple(
        (shorten(way.prompt, 50), capital(axis_label(one.axis)), number(_value(one.before)), number(one.predicted),
         one.after)
        for way in found.ways for one in way.axes if one.predicted is not None
    )  # fmt: skip
    if rows:
        yield Table("Distances of a policy", ("Prompt", "Axis", "before", "predicted", "measured"), rows, labels=2)
    else:
        yield Text("Only policies over prompts are predicted.")
