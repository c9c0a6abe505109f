"""Blocks that draw, as HTML: the plot, what it means, and the numbers beside it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

from markupsafe import Markup

from askew.pages import charts, words
from askew.pages.axes import Axis
from askew.pages.blocks import Bar, Lane, Lanes, Lines, Network, Scatter, Shares
from askew.pages.elements import COLOURS, NOTHING, RUNS, Ids, bdi, classes, key, legend, link, note, tag
from askew.pages.network import drawn, sample
from askew.pages.plain import heads
from askew.pages.rows import bar, fits, lane, lanes_axis
from askew.types import Estimate


def shares(one: Shares, ids: Ids) -> Markup:
    """Bars in rows; where all have the same values one key names them, else every bar its narrow parts."""
    alike = len(one.bars) > 1 and len({tuple(p.value for p in b.parts) for b in one.bars}) == 1
    names = _part_key(enumerate(p.value for p in one.bars[0].parts)) if alike else None
    bodies = []
    for group, bars in groupby(one.bars, key=lambda b: b.group):
        title = tag("tr", tag("th", bdi(group), colspan=3, scope="rowgroup"), class_="group") if group else None
        bodies.append(tag("tbody", title, *(_bar(b, ids, named=alike) for b in bars)))
    heads = (tag("th", name, scope="col") for name in (one.heading, "what was seen", "how many"))
    head = tag("thead", tag("tr", *heads), class_="hidden")
    keys = [("edge", "interval of the value named at the right")] if any(words.leading(b) for b in one.bars) else []
    ideals = {p.ideal for b in one.bars for p in b.parts} - {None}
    keys += [("ideal", "where ideal shares would part the bar")] if ideals else []
    table = tag("table", tag("caption", one.caption, names), head, *bodies, class_="shares")
    return tag("div", table, legend(keys), class_="fit")


def _bar(one: Bar, ids: Ids, *, named: bool) -> Markup:
    label = tag("th", key(one.series), link(one.label, one.link, ids), scope="row")
    names = None if named else _narrow(one)
    verdict = tag("b" if one.strong else "span", one.verdict, class_="verdict") if one.verdict else None
    told = tag("td", verdict, note(words.bar_note(one)))
    return tag("tr", label, tag("td", bar(one), names, class_="bar"), told, class_=classes(strong=one.strong))


def _narrow(one: Bar) -> Markup | None:
    """Names of parts that have no room for them, and of values that were not seen."""
    known = [(k, p, p.share.value) for k, p in enumerate(one.parts) if isinstance(p.share, Estimate)]
    small = [(k, f"{p.value} {words.number(100 * share, 0)}") for k, p, share in known if share and not fits(p)]
    unseen = [p.value for _, p, share in known if not share]
    absent = tag("span", f"not seen: {words.listing(unseen)}") if unseen else None
    return _part_key(small, absent) if small or unseen else None


def _part_key(parts: Iterable[tuple[int, str]], more: Markup | None = None) -> Markup:
    keys = (tag("span", tag("i", class_=f"key part-{k % COLOURS}"), bdi(name)) for k, name in parts)
    return tag("span", *keys, more, class_="legend")


def lanes(one: Lanes, ids: Ids) -> Markup:
    """A table with a plot in every row, so that it can be read without seeing the plot."""
    on, names = lanes_axis(one), heads(one)
    numbers = (tag("th", name, class_="num", scope="col") for name in names)
    plotted = tag("th", on.drawn(), tag("span", "plot", class_="hidden"), class_="plotted", scope="col")
    head = tag("tr", tag("th", one.heading, scope="col"), plotted, *numbers)
    bodies = []
    for group, rows in groupby(one.rows, key=lambda row: row.group):
        title = tag("th", bdi(group), colspan=2 + len(names), scope="rowgroup")
        above = tag("tr", title, class_="group") if group else None
        bodies.append(tag("tbody", above, *(_lane(on, one, row, names, ids) for row in rows)))
    table = tag("table", tag("caption", one.caption), tag("thead", head), *bodies, class_="plot")
    return tag("div", table, legend(_lane_keys(one, on)), class_="fit")


def _lane(on: Axis, one: Lanes, row: Lane, names: Sequence[str], ids: Ids) -> Markup:
    remark = note(row.note, words.absence(row.score))
    label = tag("th", key(row.series), link(row.label, row.link, ids), " ", remark, scope="row")
    texts = [words.part(row.score, column, one.scale, one.digits) for column in one.columns]
    cells = [*texts, *(words.content(cell, one.scale) for cell in row.more)]
    told = [name if text.strip("–") else None for name, text in zip(names, cells, strict=True)]
    numbers = (tag("td", text, class_="num", data_name=name) for name, text in zip(told, cells, strict=True))
    kind = classes(strong=words.is_strong(row), muted=row.muted)
    return tag(
        "tr", label, tag("td", lane(on, row, one.name, one.scale, one.digits), class_="plotted"), *numbers, class_=kind
    )


def _lane_keys(one: Lanes, on: Axis) -> list[tuple[str, str]]:
    """What the marks of a plot mean, of those that appear."""
    known = [row.score for row in one.rows if isinstance(row.score, Estimate)]
    keys = [("dot", one.name)] if any(row.series is None and not row.hollow for row in one.rows) else []
    keys += [("ring", one.hollow)] if one.hollow and any(row.hollow for row in one.rows) else []
    keys += [("line", one.interval)] if any(e.low is not None for e in known) else []
    band = any(row.chance for row in one.rows) or (on.low >= 0 and any(e.null for e in known))
    keys += [("null", one.chance[1])] if band else []
    keys += [("one", one.points)] if any(row.points for row in one.rows) else []
    marks = dict.fromkeys((m.shape, m.name) for row in one.rows for m in row.marks)
    keys += [(f"mark {shape}", name) for shape, name in marks]
    tested = any(row.strong is None and words.beyond_chance(row.score) for row in one.rows)
    return keys + ([("", "bold: beyond chance (q < 0.05)")] if tested else [])


def lines(one: Lines) -> Markup:
    """Lines with their key; the numbers follow as a table (`plain`)."""
    main, thin = [li for li in one.lines if not li.thin], [li.name for li in one.lines if li.thin]
    keys = [(f"{'stair ' if line.stair else ''}run-{line.series % RUNS}", line.name) for line in main]
    keys += [("thin", f"thin: {words.shorten(words.listing(thin), 120)}")] if thin else []
    known = [e for line in one.lines for e in line.points if isinstance(e, Estimate)]
    keys += [("null", one.chance)] if any(e.null is not None for e in known) else []
    keys += [("level", name) for name, _ in one.levels]
    return _figure(one.caption, charts.lines(one), legend(keys))


def scatter(one: Scatter) -> Markup:
    """Points with their key."""
    kind = "frame " if any(p.uri for p in one.points) else ""
    keys = [(f"{kind}run-{k % RUNS}", name) for k, name in enumerate(one.keys)]
    keys += [("strong", one.strong)] if one.strong else []
    keys += dict.fromkeys((f"{'stair' if t.stair else 'line'} run-{t.series % RUNS}", t.name) for t in one.traces)
    keys += [("diagonal", one.diagonal)] if one.diagonal else []
    return _figure(one.caption, charts.scatter(one), legend(keys))


def network(one: Network) -> Markup:
    """A graph with its key."""
    found = {e.effect for e in one.edges}
    keys = (tag("span", sample(effect), text) for effect, text in one.effects if effect in found)
    named = tag("p", *keys, tag("span", "wider: stronger"), class_="legend") if found else NOTHING
    return _figure(one.caption, drawn(one), named)


def _figure(caption: str, *parts: Markup) -> Markup:
    return tag("figure", tag("figcaption", caption) if caption else None, *parts)
