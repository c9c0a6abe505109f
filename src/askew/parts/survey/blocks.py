"""Build charts and tables about the people in images: shares, deviations, label confusion."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from askew.pages import blocks as b
from askew.pages import words
from askew.pages.skeleton import MissingNote
from askew.pages.words import axis_label, capital, perceived, percent, plural, quote, shorten
from askew.parts.survey.confusion import Confusion
from askew.parts.survey.image_links import image_query
from askew.parts.survey.over_prompts import SharesOverPrompts
from askew.parts.survey.sentences import verdict_with_q
from askew.parts.survey.shares import SetShares, SharesDifference
from askew.parts.survey.verdicts import is_biased
from askew.stats.shares import share_intervals, wilson
from askew.stats.significance import is_significant
from askew.types import Estimate, Missing

GROUPS_AT_HEAD = 10
"""Maximum number of visible groups per axis for several prompts or conditions."""

AXES_AT_HEAD = 2
"""Number of axes whose groups are visible. The groups of other axes are collapsed."""

Link = Callable[[SetShares], str]


def value_group(
    entry: SetShares, label: str, group: str = "", link: str | None = None
) -> b.ValueGroup:
    """Return a chart group with a set's shares on an axis, and the verdict about the shares."""
    values = tuple(
        b.ValueShare(value, share, entry.counts.get(value), entry.reference.get(value))
        for value, share in entry.shares.items()
    )
    labeled = sum(entry.counts.values())
    return b.ValueGroup(
        label=label,
        values=values,
        n=labeled,
        missing=entry.missing,
        verdict=verdict_with_q(entry),
        significant=bool(is_biased(entry)),
        group=group,
        link=link,
        leading=entry.leading if labeled else "",
        images=image_query(entry),
    )


def folded(
    caption: str, groups: Sequence[b.ValueGroup], heading: str, most: int, rest: str = ""
) -> Iterator[b.Block]:
    """Yield a chart of the first groups, and a collapsed chart of the remaining groups.

    Parameters
    ----------
    caption, heading
        Chart caption, and the heading above the labels.
    groups
        All groups.
    most
        Maximum number of groups that remain visible.
    rest
        Caption of the collapsed chart. By default, this caption is derived from `caption`.
    """
    value = common_value(groups)
    if groups[:most]:
        yield b.ValueChart(caption, tuple(groups[:most]), heading, value=value)
    more = tuple(groups[most:])
    if more:
        summary = rest or f"{plural(len(more), 'more row')}: {caption[:1].lower()}{caption[1:]}"
        chart = b.ValueChart(summary, more, heading, value=value)
        yield b.Details(summary, (chart,), screen=True)


def common_value(groups: Sequence[b.ValueGroup]) -> str:
    """Return the value whose share implies all others in each group; "" if there is no such value.

    Parameters
    ----------
    groups
        Shares of several sets on one axis.

    Returns
    -------
    str
        The most over-represented value of the first group if all groups have the same two values,
        else "".
    """
    names = set()
    for group in groups:
        names.add(tuple(value.value for value in group.values))
    if len(groups) < 2 or len(names) != 1 or len(groups[0].values) != 2:
        return ""
    return groups[0].leading or groups[0].values[0].value


def leads(entries: Sequence[SetShares]) -> list[SetShares]:
    """Return the first instrument's entries: biased sets first, then by decreasing deviation."""
    if not entries:
        return []
    first_instrument = entries[0].instrument
    of_first = [entry for entry in entries if entry.instrument == first_instrument]
    return sorted(
        of_first, key=lambda entry: (not is_biased(entry), strongest_first(entry.distance))
    )


def strongest_first(score: Estimate | Missing) -> tuple[int, float, float]:
    """Return a sort key: corrected scores from large to small, then uncorrected, then missing."""
    if isinstance(score, Missing):
        return 2, 0.0, 0.0
    if score.corrected is None:
        return 1, 0.0, -score.value
    return 0, -score.corrected, -score.value


def _link_to_prompt(entry: SetShares) -> str:
    return entry.prompt


