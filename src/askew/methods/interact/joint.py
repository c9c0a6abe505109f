"""Joint shares of two or three axes in the pictures of a prompt: gender by skin tone by age."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from askew.errors import NotEnoughData
from askew.parts.scoring import Scoring
from askew.parts.survey.observed import ObservedSet
from askew.plan import AxisPlan
from askew.plans.interactions import JointIdeal
from askew.stats.intervals import Floats
from askew.stats.joint_shares import LEAST_EXPECTED, Cell, joint_shares
from askew.types import Missing

Entry = dict[str, Any]


def joint(
    prompt: str, initial: ObservedSet, axes: Sequence[AxisPlan], scoring: Scoring, ideal: JointIdeal | None = None
) -> Entry:
    """Shares of every combination of values, sparse ones pooled, against a reference population.

    Without one, `ideal` None, against the axes' own shares multiplied.
    """
    names = [axis.name for axis in axes]
    columns = [initial.values[scoring.instrument][name] for name in names]
    codes = [
        [-1 if isinstance(v, Missing) else axis.values.index(v) for axis, v in zip(axes, row, strict=True)]
        for row in zip(*columns, strict=True)
    ]
    entry: Entry = {
        "prompt": prompt, "axes": names, "instrument": scoring.instrument,
        "against": "independence" if ideal is None else "reference",
        "reference": None if ideal is None else ideal.source, "least_expected": LEAST_EXPECTED,
    }  # fmt: skip
    rng = scoring.rng(prompt, *names, scoring.instrument, "joint shares")
    try:
        found = joint_shares(
            np.array(codes, dtype=np.int64).reshape(-1, len(axes)),
            [len(axis.values) for axis in axes],
            None if ideal is None else _expected(ideal, axes),
            rng=rng,
            level=scoring.level,
            draws=scoring.draws,
        )
    except NotEnoughData as error:
        return entry | {"distance": Missing("not_asked", str(error)), "cells": []}
    return entry | {"distance": found.distance, "cells": [_cell(cell, axes) for cell in found.cells]}


def _expected(ideal: JointIdeal, axes: Sequence[AxisPlan]) -> Floats:
    """The reference's shares in the order of the axes and their values; a combination that it does not name has 0."""
    shares = np.zeros([len(axis.values) for axis in axes])
    for values, share in ideal.by_values().items():
        own = dict(zip(ideal.axes, values, strict=True))
        shares[tuple(axis.values.index(own[axis.name]) for axis in axes)] = share
    return shares


def _cell(cell: Cell, axes: Sequence[AxisPlan]) -> Entry:
    values = [[axis.values[k] for axis, k in zip(axes, one, strict=True)] for one in cell.values]
    return {"values": values, "pooled": cell.pooled, "expected": cell.expected, "share": cell.share,
            "ratio": list(cell.ratio)}  # fmt: skip
