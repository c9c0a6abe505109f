"""The instruments of a plan, by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from askew import registry
from askew.errors import UsageError
from askew.measure.base import VQA
from askew.models.base import Collection, Model

LABELS = "labels"


def load_instruments(
    names: Sequence[str], source: Model | Collection, aliases: Mapping[str, str], values: Mapping[str, Sequence[str]]
) -> dict[str, VQA]:
    """The instruments by name. A person's labels come with the collection."""
    found = {}
    for name in names:
        if name == LABELS:
            if not isinstance(source, Collection):
                raise UsageError("--vqa labels reads a person's labels from a manifest; it needs --model folder/PATH")
            found[name] = registry.vqa(name, collection=source, aliases=aliases, values=values or None)
        else:
            found[name] = registry.vqa(name)
    return found
