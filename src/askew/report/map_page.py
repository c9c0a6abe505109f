"""The report of attention maps: one HTML file that needs nothing else, made from results, pictures and maps."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from askew.methods.biasmap import Masking, PairMaps, flat_pictures
from askew.plans.reading import make_plan
from askew.report import formatting, map_comparison, map_figures, map_method, overlay
from askew.report.figures import PlotTable
from askew.report.formatting import Record
from askew.report.html import missing_rows, page_environment
from askew.report.map_comparison import GroupedTable
from askew.report.map_reading import MapReading, headline
from askew.report.thumbnails import OpenPicture, data_uri
from askew.stats.overlap import iou

SHOWN = 6
"""Pictures with overlays, if there is one prompt; one of each if there are more."""

MOST = 24
"""Prompts with overlays."""


class OpenMaps(Protocol):
    """Finds the maps of one picture for a concept; None if they are gone."""

    def __call__(self, concept: str, prompt: str, model: str, picture: str) -> PairMaps | None: ...


@dataclass(frozen=True, slots=True)
class Overlay:
    """One picture with the maps of two words, their masks, and how much those share; block by block if wanted."""

    number: int
    picture: str
    a: str
    b: str
    masks: str
    share: float
    blocks: list[tuple[str, str, float]]


@dataclass(frozen=True, slots=True)
class ConceptSection:
    """All that the page shows of one concept."""

    concept: str
    overlaps: PlotTable
    table: GroupedTable | None
    profile: Markup
    numbers: list[PlotTable]
    block_tables: list[GroupedTable]
    pictures: list[tuple[str, str, list[Overlay]]]


def write_maps(results: Record, open_picture: OpenPicture, open_maps: OpenMaps, masking: Masking, path: Path) -> Path:
    """Writes the report to `path` and returns it. The same results, pictures and maps give the same bytes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f"{path.name}.part")
    unfinished.write_text(render_maps(results, open_picture, open_maps, masking), encoding="utf-8")
    os.replace(unfinished, path)
    return path


def render_maps(results: Record, open_picture: OpenPicture, open_maps: OpenMaps, masking: Masking) -> str:
    """The report's page as text."""
    reading, environment = MapReading(results), page_environment()
    style = "\n".join(environment.get_template(n).render() for n in ("report.css", "compare.css", "maps.css"))
    show = _Overlays(reading, open_picture, open_maps, masking)
    page = environment.get_template("maps.html.j2").render(
        results=results,
        reading=reading,
        answer=headline(reading),
        sections=[_section(reading, concept, show) for concept in reading.concepts],
        risks=[map_figures.risks(reading, axis) for axis in reading.axes],
        changes=map_comparison.change_figures(reading),
        block_changes=map_comparison.block_change_figures(reading),
        method=map_method.described(reading),
        intersections=map_figures.intersections(reading),
        missing=missing_rows(reading),
        gradient=overlay.gradient(),
        colours={"a": overlay.ONLY_A, "b": overlay.ONLY_B, "both": overlay.BOTH},
        plan_text=make_plan(dict(results["plan"])).to_toml(),
        style=Markup(style),
    )
    return formatting.clean(page)


def _section(reading: MapReading, concept: str, show: _Overlays) -> ConceptSection:
    return ConceptSection(
        concept,
        map_figures.overlaps(reading, concept),
        map_comparison.paper_table(reading, concept),
        map_figures.profile(reading, concept),
        map_figures.profile_tables(reading, concept),
        map_comparison.block_tables(reading, concept),
        show(concept),
    )


@dataclass(frozen=True, slots=True)
class _Overlays:
    """Makes the overlays of a concept: by prompt and model, the first pictures."""

    reading: MapReading
    open_picture: OpenPicture
    open_maps: OpenMaps
    masking: Masking

    def __call__(self, concept: str) -> list[tuple[str, str, list[Overlay]]]:
        """(model, word that the concept is held against, overlays)."""
        most = SHOWN if len(self.reading.prompts) == 1 else 1
        found = []
        for entry in self.reading.part("sets")[: MOST * len(self.reading.models)]:
            model, prompt = str(entry["model"]), str(entry["prompt"])
            pictures = [(k, one) for k, one in enumerate(entry["pictures"], 1) if one][:most]
            made = [self._overlay(concept, prompt, model, k, one, blocks=k == pictures[0][0]) for k, one in pictures]
            against = next(e["b"] for e in self.reading.pairs(model=model, prompt=prompt, a=concept))
            found.append((model, against, [one for one in made if one is not None]))
        return [item for item in found if item[2]]

    def _overlay(
        self, concept: str, prompt: str, model: str, number: int, picture: str, *, blocks: bool
    ) -> Overlay | None:
        image, maps = self.open_picture(picture), self.open_maps(concept, prompt, model, picture)
        if image is None or maps is None:
            return None

        def masked(found: NDArray[np.float64]) -> tuple[str, float]:
            a, b = self.masking(found[:, 0])
            return overlay.masks(image, a, b), float(iou(a, b))

        total = maps.total()
        if flat_pictures(total).any():
            return None
        shown = {name: found for name, found in maps.blocks().items() if blocks and not flat_pictures(found).any()}
        own = [(name, *masked(found)) for name, found in shown.items()]
        first, second = (overlay.heat(image, total[k, 0]) for k in (0, 1))
        return Overlay(number, data_uri(image), first, second, *masked(total), own)