def seen(entries: Sequence[SetShares], link: Link = _link_to_prompt) -> list[b.Block]:
    """Return charts of the shares in all sets.

    For a single set, one chart shows all axes. For several sets, there is a chart per axis, with a
    row for each prompt and condition. Charts for additional instruments are collapsed.

    Parameters
    ----------
    entries
        Shares of all instruments.
    link
        Function that returns the anchor of the section with details on an entry.
    """
    blocks: list[b.Block] = []
    set_order = list(dict.fromkeys(entry.set for entry in entries))
    for instrument in dict.fromkeys(entry.instrument for entry in entries):
        of_instrument = leads([entry for entry in entries if entry.instrument == instrument])
        charts = _charts(of_instrument, set_order, link)
        if blocks:
            charts = [b.Details(f"Labeled by {shorten(instrument, 60)}", tuple(charts))]
        blocks += charts
    return blocks


def together(entries: Sequence[SharesOverPrompts], link: str | None = None) -> list[b.Block]:
    """Return charts of the shares pooled over all prompts.

    Charts for additional instruments are collapsed.

    Parameters
    ----------
    entries
        Shares of all instruments.
    link
        Anchor of the section with details on the pooled shares; None if there is no such section.
    """
    blocks: list[b.Block] = []
    several_sets = len({entry.set for entry in entries}) > 1
    for instrument in dict.fromkeys(entry.instrument for entry in entries):
        of_instrument = [entry for entry in entries if entry.instrument == instrument]
        groups = [_group_of_prompts(entry, several_sets, link) for entry in _by_axis(of_instrument)]
        if blocks:
            caption = f"Shares in all prompts together, labeled by {shorten(instrument, 60)}"
            blocks += folded(caption, groups, "Axis", 0, rest=caption)
        else:
            blocks += folded("Shares in all prompts together", groups, "Axis", GROUPS_AT_HEAD)
    return blocks


def _by_axis(entries: Sequence[SharesOverPrompts]) -> list[SetShares]:
    """Sort an instrument's entries by axis, starting with the most biased axis."""
    axes = list(dict.fromkeys(entry.axis for entry in leads(entries)))
    return sorted(entries, key=lambda entry: axes.index(entry.axis))


def _group_of_prompts(entry: SetShares, several_sets: bool, link: str | None) -> b.ValueGroup:
    axis = capital(axis_label(entry.axis))
    if not several_sets:
        return value_group(entry, axis, link=link)
    return value_group(entry, capital(words.set_label(entry.set)), group=axis, link=link)


def _charts(entries: Sequence[SetShares], set_order: Sequence[str], link: Link) -> list[b.Block]:
    """Return the charts for one instrument's labels."""
    if len({(entry.prompt, entry.set) for entry in entries}) > 1:
        return list(_charts_by_axis(entries, set_order, link))
    groups = [
        value_group(entry, capital(axis_label(entry.axis)), link=link(entry)) for entry in entries
    ]
    return [b.ValueChart("Share of the images with each label", tuple(groups))]


def _charts_by_axis(
    entries: Sequence[SetShares], set_order: Sequence[str], link: Link
) -> Iterator[b.Block]:
    """Yield a chart for each axis, starting with the axis on which the most sets are biased."""
    by_axis: dict[str, list[SetShares]] = {}
    for entry in entries:
        by_axis.setdefault(entry.axis, []).append(entry)
    biased = {}
    for axis, of_axis in by_axis.items():
        biased[axis] = sum(is_biased(entry) is True for entry in of_axis)
    for rank, axis in enumerate(sorted(by_axis, key=lambda name: -biased[name])):
        yield from _axis_chart(
            by_axis[axis],
            biased=biased[axis],
            set_order=set_order,
            link=link,
            at_head=rank < AXES_AT_HEAD,
        )


