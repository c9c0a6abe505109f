"""Attention of a word against the region that shows it, on drawings of the studio world.

    python -m benchmarks.attention_truth [MODEL] [--drawings 48] [--write PAGE]

MODEL is studio, or another model of the studio world whose network can be watched. Localization
compares maps of a word with the region of the drawing that shows it. Faithfulness (BiasMap,
supplement F): the studio VQA labels drawings of which only the mask of a word, or only the rest, is
left. --write updates PAGE, docs/reference/calibration-maps.md, between two markers.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from askew import registry
from askew.measure.studio import StudioVQA
from askew.methods.map.findings import MIDDLE
from askew.methods.map.maps import block_maps
from askew.parts.scoring import Scoring
from askew.stats.intervals import benjamini_hochberg
from askew.stats.means import student_mean
from askew.stats.overlap import bilinear, covered, mask
from askew.stats.shares import wilson
from askew.stats.significance import SIGNIFICANCE_LEVEL
from askew.types import Estimate
from benchmarks.drawn_attention import SAID, TIMESTEPS, Drawings, OneStep
from benchmarks.localization import (
    overlap_beyond_other_maps,
    overlap_estimate,
    overlap_with_regions,
    pointing_estimate,
    pointing_matrix,
)
from benchmarks.marked_page import measured, update
from benchmarks.studio_vqa import GREY

READ = ("gender", "ethnicity", "occupation", "environment")
"""Attributes that the VQA labels with a part of the drawing covered."""

THRESHOLDS = (10, 30, 50, 70, 90)
ALL = "all"
"""Name of the sum of all blocks except the middle."""

Maps = NDArray[np.floating[Any]]
Regions = NDArray[np.bool_]
Attention = Mapping[str, Mapping[str, Maps]]
"""Maps (drawings, timesteps, h, w) of the words for each value, by attribute and block."""


@dataclass(frozen=True, slots=True)
class LocationScores:
    """Scores of maps against their regions.

    Attributes
    ----------
    area
        Mean share of the image in the regions, which is the chance of a point at random.
    pointing
        Share of maps whose highest point lies in the region; null by other drawings' regions.
    overlap
        IoU of the region with a mask as large as the region; null by other drawings' regions.
    beyond
        That IoU minus the IoU of the maps of all other attributes' words in the same drawing; None
        where maps of several attributes are pooled.
    """

    area: float
    pointing: Estimate
    overlap: Estimate
    beyond: Estimate | None = None


class Localization:
    """Scores of maps against regions (drawings, H, W), computed once and pooled in several ways."""

    def __init__(
        self, attention: Attention, regions: Mapping[str, Regions], scoring: Scoring
    ) -> None:
        self._attention = attention
        self._regions = regions
        self._scoring = scoring
        self.attributes = list(attention)
        self.blocks = list(next(iter(attention.values())))
        self._scores = {}
        for attribute, blocks in attention.items():
            for block, maps in blocks.items():
                self._scores[attribute, block] = _scores(maps, regions[attribute])

    def by_attribute(self) -> dict[str, LocationScores]:
        """Pool blocks and timesteps, with q-values over the attributes."""
        located = {
            name: replace(self._location_scores([name], ALL), beyond=self._beyond(name))
            for name in self.attributes
        }
        for score in ("pointing", "overlap", "beyond"):
            _add_q(located, score)
        return located

    def by_block(self) -> dict[str, LocationScores]:
        """Pool attributes and timesteps."""
        return {block: self._location_scores(self.attributes, block) for block in self.blocks}

    def by_timestep(self, timesteps: Sequence[int]) -> dict[str, LocationScores]:
        """Pool attributes and blocks."""
        return {
            str(t): self._location_scores(self.attributes, ALL, k) for k, t in enumerate(timesteps)
        }

    def _location_scores(
        self, attributes: Sequence[str], block: str, step: int | None = None
    ) -> LocationScores:
        """Pool scores; the members of a drawing are its attributes and timesteps."""
        steps = slice(None) if step is None else slice(step, step + 1)
        scores = [self._scores[name, block] for name in attributes]
        pointing = np.concatenate([pointing[..., steps] for pointing, _ in scores], axis=2)
        overlap = np.concatenate([overlap[..., steps] for _, overlap in scores], axis=2)
        names = (*attributes, block, str(step))
        draws = self._scoring.draws
        level = self._scoring.level
        return LocationScores(
            area=float(np.mean([self._regions[name].mean() for name in attributes])),
            pointing=pointing_estimate(
                pointing, rng=self._scoring.rng("pointing", *names), draws=draws, level=level
            ),
            overlap=overlap_estimate(
                overlap, rng=self._scoring.rng("overlap", *names), draws=draws, level=level
            ),
        )

    def _beyond(self, attribute: str) -> Estimate:
        size = self._regions[attribute].shape[-2:]
        summed = {
            name: bilinear(blocks[ALL].sum(axis=1), size)
            for name, blocks in self._attention.items()
        }
        others = np.stack([maps for name, maps in summed.items() if name != attribute])
        return overlap_beyond_other_maps(
            summed[attribute], others, self._regions[attribute], level=self._scoring.level
        )


@dataclass(frozen=True, slots=True)
class LabelingRates:
    """Shares of drawings that the VQA labels correctly, with parts covered.

    Attributes
    ----------
    whole
        With nothing covered.
    guess
        Share of the most common value.
    region, without
        With only the true region, and with only the true region covered.
    mask, rest, other
        With only the mask, only the rest, and only the mask of another drawing, by percentile.
    place, left_out
        Mean share of the true region in the mask, and of the rest outside the mask.
    """

    whole: Estimate
    guess: float
    region: Estimate
    without: Estimate
    mask: dict[int, Estimate]
    rest: dict[int, Estimate]
    other: dict[int, Estimate]
    place: dict[int, Estimate]
    left_out: dict[int, Estimate]


def with_sum(layers: Mapping[str, Maps]) -> dict[str, Maps]:
    """Return the sum of the layers of each block, and the sum of all blocks except the middle."""
    blocks = block_maps(layers)
    outer = [maps for name, maps in blocks.items() if name != MIDDLE]
    return {**blocks, ALL: np.sum(outer, axis=0)}


def faithfulness(
    vqa: StudioVQA, drawings: Drawings, attribute: str, maps: Maps, regions: Regions
) -> LabelingRates:
    """Label an attribute where only masks of maps (drawings, h, w), or only the rest, are left.

    `other` leaves the mask of the next drawing's map, whose labels do not depend on the word.
    """
    values = np.array(drawings.values(attribute))
    large = bilinear(maps, regions.shape[-2:])

    def right(visible: Regions) -> Estimate:
        pixels = np.where(visible[..., None], drawings.pixels, np.uint8(GREY))
        labels = vqa.read(vqa.embedder.embed_pixels(pixels), attribute)
        return _share(np.array(labels) == values)

    masks = {tau: mask(large, tau=tau) for tau in THRESHOLDS}
    return LabelingRates(
        whole=right(np.ones_like(regions)),
        guess=float(np.unique(values, return_counts=True)[1].max() / len(values)),
        region=right(regions),
        without=right(~regions),
        mask={tau: right(part) for tau, part in masks.items()},
        rest={tau: right(~part) for tau, part in masks.items()},
        other={tau: right(np.roll(part, 1, axis=0)) for tau, part in masks.items()},
        place={tau: _mean_covered(part, regions) for tau, part in masks.items()},
        left_out={tau: _mean_covered(~part, ~regions) for tau, part in masks.items()},
    )


def study(model: str, count: int, scoring: Scoring) -> list[str]:
    """Return the section of a page in Markdown."""
    watched = cast("Any", registry.model(model))
    drawings = Drawings.make(count)
    step = OneStep(watched.pipeline, drawings)
    attention = {name: with_sum(step.layers(name)) for name in SAID}
    regions = {name: drawings.regions(name) for name in SAID}
    localization = Localization(attention, regions, scoring)
    vqa = StudioVQA()
    read = {
        name: faithfulness(vqa, drawings, name, attention[name][ALL].sum(axis=1), regions[name])
        for name in READ
    }
    return [*localization_lines(localization, model, count), "", *faithfulness_lines(read)]


def localization_lines(localization: Localization, model: str, count: int) -> Iterator[str]:
    """Yield sentences and three tables about localization."""
    by_attribute = localization.by_attribute()
    yield (
        f"We measured this table with `{model}`, {count} drawings and the timesteps "
        f"{', '.join(map(str, TIMESTEPS))}. Brackets contain 95 % confidence intervals: for the "
        "pointing game, Wilson's interval with each drawing as a cluster, and for all other scores, "
        "Student's t interval over drawings."
    )
    yield ""
    yield from _sentences(by_attribute)
    yield ""
    yield from _location_table("stated word, all blocks", by_attribute, corrected=True)
    yield ""
    yield from _location_table("block, all stated words", localization.by_block())
    yield ""
    yield from _location_table("timestep, all blocks", localization.by_timestep(TIMESTEPS))


def _location_table(
    heading: str, located: Mapping[str, LocationScores], *, corrected: bool = False
) -> Iterator[str]:
    """Yield a table; `corrected` has q-values and the difference from other words."""
    probability = "q" if corrected else "p"
    columns = [heading, "area"]
    for score in ("pointing game", "IoU"):
        columns += [score, "other drawings", probability]
    if corrected:
        columns += ["IoU minus other words'", "q"]
    yield from _table(columns, [_row(name, scores) for name, scores in located.items()])


def faithfulness_lines(read: Mapping[str, LabelingRates]) -> Iterator[str]:
    """Yield a table for each attribute of the labels of drawings with a part covered."""
    columns = (
        "percentile",
        "mask only",
        "rest only",
        "mask of another drawing only",
        "region covered",
        "rest left out",
    )
    for attribute, scores in read.items():
        yield (
            f"**{attribute}**: the share of correct labels is {_short(scores.whole)} for complete "
            f"drawings, {_short(scores.region)} if only the true region is visible, and "
            f"{_short(scores.without)} if only the true region is covered. "
            f"The share of the most common value is {scores.guess:.2f}."
        )
        yield ""
        parts = (scores.mask, scores.rest, scores.other, scores.place, scores.left_out)
        rows = []
        for tau in THRESHOLDS:
            rows.append([str(tau), *(measured(part[tau]) for part in parts)])
        yield from _table(columns, rows)
        yield ""


def main() -> None:
    """Measure from the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model", nargs="?", default="studio")
    parser.add_argument("--drawings", type=int, default=48)
    parser.add_argument(
        "--write", type=Path, help="the page to update between the model's two markers"
    )
    choice = parser.parse_args()
    lines = study(choice.model, choice.drawings, Scoring("studio"))
    print("\n".join(lines))
    if choice.write:
        update(choice.write, choice.model, lines)


