"""The page of a search: one HTML file that needs nothing else, in the look of the report."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from markupsafe import Markup

from askew.report import formatting, mining_figures
from askew.report.figures import PlotTable
from askew.report.formatting import Record
from askew.report.html import Anchors, page_environment
from askew.report.mining import by_fresh_score, evaluated, shown_run
from askew.report.mining_sentences import captions_sentence, finding, headline, openbias_sentence, random_sentence
from askew.report.score_strips import Strip, strip_table
from askew.report.thumbnails import Grid, OpenPicture, data_uri, grid

MAPS = 3
"""Prompts whose pictures are drawn on a map."""

SECTIONS = 12
"""Prompts whose pictures are shown."""


GROUPS = {"given": "given", "random": "random, at the start", "mined": "mined, on fresh seeds"}
"""Sets of prompts in words."""


@dataclass(frozen=True, slots=True)
class PromptSection:
    """All that the page shows of one prompt."""

    anchor: str
    entry: Record
    finding: str
    pictures: Grid | None
    unaligned: list[int]
    missed: list[tuple[str, str | None]]
    map: Markup | None
    explained: float | None


def write_mining(results: Record, open_picture: OpenPicture, path: Path) -> Path:
    """Writes the page to `path` and returns it. The same results and pictures give the same bytes."""
    unfinished = path.with_name(f"{path.name}.part")
    unfinished.write_text(render_mining(results, open_picture), encoding="utf-8")
    os.replace(unfinished, path)
    return path


def render_mining(results: Record, open_picture: OpenPicture) -> str:
    """The page as text."""
    section, plan = results["minethegap"], results["plan"]
    environment = page_environment()
    style = "\n".join(environment.get_template(name).render() for name in ("report.css", "mining.css"))
    prompts = _sections(results, open_picture)
    shown = shown_run(section)
    page = environment.get_template("mining.html.j2").render(
        results=results,
        section=section,
        headline=headline(results),
        evaluated=evaluated(section),
        ranking=mining_figures.prompts(section, {one.entry["prompt"]: one.anchor for one in prompts}),
        shown=shown,
        course=mining_figures.course(section, shown),
        races=mining_figures.races(section, plan["runs"]),
        random_sentence=random_sentence(results) if section["random"] else "",
        captions=captions_sentence(section),
        groups=_groups(section),
        prompts=prompts,
        openbias=mining_figures.openbias(section),
        openbias_sentence=openbias_sentence(section),
        unit=plan["similarity"] == "unit" or (plan["similarity"] == "auto" and plan["embedder"].startswith("studio")),
        style=Markup(style),
    )
    return formatting.clean(page)


def _groups(section: Record) -> PlotTable | None:
    """Scores of given, random and mined prompts beside each other (figure S2)."""
    strips = [
        Strip(GROUPS[e["group"]], [value for value in e["scores"] if value is not None], e["mean"])
        for e in section["groups"]
    ]
    return strip_table(strips, "Scores that no prompt was picked by", "Prompts") if len(strips) > 1 else None


def _sections(results: Record, open_picture: OpenPicture) -> list[PromptSection]:
    sets = {entry["prompt"]: entry for entry in results["sets"] if entry["axis"] is None}
    anchors = Anchors()
    return [
        _section(entry, sets, anchors.make(entry["prompt"]), open_picture, k < MAPS)
        for k, entry in enumerate(by_fresh_score(results["minethegap"]["best"])[:SECTIONS])
    ]


def _section(
    entry: Record, sets: Mapping[str, Record], anchor: str, open_picture: OpenPicture, mapped: bool
) -> PromptSection:
    texts: Sequence[str] = entry.get("missed_visual_concepts") or ()
    missed = [
        (text, _uri(one, open_picture)) for text, one in zip(texts, entry.get("missed_pictures") or (), strict=True)
    ]
    explained = (entry.get("map") or {}).get("explained")
    own = sets.get(entry["prompt"])
    shown = own["pictures"] if own else []
    unaligned = sorted(shown.index(one) + 1 for one in entry.get("least_aligned_pictures") or () if one in shown)
    return PromptSection(
        anchor,
        entry,
        finding(entry),
        grid(own, open_picture, 48),
        unaligned,
        missed,
        mining_figures.picture_map(entry, open_picture) if mapped else None,
        float(np.sum(explained)) if explained else None,
    )


def _uri(picture: str | None, open_picture: OpenPicture) -> str | None:
    image = None if picture is None else open_picture(picture)
    return None if image is None else data_uri(image)
