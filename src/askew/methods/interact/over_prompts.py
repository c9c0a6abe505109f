"""Every pair of axes over the graphs of several prompts: in how many it acts, which way, and whether they agree.

The paper adds up the tables of all prompts (Eq. 9-11). Effects to opposite sides then cancel out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import scipy

from askew.methods.interact.findings import Edge, Graph, OverPrompts
from askew.stats.interaction_graph import mean_sensitivity
from askew.stats.intervals import benjamini_hochberg, tail
from askew.types import Estimate, Missing


def over_prompts(graphs: Sequence[Graph], level: float) -> tuple[OverPrompts, ...]:
    """Pairs of different axes over the graphs of single prompts, whose pictures are independent; none of one graph."""
    own = [graph for graph in graphs if graph.prompt is not None]
    if len(own) < 2:
        return ()
    pairs = dict.fromkeys((e.source, e.target) for graph in own for e in graph.edges if not e.direct)
    found = [_pair(*at, [e for graph in own if (e := graph.edge(*at))], level) for at in pairs]
    q, differ_q = (_q([getattr(one, name) for one in found]) for name in ("p", "differ_p"))
    return tuple(replace(one, q=a, differ_q=b) for one, a, b in zip(found, q, differ_q, strict=True))


def _pair(source: str, target: str, edges: Sequence[Edge], level: float) -> OverPrompts:
    p = [one.p for one in edges if one.p is not None]
    known = [e for one in edges if isinstance(e := one.sensitivity, Estimate)]
    return OverPrompts(
        source, target, len(p), sum(e.significant for e in edges), sum(e.effect == "better" for e in edges),
        sum(e.effect == "worse" for e in edges),
        mean=mean_sensitivity(known, level=level) if known else Missing("not_asked", "no prompt has a sensitivity"),
        p=float(scipy.stats.combine_pvalues(p).pvalue) if p else None, q=None,
        differ_p=heterogeneity(known), differ_q=None,
    )  # fmt: skip


def heterogeneity(effects: Sequence[Estimate]) -> float | None:
    """p that effects are the same in all prompts: Cochran's Q, the sum of squared standardised gaps to their weighted
    mean, against χ² with one degree of freedom less than there are. Standard errors are from the intervals."""
    ends = [(e.value, e.low, e.high, e.level) for e in effects if e.low is not None and e.high is not None and e.level]
    if len(ends) < 2:
        return None
    values, low, high, level = np.array(ends, dtype=float).T
    errors = np.maximum(high - low, 1e-9) / 2 / scipy.stats.norm.isf(tail(float(level[0])))
    mean = np.average(values, weights=errors**-2)
    return float(scipy.stats.chi2.sf(np.sum(((values - mean) / errors) ** 2), len(values) - 1))


def _q(p: Sequence[float | None]) -> list[float | None]:
    """Benjamini-Hochberg over the pairs that have a p."""
    known = [k for k, one in enumerate(p) if one is not None]
    q = dict(zip(known, benjamini_hochberg([one for one in p if one is not None]).tolist(), strict=True))
    return [q.get(k) for k in range(len(p))]
