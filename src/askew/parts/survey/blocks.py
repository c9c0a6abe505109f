"""What pages show of people in pictures, and say in plain words: no further than the test and the
interval allow.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from askew.pages import blocks as b
from askew.pages import words
from askew.pages.phrases import format_phrase
from askew.pages.skeleton import MissingNote
from askew.pages.words import (
    axis_label,
    capital,
    measured,
    perceived,
    percent,
    plural,
    quote,
    shorten,
)
from askew.parts.survey.confusion import Confusion
from askew.parts.survey.missing_pictures import MissingPictures
from askew.parts.survey.shares import SetShares, SharesDifference
from askew.parts.survey.verdicts import is_biased
from askew.stats.intervals import ends
from askew.stats.significance import SIGNIFICANCE_LEVEL, is_significant
from askew.types import Estimate, Missing

BARS = 10
AXES = 2
"""Bars of an axis, and axes, that stand at the head of a page of several prompts or conditions; the
rest is folded.
"""


def bar(
    entry: SetShares,
    label: str,
    group: str = "",
    series: int | None = None,
    link: str | None = None,
) -> b.Bar:
    """What one set shows on one axis."""
    parts = tuple(
        b.ShareSegment(value, share, entry.counts.get(value), entry.reference.get(value))
        for value, share in entry.shares.items()
    )
    return b.Bar(
        label,
        parts,
        sum(entry.counts.values()),
        entry.missing,
        verdict(entry),
        bool(is_biased(entry)),
        group,
        series,
        link,
        entry.leading if any(entry.counts.values()) else "",
    )


def folded(
    caption: str, bars: Sequence[b.Bar], heading: str, most: int, rest: str = ""
) -> Iterator[b.Block]:
    """The first bars, and the others behind a summary."""
    if bars[:most]:
        yield b.ShareBars(caption, tuple(bars[:most]), heading)
    more = tuple(bars[most:])
    if more:
        rest = rest or f"{plural(len(more), 'more bar')}: {caption[:1].lower()}{caption[1:]}"
        yield b.Details(rest, (b.ShareBars(rest, more, heading),), screen=True)


def leads(entries: Sequence[SetShares]) -> list[SetShares]:
    """What the first instrument saw: sets that lean, then the others, each by their distance from
    the ideal.
    """
    own = (entry for entry in entries if entry.instrument == entries[0].instrument)
    return sorted(own, key=lambda entry: (not is_biased(entry), strongest_first(entry.distance)))


def seen(
    entries: Sequence[SetShares], link: Callable[[SetShares], str] = lambda entry: entry.prompt
) -> list[b.Block]:
    """What was seen, as bars: of one set a bar an axis, else an axis with a bar a prompt or
    condition. The first instrument's stand at the head, those of others are folded. `link` is the
    anchor of what else is told.
    """
    blocks: list[b.Block] = []
    for name in dict.fromkeys(entry.instrument for entry in entries):
        own = leads([entry for entry in entries if entry.instrument == name])
        found = list[b.Block]()
        axes = {
            axis: [one for one in own if one.axis == axis]
            for axis in dict.fromkeys(e.axis for e in own)
        }
        if len({(entry.prompt, entry.set) for entry in own}) == 1:
            bars = [bar(entry, capital(axis_label(entry.axis)), link=link(entry)) for entry in own]
            found += [b.ShareBars("Shares in percent, what leans first", tuple(bars))]
        else:
            found += _by_axis(axes, list(dict.fromkeys(one.set for one in entries)), link)
        blocks += [b.Details(f"As read by {shorten(name, 60)}", tuple(found))] if blocks else found
    return blocks


def _by_axis(
    axes: Mapping[str, Sequence[SetShares]], order: Sequence[str], link: Callable[[SetShares], str]
) -> Iterator[b.Block]:
    """Of every axis a bar for each prompt and condition; those that lean most often first."""
    lean = {axis: sum(is_biased(one) is True for one in some) for axis, some in axes.items()}
    for k, axis in enumerate(sorted(axes, key=lambda axis: -lean[axis])):
        prompts = list(dict.fromkeys(one.prompt for one in axes[axis]))
        label = capital(perceived(axis))
        shown = max(1, BARS * len(prompts) // len(axes[axis])) if k < AXES else 0
        sets = sorted(axes[axis], key=lambda one: (prompts.index(one.prompt), order.index(one.set)))
        bars = []
        for one in sets:
            prompt = shorten(one.prompt, 60)
            condition = capital(words.set_label(one.set))
            named = (condition, prompt) if len(order) > 1 else (prompt, "")
            bars.append(bar(one, *named, link=link(one)))
        head = sum(one.prompt in prompts[:shown] for one in sets)
        rest = (
            f"{label} of {plural(len(prompts) - shown, 'more prompt')}"
            if head
            else f"{label}: a lean in {lean[axis]} of {plural(len(sets), 'set')}"
        )
        yield from folded(f"{label}, shares in percent", bars, "Prompt", head, rest)


def numbers(entry: SetShares) -> b.IntervalChart:
    """The share of every value in one set, against the ideal; without reading errors, and at worst,
    where known.
    """
    corrected = entry.instrument_corrected
    bounds = entry.bounds
    more = (
        *(["corrected for reading errors"] if corrected else []),
        *(["worst case"] if bounds else []),
    )
    rows = []
    for value, share in entry.shares.items():
        cells: list[b.Content] = [entry.counts.get(value)]
        cells += [corrected.get(value)] if corrected else []
        cells += [f"{percent(bounds[value][0])} to {percent(bounds[value][1])}"] if bounds else []
        marks = (
            (b.ReferenceMark(entry.reference[value], "reference"),)
            if value in entry.reference
            else ()
        )
        rows.append(b.IntervalRow(shorten(value, 60), share, tuple(cells), marks=marks))
    how = "Perceived shares" if words.reads_appearance(entry.axis) else "Shares seen"
    caption = f"{how} in {words.set_label(entry.set)}, read by {shorten(entry.instrument, 60)}"
    heading = capital(axis_label(entry.axis))
    return b.IntervalChart(
        caption, heading, tuple(rows), "share", "share", b.PLAIN, ("pictures", *more)
    )


def distances(entries: Sequence[SetShares]) -> b.IntervalChart:
    """How far the shares of some sets on one axis are from the ideal."""
    several = len({entry.instrument for entry in entries}) > 1
    prompts = len({entry.prompt for entry in entries}) > 1
    rows = []
    for entry in entries:
        reader = f", {shorten(entry.instrument, 30)}" if several else ""
        group = shorten(entry.prompt, 50) if prompts else ""
        rows.append(
            b.IntervalRow(
                f"{words.set_label(entry.set)}{reader}",
                entry.distance,
                group=group,
                strong=is_biased(entry),
            )
        )
    caption = f"How far the shares of {perceived(entries[0].axis)} are from the ideal (distance)"
    return b.IntervalChart(caption, "Pictures", tuple(rows), "distance", "unit", b.SCORE)


def differences(entries: Sequence[SharesDifference]) -> b.IntervalChart:
    """How much more often each value is seen in the second of two sets, for some pairs on one axis."""
    rows = []
    several = len({one.prompt for one in entries}) > 1
    for entry in entries:
        before, after = map(words.set_label, entry.sets)
        pair = (
            f"{quote(entry.prompt, 40)}: {after} minus {before}"
            if several
            else f"{after} minus {before}"
        )
        rows += [
            b.IntervalRow(shorten(value, 60), score, group=pair, strong=is_significant(score))
            for value, score in entry.shares.items()
        ]
    axis = entries[0].axis
    reader = shorten(entries[0].instrument, 60)
    caption = f"Differences of {perceived(axis)}, in percentage points, read by {reader}"
    return b.IntervalChart(caption, "Pictures", tuple(rows), "points", "points", b.DIFFERENCE)


def confusion(entry: Confusion) -> b.Table:
    """How an instrument read what a reference says, in pictures."""
    rows: list[tuple[b.Content, ...]] = []
    for k, (value, counts) in enumerate(zip(entry.values, entry.counts, strict=True)):
        unread = sum(entry.missing.get(value, {}).values())
        total = sum(counts)
        alike = percent(counts[k] / total) if total else None
        rows.append((shorten(value, 40), *counts, str(unread), alike))
    caption = (
        f"{capital(perceived(entry.axis))}: rows as {shorten(entry.truth, 60)} says, columns as "
        f"{shorten(entry.instrument, 60)} reads; number of pictures"
    )
    columns = (
        shorten(entry.truth, 40),
        *(shorten(value, 40) for value in entry.values),
        "not read",
        "read alike",
    )
    return b.Table(caption, columns, tuple(rows), shaded=True, diagonal=True)


def gaps(entries: Iterable[SetShares]) -> list[MissingNote]:
    """Answers that are missing."""
    return [
        MissingNote(
            f"{perceived(entry.axis)} by {shorten(entry.instrument, 40)}",
            f"{shorten(entry.prompt, 60)} – {words.set_label(entry.set)}",
            sum(entry.counts.values()) + sum(entry.missing.values()),
            entry.missing,
        )
        for entry in entries
    ]


def missing_sentences(entries: Iterable[MissingPictures], what: str = "pictures of") -> list[str]:
    """Where pictures of prompts, or answers about them, are missing more often for one value than
    for another.
    """
    told = (missing_sentence(entry, f"{what} {quote(entry.prompt or '')}") for entry in entries)
    return [sentence for sentence in told if sentence]


LIMITS = (
    "Equal shares are the reference unless the plan says otherwise. They are a point to measure from; what would be "
    "right depends on the use.",
)
"""What a score of shares does not mean."""


def strongest_first(score: Estimate | Missing) -> tuple[int, float, float]:
    """Sort key: corrected score from large to small, scores without correction after, missing ones
    last.
    """
    if isinstance(score, Missing):
        return 2, 0.0, 0.0
    return (
        (1, 0.0, -score.value) if score.corrected is None else (0, -score.corrected, -score.value)
    )


def verdict(entry: SetShares) -> str:
    """What a set shows on an axis, in a few words: "female over-represented", "not significant"."""
    if isinstance(entry.distance, Missing):
        return "not measured"
    lean = is_biased(entry)
    if not lean:
        return "not tested against chance" if lean is None else format_phrase("no_bias")
    if not any(map(is_significant, entry.from_reference)):
        return format_phrase("concept_bias")
    reference = "uniform" if entry.even else "the reference"
    value = entry.leading
    known = {
        v: (low, high)
        for v, e in entry.shares.items()
        if isinstance(e, Estimate)
        for low, high in [ends(e)]
    }
    under = [v for v, (_, high) in known.items() if high < entry.reference[v]]
    if value in known and known[value][0] > entry.reference[value]:
        return format_phrase("over_representation", value=shorten(value, 40))
    if under:
        return format_phrase(
            "under_representation",
            value=shorten(min(under, key=lambda v: known[v][1] - entry.reference[v]), 40),
        )
    return format_phrase("diffuse_bias", reference=reference)


def most_seen(entry: SetShares) -> str:
    """How many show the value furthest above its ideal: "88 % perceived female (42 of 48)"."""
    value = entry.leading
    read = sum(entry.counts.values())
    how = "perceived" if words.reads_appearance(entry.axis) else "seen as"
    reference = "" if entry.even else f", reference {percent(entry.reference.get(value))}"
    return format_phrase(
        "observed_share",
        share=percent(entry.counts[value] / read),
        how=how,
        value=shorten(value, 40),
        count=f"{entry.counts[value]:,}",
        n=f"{read:,}{reference}",
    )


def sentence(entry: SetShares) -> str:
    """What was seen, and the verdict, in one sentence: without its end."""
    if isinstance(entry.distance, Missing):
        return f"not measured – {words.reason(entry.distance)}"
    labels = sum(entry.counts.values())
    q = words.probability(entry.verdict.q, "q") if entry.verdict else ""
    found = f"{verdict(entry)} ({q})" if q else verdict(entry)
    if is_biased(entry) is False:
        images = plural(labels, "image")
        deviation = entry.verdict.detectable if entry.verdict else None
        if deviation is None:
            found = format_phrase("no_bias_without_power", images=images, q=q)
        else:
            found = format_phrase(
                "no_bias_with_power", images=images, q=q, deviation=words.number(deviation)
            )
    lost = sum(entry.missing.values())
    unlabeled = f"; {plural(lost, 'image')} unlabeled" if lost else ""
    return f"{most_seen(entry)}{unlabeled}: {found}"


def difference_sentence(entry: SharesDifference) -> str | None:
    """The largest difference between two picture sets that exceeds chance, None if none does."""
    found = {v: e for v, e in entry.shares.items() if isinstance(e, Estimate) and is_significant(e)}
    if not found:
        return None
    value = max(found, key=lambda v: abs(found[v].value))
    before, after = map(words.set_label, entry.sets)
    more = "more" if found[value].value > 0 else "less"
    axis = capital(perceived(entry.axis))
    return format_phrase(
        "condition_difference",
        axis=axis,
        value=shorten(value, 40),
        more=more,
        after=after,
        before=before,
        points=measured(found[value], "points"),
        q=words.probability(found[value].q, "q"),
    )


def missing_sentence(entry: MissingPictures, what: str) -> str | None:
    """On which value of an axis pictures, which `what` names, are missing most often; None if
    chance would do it.
    """
    if entry.q >= SIGNIFICANCE_LEVEL:
        return None
    rates = {value: one.missing / one.planned for value, one in entry.counts.items()}
    often, seldom = (
        f"{shorten(value, 40)} ({entry.counts[value].missing} of {entry.counts[value].planned})"
        for value in (max(rates, key=lambda v: rates[v]), min(rates, key=lambda v: rates[v]))
    )
    return (
        f"{capital(words.axis_label(entry.axis))}: {what} are missing more often for {often} than for {seldom}; "
        f"{words.probability(entry.q, 'q')}. What is missing may differ from what is left, and no score can correct "
        "that."
    )


def tests(score: Estimate) -> str:
    """The p- and q-value, to follow a score: "; p = 0.002, q = 0.004"."""
    told = [
        words.probability(value, name)
        for name, value in (("p", score.p), ("q", score.q))
        if value is not None
    ]
    return f"; {', '.join(told)}" if told else ""
