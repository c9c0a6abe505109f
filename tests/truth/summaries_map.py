"""Summaries of maps whose places overlap by chance, and of maps whose places truly overlap."""

from __future__ import annotations

from functools import partial

import numpy as np

from askew.findings import with_q
from askew.methods.map.changes import overall
from askew.methods.map.findings import BiasMap, family
from askew.methods.map.maps import PairMaps
from askew.methods.map.score import pair
from askew.methods.map.sentences import finding
from askew.parts.scoring import Scoring
from askew.stats.overlap import mask
from benchmarks.planted_overlap import planted_maps
from truth.summary import Summary

PICTURES = 12


def headline(prompts: int, shared: float | None, seed: int) -> str:
    """Return the headline on maps whose places share the part `shared` of their area.

    With None, the places are independent.
    """
    rng = np.random.default_rng([seed, prompts])
    scoring = Scoring("truth", seed=seed, draws=400)
    pairs = []
    for k in range(prompts):
        maps = np.stack(planted_maps(PICTURES, shared, rng, side=16))
        entry = PairMaps(
            "model", f"prompt {k}", "gender", "nurse", {"up-1": maps}, tuple(range(PICTURES))
        )
        pairs.append(pair(entry, partial(mask, tau=70), scoring))
    result = with_q(BiasMap(tuple(pairs), (), overall(pairs, (), {}, 0.95), (), (), ()), family)
    return finding(result.pairs, result.overall[0])


ROWS = (
    Summary(
        "Attention to two words in one prompt",
        ("overlap", "no_overlap"),
        f"Each run has maps for two words in each of {PICTURES} images. If the regions of high "
        "attention have independent positions, a significant overlap is an error. If these "
        "regions share "
        "half of their area, the overlap should be significant.",
        lambda seed: ", significantly above" in headline(1, None, seed),
        lambda seed: ", significantly above" in headline(1, 0.5, seed),
        0.9,
    ),
    Summary(
        "Attention to two words in several prompts",
        ("mean_overlap", "no_mean_overlap"),
        f"Each run has 5 prompts with {PICTURES} images each. The images are simulated in the same "
        "way as above.",
        lambda seed: "on average significantly" in headline(5, None, seed),
        lambda seed: "on average significantly" in headline(5, 0.5, seed),
        0.9,
        named_runs=10,
    ),
)
