"""Planned power against simulated verdicts: `python -m benchmarks.power [SIMULATIONS]`.

For each design the table shows the images that `askew power` asks for, the power that it computes,
and the fraction of simulated image sets whose verdict is significant. Fair sets show the false
positives of the same test.
"""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from askew.stats.exchange import exchange_test
from askew.stats.goodness_of_fit import reference_test
from askew.stats.intervals import Floats
from askew.stats.paired_sets import PairedSets
from askew.stats.power import (
    PowerFunction,
    alternatives,
    exchange_power,
    fit_power,
    images_needed,
)

REFERENCES = {
    "2 equal values": (0.5, 0.5),
    "3 equal values": (1 / 3, 1 / 3, 1 / 3),
    "5 equal values": (0.2,) * 5,
    "88 % and 12 %": (0.88, 0.12),
}
DEVIATIONS = (0.2, 0.3)
FAMILIES = (1, 8)
"""Numbers of tests."""
OF_SETS = 4_000
OF_PAIRS = 400
"""Simulations of one image set, and of two runs."""


@dataclass(frozen=True, slots=True)
class PlannedTest:
    """A test at the deviation and level that it is planned for."""

    name: str
    reference: tuple[float, ...]
    deviation: float
    tests: int
    power_of: PowerFunction

    @property
    def level(self) -> float:
        """Significance level of the test."""
        return 0.05 / self.tests

    def detected(self, first: Floats, counts: Floats) -> bool:
        """Check whether the verdict on a simulated set, or on two, is significant."""
        if self.power_of is fit_power:
            return reference_test(counts, self.reference).p < self.level
        return exchange_test(PairedSets.of_counts(first, counts)).p < self.level


def simulated(test: PlannedTest, shares: Floats, images: int, draws: int) -> float:
    """Return the fraction of simulated sets with a significant verdict."""
    rng = np.random.default_rng([images, test.tests])
    firsts = rng.multinomial(images, test.reference, draws)
    seconds = rng.multinomial(images, shares, draws)
    pairs = np.stack([firsts, seconds], axis=1)
    if test.power_of is fit_power:
        pairs[:, 0] = 0
    distinct, times = np.unique(pairs, axis=0, return_counts=True)
    detected = [test.detected(first, second) for first, second in distinct]
    return float(np.average(detected, weights=times))


def planned_tests() -> Iterator[PlannedTest]:
    """Yield the designs of the table."""
    for power_of in (fit_power, exchange_power):
        for name, reference in REFERENCES.items():
            if power_of is exchange_power and len(reference) > 2:
                continue  # each verdict simulates its own law, which takes minutes
            for deviation in DEVIATIONS:
                if deviation > 1 - min(reference):
                    continue
                for tests in FAMILIES:
                    yield PlannedTest(
                        name=name,
                        reference=reference,
                        deviation=deviation,
                        tests=tests,
                        power_of=power_of,
                    )


def main(arguments: Sequence[str]) -> None:
    """Print the table."""
    of_sets = int(arguments[0]) if arguments else OF_SETS
    print("| test | reference | deviation | tests | images | power | simulated | fair sets |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    largest = 0.0
    for test in planned_tests():
        images = images_needed(
            test.power_of, test.reference, test.deviation, power=0.9, level=test.level
        )
        if images is None:
            continue
        computed = test.power_of(images, test.reference, test.deviation, test.level)
        is_fit = test.power_of is fit_power
        draws = of_sets if is_fit else OF_PAIRS * of_sets // OF_SETS
        powers = [
            simulated(test, shares, images, draws)
            for shares in alternatives(test.reference, test.deviation)
        ]
        fair = simulated(test, np.array(test.reference), images, draws)
        largest = max(largest, abs(min(powers) - computed)) if is_fit else largest
        kind = "reference" if is_fit else "two runs"
        print(
            f"| {kind} | {test.name} | {test.deviation} | {test.tests} | {images} | "
            f"{computed:.3f} | {min(powers):.3f} | {fair:.4f} |",
            flush=True,
        )
    print(f"largest difference of tests against a reference: {largest:.3f}")


if __name__ == "__main__":
    main(sys.argv[1:])
