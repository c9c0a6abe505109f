"""Assigning items to raters.

Attention checks and repeated items are inserted between the other items.
"""

import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from askew.pages.words import capital
from askew.people.folder import token_hash
from askew.people.records import PREFER_NOT, SPECIAL_ANSWERS, Item, RaterRecord
from askew.store.keys import derived_seed

ITEMS_PER_CHECK = 12
"""Number of a rater's items for which one attention check is added."""

ITEMS_PER_REPEAT = 20
"""Number of a rater's items for which one of them is repeated."""

CHECK_QUESTION = "This question checks whether you read the questions. Please choose “{}”."
COPIES = 4
"""Number of attention checks for each expected answer."""

AGAIN = "-again"
"""Suffix that distinguishes the id of a repeated item from the id of the original item."""

TOKEN_BYTES = 16


def displayed_options(item: Item, number: int) -> tuple[str, ...]:
    """Return an item's options in the order in which a rater sees them.

    The options do not include special answers such as ":cannot_tell". Every second rater sees
    ordinal options in reverse order. Nominal options are rotated by a different amount for each
    rater, so that each option comes first equally often. The order for a given rater never changes.

    Parameters
    ----------
    item
        The item.
    number
        Number of the rater, counting from 0.
    """
    options = item.options
    if len(options) < 2 or item.keeps_order:
        return options
    if item.scale == "ordinal":
        return options[::-1] if number % 2 else options
    start = number % len(options)
    return options[start:] + options[:start]


def is_mirrored(item: Item, number: int, seed: int) -> bool:
    """Check whether a rater sees an item's two groups of images in swapped order."""
    return len(item.groups) == 2 and derived_seed(seed, item.id, str(number), "sides") % 2 == 1


def checks_for(item: Item, texts: Mapping[str, str]) -> list[Item]:
    """Return attention checks that have the same options as an item.

    Each possible answer is the expected answer of some checks.

    Parameters
    ----------
    item
        An item of the study.
    texts
        Text shown to raters for each special answer.
    """
    expected = [*item.options, *(answer for answer in item.special if answer != PREFER_NOT)]
    checks: list[Item] = []
    for _, answer in product(range(COPIES), expected):
        checks.append(
            replace(
                item,
                id=f"check-{item.axis or 'study'}-{len(checks) + 1:02d}",
                role="check",
                question=CHECK_QUESTION.format(_text(answer, item, texts)),
                groups=(),
                labels=(),
                prompt="",
                multiple=False,
                free_text=False,
                expected=answer,
            )
        )
    return checks


def _text(answer: str, item: Item, texts: Mapping[str, str]) -> str:
    return item.texts.get(answer, texts.get(answer, capital(answer)))


def repeated(item: Item) -> Item:
    """Return an item that repeats the question of another item."""
    return replace(item, id=f"{item.id}{AGAIN}", role="repeat", repeats=item.id)


@dataclass(frozen=True)
class ExtraItems:
    """Attention checks and repeated items, some of which each rater gets between the other items.

    Attributes
    ----------
    checks, repeats
        The attention checks and the repeated items.
    """

    checks: Sequence[Item]
    repeats: Sequence[Item]

    @classmethod
    def of(cls, items: Sequence[Item], suffix: str = "") -> "ExtraItems":
        """Return the attention checks and repeated items for a study's items.

        Parameters
        ----------
        items
            Items of the study.
        suffix
            Text at the end of the ids of the checks, which distinguishes these ids from those of
            earlier checks.
        """
        first: dict[str | None, Item] = {}
        for item in items:
            first.setdefault(item.axis, item)
        checks = []
        for item in first.values():
            for check in checks_for(item, SPECIAL_ANSWERS):
                checks.append(replace(check, id=f"{check.id}{suffix}"))
        is_long = len(items) >= ITEMS_PER_REPEAT
        return cls(checks=checks, repeats=[repeated(item) for item in items] if is_long else [])

    def with_used(self, items: Sequence[Item], orders: Iterable[Iterable[str]]) -> list[Item]:
        """Return the items, checks and repeats that are assigned to at least one rater."""
        used = {name for order in orders for name in order}
        return [item for item in (*items, *self.checks, *self.repeats) if item.id in used]


