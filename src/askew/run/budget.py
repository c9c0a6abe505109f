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
    dollars
        Largest cost in dollars; None for no bound.
    price
        Price of an image in dollars; None if it is unknown.
    call_price
        Price of a call of an instrument behind a server; None if it is unknown.
    spent
        Number of images that were made.
    calls
        Number of calls of instruments behind servers.
    """

    pictures: int | None = None
    seconds: float | None = None
    text: str = ""
    dollars: float | None = None
    price: float | None = None
    call_price: float | None = None
    spent: int = field(default=0, init=False)
    calls: int = field(default=0, init=False)
    _begun: float = field(default_factory=time.monotonic, init=False)
    _longest: float = field(default=0.0, init=False)

    @classmethod
    def parse(
        cls,
        given: int | str | None,
        price: float | None = None,
        call_price: float | None = None,
    ) -> Self:
        """Read a budget such as 500, "500", "90min", "5usd" or "$5 at $0.02", the price of an image.

        Parameters
        ----------
        given
            The budget; None for no bound.
        price
            Price of an image in dollars.
        call_price
            Price of a call of an instrument behind a server, in dollars.

        Raises
        ------
        UsageError
            If the text has none of these forms, or money is given without a price.
        """
        text = "" if given is None else str(given).strip()
        for option, dollars in {"--price": price, "--vqa-price": call_price}.items():
            if dollars is not None and not 0 < dollars < math.inf:
                raise UsageError(f"{option} is {dollars}; it must be greater than 0 dollars")
        money = DOLLARS.fullmatch(text)
        try:
            if money and (price is None or call_price is not None):
                budget = cls._of_money(text, float(money[1] or money[2]), price, call_price)
            elif money:
                budget = cls._parse(f"${money[1] or money[2]} at ${price:g}")
            else:
                budget = cls._parse(text)
            return replace(budget, price=price or budget.price, call_price=call_price)
        except (ValueError, ZeroDivisionError):
            forms = '500 (images), "90min", "2h", or "5usd" with --price 0.02'
            raise UsageError(f"cannot read the budget {text!r}. Use --budget {forms}") from None

    @classmethod
    def _of_money(
        cls, text: str, dollars: float, price: float | None, call_price: float | None
    ) -> Self:
        """Return the budget of a sum for images and calls."""
        if price is None and call_price is None:
            raise UsageError(
                f"the budget {text!r} needs the price of an image in dollars: --price 0.04, or "
                "the price of a call of a hosted VQA model: --vqa-price 0.001"
            )
        return cls(dollars=dollars, text=f"${dollars:g}")

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
            return cls(
                pictures=count,
                text=f"{count} images ({text})",
                dollars=float(price[1]),
                price=float(price[2]),
            )
        return cls(pictures=int(text), text=f"{int(text)} images")

    def pictures_left(self) -> int | None:
        """Return how many more images the budget allows; None for no bound."""
        if self.pictures is not None:
            return self.pictures - self.spent
        return self._affordable(self.price)

    def calls_left(self) -> int | None:
        """Return how many more calls of instruments the budget allows; None for no bound."""
        return self._affordable(self.call_price)

    def _affordable(self, price: float | None) -> int | None:
        """Return the number of things at a price that can be paid from the remaining money."""
        if self.dollars is None or price is None:
            return None
        images = self.spent * (self.price or 0.0)
        calls = self.calls * (self.call_price or 0.0)
        return int((self.dollars - images - calls) / price + 1e-9)

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
