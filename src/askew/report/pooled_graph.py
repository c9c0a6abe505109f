"""The graph of several models together, in words and figures."""

from __future__ import annotations

from collections.abc import Sequence

from askew.report.figures import PlotTable, Row
from askew.report.formatting import (
    ABSENT,
    Record,
    axis_label,
    capital,
    interval,
    measured,
    plural,
    thousands,
)
from askew.report.graph import drawn_edges, signed
from askew.report.plots import Mark, scale_axis, signed_scale, track
from askew.report.reading import is_estimate


def pooled_answer(pooled: Record, models: Sequence[str]) -> str:
    """How many edges all models have together, and how many of them each model has."""
    edges = _edges(pooled)
    if not edges:
        return f"Over all {len(models)} models no pair of axes pulls on another beyond chance."
    shared = sum(is_estimate(e["models"]) and e["models"]["value"] == 1 for e in edges)
    count = f"Over all {len(models)} models and {plural(len(pooled['prompts']), 'prompt')}"
    which = {0: "none of them is", 1: "one of them is"}.get(shared, f"{thousands(shared)} of them are")
    return f"{count}: {plural(len(edges), 'edge')}; {which} in every model's own graph."


def share_of(share: Record) -> str:
    """ "3 of 4"."""
    return f"{round(share['value'] * share['n'])} of {share['n']}" if is_estimate(share) else ABSENT


def pooled_figure(pooled: Record) -> PlotTable:
    """The edges of the pooled graph: sensitivity on its interval, the mean over models as a mark, and who has them."""
    edges = _edges(pooled)
    scale = signed_scale(e[kind] for e in edges for kind in ("sensitivity", "mean_sensitivity"))
    return PlotTable(
        "Intersectional Sensitivity from the counts of all models added up (Eq. 9–11), the strongest first",
        "Edge",
        scale_axis(scale),
        ("IS", "mean", "models", "prompts’ graphs"),
        tuple(
            Row(
                f"{capital(axis_label(e['source']))} → {axis_label(e['target'])}",
                track(scale, e["sensitivity"], f"{e['source']} on {e['target']}", measured(e["sensitivity"]),
                      marks=(Mark(e["mean_sensitivity"]["value"], "ideal"),)
                      if is_estimate(e["mean_sensitivity"]) else ()),
                (_signed_with_interval(e["sensitivity"]), _signed(e["mean_sensitivity"]),
                 share_of(e["models"]), share_of(e["prompts"])),
            )
            for e in edges
        ),
        (("dot", "all models together"), ("line", "interval for the true value"),
         ("ideal", "mean of the models; models and graphs: how many have the edge")),
    )  # fmt: skip


def _edges(pooled: Record) -> list[Record]:
    """The edges to show, the strongest first."""
    by_pair = {(e["source"], e["target"]): e for e in pooled["edges"]}
    return [by_pair[edge.source, edge.target] for edge in reversed(drawn_edges(pooled))]


def _signed(sensitivity: Record) -> str:
    return signed(sensitivity["value"]) if is_estimate(sensitivity) else ABSENT


def _signed_with_interval(sensitivity: Record) -> str:
    return f"{_signed(sensitivity)} {interval(sensitivity)}" if is_estimate(sensitivity) else ABSENT
