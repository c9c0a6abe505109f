"""Several prompts and models of attention maps side by side: the paper's tables, and what changed between models."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from askew.planning.map import axes_of
from askew.report.figures import PlotTable, Row
from askew.report.formatting import Record, axis_label, interval, measured, number, probability, reason, shorten
from askew.report.map_reading import MapReading, by_prompt, model_label
from askew.report.plots import scale_axis, signed_scale, track
from askew.report.reading import is_estimate

SIGNIFICANT = 0.05


@dataclass(frozen=True, slots=True)
class GroupedTable:
    """Numbers by row, in columns that stand in groups: (name of the group, names of its columns)."""

    caption: str
    groups: tuple[tuple[str, tuple[str, ...]], ...]
    rows: tuple[tuple[str, tuple[str, ...]], ...]


def paper_table(reading: MapReading, concept: str) -> GroupedTable | None:
    """The form of BiasMap's tables 3 to 6: mIoU, mBIoU and risk difference of every prompt and model, and their means.

    None for a single number of each.
    """
    found = by_prompt(reading, concept)
    if len(found) * len(reading.models) == 1:
        return None
    axis = axes_of([concept]).get(concept)
    scores = ("mIoU", "mBIoU", *((f"risk difference of {axis_label(axis)}",) if axis else ()))
    rows = [
        (shorten(own[0]["b"], 60), tuple(measured(e) for e in _cells(reading, own, axis))) for own in found.values()
    ]
    if len(found) > 1:
        rows.append(("mean", tuple(measured(e) for e in _means(reading, concept, axis))))
    caption = f"“{shorten(concept, 40)}” in the form of the paper's tables; in brackets intervals"
    models = tuple(model_label(name, 30) for name in reading.models)
    return GroupedTable(caption, tuple((score, models) for score in scores), tuple(rows))


def block_tables(reading: MapReading, concept: str) -> list[GroupedTable]:
    """The overlap by block of every prompt, a table for every model; none for a single prompt."""
    return [_block_table(reading, model, concept) for model in reading.models
            if len(reading.pairs(model=model, a=concept)) > 1]  # fmt: skip


def _block_table(reading: MapReading, model: str, concept: str) -> GroupedTable:
    own, means = reading.pairs(model=model, a=concept), reading.profile(model, concept)
    blocks = tuple(means)
    rows = [(shorten(e["b"], 60), tuple(measured(e["blocks"].get(block, {})) for block in blocks)) for e in own]
    rows.append(("mean", tuple(measured(means[block]) for block in blocks)))
    caption = f"Overlap of “{shorten(concept, 40)}” by block and prompt; in brackets intervals"
    return GroupedTable(caption, ((model_label(model, 60), blocks),), tuple(rows))


def change_figures(reading: MapReading) -> list[PlotTable]:
    """For every model that is held against another, and every concept, what differs."""
    return [_change(reading, entry) for entry in reading.biasmap["changes"]]


def block_change_figures(reading: MapReading) -> list[PlotTable]:
    """The same by block, as means over prompts; of several prompts only, and of models with a block in common."""
    return [
        _differences(f"{_change_caption(entry)}, by block", "Block", entry["blocks"])
        for entry in reading.biasmap["changes"] if len(entry["prompts"]) > 1 and entry.get("blocks")
    ]  # fmt: skip


def change_rows(reading: MapReading, entry: Record) -> dict[str, Record]:
    """By label the differences of an entry of `biasmap.changes`: over the pictures of a prompt, and over prompts.

    Of a single prompt only those that have an interval.
    """
    if len(entry["prompts"]) == 1:
        return {"mIoU": entry["prompts"][0]["miou"], "mBIoU": entry["prompts"][0]["mbiou"]}
    means = {"mIoU": entry["miou"], "mBIoU": entry["mbiou"], "corrected mIoU": entry["corrected"]}
    if entry["risk_difference"]:
        axis = axes_of([entry["a"]]).get(entry["a"]) or ""
        means[f"risk difference of {axis_label(axis)}"] = entry["risk_difference"]
    singles = {f"mIoU, {reading.word_of(one['prompt'])}": one["miou"] for one in entry["prompts"]}
    return {**singles, **{f"mean {name}": e for name, e in means.items()}}


def _change(reading: MapReading, entry: Record) -> PlotTable:
    return _differences(_change_caption(entry), "Score", change_rows(reading, entry))


def _change_caption(entry: Record) -> str:
    first, second = entry["models"]
    return f"“{shorten(entry['a'], 40)}”: {model_label(second, 40)} less {model_label(first, 40)}"


def _differences(caption: str, corner: str, found: Mapping[str, Record]) -> PlotTable:
    scale = signed_scale(found.values())
    rows = [
        Row(name, track(scale, e, name, measured(e)), (number(e.get("value")), interval(e), probability(e.get("q"))),
            strong=_is_sure(e), note="" if is_estimate(e) else reason(e))
        for name, e in found.items()
    ]  # fmt: skip
    legend = (("dot", "difference"), ("line", "interval for the true difference"))
    return PlotTable(caption, corner, scale_axis(scale), ("difference", "interval", "q"), tuple(rows), legend)


def _is_sure(e: Record) -> bool:
    q = e.get("q")
    return q is not None and q < SIGNIFICANT


def _cells(reading: MapReading, own: list[Record], axis: str | None) -> Iterator[Record]:
    """The scores of one prompt, in the order of the columns."""
    by_model = {e["model"]: e for e in own}
    for score in ("miou", "mbiou"):
        yield from (by_model[model][score] if model in by_model else {} for model in reading.models)
    for model in reading.models if axis else ():
        found = [r["estimate"] for r in reading.risks(model, axis or "") if r["prompt"] == own[0]["prompt"]]
        yield found[0] if found else {}


def _means(reading: MapReading, concept: str, axis: str | None) -> Iterator[Record]:
    by_model: Mapping[str, Record] = {e["model"]: e for e in reading.biasmap["overall"] if e["a"] == concept}
    for score in ("miou", "mbiou", *(("risk_difference",) if axis else ())):
        yield from (by_model[model][score] or {} for model in reading.models)
