"""How much a run may cost: pictures, time, or money at a price for each picture."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from askew.errors import RunError, UsageError

UNITS = {"s": 1, "min": 60, "h": 3600}
_TIME = re.compile(rf"(?P<number>[\d.]+) ?(?P<unit>{'|'.join(UNITS)})")
_MONEY = re.compile(r"\$(?P<most>[\d.]+) at \$(?P<price>[\d.]+)")


@dataclass(slots=True)
class Budget:
    """At most so many `pictures` or `seconds`; None where that has no bound. `told` is what it was given as."""

    pictures: int | None = None
    seconds: float | None = None
    told: str = ""
    _begun: float = field(default_factory=time.monotonic, init=False)
    _longest: float = field(default=0.0, init=False)

    @classmethod
    def parse(cls, given: int | str | None) -> Budget:
        """Of 500, "500", "90min" or "$5 at $0.02", the price of a picture. Raises UsageError."""
        text = "" if given is None else str(given).strip()
        try:
            if match := _TIME.fullmatch(text):
                return cls(seconds=float(match["number"]) * UNITS[match["unit"]], told=text)
            if match := _MONEY.fullmatch(text):
                count = int(float(match["most"]) / float(match["price"]) + 1e-9)
                return cls(pictures=count, told=f"{count} pictures ({text})")
            return cls(pictures=int(text), told=f"{int(text)} pictures") if text else cls()
        except (ValueError, ZeroDivisionError):
            raise UsageError(
                f'cannot read the budget {text!r}; write 500 (pictures), "90min", "2h", or "$5 at $0.02" (a picture)'
            ) from None

    @contextmanager
    def part(self) -> Iterator[None]:
        """A part of the work. Raises RunError before one that, as long as the longest so far, may cross the time."""
        now = time.monotonic()
        if self.seconds is not None and now - self._begun + self._longest > self.seconds:
            raise RunError(
                f"the budget of {self.told} is used up; what was made is kept, and the same command continues"
            )
        yield
        self._longest = max(self._longest, time.monotonic() - now)
