"""Does the attention of a word find the place that shows it? On drawings of the studio world, where
that is known.

    python -m benchmarks.attention_truth [MODEL] [--drawings 48] [--write
    docs/reference/calibration-maps.md]

MODEL is studio, or another model of the studio world whose insides can be watched. First,
localisation: maps of a word against the region of the drawing that shows it. Then faithfulness
(BiasMap, supplement F): the studio VQA reads drawings of which only the mask of a word, or only the
rest, is left. --write updates the page between two markers.
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
from askew.methods.map.score import block_maps
from askew.parts.scoring import Scoring
from askew.stats.intervals import benjamini_hochberg
from askew.stats.means import student_mean
from askew.stats.overlap import bilinear, covered, mask
from askew.stats.shares import wilson
from askew.stats.significance import SIGNIFICANCE_LEVEL
from askew.types import Estimate
from benchmarks.drawn_attention import SAID, TIMESTEPS, Drawings, OneStep
from benchmarks.localisation import (
    overlap_beyond_other_maps,
    overlap_estimate,
    overlap_with_regions,
    pointing_estimate,
    pointing_matrix,
)
from benchmarks.marked_page import measured, update
from benchmarks.studio_vqa import GREY

READ = ("gender", "ethnicity", "occupation", "environment")
"""Attributes whose drawings are read again with a part covered."""

THRESHOLDS = (10, 30, 50, 70, 90)
ALL = "all"
"""The sum of all blocks but the middle, beside the blocks."""


Maps = NDArray[np.floating[Any]]
Regions = NDArray[np.bool_]
Attention = Mapping[str, Mapping[str, Maps]]
"""By attribute and block, maps (drawings, timesteps, h, w) of the words that say what each drawing
shows.
"""


@dataclass(frozen=True, slots=True)
class Located:
    """How well maps find their regions.

    area       mean share of the picture that the regions take: what a point thrown at random finds
    pointing   share of maps whose highest point lies in the region
    overlap    IoU of the mask as large as the region with the region; both have other drawings' regions as null
    beyond     that IoU less that of the maps of all other attributes' words in the same drawing; None where maps of
               several attributes were taken together
    """

    area: float
    pointing: Estimate
    overlap: Estimate
    beyond: Estimate | None = None


class Localisation:
    """The scores of maps against regions (drawings, H, W), computed once and then taken together in
    several ways.
    """

    def __init__(
        self, attention: Attention, regions: Mapping[str, Regions], scoring: Scoring
    ) -> None:
        self._attention = attention
        self._regions = regions
        self._scoring = scoring
        self.attributes = list(attention)
        self.blocks = list(next(iter(attention.values())))
        self._scores = {
            (attribute, block): _scores(maps, regions[attribute])
            for attribute, blocks in attention.items()
            for block, maps in blocks.items()
        }

    def by_attribute(self) -> dict[str, Located]:
        """All blocks and timesteps together, with q-values over the attributes."""
        found = {
            name: replace(self._located([name], ALL), beyond=self._beyond(name))
            for name in self.attributes
        }
        for score in ("pointing", "overlap", "beyond"):
            _add_q(found, score)
        return found

    def by_block(self) -> dict[str, Located]:
        """All attributes and timesteps together."""
        return {block: self._located(self.attributes, block) for block in self.blocks}

    def by_timestep(self, timesteps: Sequence[int]) -> dict[str, Located]:
        """All attributes and blocks together."""
        return {str(t): self._located(self.attributes, ALL, k) for k, t in enumerate(timesteps)}

    def _located(self, attributes: Sequence[str], block: str, step: int | None = None) -> Located:
        """Members of a drawing are its attributes and timesteps."""
        steps = slice(None) if step is None else slice(step, step + 1)
        pointing, overlap = (
            np.concatenate(
                [self._scores[name, block][k][..., steps] for name in attributes], axis=2
            )
            for k in (0, 1)
        )
        names = (*attributes, block, str(step))
        draws = self._scoring.draws
        level = self._scoring.level
        return Located(
            float(np.mean([self._regions[name].mean() for name in attributes])),
            pointing_estimate(
                pointing, rng=self._scoring.rng("pointing", *names), draws=draws, level=level
            ),
            overlap_estimate(
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
class Read:
    """Share of drawings that are read rightly: with nothing covered, and by percentile, of what is
    left.

    `guess` is the share of the commonest value; `region` and `without`: the true region alone, and
    all but it. `place` and `left_out`: the mean share of the true region that a mask covers, and of
    the rest that it leaves out.
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
    """By block the sums of its layers, and the sum of all blocks but the middle."""
    blocks = block_maps(layers)
    return {
        **blocks,
        ALL: np.sum([maps for name, maps in blocks.items() if name != MIDDLE], axis=0),
    }


