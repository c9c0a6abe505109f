"""The report of interactions: one HTML file that needs nothing else, made from results.json."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from jinja2 import Environment
from markupsafe import Markup

from askew.plans.reading import make_plan
from askew.report import formatting, interaction_figures, interaction_plans, interaction_sentences
from askew.report.figures import PlotTable, shares
from askew.report.formatting import Record, axis_label, capital, quote
from askew.report.graph import Edge, axes_of, drawn_edges, graph, sample_edge
from askew.report.html import Anchors, missing_rows, page_environment
from askew.report.reading import Reading
from askew.report.thumbnails import Allowance, Grid, OpenPicture, grid

SENTENCES = 8
"""Sentences of a graph before the rest is folded away."""


@dataclass(frozen=True, slots=True)
class Pictures:
    """The pictures behind the graphs, at most so many of each set."""

    reading: Reading
    open_picture: OpenPicture
    most: int

    def of_axis(self, entry: Record, axis: str) -> list[tuple[str, str, Grid]]:
        """Value, prompt and pictures of each counterfactual set of an axis, after those of the initial one."""
        values = next(a["counterfactuals"] for a in entry["axes"] if a["name"] == axis)
        wanted = [("initial", None, None), *((value, axis, value) for value in values)]
        sets = [(title, self.reading.set_of(entry["prompt"], own, value)) for title, own, value in wanted]
        shown = [(title, s, grid(s, self.open_picture, self.most)) for title, s in sets]
        return [(title, s["text"], found) for title, s, found in shown if s is not None and found is not None]


@dataclass(frozen=True, slots=True)
class FocalSection:
    """All that the page shows of one axis that is made equal."""

    anchor: str
    axis: str
    summary: str
    direct: str | None
    graph: Markup
    effects: PlotTable
    initial: list[PlotTable]
    tables: list[interaction_figures.CountTable]
    pictures: list[tuple[str, str, Grid]]


@dataclass(frozen=True, slots=True)
class GraphSection:
    """All that the page shows of the graph of one prompt, or of all together."""

    anchor: str
    title: str
    entry: Record
    edges: int
    graph: Markup
    matrix: interaction_figures.EffectMatrix
    sentences: list[tuple[Edge, str]]
    folded: list[tuple[Edge, str]]
    axes: list[FocalSection]


def write_interactions(results: Record, open_picture: OpenPicture, path: Path) -> Path:
    """Writes the report to `path` and returns it. The same results and pictures give the same bytes.

    `open_picture` maps a picture id to its image, or to None if there is no such picture any more.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f"{path.name}.part")
    unfinished.write_text(render_interactions(results, open_picture), encoding="utf-8")
    os.replace(unfinished, path)
    return path


def render_interactions(results: Record, open_picture: OpenPicture) -> str:
    """The report's page as text."""
    reading, environment = Reading(results), interactions_environment()
    axes, anchors = axes_of(results["biasconnect"]), Anchors()
    show = Pictures(reading, open_picture, Allowance.of(0, len(reading.part("sets"))).strip)
    page = environment.get_template("interactions.html.j2").render(
        results=results,
        reading=reading,
        answer=interaction_sentences.answer(results),
        sections=[graph_section(show, entry, axes, anchors) for entry in results["biasconnect"]],
        missing=missing_rows(reading),
        plan_text=make_plan(dict(results["plan"])).to_toml(),
        style=page_style(environment),
    )
    return formatting.clean(page)


def graph_section(show: Pictures, entry: Record, axes: Sequence[str], anchors: Anchors) -> GraphSection:
    """One graph with all that is behind it; `axes` decide the layout."""
    title = "All prompts together" if entry["prompt"] is None else quote(entry["prompt"], 160)
    anchor = anchors.make(str(entry["prompt"] or "all prompts"))
    said = [(edge, _unbroken(text)) for edge, text in interaction_sentences.sentences(entry)]
    return GraphSection(
        anchor,
        title,
        entry,
        len(said),
        graph(entry, axes, f"Which axis moves which: {title}"),
        interaction_figures.effect_matrix(entry, axes),
        said[:SENTENCES],
        said[SENTENCES:],
        [_focal_section(show, entry, axes, axis, anchors.make(f"{anchor} {axis}")) for axis in _sources(entry)],
    )


def interactions_environment() -> Environment:
    """Templates with the filters of these pages."""
    environment = page_environment()
    environment.globals["sample_edge"] = sample_edge
    plans = interaction_plans
    environment.filters |= {
        "distances_by_stage": plans.distances_by_stage,
        "corrected_axes": interaction_figures.corrected_axes,
        "joint_figure": plans.joint_figure,
        "mitigations": plans.mitigations,
        "mixture_totals": plans.totals,
        "strategies_figure": plans.strategies,
        "mixture_weights": plans.weights,
        "validated": plans.validated,
        "validation_sentence": plans.validation_sentence,
    }
    return environment


def page_style(environment: Environment) -> Markup:
    """The style sheets of these pages."""
    return Markup("\n".join(environment.get_template(name).render() for name in ("report.css", "interactions.css")))


def _unbroken(sentence: str) -> str:
    """The sentence with intervals that no line break tears apart."""
    return re.sub(r"\[[^\]]*\]", lambda found: found[0].replace(" ", "\N{NO-BREAK SPACE}"), sentence)


def _sources(entry: Record) -> list[str]:
    return list(dict.fromkeys(e["source"] for e in entry["edges"]))


def _focal_section(show: Pictures, entry: Record, axes: Sequence[str], axis: str, anchor: str) -> FocalSection:
    own = [e for e in drawn_edges(entry) if e.source == axis]
    initial = show.reading.shares_of(entry["prompt"], "initial", axis) if entry["prompt"] else []
    return FocalSection(
        anchor,
        axis,
        _summary(own),
        interaction_sentences.direct_sentence(entry, axis),
        graph(entry, axes, f"What making {axis_label(axis)} equal moves", focal=axis),
        interaction_figures.effects_of(entry, axis),
        [shares(s) for s in initial],
        interaction_figures.count_tables(entry, axis),
        show.of_axis(entry, axis) if entry["prompt"] else [],
    )


def _summary(edges: Sequence[Edge]) -> str:
    """ "harms age; helps clothing", in the order of strength."""
    words = {"worse": "harms", "better": "helps", "changed": "changes"}
    ordered = sorted(edges, key=lambda e: -abs(e.sensitivity["value"]))
    parts = [
        f"{word} {interaction_sentences.named([e.target for e in ordered if e.effect == kind])}"
        for kind, word in words.items()
        if any(e.effect == kind for e in ordered)
    ]
    return capital("; ".join(parts)) if parts else "Moves nothing else beyond chance"
