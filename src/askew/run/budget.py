"""Budget of a run: a number of images, a time, or money at a price per image."""

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
"""Added before rounding down, because binary numbers represent dollar amounts inexactly."""


@dataclass(slots=True)
class Budget:
    """A limit on the images, the time or the cost of a run, with the amounts spent so far.

    Attributes
    ----------
    pictures
        Maximum number of images; None for no limit.
    seconds
        Longest time in seconds; None for no limit.
    text
        The budget in words.
    dollars
        Largest cost in dollars; None for no limit.
    price
        Price of an image in dollars, in place of list prices; None if it is not given.
    call_price
        Price in dollars of a call to an instrument on a server; None if it is unknown.
    spent
        Number of images that were generated.
    calls
        Number of calls to instruments on servers.
    paid
        Cost of the images and calls in dollars.
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
        """Read a budget such as 500, "500", "90min", "5usd" or "$5".

        Parameters
        ----------
        given
            The budget; None for no limit.
        price
            Price of an image in dollars.
        call_price
            Price in dollars of a call to an instrument on a server.

        Raises
        ------
        UsageError
            If the text has none of these forms, or a price is not above 0.
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
        """Return the given price of an image, or else the list price; None if both are unknown."""
        if self.price is not None or listed is None:
            return self.price
        return listed.dollars

    def pictures_left(self, price: float | None) -> int | None:
        """Return how many more images at this price the budget allows; None for no limit."""
        if self.pictures is not None:
            return self.pictures - self.spent
        return self._affordable(price)

    def calls_left(self) -> int | None:
        """Return how many more calls to instruments the budget allows; None for no limit."""
        return self._affordable(self.call_price)

    def _affordable(self, price: float | None) -> int | None:
        """Return how many images or calls at this price the remaining money can pay for."""
        if self.dollars is None or price is None:
            return None
        return int((self.dollars - self.paid) / price + ROUNDING)

    def add_images(self, count: int, price: float | None) -> None:
        """Record images that were generated at this price."""
        self.spent += count
        self.paid += count * (price or 0.0)

    def add_calls(self, count: int) -> None:
        """Record calls to an instrument on a server."""
        self.calls += count
        self.paid += count * (self.call_price or 0.0)

    def is_exhausted(self) -> bool:
        """Check whether another part, as long as the longest part so far, may exceed the time."""
        elapsed = time.monotonic() - self._begun
        return self.seconds is not None and elapsed + self._longest > self.seconds

    def error(self) -> RunError:
        """Return the error for a budget that is used up."""
        return RunError(f"the budget of {self.text} is used up. {RESUME}")

    def finish_part(self, begun: float) -> None:
        """Record the duration of a part that began at the monotonic time `begun`."""
        self._longest = max(self._longest, time.monotonic() - begun)
