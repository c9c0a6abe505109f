"""An instrument against a person's labels, or another reference, on the same pictures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from askew.types import Missing


@dataclass(frozen=True, slots=True)
class Confusion:
    """How often the instrument answered one value where the reference says another.

    `counts` has a row per value of the reference and a column per value of the instrument. `missing` counts, by
    value of the reference and reason, the pictures that the instrument gave no answer for.
    """

    values: tuple[str, ...]
    counts: NDArray[np.int64]
    missing: dict[str, dict[str, int]]

    @property
    def answered(self) -> int:
        """Pictures with an answer from both."""
        return int(self.counts.sum())

    @property
    def agreement(self) -> int:
        """Pictures on which both say the same."""
        return int(self.counts.trace())


def confusion(
    values: Sequence[str], reference: Sequence[str | Missing], observed: Sequence[str | Missing]
) -> Confusion:
    """Counts of reference against instrument, over the pictures for which the reference has a value.

    The two sequences go over the same pictures in the same order. Raises ValueError for different lengths or an
    answer that is not among `values`.
    """
    place = {value: index for index, value in enumerate(values)}
    counts = np.zeros((len(place), len(place)), dtype=np.int64)
    missing: dict[str, Counter[str]] = {value: Counter() for value in values}
    for true, seen in zip(reference, observed, strict=True):
        if isinstance(true, Missing):
            continue
        if true not in place or not (isinstance(seen, Missing) or seen in place):
            raise ValueError(f"{true!r} against {seen!r}: both must be among {', '.join(values)}")
        if isinstance(seen, Missing):
            missing[true][seen.reason] += 1
        else:
            counts[place[true], place[seen]] += 1
    return Confusion(tuple(values), counts, {value: dict(sorted(by.items())) for value, by in missing.items()})
