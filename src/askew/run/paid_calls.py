"""Count paid calls to instruments on servers, and check how many calls the budget allows."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from askew.errors import UsageError
from askew.measure.base import CalledVQA
from askew.run.budget import Budget
from askew.run.inquiries import QuestionGroup
from askew.store.keys import question_hash
from askew.types import Picture, Question


@dataclass(slots=True)
class PaidCalls:
    """Number of calls that a run needs, including calls whose answers are already stored.

    Attributes
    ----------
    count
        The number of calls.
    """

    count: int = 0
    _asked: set[tuple[str, str, str]] = field(default_factory=set)

    def add(
        self, vqa: CalledVQA, pictures: Iterable[Picture], questions: Sequence[Question]
    ) -> None:
        """Count the calls for questions about images.

        A question that was already counted for an image is not counted again.
        """
        by_hash = {question_hash(question): question for question in questions}
        for picture in pictures:
            keys = {(vqa.fingerprint, picture.id, name): name for name in by_hash}
            new = [by_hash[name] for key, name in keys.items() if key not in self._asked]
            self._asked |= keys.keys()
            self.count += vqa.calls(new)

    def sentences(self, price: float | None) -> list[str]:
        """Return a sentence that states the cost, unless there are no calls or no price."""
        if not self.count or price is None:
            return []
        return [
            f"the {self.count} calls for labels cost about ${self.count * price:,.2f} at "
            f"${price:g} per call"
        ]


def check_price(
    budget: Budget, price: float | None, name: str, unit: str = "image", option: str = "--price"
) -> None:
    """Raise UsageError if the budget is in dollars, but the price of an image or call is unknown.

    Parameters
    ----------
    budget
        The budget.
    price
        The price in dollars; None if unknown.
    name
        Name of the model or instrument.
    unit, option
        Noun for the unit of payment, such as "image", and the option that sets the price per unit.
    """
    if budget.dollars is not None and price is None:
        raise UsageError(
            f"the budget of {budget.text} needs the price in dollars per {unit} for {name}, as in "
            f"{option} 0.01"
        )


def affordable_groups(
    vqa: CalledVQA, groups: Sequence[QuestionGroup], budget: Budget
) -> list[QuestionGroup]:
    """Return the leading groups that fit within the budget."""
    most = budget.calls_left()
    if most is None:
        return list(groups)
    calls = [len(pictures) * vqa.calls(questions) for pictures, questions in groups]
    totals = np.cumsum(calls)
    return [group for group, total in zip(groups, totals, strict=True) if total <= most]
