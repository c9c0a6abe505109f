"""Two image sets, represented as arrays with one row per image.

Rows of different sets can form pairs.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from askew.stats.intervals import Floats, array_of, bootstrap_weights, in_order
from askew.stats.shares import axis_counts

Keys = Sequence[int | None]
"""For each image, a key that identifies its partner in the other set; None for no partner.

Two images form a pair if they have the same key and are in different sets.
"""


@dataclass(frozen=True, slots=True)
class PairedSets:
    """Rows of two image sets: rows that form pairs, and rows without a partner.

    The order of the images does not affect random draws.

    Attributes
    ----------
    pairs : array, (2, pairs, columns)
        Rows that form pairs: first the rows of the first set, then the rows of the second set.
    rest : tuple of array, (images, columns)
        Rows without a partner, for each set.
    """

    pairs: Floats
    rest: tuple[Floats, Floats]

    @classmethod
    def of(
        cls,
        first: ArrayLike,
        second: ArrayLike,
        first_keys: Keys | None = None,
        second_keys: Keys | None = None,
    ) -> Self:
        """Pair the rows that have the same key in two sets.

        Parameters
        ----------
        first, second : array, (images, columns)
            The two sets.
        first_keys, second_keys : optional
            Key of each image. Without keys, the sets have no pairs.

        Raises
        ------
        NotEnoughData
            If a set has no images.
        ValueError
            If the sets have different columns, or a key occurs twice in a set.
        """
        a = array_of(first, "the first set")
        b = array_of(second, "the second set")
        if a.shape[1] != b.shape[1]:
            raise ValueError(
                f"the sets have {a.shape[1]} and {b.shape[1]} columns; they must have the same columns"
            )
        first_rows = _rows_by_key(first_keys, len(a))
        second_rows = _rows_by_key(second_keys, len(b))
        common = sorted(first_rows.keys() & second_rows.keys())
        paired_a = [first_rows[key] for key in common]
        paired_b = [second_rows[key] for key in common]
        rest_a = in_order(np.delete(a, paired_a, axis=0))
        rest_b = in_order(np.delete(b, paired_b, axis=0))
        return cls(pairs=np.stack([a[paired_a], b[paired_b]]), rest=(rest_a, rest_b))

    @classmethod
    def of_counts(cls, first: ArrayLike, second: ArrayLike) -> Self:
        """Create two sets without pairs from the numbers of images that show each value.

        Parameters
        ----------
        first, second : array, (K,)
            Number of images that show each value. Each row of the new sets has a 1 in the column of
            the image's value.
        """
        a = axis_counts(first).astype(np.int64)
        b = axis_counts(second).astype(np.int64)
        return cls.of(np.repeat(np.eye(len(a)), a, axis=0), np.repeat(np.eye(len(b)), b, axis=0))

    @property
    def first(self) -> Floats:
        """All rows of the first set, of shape (images, columns)."""
        return np.concatenate([self.pairs[0], self.rest[0]])

    @property
    def second(self) -> Floats:
        """All rows of the second set, of shape (images, columns)."""
        return np.concatenate([self.pairs[1], self.rest[1]])

    def of_value(self, value: int) -> Self:
        """Return sets with two columns: one for images that show the value, and one for all others.

        Parameters
        ----------
        value
            Column of the value.
        """

        def columns(rows: Floats) -> Floats:
            shown = rows[..., value]
            return np.stack([shown, 1 - shown], axis=-1)

        return type(self)(
            pairs=columns(self.pairs), rest=(columns(self.rest[0]), columns(self.rest[1]))
        )

    def __len__(self) -> int:
        """Return the number of pairs."""
        return int(self.pairs.shape[1])

    @property
    def means(self) -> tuple[Floats, Floats]:
        """Mean of each set, as two arrays of shape (columns,)."""
        return self.first.mean(axis=0), self.second.mean(axis=0)

    def resampled(self, draws: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Return each set's mean in bootstrap samples, as arrays of shape (draws, columns).

        The two rows of a pair are drawn together. Rows without a partner are drawn independently.
        """
        of_pairs = _resample_counts(len(self), draws, rng)
        of_first = _resample_counts(len(self.rest[0]), draws, rng)
        of_second = _resample_counts(len(self.rest[1]), draws, rng)
        first = of_pairs @ self.pairs[0] + of_first @ self.rest[0]
        second = of_pairs @ self.pairs[1] + of_second @ self.rest[1]
        return first / len(self.first), second / len(self.second)

    def exchanged(self, draws: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Return each set's mean after random swaps of images, as arrays of shape (draws, columns).

        The two images of a pair are swapped with probability 1/2. Images without a partner are
        assigned to the two sets at random, without changing the sizes of the sets.
        """
        a, b = self.pairs
        rest = np.concatenate(self.rest)
        kept_in_place = rng.integers(0, 2, (draws, len(self))).astype(float)
        labels = np.repeat([1.0, 0.0], [len(rows) for rows in self.rest])
        dealt = rng.permuted(np.tile(labels, (draws, 1)), axis=1)
        first = kept_in_place @ (a - b) + b.sum(axis=0) + dealt @ rest
        second = a.sum(axis=0) + b.sum(axis=0) + rest.sum(axis=0) - first
        return first / len(self.first), second / len(self.second)


def _rows_by_key(keys: Keys | None, n: int) -> dict[int, int]:
    """Return a mapping from the key of each of n images to the image's row."""
    if keys is None:
        return {}
    if len(keys) != n:
        raise ValueError(f"{len(keys)} keys for {n} images")
    rows: dict[int, int] = {}
    for row, key in enumerate(keys):
        if key is None:
            continue
        if key in rows:
            raise ValueError("a key occurs twice in a set")
        rows[key] = row
    return rows


def _resample_counts(n: int, draws: int, rng: np.random.Generator) -> Floats:
    """Count how often each of n rows occurs in each random resample."""
    if n == 0:
        return np.zeros((draws, 0))
    return bootstrap_weights(n, draws, rng) * n
