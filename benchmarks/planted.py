"""Does an audit find what was planted, and nothing where nothing was planted?

    python benchmarks/planted.py [--prompts 40] [--occupations 30] [--images 48] [--store DIR]

First: at bias 0, the share of MAD p-values below .05 over prompts × eight axes; a calibrated test gives 5 %.
Second: at bias 1, Spearman's correlation of the corrected gender MAD with the planted skew |2 · share of women - 1|.
Pictures are drawn and read by the studio VQA as in any audit. The store may be kept, so that a second call is quick.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np
from scipy.stats import spearmanr

import askew
from askew.prompts.axes import BIASCONNECT
from askew.studio.caption import phrase
from askew.studio.occupations import OCCUPATIONS
from askew.studio.planted import female_share


def spread(count: int) -> list[str]:
    """Occupations at even distances in the planted order."""
    names = list(OCCUPATIONS)
    return [names[int(i)] for i in np.linspace(0, len(names) - 1, count).round()]


def false_alarms(prompts: int, images: int, folder: Path) -> tuple[int, int]:
    """MAD p-values below .05, and all of them, at bias 0."""
    texts = [phrase("occupation", name) for name in spread(prompts)]
    result = askew.audit(texts, "studio/planted", model_args={"bias": 0.0}, images=images, axes=BIASCONNECT,
                         embedder="none", run=folder / "fair", progress=True)  # fmt: skip
    p = [result.mad(axis, text).p for text in texts for axis in BIASCONNECT]  # type: ignore[union-attr]
    return sum(one < 0.05 for one in p if one is not None), len(p)


def order(occupations: int, images: int, folder: Path) -> float:
    """Spearman's correlation of the corrected gender MAD with the planted skew at bias 1."""
    names = spread(occupations)
    texts = [phrase("occupation", name) for name in names]
    result = askew.audit(texts, "studio/planted", images=images, axes=["gender"], embedder="none",
                         run=folder / "skewed", progress=True)  # fmt: skip
    found = [result.mad("gender", text).corrected for text in texts]  # type: ignore[union-attr]
    return float(spearmanr(found, [abs(2 * female_share(name) - 1) for name in names]).statistic)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prompts", type=int, default=40)
    parser.add_argument("--occupations", type=int, default=30)
    parser.add_argument("--images", type=int, default=48)
    parser.add_argument("--store", type=Path)
    choice = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = choice.store or Path(temporary)
        alarms, tests = false_alarms(choice.prompts, choice.images, folder)
        print(f"bias 0: {alarms} of {tests} MAD p-values below .05, {alarms / tests:.1%}")
        rho = order(choice.occupations, choice.images, folder)
        print(f"bias 1: Spearman {rho:.3f} of corrected gender MAD and planted skew, {choice.occupations} occupations")


if __name__ == "__main__":
    main()