def _axis_chart(
    entries: Sequence[SetShares],
    *,
    biased: int,
    set_order: Sequence[str],
    link: Link,
    at_head: bool,
) -> Iterator[b.Block]:
    """Yield the charts of an axis. If `at_head` is True, rows of the first prompts are visible."""
    prompts = list(dict.fromkeys(entry.prompt for entry in entries))
    label = capital(perceived(entries[0].axis))
    visible_prompts = max(1, GROUPS_AT_HEAD * len(prompts) // len(entries)) if at_head else 0
    ordered = sorted(
        entries, key=lambda entry: (prompts.index(entry.prompt), set_order.index(entry.set))
    )
    groups = [_group_of_set(entry, several_sets=len(set_order) > 1, link=link) for entry in ordered]
    visible = sum(entry.prompt in prompts[:visible_prompts] for entry in ordered)
    rest = f"{label}: significant in {biased} of {plural(len(ordered), 'image set')}"
    if visible:
        rest = f"{label} of {plural(len(prompts) - visible_prompts, 'more prompt')}"
    yield from folded(f"{label} by prompt", groups, "Prompt", visible, rest)


def _group_of_set(entry: SetShares, several_sets: bool, link: Link) -> b.ValueGroup:
    prompt = shorten(entry.prompt, 60)
    if not several_sets:
        return value_group(entry, prompt, link=link(entry))
    return value_group(entry, capital(words.set_label(entry.set)), group=prompt, link=link(entry))


class _ValueColumns(NamedTuple):
    """Headings and cells of the additional columns in a set's table of values."""

    headings: tuple[str, ...]
    cells: Mapping[str, tuple[b.Content, ...]]


def _value_columns(entry: SetShares) -> _ValueColumns:
    """Return columns for each value's count, error-corrected share and bounds."""
    headings = ["images"]
    cells: dict[str, list[b.Content]] = {}
    for value in entry.shares:
        cells[value] = [entry.counts.get(value)]
    if entry.instrument_corrected:
        headings.append("corrected for labeling errors")
        for value in entry.shares:
            cells[value].append(entry.instrument_corrected.get(value))
    if entry.bounds:
        headings.append("worst case of missing labels")
        for value in entry.shares:
            low, high = entry.bounds[value]
            cells[value].append(f"{percent(low)} to {percent(high)}")
    return _ValueColumns(
        headings=tuple(headings), cells={value: tuple(row) for value, row in cells.items()}
    )


def numbers(entry: SetShares) -> b.IntervalChart:
    """Return a chart of each value's share in a set, with the reference share marked."""
    columns = _value_columns(entry)
    rows = []
    for value, share in entry.shares.items():
        marks: tuple[b.ReferenceMark, ...] = ()
        if value in entry.reference:
            marks = (b.ReferenceMark(entry.reference[value], "reference"),)
        rows.append(b.IntervalRow(shorten(value, 60), share, columns.cells[value], marks=marks))
    rows += _missing_row(entry, more=len(columns.headings) - 1)
    shares = "Perceived shares" if words.reads_appearance(entry.axis) else "Shares"
    instrument = shorten(entry.instrument, 60)
    image_set = words.set_label(entry.set)
    if isinstance(entry, SharesOverPrompts):
        image_set = f"{image_set} of {plural(entry.prompts, 'prompt')}"
    return b.IntervalChart(
        f"{shares} in {image_set}, labeled by {instrument}",
        capital(axis_label(entry.axis)),
        tuple(rows),
        "share",
        "share",
        b.PLAIN,
        columns.headings,
    )


def _missing_row(entry: SetShares, more: int) -> list[b.IntervalRow]:
    """Return a row with the share of unlabeled images, or nothing if all images are labeled.

    Parameters
    ----------
    entry
        Shares of a set. For shares pooled over several prompts, there is no row of this kind.
    more
        Number of additional empty cells in the row.
    """
    missing = sum(entry.missing.values())
    first = next(iter(entry.shares.values()), None)
    if not missing or isinstance(entry, SharesOverPrompts):
        return []
    if not isinstance(first, Estimate) or first.level is None:
        return []
    labeled = sum(entry.counts.values())
    share, _ = share_intervals([missing, labeled], level=first.level)
    cells: tuple[b.Content, ...] = (missing, *([None] * more))
    return [b.IntervalRow("no label, of all images", share, cells, muted=True)]


def distances(entries: Sequence[SetShares]) -> b.IntervalChart:
    """Return a chart that shows how far the sets deviate from the reference on an axis."""
    several_instruments = len({entry.instrument for entry in entries}) > 1
    several_prompts = len({entry.prompt for entry in entries}) > 1
    rows = []
    for entry in entries:
        label = words.set_label(entry.set)
        if several_instruments:
            label += f", {shorten(entry.instrument, 30)}"
        group = shorten(entry.prompt, 50) if several_prompts else ""
        rows.append(b.IntervalRow(label, entry.distance, group=group))
    caption = f"Deviation of {perceived(entries[0].axis)} from the reference (distance)"
    return b.IntervalChart(caption, "Image set", tuple(rows), "distance", "unit", b.SCORE)


def differences(entries: Sequence[SharesDifference]) -> b.IntervalChart:
    """Return a chart of the differences in shares on an axis between pairs of sets."""
    several_prompts = len({entry.prompt for entry in entries}) > 1
    rows = []
    for entry in entries:
        first, second = entry.sets
        pair = f"{words.set_label(second)} minus {words.set_label(first)}"
        if several_prompts:
            pair = f"{quote(entry.prompt, 40)}: {pair}"
        for value, score in entry.shares.items():
            row = b.IntervalRow(shorten(value, 60), score, group=pair, strong=is_significant(score))
            rows.append(row)
    instrument = shorten(entries[0].instrument, 60)
    axis = perceived(entries[0].axis)
    caption = f"Differences in {axis} in percentage points, labeled by {instrument}"
    return b.IntervalChart(caption, "Image sets", tuple(rows), "points", "points", b.DIFFERENCE)


def confusion(entry: Confusion) -> b.Table:
    """Return a table that counts images by true value (rows) and instrument label (columns)."""
    rows: list[tuple[b.Content, ...]] = []
    for place, (value, counts) in enumerate(zip(entry.values, entry.counts, strict=True)):
        missing = sum(entry.missing.get(value, {}).values())
        total = sum(counts)
        agreement = percent(counts[place] / total) if total else None
        rows.append((shorten(value, 40), *counts, str(missing), agreement))
    truth = shorten(entry.truth, 60)
    instrument = shorten(entry.instrument, 60)
    values = [shorten(value, 40) for value in entry.values]
    axis = capital(perceived(entry.axis))
    return b.Table(
        f"{axis}: number of images by label from {truth} (rows) and label from {instrument} "
        "(columns)",
        (shorten(entry.truth, 40), *values, "unlabeled", "agreement"),
        tuple(rows),
        shaded=True,
        diagonal=True,
    )


def labelers(entries: Sequence[Confusion], level: float) -> b.Table:
    """Return a table of how often instruments' labels agree with the true values on each axis.

    Each agreement share has a Wilson interval. The shares exclude images without a label.

    Parameters
    ----------
    entries
        Comparisons between each instrument's labels and the true values.
    level
        Confidence level of the intervals, in (0, 1).
    """
    rows: list[tuple[b.Content, ...]] = []
    for entry in sorted(entries, key=lambda entry: entry.axis):
        labeled = int(entry.table.sum())
        missing = sum(sum(reasons.values()) for reasons in entry.missing.values())
        share = float(np.trace(entry.table)) / labeled
        low, high = wilson(share, labeled, level)
        rows.append(
            (
                shorten(entry.instrument, 40),
                perceived(entry.axis),
                f"{percent(share)} ({percent(low)} to {percent(high)})",
                _least_recognized(entry),
                f"{labeled} of {labeled + missing}",
            )
        )
    truth = shorten(entries[0].truth, 40)
    columns = ("instrument", "axis", f"agreement with {truth} ({percent(level)} CI)")
    return b.Table(
        f"Agreement between instruments and {truth}, over the images that the instruments labeled",
        (*columns, "least recognized value", "labeled images"),
        tuple(rows),
    )


def _least_recognized(entry: Confusion) -> str:
    """Return the true value with the smallest share of correct labels, and that share."""
    totals = entry.table.sum(axis=1)
    shares = {}
    for place, value in enumerate(entry.values):
        if totals[place]:
            shares[value] = entry.table[place, place] / totals[place]
    value = min(shares, key=lambda name: shares[name])
    images = int(totals[entry.values.index(value)])
    return f"{shorten(value, 30)}: {percent(float(shares[value]))} of {images}"


def gaps(entries: Iterable[SetShares]) -> list[MissingNote]:
    """Return notes on missing labels."""
    notes = []
    for entry in entries:
        labeled = sum(entry.counts.values())
        missing = sum(entry.missing.values())
        notes.append(
            MissingNote(
                f"{perceived(entry.axis)} by {shorten(entry.instrument, 40)}",
                f"{shorten(entry.prompt, 60)} – {words.set_label(entry.set)}",
                labeled + missing,
                entry.missing,
                entry.reasons,
            )
        )
    return notes