def _scores(maps: Maps, regions: Regions) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return pointing game and IoU, each (drawings, drawings, timesteps).

    Maps are (drawings, timesteps, h, w).
    """
    steps = [bilinear(maps[:, k], regions.shape[-2:]) for k in range(maps.shape[1])]
    pointing = [pointing_matrix(step_maps, regions) for step_maps in steps]
    overlap = [overlap_with_regions(step_maps, regions) for step_maps in steps]
    return np.stack(pointing, axis=2).astype(float), np.stack(overlap, axis=2)


def _add_q(located: dict[str, LocationScores], score: str) -> None:
    estimates = {name: getattr(scores, score) for name, scores in located.items()}
    tested = {name: estimate for name, estimate in estimates.items() if estimate.p is not None}
    q_values = benjamini_hochberg([estimate.p for estimate in tested.values()])
    for (name, estimate), q in zip(tested.items(), q_values, strict=True):
        located[name] = replace(located[name], **{score: replace(estimate, q=float(q))})


def _mean_covered(masks: Regions, regions: Regions) -> Estimate:
    return student_mean(np.diagonal(covered(masks, regions)), 0.95, bounds=(0, 1))


def _share(right: NDArray[np.bool_]) -> Estimate:
    n = len(right)
    low, high = wilson(float(right.sum()) / n, n, 0.95)
    return Estimate(float(right.mean()), low, high, 0.95, "Wilson", n, max=1.0)


def _sentences(located: Mapping[str, LocationScores]) -> Iterator[str]:
    """Yield how many attributes exceed each null value."""
    total = len(located)
    area = []
    place = []
    words = []
    for name, scores in located.items():
        if (scores.pointing.low or 0.0) > scores.area:
            area.append(name)
        if _beats(scores.overlap, scores.overlap.null or 0.0):
            place.append(name)
        if scores.beyond is not None and _beats(scores.beyond, 0.0):
            words.append(name)
    yield (
        f"- For {_listed(area, total)}, the maximum of the map lies in the region more often than "
        "expected from the region's area."
    )
    yield (
        f"- For {_listed(place, total)}, the map overlaps its region more than it overlaps the "
        "regions of other drawings."
    )
    yield (
        f"- For {_listed(words, total)}, the map overlaps the region more than the maps of other "
        "words in the same drawing do."
    )


def _beats(e: Estimate, null: float) -> bool:
    return e.q is not None and e.q < SIGNIFICANCE_LEVEL and e.value > null


def _listed(names: Sequence[str], total: int) -> str:
    listed = f" ({', '.join(name.replace('_', ' ') for name in names)})" if names else ""
    return f"{len(names)} of {total} attributes{listed}"


def _row(name: str, scores: LocationScores) -> list[str]:
    cells = [name.replace("_", " "), f"{scores.area:.2f}"]
    for estimate in (scores.pointing, scores.overlap):
        cells += [measured(estimate), _short(estimate.null), _probability(estimate)]
    if scores.beyond is not None:
        cells += [measured(scores.beyond, "+.2f"), _probability(scores.beyond)]
    return cells


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(columns)} |"
    yield "|" + " --- |" + " ---: |" * (len(columns) - 1)
    yield from (f"| {' | '.join(row)} |" for row in rows)


def _short(value: Estimate | float | None) -> str:
    if value is None:
        return "–"
    return f"{value.value if isinstance(value, Estimate) else value:.2f}"


def _probability(estimate: Estimate) -> str:
    p = estimate.q if estimate.q is not None else estimate.p
    if p is None:
        return "–"
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


if __name__ == "__main__":
    main()
