"""Estimates of the time and storage that new images need, based on the model's latest images."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

BATCHES = 4
"""Number of most recent batches that are measured. At least `LATEST` images are measured."""

LATEST = 64
"""Minimum number of stored images to measure, even if `BATCHES` batches contain fewer."""

FEWEST = 4
"""Minimum number of stored images that an estimate needs."""

LONGEST_GAP = 10 * 60 * 10**9
"""Longest time between two images, in nanoseconds.

After a longer gap, askew assumes that the model was idle.
"""

MINUTE = 60
HOUR = 3600
MEGABYTE = 10**6
GIGABYTE = 10**9


@dataclass(frozen=True, slots=True)
class StoredFile:
    """File of a stored image.

    Attributes
    ----------
    path
        The file.
    modified
        Modification time in nanoseconds.
    """

    path: Path
    modified: int


@dataclass(frozen=True, slots=True)
class ImageMeasure:
    """Mean file size and generation time of a model's images.

    Attributes
    ----------
    images
        Number of measured images.
    size
        Mean file size in bytes.
    seconds
        Mean time in seconds between successive images; None if unknown.
    """

    images: int
    size: float
    seconds: float | None

    @classmethod
    def of(cls, files: Sequence[StoredFile], batch_size: int = 1) -> "ImageMeasure | None":
        """Measure stored images. Return None if there are too few images.

        All images in a batch are stored at the same time. The generation time is therefore measured
        from batch to batch, and is unknown if there are fewer than two batches.
        """
        if len(files) < FEWEST:
            return None
        sizes = [file.path.stat().st_size for file in files]
        times = sorted(file.modified for file in files)
        gaps = [later - earlier for earlier, later in pairwise(times[batch_size - 1 :])]
        gaps = [gap for gap in gaps if gap < LONGEST_GAP]
        total = sum(gaps)
        is_known = total > 0 and len(gaps) >= batch_size
        return cls(
            images=len(files),
            size=sum(sizes) / len(sizes),
            seconds=total / len(gaps) / 10**9 if is_known else None,
        )

    def lines(self, model: str, images: int) -> list[str]:
        """Return sentences that state the storage and time that a number of images will need."""
        basis = f"as measured for the last {self.images} stored images from {model}"
        each = f"{self.size / MEGABYTE:.2g} MB"
        lines = [
            f"storage     about {images * self.size / GIGABYTE:,.2g} GB for {images:,} images "
            f"({each} per image, {basis})"
        ]
        if self.seconds is not None:
            lines.append(
                f"time        about {duration(images * self.seconds)} for {images:,} images "
                f"({self.seconds:.2g} s per image, {basis})"
            )
        return lines


def duration(seconds: float) -> str:
    """Format a duration in seconds, minutes or hours."""
    if seconds < MINUTE:
        return f"{seconds:.0f} s"
    if seconds < HOUR:
        return f"{seconds / MINUTE:.0f} min"
    return f"{seconds / HOUR:,.1f} h"
