"""List prices of hosted image models, with the date on which the source listed each price."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any

from askew.models.base import Setting

TABLE = "data/prices.toml"


@dataclass(frozen=True, slots=True)
class ListPrice:
    """A provider's list price for an image.

    Attributes
    ----------
    dollars
        Price of an image in US dollars.
    date
        Date on which the source listed this price, such as 2026-05-10.
    source
        Web address of the source.
    """

    dollars: float
    date: str
    source: str

    def words(self) -> str:
        """Return a phrase that states the date of the price."""
        return f"list price as of {self.date}"


@lru_cache
def price_table() -> tuple[Mapping[str, Any], ...]:
    """Return all entries in the table of prices."""
    text = files("askew").joinpath(TABLE).read_text(encoding="utf-8")
    return tuple(tomllib.loads(text)["prices"])


def list_price(model: str, fields: Mapping[str, Setting]) -> ListPrice | None:
    """Return the list price for an image; None if the table does not contain it.

    Parameters
    ----------
    model
        Provider and model, as in the table.
    fields
        Fields of a request. The fields must include size and quality: if the server chooses the
        size or quality, its choice also determines the price.
    """
    for entry in price_table():
        is_entry = entry["model"] == model and entry["size"] == fields.get("size")
        dollars = entry["quality"].get(fields.get("quality"))
        if is_entry and dollars is not None:
            return ListPrice(dollars=dollars, date=str(entry["date"]), source=entry["source"])
    return None
