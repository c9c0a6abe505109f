"""Budget for a run: a number of images, a time, or an amount of money."""

import math
import re
import time
from dataclasses import dataclass, field
from typing import Self

from askew.errors import RESUME, RunError, UsageError
from askew.models.prices import ListPrice

SECONDS_PER_UNIT = {"s": 1, "min": 60, "h": 3600}
TIME = re.compile(r"([\d.]+) ?(s|min|h)")
DOLLARS = re.compile(r"\$([\d.]+)|([\d.]+) ?usd", re.IGNORECASE)
ROUNDING = 1e-9
"""Amount added before rounding down, because floats represent dollar amounts inexactly."""


@dataclass(slots=True)
class Budget:
    """Limits on a run's number of images, time or cost, and the amounts used so far.

    Attributes
    ----------
    pictures
        Maximum number of images; None for no limit.
    seconds
        Maximum time in seconds; None for no limit.
    text
        The budget in words.
    dollars
        Maximum cost in dollars; None for no limit.
    price
        Price per image in dollars, which overrides list prices; None if not given.
    call_price
        Price in dollars per call to an instrument on a server; None if unknown.
    spent
        Number of images generated so far.
    calls
        Number of calls made so far to instruments on servers.
    paid
        Cost of these images and calls in dollars.
    """

    pictures: int | None = None
    seconds: float | None = None
    text: str = ""
    dollars: float | None = None
    price: float | None = None
    call_price: float | None = None
    spent: int = field(default=0, init=False)
    calls: int = field(default=0, init=False)
    paid: float = field(default=0.0, init=False)
    _begun: float = field(default_factory=time.monotonic, init=False)
    _longest: float = field(default=0.0, init=False)

    @classmethod
    def parse(
        cls,
        given: int | str | None,
        price: float | None = None,
        call_price: float | None = None,
    ) -> Self:
        """Parse a budget such as 500, "500", "90min", "5usd" or "$5".

        Parameters
        ----------
        given
            The budget; None for no limit.
        price
            Price per image in dollars.
        call_price
            Price in dollars per call to an instrument on a server.

        Raises
        ------
        UsageError
            If the budget has none of these forms, or if a price is not greater than 0.
        """
        text = "" if given is None else str(given).strip()
        for option, dollars in {"--price": price, "--vqa-price": call_price}.items():
            if dollars is not None and not 0 < dollars < math.inf:
                raise UsageError(f"{option} is {dollars}; it must be greater than 0 dollars")
        try:
            budget = cls._parse(text)
        except ValueError:
            forms = '500 (images), "90min", "2h", or "5usd" with --price 0.02'
            raise UsageError(f"cannot read the budget {text!r}. Use --budget {forms}") from None
        budget.price = price
        budget.call_price = call_price
        return budget

    @classmethod
    def _parse(cls, text: str) -> Self:
        if not text:
            return cls()
        duration = TIME.fullmatch(text)
        if duration:
            return cls(seconds=float(duration[1]) * SECONDS_PER_UNIT[duration[2]], text=text)
        money = DOLLARS.fullmatch(text)
        if money:
            dollars = float(money[1] or money[2])
            return cls(dollars=dollars, text=f"${dollars:g}")
        return cls(pictures=int(text), text=f"{int(text)} images")

    def image_price(self, listed: ListPrice | None) -> float | None:
        """Return the user's price per image, or else the list price; None if both are unknown."""
        if self.price is not None or listed is None:
            return self.price
        return listed.dollars

    def pictures_left(self, price: float | None) -> int | None:
        """Return how many more images the budget allows at this price; None for no limit."""
        if self.pictures is not None:
            return self.pictures - self.spent
        return self._affordable(price)

    def calls_left(self) -> int | None:
        """Return how many more calls to instruments the budget allows; None for no limit."""
        return self._affordable(self.call_price)

    def _affordable(self, price: float | None) -> int | None:
        """Return the number of images or calls that the remaining money can buy at this price."""
        if self.dollars is None or price is None:
            return None
        return int((self.dollars - self.paid) / price + ROUNDING)

    def add_images(self, count: int, price: float | None) -> None:
        """Record that images were generated at this price."""
        self.spent += count
        self.paid += count * (price or 0.0)

    def add_calls(self, count: int) -> None:
        """Record calls to an instrument on a server."""
        self.calls += count
        self.paid += count * (self.call_price or 0.0)

    def is_exhausted(self) -> bool:
        """Check whether the remaining time is shorter than the longest part so far."""
        elapsed = time.monotonic() - self._begun
        return self.seconds is not None and elapsed + self._longest > self.seconds

    def error(self) -> RunError:
        """Return the error to raise if the budget is used up."""
        return RunError(f"the budget of {self.text} is used up. {RESUME}")

    def finish_part(self, begun: float) -> None:
        """Record how long a part took.

        `begun` is the monotonic clock time at which the part began.
        """
        self._longest = max(self._longest, time.monotonic() - begun)
