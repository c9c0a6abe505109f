"""The instruments of a plan, by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from askew import registry
from askew.errors import UsageError
from askew.measure.base import VQA
from askew.models.base import Collection, Model, Setting

LABELS = "labels"


def load_instruments(
    names: Sequence[str],
    source: Model | Collection,
    aliases: Mapping[str, str],
    values: Mapping[str, Sequence[str]],
    settings: Mapping[str, Setting] | None = None,
) -> dict[str, VQA]:
    """The instruments by name. A person's labels come with the collection.

    `settings` are those of the only instrument or, named PROVIDER:SETTING, of the one from that provider.
    """
    own = _settings_by_instrument(names, settings or {})
    found = {}
    for name in names:
        if name == LABELS:
            if not isinstance(source, Collection):
                raise UsageError("--vqa labels reads a person's labels from a manifest; it needs --model folder/PATH")
            found[name] = registry.vqa(name, collection=source, aliases=aliases, values=values or None)
        else:
            found[name] = registry.vqa(name, **own[name])
    return found


def _settings_by_instrument(names: Sequence[str], settings: Mapping[str, Setting]) -> dict[str, dict[str, Setting]]:
    """Raises UsageError for a setting of no instrument, or of which of several is not said."""
    found: dict[str, dict[str, Setting]] = {name: {} for name in names}
    able = [name for name in names if name != LABELS]
    for key, value in settings.items():
        provider, colon, setting = key.rpartition(":")
        owners = [name for name in able if not colon or name.partition("/")[0] == provider]
        if not owners or (len(owners) > 1 and not colon):
            known = ", ".join(f"{name.partition('/')[0]}:{setting}" for name in able) or "none: labels take no settings"
            raise UsageError(
                f"--vqa-arg {key}={value} does not say which instrument's setting it is; write one of: {known}"
            )
        for name in owners:
            found[name][setting] = value
    return found
