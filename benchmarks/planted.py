"""Measure whether an audit finds planted bias, and no bias where none was planted.

    python -m benchmarks.planted [--prompts 40] [--occupations 30] [--images 48] [--many 192]
    [--store DIR]

At bias 0, the script prints the share of MAD p-values below .05 over prompts × eight axes; a
calibrated test gives 5 %. At bias 1, it prints Spearman's correlation of the corrected gender MAD
with the planted skew |2 · share of women - 1|, for --images images per set and for --many. For
comparison, it prints the largest correlation that chance permits: that of the planted skew with the
skew of the true genders of as many images, drawn 1,000 times. Images are drawn and labeled by the
studio VQA as in any audit. With --store, the store is kept, so that a second call is quick.
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
from benchmarks.captions import phrase, spread


def false_alarms(prompts: int, images: int, folder: Path) -> tuple[int, int]:
    """Return the number of MAD p-values below .05, and of all, at bias 0."""
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
    """Return Spearman's correlation of corrected gender MAD and planted skew at bias 1."""
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
    skews = [abs(2 * female_share(name) - 1) for name in names]
    return float(spearmanr(corrected_values, skews).statistic)


def possible(occupations: int, images: int) -> tuple[float, float]:
    """Return mean and 5th percentile of the correlation that chance permits.

    It is the correlation of the planted skew with the skew of `images` true genders.
    """
    share = np.array([female_share(name) for name in spread(occupations)])
    women = np.random.default_rng(0).binomial(images, share, (1000, len(share)))
    statistics = [
        spearmanr(abs(2 * row / images - 1), abs(2 * share - 1)).statistic for row in women
    ]
    return float(np.mean(statistics)), float(np.quantile(statistics, 0.05))


def main() -> None:
    """Print both measurements."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--prompts", type=int, default=40)
    parser.add_argument("--occupations", type=int, default=30)
    parser.add_argument("--images", type=int, default=48)
    parser.add_argument("--many", type=int, default=192)
    parser.add_argument("--store", type=Path)
    options = parser.parse_args()
    occupations = options.occupations
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.store or Path(temporary)
        alarms, tests = false_alarms(options.prompts, options.images, folder)
        print(f"bias 0: {alarms} of {tests} MAD p-values below .05, {alarms / tests:.1%}")
        for images in (options.images, options.many):
            rho = order(occupations, images, folder)
            mean, low = possible(occupations, images)
            print(
                f"bias 1, {images} images per set: Spearman {rho:.3f} of corrected gender MAD "
                "and planted skew"
            )
            print(
                f"    {occupations} occupations; of the true genders: mean {mean:.3f}, "
                f"5th percentile {low:.3f}"
            )


if __name__ == "__main__":
    main()
