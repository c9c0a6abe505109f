"""Maps of the studio's concept tokens against the regions that show gender and ethnicity.

    python -m benchmarks.concept_tokens [--drawings 150] [--write PAGE]

Noise is added to held-out drawings, and one step is denoised with a prompt about the occupation.
Meanwhile the attention to words that are added to the prompt is recorded: the concept by its token,
the same word in letters, and words that the studio does not know. --write updates PAGE,
docs/reference/studio.md.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from askew import registry
from askew.measure.attention import ConceptTokens
from askew.stats.intervals import Floats
from askew.stats.means import student_mean
from askew.stats.overlap import bilinear, iou
from askew.studio import CONCEPTS
from benchmarks.drawn_attention import Drawings, OneStep
from benchmarks.localization import masks_as_large
from benchmarks.marked_page import measured, update

MODELS = ("studio", "studio/balanced")
UNKNOWN = ("cat", "bridge", "music", "seven")
"""Words that the studio does not know."""

LEVEL = 0.95
HEADINGS = ("word", "token", "region of another drawing", "letters", "unknown words", "difference")


def overlap(maps: NDArray[np.float32], regions: NDArray[np.bool_]) -> Floats:
    """Return the IoU of each map's mask, as large as its region, with its region."""
    large = bilinear(maps, regions.shape[-2:])
    return iou(masks_as_large(large, regions), regions)


def rows(
    model: str, drawings: Drawings, regions_of: Mapping[str, NDArray[np.bool_]]
) -> Iterator[str]:
    """Yield a row of the table for each concept."""
    watched = cast("Any", registry.model(model))
    tokens = ConceptTokens(watched)
    tokens.teach(watched.pipeline)
    words = [*UNKNOWN, *CONCEPTS, *map(tokens.spelling, CONCEPTS)]
    maps = OneStep(watched.pipeline, drawings).added_words(words)
    for concept, attribute in CONCEPTS.items():
        regions = regions_of[attribute]
        taught = overlap(maps[tokens.spelling(concept)], regions)
        elsewhere = overlap(maps[tokens.spelling(concept)], np.roll(regions, 1, axis=0))
        letters = overlap(maps[concept], regions)
        unknown = np.mean([overlap(maps[word], regions) for word in UNKNOWN], axis=0)
        means = [student_mean(x, LEVEL) for x in (taught, elsewhere, letters, unknown)]
        beyond = student_mean(taught - unknown, LEVEL, null=0.0)
        cells = [*map(measured, means), measured(beyond, "+.2f")]
        yield f"| `{model}`: {concept} | {' | '.join(cells)} |"


def main() -> None:
    """Measure from the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--drawings", type=int, default=120)
    parser.add_argument("--write", type=Path, help="the page to update between its two markers")
    choice = parser.parse_args()
    drawings = Drawings.make(choice.drawings)
    lines = ["", f"| {' | '.join(HEADINGS)} |", "| --- |" + " ---: |" * (len(HEADINGS) - 1)]
    regions = {attribute: drawings.regions(attribute) for attribute in set(CONCEPTS.values())}
    for model in MODELS:
        lines += rows(model, drawings, regions)
    lines += ["", f"{choice.drawings} drawings."]
    print("\n".join(lines))
    if choice.write:
        update(choice.write, "concepts", lines)


if __name__ == "__main__":
    main()