def faithfulness(
    vqa: StudioVQA, drawings: Drawings, attribute: str, maps: Maps, regions: Regions
) -> Read:
    """What the VQA reads of an attribute where only masks of maps (drawings, h, w), or only the
    rest, is left.

    `other` leaves the mask of the next drawing's map: what is read there is not the word's doing.
    """
    values = np.array(drawings.values(attribute))
    large = bilinear(maps, regions.shape[-2:])

    def right(kept: Regions) -> Estimate:
        left = np.where(kept[..., None], drawings.pixels, np.uint8(GREY))
        return _share(np.array(vqa.read(vqa.embedder.embed_pixels(left), attribute)) == values)

    masks = {tau: mask(large, tau=tau) for tau in THRESHOLDS}
    return Read(
        whole=right(np.ones_like(regions)),
        guess=float(np.unique(values, return_counts=True)[1].max() / len(values)),
        region=right(regions),
        without=right(~regions),
        mask={tau: right(found) for tau, found in masks.items()},
        rest={tau: right(~found) for tau, found in masks.items()},
        other={tau: right(np.roll(found, 1, axis=0)) for tau, found in masks.items()},
        place={tau: _mean_covered(found, regions) for tau, found in masks.items()},
        left_out={tau: _mean_covered(~found, ~regions) for tau, found in masks.items()},
    )


def study(model: str, count: int, scoring: Scoring) -> list[str]:
    """The section of a page: what was found, in Markdown."""
    watched = cast("Any", registry.model(model))
    drawings = Drawings.make(count)
    step = OneStep(watched.pipeline, drawings)
    attention = {name: with_sum(step.layers(name)) for name in SAID}
    regions = {name: drawings.regions(name) for name in SAID}
    found = Localisation(attention, regions, scoring)
    vqa = StudioVQA()
    read = {
        name: faithfulness(vqa, drawings, name, attention[name][ALL].sum(axis=1), regions[name])
        for name in READ
    }
    return [*localisation_lines(found, model, count), "", *faithfulness_lines(read)]


def localisation_lines(found: Localisation, model: str, count: int) -> Iterator[str]:
    """What was found about localisation, as sentences and three tables."""
    by_attribute = found.by_attribute()
    yield (
        f"`{model}`, {count} drawings, timesteps {', '.join(map(str, TIMESTEPS))}. Intervals at level .95: Wilson's "
        f"for clusters of the same drawing for the pointing game, Student's t over drawings for all other scores."
    )
    yield ""
    yield from _sentences(by_attribute)
    for what, located in (
        ("stated word, all blocks", by_attribute),
        ("block, all stated words", found.by_block()),
        ("timestep, all blocks", found.by_timestep(TIMESTEPS)),
    ):
        own = located is by_attribute
        yield ""
        columns = (
            what,
            "area",
            "pointing game",
            "other drawings",
            "q" if own else "p",
            "IoU",
            "other drawings",
            "q" if own else "p",
            *(("IoU minus other words'", "q") if own else ()),
        )
        yield from _table(columns, [_row(name, one) for name, one in located.items()])


