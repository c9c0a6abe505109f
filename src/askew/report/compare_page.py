"""The page of a comparison: one HTML file that needs nothing else, in the look of the report."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup

from askew.report import compare_figures as figures
from askew.report import formatting
from askew.report.compare import Change, ComparedModel, CompareReading, Pair
from askew.report.compare_sentences import change_sentence, pair_sentence, plus, score_label
from askew.report.figures import PlotTable
from askew.report.formatting import Record, reads_appearance, shorten
from askew.report.html import Anchors, missing_rows, page_environment
from askew.report.reading import Reading, grouped
from askew.report.sentences import set_label
from askew.report.thumbnails import Allowance, Grid, Thumbnail, grid

ROWS = 24
"""Rows of a figure before the rest is folded away."""


@dataclass(frozen=True, slots=True)
class PairSection:
    """What differs between two runs: the answer, and figures, of which the second ones are folded away."""

    pair: Pair
    sentence: str
    figures: list[PlotTable]
    folded: list[PlotTable]


@dataclass(frozen=True, slots=True)
class Pictures:
    """One picture set in all runs, by the run's name; `stacks` hold pictures of one seed, where there are seeds."""

    title: str
    text: str
    grids: list[tuple[str, Grid]]
    stacks: list[tuple[int, list[Thumbnail]]]


@dataclass(frozen=True, slots=True)
class AxisSection:
    """All that the page shows of one axis of one picture set."""

    anchor: str
    axis: str
    differs: bool
    sentences: list[tuple[str, str]]
    figures: list[PlotTable]
    others: list[tuple[Record, list[Record | None]]]
    pictures: list[Pictures]


@dataclass(frozen=True, slots=True)
class SetSection:
    """All that the page shows of one prompt, or of one condition of it."""

    anchor: str
    prompt: str
    condition: str | None
    pictures: Pictures
    axes: list[AxisSection]


def write_comparison(
    models: Sequence[ComparedModel], entries: Sequence[Record], warnings: Sequence[str], path: Path
) -> Path:
    """Writes the page to `path` and returns it. The same results and pictures give the same bytes."""
    unfinished = path.with_name(f"{path.name}.part")
    unfinished.write_text(render_comparison(models, entries, warnings), encoding="utf-8")
    os.replace(unfinished, path)
    return path


def render_comparison(models: Sequence[ComparedModel], entries: Sequence[Record], warnings: Sequence[str]) -> str:
    """The page as text."""
    reading = CompareReading(models, entries, warnings)
    environment = page_environment()
    environment.filters["plus"] = plus
    environment.filters["score_label"] = score_label
    style = "\n".join(environment.get_template(name).render() for name in ("report.css", "compare.css"))
    page = environment.get_template("compare.html.j2").render(
        reading=reading,
        plan=models[0].results["plan"],
        pairs=[_pair_section(reading, pair) for pair in reading.pairs],
        sets=_set_sections(reading),
        missing=[(m.name, row) for m in models for row in missing_rows(Reading(_compared(m.results, reading.prompts)))],
        style=Markup(style),
    )
    return formatting.clean(page)


def _compared(results: Record, prompts: Sequence[str]) -> Record:
    """The results without prompts that were not compared."""
    return {name: [entry for entry in results[name] if entry["prompt"] in prompts] for name in ("sets", "shares")}


def _pair_section(reading: CompareReading, pair: Pair) -> PairSection:
    changes = reading.changes(pair)
    shown, folded = (
        [figure for make in (figures.lean_figure, figures.moved_figure) if (figure := make(reading, pair, some))]
        for some in (changes[:ROWS], changes[ROWS:])
    )
    return PairSection(pair, pair_sentence(reading, pair), shown, folded)


def _set_sections(reading: CompareReading) -> list[SetSection]:
    sets = [s for s in reading.models[0].results["sets"] if s["prompt"] in reading.prompts]
    initial, runs = sum(s["axis"] is None for s in sets), len(reading.models)
    allowance = Allowance.of(initial * runs, (len(sets) - initial) * runs)
    found: dict[tuple[str, str], list[tuple[Pair, Change]]] = {}
    for pair in reading.pairs:
        for change in reading.changes(pair):
            found.setdefault((change.prompt, change.set), []).append((pair, change))
    anchors = Anchors()
    ordered = sorted(found.items(), key=lambda item: reading.prompts.index(item[0][0]))
    return [_set_section(reading, some, anchors, allowance) for _, some in ordered]


