"""Does an audit find what was planted, and nothing where nothing was planted?

    python -m benchmarks.planted [--prompts 40] [--occupations 30] [--images 48] [--many 192]
    [--store DIR]

First: at bias 0, the share of MAD p-values below .05 over prompts × eight axes; a calibrated test
gives 5 %. Second: at bias 1, Spearman's correlation of the corrected gender MAD with the planted
skew |2 · share of women - 1|, for --images pictures a set and for --many. Beside it what chance
leaves possible at all: the correlation of the planted skew with the skew of the true genders of so
many pictures, drawn 1,000 times. Pictures are drawn and read by the studio VQA as in any audit. The
store may be kept, so that a second call is quick.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np
from scipy.stats import spearmanr

import askew
from askew.prompts.axes import BIASCONNECT
from askew.studio.planted import female_share
from benchmarks.wording import phrase, spread


def false_alarms(prompts: int, images: int, folder: Path) -> tuple[int, int]:
    """MAD p-values below .05, and all of them, at bias 0."""
    texts = [phrase("occupation", name) for name in spread(prompts)]
    result = askew.audit(
        texts,
        "studio/planted",
        model_args={"bias": 0.0},
        images=images,
        axes=BIASCONNECT,
        embedder="none",
        run=folder / "fair",
        progress=True,
    )
    p = [result.mad(axis, text).p for text in texts for axis in BIASCONNECT]  # type: ignore[union-attr]
    return sum(p_value < 0.05 for p_value in p if p_value is not None), len(p)


def order(occupations: int, images: int, folder: Path) -> float:
    """Spearman's correlation of the corrected gender MAD with the planted skew at bias 1."""
    names = spread(occupations)
    texts = [phrase("occupation", name) for name in names]
    result = askew.audit(
        texts,
        "studio/planted",
        images=images,
        axes=["gender"],
        embedder="none",
        run=folder / f"skewed-{images}",
        progress=True,
    )
    corrected_values = [result.mad("gender", text).corrected for text in texts]  # type: ignore[union-attr]
    return float(
        spearmanr(corrected_values, [abs(2 * female_share(name) - 1) for name in names]).statistic
    )


def possible(occupations: int, images: int) -> tuple[float, float]:
    """Mean and 5th percentile of the correlation of the planted skew with that of `images` true
    genders.
    """
    share = np.array([female_share(name) for name in spread(occupations)])
    women = np.random.default_rng(0).binomial(images, share, (1000, len(share)))
    statistics = [
        spearmanr(abs(2 * row / images - 1), abs(2 * share - 1)).statistic for row in women
    ]
    return float(np.mean(statistics)), float(np.quantile(statistics, 0.05))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--prompts", type=int, default=40)
    parser.add_argument("--occupations", type=int, default=30)
    parser.add_argument("--images", type=int, default=48)
    parser.add_argument("--many", type=int, default=192)
    parser.add_argument("--store", type=Path)
    choice = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = choice.store or Path(temporary)
        alarms, tests = false_alarms(choice.prompts, choice.images, folder)
        print(f"bias 0: {alarms} of {tests} MAD p-values below .05, {alarms / tests:.1%}")
        for images in (choice.images, choice.many):
            rho, (mean, low) = (
                order(choice.occupations, images, folder),
                possible(choice.occupations, images),
            )
            print(
                f"bias 1, {images} pictures a set: Spearman {rho:.3f} of corrected gender MAD and planted skew"
            )
            print(
                f"    {choice.occupations} occupations; of the true genders: mean {mean:.3f}, 5th percentile {low:.3f}"
            )


if __name__ == "__main__":
    main()