def faithfulness_lines(read: Mapping[str, Read]) -> Iterator[str]:
    """What the VQA reads of drawings with a part covered, a table per attribute."""
    for attribute, found in read.items():
        yield (
            f"**{attribute}**: labeled correctly in {_short(found.whole)} of the complete drawings, "
            f"{_short(found.region)} with only the true region, {_short(found.without)} with only the true region "
            f"covered. The most common value has share {found.guess:.2f}."
        )
        yield ""
        rows = [
            [
                str(tau),
                *(
                    measured(part[tau])
                    for part in (found.mask, found.rest, found.other, found.place, found.left_out)
                ),
            ]
            for tau in THRESHOLDS
        ]
        columns = (
            "mask only",
            "rest only",
            "mask of another drawing only",
            "region covered",
            "rest left out",
        )
        yield from _table(("percentile", *columns), rows)
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
    """Pointing game and IoU of maps (drawings, timesteps, h, w): each (drawings, drawings,
    timesteps).
    """
    steps = [bilinear(maps[:, k], regions.shape[-2:]) for k in range(maps.shape[1])]
    pointing = np.stack([pointing_matrix(one, regions) for one in steps], axis=2).astype(float)
    return pointing, np.stack([overlap_with_regions(one, regions) for one in steps], axis=2)


def _add_q(found: dict[str, Located], score: str) -> None:
    tested = {
        name: getattr(one, score)
        for name, one in found.items()
        if getattr(one, score).p is not None
    }
    q = benjamini_hochberg([e.p for e in tested.values()])
    for (name, e), value in zip(tested.items(), q, strict=True):
        found[name] = replace(found[name], **{score: replace(e, q=float(value))})


def _mean_covered(masks: Regions, regions: Regions) -> Estimate:
    return student_mean(np.diagonal(covered(masks, regions)), 0.95, bounds=(0, 1))


def _share(right: NDArray[np.bool_]) -> Estimate:
    n = len(right)
    low, high = wilson(float(right.sum()) / n, n, 0.95)
    return Estimate(float(right.mean()), low, high, 0.95, "Wilson", n, max=1.0)


def _sentences(found: Mapping[str, Located]) -> Iterator[str]:
    """How often each chance is beaten."""
    total = len(found)
    area = [name for name, one in found.items() if (one.pointing.low or 0.0) > one.area]
    place = [name for name, one in found.items() if _beats(one.overlap, one.overlap.null or 0.0)]
    words = [
        name for name, one in found.items() if one.beyond is not None and _beats(one.beyond, 0.0)
    ]
    yield f"- The maximum of the map lies in the region more often than its area predicts for {_some(area, total)}."
    yield f"- The map overlaps its region more than it overlaps regions of other drawings for {_some(place, total)}."
    yield f"- It overlaps the region more than the maps of other words in the same drawing for {_some(words, total)}."


def _beats(e: Estimate, null: float) -> bool:
    return e.q is not None and e.q < SIGNIFICANCE_LEVEL and e.value > null


def _some(names: Sequence[str], total: int) -> str:
    listed = f" ({', '.join(name.replace('_', ' ') for name in names)})" if names else ""
    return f"{len(names)} of {total}{listed}"


def _row(name: str, one: Located) -> list[str]:
    cells = [name.replace("_", " "), f"{one.area:.2f}"]
    for e in (one.pointing, one.overlap):
        cells += [measured(e), _short(e.null), _probability(e)]
    return (
        cells
        if one.beyond is None
        else [*cells, measured(one.beyond, "+.2f"), _probability(one.beyond)]
    )


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(columns)} |"
    yield "|" + " --- |" + " ---: |" * (len(columns) - 1)
    yield from (f"| {' | '.join(row)} |" for row in rows)


def _short(e: Estimate | float | None) -> str:
    return "–" if e is None else f"{e.value if isinstance(e, Estimate) else e:.2f}"


def _probability(e: Estimate) -> str:
    p = e.q if e.q is not None else e.p
    return "–" if p is None else "< 0.001" if p < 0.001 else f"{p:.3f}"


if __name__ == "__main__":
    main()