def _set_section(
    reading: CompareReading, found: Sequence[tuple[Pair, Change]], anchors: Anchors, allowance: Allowance
) -> SetSection:
    prompt, name = found[0][1].prompt, found[0][1].set
    anchor = anchors.make(prompt if name == "initial" else f"{prompt} {name}")
    by_axis: dict[str, list[tuple[Pair, Change]]] = {}
    for pair, change in found:
        by_axis.setdefault(change.axis, []).append((pair, change))
    return SetSection(
        anchor,
        prompt,
        None if name == "initial" else name,
        _pictures(reading, prompt, name, allowance.initial),
        [
            _axis_section(reading, some, anchors.make(f"{anchor} {axis}"), allowance.strip)
            for axis, some in by_axis.items()
        ],
    )


def _axis_section(
    reading: CompareReading, found: Sequence[tuple[Pair, Change]], anchor: str, strip: int
) -> AxisSection:
    prompt, axis, name = found[0][1].prompt, found[0][1].axis, found[0][1].set
    entries = reading.select(prompt=prompt, axis=axis)
    shares = [e for e in entries if e["score"] == "share" and e["set"] == name]
    cas = [e for e in entries if e["score"] == "cas" and name == "initial"]
    shown = {id(e) for e in (*shares, *cas)}
    others = [e for e in entries if id(e) not in shown and (name == "initial" or e["set"] == name)]
    values = list(dict.fromkeys(e["value"] for e in cas))
    return AxisSection(
        anchor,
        axis,
        any(change.differs for _, change in found),
        [(figures.names(reading, pair), change_sentence(reading, pair, change)) for pair, change in found],
        [*_share_figures(reading, shares), *_two_figures(reading, cas, "CAS: nearness to each counterfactual", "CAS")],
        [(e, [reading.estimate(model, e) for model in reading.models]) for e in others],
        [_pictures(reading, prompt, f"{axis}: {value}", strip) for value in values],
    )


def _share_figures(reading: CompareReading, entries: Sequence[Record]) -> list[PlotTable]:
    return [
        figure
        for (instrument,), some in grouped(entries, ["instrument"]).items()
        for figure in _two_figures(reading, some, f"{_shares(some[0])}, read by {shorten(instrument, 60)}", "shares")
    ]


def _shares(entry: Record) -> str:
    how = "Perceived shares" if reads_appearance(entry["axis"]) else "Shares seen"
    return f"{how} in {set_label(entry['set'])}"


def _two_figures(reading: CompareReading, entries: Sequence[Record], caption: str, what: str) -> list[PlotTable]:
    """The runs' own scores, and beside them their differences."""
    if not entries:
        return []
    heading = formatting.capital(formatting.axis_label(entries[0]["axis"]))
    first = [e for e in entries if tuple(e["runs"]) == reading.pairs[0]]
    return [
        figures.own_scores(reading, first, caption, heading),
        figures.differences(reading, entries, f"Differences in {what}", heading),
    ]


def _pictures(reading: CompareReading, prompt: str, name: str, most: int) -> Pictures:
    """The pictures of one set in every run, side by side where they come from the same seeds."""
    axis, _, value = (None, "", None) if name == "initial" else name.partition(": ")
    found = []
    for model in reading.models:
        picture_set = Reading(model.results).set_of(prompt, axis, value)
        shown = grid(picture_set, model.open_picture, most)
        if picture_set is not None and shown is not None:
            found.append((model.name, picture_set, shown))
    text = found[0][1]["text"] if found else prompt
    grids = [(model, shown) for model, _, shown in found]
    stacks = list(zip(*(shown.cells for _, shown in grids), strict=False)) if _aligned([s for _, s, _ in found]) else []
    return Pictures(value or name, text, grids, [(cells[0].number, list(cells)) for cells in stacks])


def _aligned(sets: Sequence[Record]) -> bool:
    """Whether the pictures at each place have one seed in all runs, as far as seeds are known, and some are."""
    seeds = [{*places} - {None} for places in zip(*(s["seeds"] for s in sets), strict=False)]
    return any(seeds) and all(len(known) <= 1 for known in seeds)
