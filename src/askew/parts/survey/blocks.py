"""What pages show of people in pictures: shares as bars and in numbers, differences, reading errors, gaps."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from askew.pages import blocks as b
from askew.pages import words
from askew.pages.skeleton import Gap
from askew.pages.words import axis_label, capital, perceived, percent, plural, quote, set_label, shorten
from askew.parts.survey.observed import MissingPictures
from askew.parts.survey.reader import Confusion
from askew.parts.survey.shares import SetShares, SharesDifference
from askew.parts.survey.words import exceeds_chance, leans, missing_sentence, strongest_first, verdict

BARS, AXES = 10, 2
"""Bars of an axis, and axes, that stand at the head of a page of several prompts or conditions; the rest is folded."""


def bar(entry: SetShares, label: str, group: str = "", series: int | None = None, link: str | None = None) -> b.Bar:
    """What one set shows on one axis."""
    parts = tuple(
        b.Part(value, share, entry.counts.get(value), entry.ideal.get(value)) for value, share in entry.shares.items()
    )
    return b.Bar(
        label, parts, sum(entry.counts.values()), entry.missing, verdict(entry), bool(leans(entry)),
        group, series, link, entry.leading if any(entry.counts.values()) else "",
    )  # fmt: skip


def folded(caption: str, bars: Sequence[b.Bar], heading: str, most: int, rest: str = "") -> Iterator[b.Block]:
    """The first bars, and the others behind a summary."""
    if bars[:most]:
        yield b.Shares(caption, tuple(bars[:most]), heading)
    if more := tuple(bars[most:]):
        rest = rest or f"{plural(len(more), 'more bar')}: {caption[:1].lower()}{caption[1:]}"
        yield b.Fold(rest, (b.Shares(rest, more, heading),), screen=True)


def leads(entries: Sequence[SetShares]) -> list[SetShares]:
    """What the first instrument saw: sets that lean, then the others, each by their distance from the ideal."""
    own = (entry for entry in entries if entry.instrument == entries[0].instrument)
    return sorted(own, key=lambda entry: (not leans(entry), strongest_first(entry.distance)))


def seen(entries: Sequence[SetShares], link: Callable[[SetShares], str] = lambda entry: entry.prompt) -> list[b.Block]:
    """What was seen, as bars: of one set a bar an axis, else an axis with a bar a prompt or condition. The first
    instrument's stand at the head, those of others are folded. `link` is the anchor of what else is told."""
    blocks: list[b.Block] = []
    for name in dict.fromkeys(entry.instrument for entry in entries):
        own, found = leads([entry for entry in entries if entry.instrument == name]), list[b.Block]()
        axes = {axis: [one for one in own if one.axis == axis] for axis in dict.fromkeys(e.axis for e in own)}
        lean = {axis: sum(leans(one) is True for one in some) for axis, some in axes.items()}
        if len({(entry.prompt, entry.set) for entry in own}) == 1:
            bars = [bar(entry, capital(axis_label(entry.axis)), link=link(entry)) for entry in own]
            found, axes = [b.Shares("Shares in percent, what leans first", tuple(bars))], {}
        for k, axis in enumerate(sorted(axes, key=lambda axis: -lean[axis])):  # those that lean most often first
            prompts, label = list(dict.fromkeys(one.prompt for one in axes[axis])), capital(perceived(axis))
            shown = max(1, BARS * len(prompts) // len(axes[axis])) if k < AXES else 0
            order = list(dict.fromkeys(one.set for one in entries))
            sets, bars = sorted(axes[axis], key=lambda one: (prompts.index(one.prompt), order.index(one.set))), []
            for one in sets:
                prompt, condition = shorten(one.prompt, 60), capital(set_label(one.set))
                named = (condition, prompt) if len(order) > 1 else (prompt, "")
                bars.append(bar(one, *named, link=link(one)))
            head = sum(one.prompt in prompts[:shown] for one in sets)
            rest = (f"{label} of {plural(len(prompts) - shown, 'more prompt')}" if head
                    else f"{label}: a lean in {lean[axis]} of {plural(len(sets), 'set')}")  # fmt: skip
            found += folded(f"{label}, shares in percent", bars, "Prompt", head, rest)
        blocks += [b.Fold(f"As read by {shorten(name, 60)}", tuple(found))] if blocks else found
    return blocks


def numbers(entry: SetShares) -> b.Lanes:
    """The share of every value in one set, against the ideal; without reading errors, and at worst, where known."""
    corrected, bounds = entry.instrument_corrected, entry.bounds
    more = (*(["corrected for reading errors"] if corrected else []), *(["worst case"] if bounds else []))
    rows = []
    for value, share in entry.shares.items():
        cells: list[b.Content] = [entry.counts.get(value)]
        cells += [corrected.get(value)] if corrected else []
        cells += [f"{percent(bounds[value][0])} to {percent(bounds[value][1])}"] if bounds else []
        marks = (b.Mark(entry.ideal[value], "ideal"),) if value in entry.ideal else ()
        rows.append(b.Lane(shorten(value, 60), share, tuple(cells), marks=marks))
    how = "Perceived shares" if words.reads_appearance(entry.axis) else "Shares seen"
    caption = f"{how} in {set_label(entry.set)}, read by {shorten(entry.instrument, 60)}"
    heading = capital(axis_label(entry.axis))
    return b.Lanes(caption, heading, tuple(rows), "share", "share", b.PLAIN, ("pictures", *more))


def distances(entries: Sequence[SetShares]) -> b.Lanes:
    """How far the shares of some sets on one axis are from the ideal."""
    several = len({entry.instrument for entry in entries}) > 1
    prompts = len({entry.prompt for entry in entries}) > 1
    rows = []
    for entry in entries:
        reader = f", {shorten(entry.instrument, 30)}" if several else ""
        group = shorten(entry.prompt, 50) if prompts else ""
        rows.append(b.Lane(f"{set_label(entry.set)}{reader}", entry.distance, group=group,
                           strong=leans(entry)))  # fmt: skip
    caption = f"How far the shares of {perceived(entries[0].axis)} are from the ideal (distance)"
    return b.Lanes(caption, "Pictures", tuple(rows), "distance", "unit", b.SCORE)


def differences(entries: Sequence[SharesDifference]) -> b.Lanes:
    """How much more often each value is seen in the second of two sets, for some pairs on one axis."""
    rows, several = [], len({one.prompt for one in entries}) > 1
    for entry in entries:
        before, after = map(set_label, entry.sets)
        pair = f"{quote(entry.prompt, 40)}: {after} minus {before}" if several else f"{after} minus {before}"
        rows += [b.Lane(shorten(value, 60), score, group=pair, strong=exceeds_chance(score))
                 for value, score in entry.shares.items()]  # fmt: skip
    axis, reader = entries[0].axis, shorten(entries[0].instrument, 60)
    caption = f"Differences of {perceived(axis)}, in percentage points, read by {reader}"
    return b.Lanes(caption, "Pictures", tuple(rows), "points", "points", b.DIFFERENCE,
                   interval="interval for the true difference")  # fmt: skip


def confusion(entry: Confusion) -> b.Table:
    """How an instrument read what a reference says, in pictures."""
    rows: list[tuple[b.Content, ...]] = []
    for k, (value, counts) in enumerate(zip(entry.values, entry.counts, strict=True)):
        unread, total = sum(entry.missing.get(value, {}).values()), sum(counts)
        alike = percent(counts[k] / total) if total else None
        rows.append((shorten(value, 40), *counts, str(unread), alike))
    caption = (f"{capital(perceived(entry.axis))}: rows as {shorten(entry.reference, 60)} says, columns as "
               f"{shorten(entry.instrument, 60)} reads; number of pictures")  # fmt: skip
    columns = (shorten(entry.reference, 40), *(shorten(value, 40) for value in entry.values), "not read", "read alike")
    return b.Table(caption, columns, tuple(rows), shaded=True, diagonal=True)


def gaps(entries: Iterable[SetShares]) -> list[Gap]:
    """Answers that are missing."""
    return [
        Gap(f"{perceived(entry.axis)} by {shorten(entry.instrument, 40)}",
            f"{shorten(entry.prompt, 60)} – {set_label(entry.set)}",
            sum(entry.counts.values()) + sum(entry.missing.values()), entry.missing)
        for entry in entries
    ]  # fmt: skip


def missing_sentences(entries: Iterable[MissingPictures], what: str = "pictures of") -> list[str]:
    """Where pictures of prompts, or answers about them, are missing more often for one value than for another."""
    told = (missing_sentence(entry, f"{what} {quote(entry.prompt or '')}") for entry in entries)
    return [sentence for sentence in told if sentence]
