"""Budget of a run: a number of images, a time, or money at a price per image."""

import math
import re
import time
from dataclasses import dataclass, field, replace
from typing import Self

from askew.errors import RESUME, RunError, UsageError

SECONDS_PER_UNIT = {"s": 1, "min": 60, "h": 3600}
TIME = re.compile(r"([\d.]+) ?(s|min|h)")
MONEY = re.compile(r"\$([\d.]+) at \$([\d.]+)")
DOLLARS = re.compile(r"\$([\d.]+)|([\d.]+) ?usd", re.IGNORECASE)


@dataclass(slots=True)
class Budget:
    """A bound on the images or the time of a run, with the amount that is spent.

    Attributes
    ----------
    pictures
        Largest number of images; None for no bound.
    seconds
        Longest time in seconds; None for no bound.
    text
        The budget in words.
    price
        Price of an image in dollars; None if it is unknown.
    spent
        Number of images that were made.
    """

    pictures: int | None = None
    seconds: float | None = None
    text: str = ""
    price: float | None = None
    spent: int = field(default=0, init=False)
    _begun: float = field(default_factory=time.monotonic, init=False)
    _longest: float = field(default=0.0, init=False)

    @classmethod
    def parse(cls, given: int | str | None, price: float | None = None) -> Self:
        """Read a budget such as 500, "500", "90min", "5usd" or "$5 at $0.02", the price of an image.

        Parameters
        ----------
        given
            The budget; None for no bound.
        price
            Price of an image in dollars.

        Raises
        ------
        UsageError
            If the text has none of these forms, or money is given without a price.
        """
        text = "" if given is None else str(given).strip()
        if price is not None and not 0 < price < math.inf:
            raise UsageError(f"--price is {price}; it must be greater than 0 dollars")
        dollars = DOLLARS.fullmatch(text)
        if dollars and price is None:
            raise UsageError(
                f"the budget {text!r} needs the price of an image in dollars: --price 0.04"
            )
        if dollars:
            text = f"${dollars[1] or dollars[2]} at ${price:g}"
        try:
            return replace(cls._parse(text), price=price)
        except (ValueError, ZeroDivisionError):
            forms = '500 (images), "90min", "2h", or "5usd" with --price 0.02'
            raise UsageError(f"cannot read the budget {text!r}. Use --budget {forms}") from None

    @classmethod
    def _parse(cls, text: str) -> Self:
        if not text:
            return cls()
        duration = TIME.fullmatch(text)
        if duration:
            return cls(seconds=float(duration[1]) * SECONDS_PER_UNIT[duration[2]], text=text)
        price = MONEY.fullmatch(text)
        if price:
            count = int(float(price[1]) / float(price[2]) + 1e-9)
            return cls(pictures=count, text=f"{count} images ({text})")
        return cls(pictures=int(text), text=f"{int(text)} images")

    def is_exhausted(self) -> bool:
        """Check whether another part may exceed the time, if it takes as long as the longest part."""
        elapsed = time.monotonic() - self._begun
        return self.seconds is not None and elapsed + self._longest > self.seconds

    def error(self) -> RunError:
        """Return the error for a budget that is used up."""
        return RunError(f"the budget of {self.text} is used up. {RESUME}")

    def finish_part(self, begun: float) -> None:
        """Record the duration of a part that began at the monotonic time `begun`."""
        self._longest = max(self._longest, time.monotonic() - begun)
