"""Joint shares of two or three axes in the pictures of a prompt: gender by skin tone by age."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from askew.errors import NotEnoughData
from askew.methods.observed import ObservedSet
from askew.methods.scoring import Scoring
from askew.plans.plan import AxisPlan
from askew.stats.joint_shares import Cell, joint_shares
from askew.types import Missing

Entry = dict[str, Any]


def joint(prompt: str, initial: ObservedSet, axes: Sequence[AxisPlan], scoring: Scoring) -> Entry:
    """Shares of every combination of values against the axes' own shares multiplied, sparse ones pooled."""
    names = [axis.name for axis in axes]
    columns = [initial.values[scoring.instrument][name] for name in names]
    codes = [
        [-1 if isinstance(v, Missing) else axis.values.index(v) for axis, v in zip(axes, row, strict=True)]
        for row in zip(*columns, strict=True)
    ]
    entry: Entry = {"prompt": prompt, "axes": names, "instrument": scoring.instrument}
    rng = scoring.rng(prompt, *names, scoring.instrument, "joint shares")
    try:
        found = joint_shares(
            np.array(codes, dtype=np.int64).reshape(-1, len(axes)),
            [len(axis.values) for axis in axes],
            rng=rng,
            level=scoring.level,
            draws=scoring.draws,
        )
    except NotEnoughData as error:
        return entry | {"against": None, "distance": Missing("not_asked", str(error)), "cells": []}
    cells = [_cell(cell, axes) for cell in found.cells]
    return entry | {"against": found.against, "distance": found.distance, "cells": cells}


def _cell(cell: Cell, axes: Sequence[AxisPlan]) -> Entry:
    values = [[axis.values[k] for axis, k in zip(axes, one, strict=True)] for one in cell.values]
    return {"values": values, "pooled": cell.pooled, "expected": cell.expected, "share": cell.share,
            "ratio": list(cell.ratio)}  # fmt: skip
