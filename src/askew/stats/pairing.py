"""Two picture sets of which some pictures belong together: the same prompt and seed, drawn by two models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from askew.stats.intervals import Floats, bootstrap_weights, in_order, picture_matrix

Keys = Sequence[int | None]


@dataclass(frozen=True, slots=True)
class PairedSets:
    """Rows of two sets: `pairs` (2, m, columns) belong together, `rest` are those of each set that have no partner.

    What is drawn from it does not depend on the order in which the pictures came.
    """

    pairs: Floats
    rest: tuple[Floats, Floats]

    @classmethod
    def of(
        cls, first: ArrayLike, second: ArrayLike, first_keys: Keys | None = None, second_keys: Keys | None = None
    ) -> PairedSets:
        """Rows (pictures, columns) of both sets, paired where their keys are equal. A key of None has no partner.

        Raises:
            NotEnoughData: a set has no picture.
            ValueError: sets with different columns, or a key that occurs twice in a set.
        """
        a, b = picture_matrix(first, "the first set"), picture_matrix(second, "the second set")
        if a.shape[1] != b.shape[1]:
            raise ValueError(f"the sets have {a.shape[1]} and {b.shape[1]} columns; they must have the same")
        at_a, at_b = _places(first_keys, len(a)), _places(second_keys, len(b))
        common = sorted(at_a.keys() & at_b.keys())
        rows_a, rows_b = [at_a[key] for key in common], [at_b[key] for key in common]
        rest = (in_order(np.delete(a, rows_a, axis=0)), in_order(np.delete(b, rows_b, axis=0)))
        return cls(np.stack([a[rows_a], b[rows_b]]), rest)

    @property
    def first(self) -> Floats:
        """All rows of the first set, (pictures, columns)."""
        return np.concatenate([self.pairs[0], self.rest[0]])

    @property
    def second(self) -> Floats:
        """All rows of the second set, (pictures, columns)."""
        return np.concatenate([self.pairs[1], self.rest[1]])

    def __len__(self) -> int:
        """The number of pairs."""
        return int(self.pairs.shape[1])

    @property
    def means(self) -> tuple[Floats, Floats]:
        """The means of both sets, (columns,) each."""
        return self.first.mean(axis=0), self.second.mean(axis=0)

    def resampled(self, draws: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Means (draws, columns) of both sets in bootstrap samples: pairs are drawn as pairs, the rest by itself."""
        shared = _weights(len(self), draws, rng)
        own = [_weights(len(rows), draws, rng) for rows in self.rest]
        first, second = (
            (shared @ pairs + weights @ rows) / (len(pairs) + len(rows))
            for pairs, weights, rows in zip(self.pairs, own, self.rest, strict=True)
        )
        return first, second

    def exchanged(self, draws: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Means (draws, columns) of both sets if nothing but chance decided which set a picture is in.

        The two pictures of a pair change places or not, each way half of the time; pictures without a partner are dealt
        anew, as many to each set as before.
        """
        (a, b), rest = self.pairs, np.concatenate(self.rest)
        kept = rng.integers(0, 2, (draws, len(self))).astype(float)
        labels = np.repeat([1.0, 0.0], [len(rows) for rows in self.rest])
        dealt = rng.permuted(np.tile(labels, (draws, 1)), axis=1)
        first = kept @ (a - b) + b.sum(axis=0) + dealt @ rest
        second = a.sum(axis=0) + b.sum(axis=0) + rest.sum(axis=0) - first
        return first / (len(self) + len(self.rest[0])), second / (len(self) + len(self.rest[1]))


def _places(keys: Keys | None, n: int) -> dict[int, int]:
    """The row of every key."""
    if keys is None:
        return {}
    if len(keys) != n:
        raise ValueError(f"{len(keys)} keys for {n} pictures")
    known = [(key, row) for row, key in enumerate(keys) if key is not None]
    if len(dict(known)) < len(known):
        raise ValueError("a key occurs twice in a set")
    return dict(known)


def _weights(n: int, draws: int, rng: np.random.Generator) -> Floats:
    """How often each of n pictures is drawn: (draws, n)."""
    return bootstrap_weights(n, draws, rng) * n if n else np.zeros((draws, 0))
