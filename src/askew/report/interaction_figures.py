"""The figures of interactions: effects of one axis, and tables of counts; each can be read without its plot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from askew.report.figures import PlotTable, Row
from askew.report.formatting import (
    ABSENT,
    Record,
    axis_label,
    capital,
    interval,
    measured,
    number,
    perceived,
    percent,
    probability,
    reason,
    thousands,
)
from askew.report.graph import Effect, effect, signed
from askew.report.plots import scale_axis, signed_scale, track
from askew.report.reading import is_estimate


@dataclass(frozen=True, slots=True)
class Cell:
    """One pair of axes in the matrix. `kind` is None where the pair is no edge."""

    value: str
    interval: str
    kind: Effect | None
    direct: bool
    title: str


@dataclass(frozen=True, slots=True)
class EffectMatrix:
    """Every axis made equal (rows) against every axis that it may move (columns)."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Cell, ...]], ...]


@dataclass(frozen=True, slots=True)
class CountTable:
    """A contingency table with its test. Every cell holds a count and its share of the row."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[tuple[str, str], ...]], ...]
    test: str


def effect_matrix(entry: Record, axes: Sequence[str]) -> EffectMatrix:
    """Sensitivities with their intervals; what is an edge says so by colour and by its mark."""
    by_pair = {(e["source"], e["target"]): e for e in entry["edges"]}
    sources = [axis for axis in axes if any((axis, other) in by_pair for other in axes)]
    rows = tuple((capital(axis_label(x)), tuple(_cell(by_pair.get((x, y)), x, y) for y in axes)) for x in sources)
    return EffectMatrix(tuple(capital(axis_label(y)) for y in axes), rows)


def effects_of(entry: Record, source: str) -> PlotTable:
    """What making one axis equal does to every axis, itself first."""
    own = sorted((e for e in entry["edges"] if e["source"] == source), key=lambda e: e["target"] != source)
    scale = signed_scale(e["sensitivity"] for e in entry["edges"])
    rows = tuple(
        Row(
            capital(axis_label(e["target"])),
            track(scale, e["sensitivity"], f"{source} on {e['target']}", _told(e), hollow=not e["significant"]),
            (
                signed(e["sensitivity"]["value"]) if is_estimate(e["sensitivity"]) else ABSENT,
                interval(e["sensitivity"]),
                number(e["cramers_v"]),
                probability(e["q"]),
            ),
            strong=bool(e["significant"]),
            note=_note(e, source),
        )
        for e in own
    )
    return PlotTable(
        f"Intersectional Sensitivity: what making {axis_label(source)} equal does to the distance of each axis from "
        "its ideal; right of zero it comes nearer, left of zero it goes further away",
        "Axis",
        scale_axis(scale),
        ("IS", "interval", "V", "q"),
        rows,
        (("dot", "the axis depends on it (an edge)"), ("dot hollow", "it does not, as far as can be seen"),
         ("line", "interval for the true value")),
    )  # fmt: skip


def count_tables(entry: Record, source: str) -> list[CountTable]:
    """The contingency tables of one intervened axis, one per target, the initial pictures in the first row."""
    axes = {axis["name"]: axis for axis in entry["axes"]}
    tests = {e["target"]: e for e in entry["edges"] if e["source"] == source}
    return [
        _count_table(entry, axes, source, target, table, tests[target])
        for target, table in entry["counts"]["after"].get(source, {}).items()
    ]


def test_line(edge: Record) -> str:
    """The test of a pair in one line."""
    if edge["p"] is None:
        return f"Not tested: {reason(edge['untested'] or {})}"
    how = f"permutation, {thousands(edge['draws'])} draws" if edge["draws"] else "χ² distribution"
    found = f"χ² = {number(edge['chi2'], 1)}, {edge['dof']} d.f., {probability(edge['p'], 'p')} ({how})"
    return f"{found}, {probability(edge['q'], 'q')}, Cramér's V {number(edge['cramers_v'])}"


def _cell(edge: Record | None, source: str, target: str) -> Cell:
    if edge is None or not is_estimate(edge["sensitivity"]):
        return Cell(ABSENT, "", None, source == target, "not measured")
    sensitivity = edge["sensitivity"]
    kind = effect(sensitivity) if edge["significant"] else None
    return Cell(signed(sensitivity["value"]), interval(sensitivity), kind, source == target, test_line(edge))


def _told(edge: Record) -> str:
    if not is_estimate(edge["sensitivity"]):
        return f"not measured: {reason(edge['sensitivity'])}"
    return f"sensitivity {measured(edge['sensitivity'])}; {test_line(edge)}"


def _note(edge: Record, source: str) -> str:
    if not is_estimate(edge["sensitivity"]):
        return reason(edge["sensitivity"])
    as_read = edge.get("as_read")
    notes = ["direct effect"] if edge["target"] == source else []
    notes += [f"as read {signed(as_read)}"] if as_read is not None else []
    return ", ".join(notes)


def corrected_axes(entry: Record) -> list[tuple[str, str]]:
    """Axes whose sensitivities were corrected for the instrument's errors, and how much of a value it reads rightly."""
    found = []
    for axis in entry["axes"]:
        if counts := axis.get("known_errors"):
            right = [row[k] / sum(row) for k, row in enumerate(counts)]
            least, most = percent(min(right)), percent(max(right))
            found.append((axis["name"], least if least == most else f"{least} to {most}"))
    return found


def _count_table(
    entry: Record, axes: Record, source: str, target: str, table: Sequence[Sequence[int]], test: Record
) -> CountTable:
    initial = entry["counts"]["initial"].get(target)
    rows = [("initial", initial)] if initial else []
    rows += list(zip(axes[source]["counterfactuals"], table, strict=True))
    return CountTable(
        f"{capital(perceived(target))} in the pictures of each {axis_label(source)}",
        tuple(axes[target]["values"]),
        tuple((name, tuple(_counted(count, sum(counts)) for count in counts)) for name, counts in rows),
        test_line(test),
    )


def _counted(count: int, total: int) -> tuple[str, str]:
    return thousands(count), percent(count / total) if total else ABSENT
