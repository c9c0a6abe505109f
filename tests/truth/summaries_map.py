"""What a run of maps says of places that are shared by chance, and of places that are shared."""

from __future__ import annotations

from functools import partial

import numpy as np

from askew.findings import with_q
from askew.methods.map.findings import BiasMap, family
from askew.methods.map.page import finding
from askew.methods.map.score import PairMaps, overall, pair
from askew.parts.scoring import Scoring
from askew.stats.overlap import mask
from benchmarks.planted_overlap import planted_maps
from truth.summary import Summary

PICTURES = 12


def said(prompts: int, shared: float | None, seed: int) -> str:
    """The headline on maps whose places share the part `shared` of their area; None: whatever
    chance gives.
    """
    rng = np.random.default_rng([seed, prompts])
    scoring = Scoring("truth", seed=seed, draws=400)
    pairs = []
    for k in range(prompts):
        maps = np.stack(planted_maps(PICTURES, shared, rng, side=16))
        one = PairMaps(
            "model", f"prompt {k}", "gender", "nurse", {"up-1": maps}, tuple(range(PICTURES))
        )
        pairs.append(pair(one, partial(mask, tau=70), scoring))
    found = with_q(BiasMap(tuple(pairs), (), overall(pairs, (), {}, 0.95), (), (), ()), family)
    return finding(found.pairs, found.overall[0])


ROWS = (
    Summary(
        "Where two words are attended to in one prompt",
        ("place_shared", "place_by_chance"),
        f"Maps of two words in {PICTURES} pictures: places that lie anywhere; places that share half of their area.",
        lambda seed: "(beyond chance" in said(1, None, seed),
        lambda seed: "(beyond chance" in said(1, 0.5, seed),
        0.9,
    ),
    Summary(
        "Where two words are attended to in several prompts",
        ("mean_shared", "mean_by_chance"),
        f"The same for 5 prompts of {PICTURES} pictures.",
        lambda seed: "mean is beyond" in said(5, None, seed),
        lambda seed: "mean is beyond" in said(5, 0.5, seed),
        0.9,
        named_runs=10,
    ),
)