def item_orders(
    items: Sequence[Item],
    checks: Sequence[Item],
    numbers: Sequence[int],
    per_item: int,
    seed: int,
) -> list[tuple[str, ...]]:
    """Assign items, attention checks and repeated items to raters. Each rater gets a random order.

    Each item is assigned to `per_item` different raters. The numbers of items per rater differ by
    at most one.

    Parameters
    ----------
    items
        Items of the study, excluding attention checks and repeated items.
    checks
        Attention checks. Raters get only checks that they cannot pass by always choosing the first
        option.
    numbers
        Numbers of the raters.
    per_item
        Number of raters who judge each item.
    seed
        Seed for the random assignment.

    Returns
    -------
    list of tuple of str
        Ids of each rater's items, in the order in which the rater sees them.
    """
    rng = np.random.default_rng(derived_seed(seed, "assignment"))
    of_raters: list[list[str]] = [[] for _ in numbers]
    for place in rng.permutation(len(items)).tolist():
        loads = np.array([len(assigned) for assigned in of_raters])
        order = np.lexsort((rng.random(len(numbers)), loads))
        for rater in order[:per_item].tolist():
            of_raters[rater].append(items[place].id)
    axes = {item.id: item.axis or "" for item in items}
    orders = []
    for number, assigned in zip(numbers, of_raters, strict=True):
        orders.append(_order(assigned, axes, _passable(checks, number), number, seed))
    return orders


def rater_id(number: int) -> str:
    """Return the id of the rater with this number, counting from 0."""
    return f"r{number + 1:03d}"


def assign(
    items: Sequence[Item], checks: Sequence[Item], raters: int, per_item: int, seed: int
) -> list[RaterRecord]:
    """Create raters, who have no links yet, and assign the items of a study to them.

    The parameters are the same as in `item_orders`. `raters` is the number of raters.
    """
    orders = item_orders(items, checks, range(raters), per_item, seed)
    records = []
    for number, order in enumerate(orders):
        records.append(RaterRecord(id=rater_id(number), number=number, token="", items=order))
    return records


def _passable(checks: Sequence[Item], number: int) -> list[str]:
    """Return the ids of the attention checks whose expected answer is not displayed first."""
    return [check.id for check in checks if displayed_options(check, number)[0] != check.expected]


def _order(
    items: Sequence[str], axes: Mapping[str, str], checks: Sequence[str], number: int, seed: int
) -> tuple[str, ...]:
    """Return a rater's items in random order, with attention checks and repeats between them.

    All items about an axis follow one another, so that keyboard shortcuts rarely change their
    meaning. The order of the axes is also random.
    """
    rng = np.random.default_rng(derived_seed(seed, "order", str(number)))
    names = sorted({axes[name] for name in items})
    turns = dict(zip(names, rng.permutation(len(names)).tolist(), strict=True))
    shuffled_items = [items[place] for place in rng.permutation(len(items)).tolist()]
    order = sorted(shuffled_items, key=lambda name: turns[axes[name]])
    first = order[: len(order) // 2]
    repeats = [f"{name}{AGAIN}" for name in first[: len(items) // ITEMS_PER_REPEAT]]
    for name in repeats:
        place = int(rng.integers(3 * len(order) // 4, len(order) + 1))
        order.insert(place, name)
    count = len(items) // ITEMS_PER_CHECK
    if checks and len(items) >= ITEMS_PER_CHECK - 2:
        count = max(count, 1)
    shuffled = [checks[place] for place in rng.permutation(len(checks)).tolist()]
    for turn in range(min(count, len(checks))):
        part = len(order) / min(count, len(checks))
        place = int(rng.integers(round(turn * part), max(round((turn + 1) * part), 1)))
        order.insert(place, shuffled[turn])
    return tuple(order)


def with_new_links(
    raters: Sequence[RaterRecord], chosen: Sequence[str]
) -> tuple[list[RaterRecord], dict[str, str]]:
    """Create new secret links for the chosen raters.

    Return all raters, and the new secrets keyed by rater id.

    Parameters
    ----------
    raters
        All raters.
    chosen
        Ids of the raters who get new secrets. The old links of these raters no longer work.
    """
    tokens = {}
    records = []
    for rater in raters:
        if rater.id not in chosen:
            records.append(rater)
            continue
        token = secrets.token_hex(TOKEN_BYTES)
        tokens[rater.id] = token
        records.append(replace(rater, token=token_hash(token)))
    return records, tokens
