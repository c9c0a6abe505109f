"""Compute the rows of a power table: the number of images, deviation and power of each test."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from askew.stats.power import detectable_deviation, images_needed, largest_deviation
from askew.studies.power.designs import AxisDesign, Design

EFFECTS = (0.1, 0.2, 0.3)
"""Default deviations."""
POWERS = (0.8, 0.9)
"""Default powers."""


@dataclass(frozen=True, slots=True)
class PowerRow:
    """A row of a power table. The row describes one planned test.

    Attributes
    ----------
    axes : tuple of str
        Names of the axes. The tuple is empty if the user specified only the number of axes.
    values : int
        Number of values of each axis.
    effect : float or None
        Deviation from the reference; None if no deviation can be detected with this power.
    power : float or None
        Probability of a significant result; None if no shares can deviate this much.
    images : int or None
        Images per prompt; None if too many images are needed, or if no shares can deviate this
        much.
    """

    axes: tuple[str, ...]
    values: int
    effect: float | None
    power: float | None
    images: int | None


@dataclass(frozen=True, slots=True)
class PowerQuestion:
    """Two of three quantities: deviation, power and number of images. askew computes the third.

    Attributes
    ----------
    effects : tuple of float
        Deviations from the reference. The tuple is empty if askew computes the deviations or uses
        the default deviations.
    powers : tuple of float
        Probabilities of a significant result, for which askew computes the required number of
        images or the detectable deviation.
    images : tuple of int
        Numbers of images per prompt. Empty if askew computes them.
    """

    effects: tuple[float, ...]
    powers: tuple[float, ...]
    images: tuple[int, ...]

    def rows(self, design: Design) -> list[PowerRow]:
        """Return the rows for a design, sorted by axis, then by the specified quantities."""
        return [row for axis in design.axes for row in self._rows_of(axis, design)]

    def _rows_of(self, axis: AxisDesign, design: Design) -> Iterator[PowerRow]:
        if not self.images:
            for effect in self.effects or EFFECTS:
                for power in self.powers:
                    yield _images_row(axis, design, effect, power)
            return
        for images in self.images:
            if self.effects:
                yield from [_power_row(axis, design, images, effect) for effect in self.effects]
            else:
                yield from [_effect_row(axis, design, images, power) for power in self.powers]


def largest(rows: Sequence[PowerRow], effect: float, power: float) -> int | None:
    """Return the number of images that is enough for all axes; None if no number is enough."""
    numbers = []
    for row in rows:
        if row.effect == effect and row.power == power:
            numbers.append(row.images)
    known = [number for number in numbers if number is not None]
    return max(known) if known and len(known) == len(numbers) else None


def _images_row(axis: AxisDesign, design: Design, effect: float, power: float) -> PowerRow:
    images = None
    if effect <= largest_deviation(axis.reference):
        images = images_needed(
            design.power_of, axis.reference, effect, power=power, level=design.level
        )
    return PowerRow(
        axes=axis.names, values=len(axis.reference), effect=effect, power=power, images=images
    )


def _power_row(axis: AxisDesign, design: Design, images: int, effect: float) -> PowerRow:
    power = None
    if effect <= largest_deviation(axis.reference):
        power = design.power_of(images, axis.reference, effect, design.level)
    return PowerRow(
        axes=axis.names, values=len(axis.reference), effect=effect, power=power, images=images
    )


def _effect_row(axis: AxisDesign, design: Design, images: int, power: float) -> PowerRow:
    effect = detectable_deviation(
        design.power_of, images, axis.reference, power=power, level=design.level
    )
    return PowerRow(
        axes=axis.names, values=len(axis.reference), effect=effect, power=power, images=images
    )
