"""From options such as -M bias=0.5 to settings."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from askew.errors import UsageError
from askew.models.base import Setting


def pairs(options: Sequence[str], option: str, empty: bool = False) -> dict[str, str]:
    """NAME=VALUE options as a mapping; values may be `empty` if so said. Raises UsageError naming it."""
    found = {}
    for text in options:
        name, equals, value = text.partition("=")
        if not (equals and name.strip() and (value.strip() or empty)):
            raise UsageError(f"{option} {text!r} is not of the form NAME=VALUE")
        found[name.strip()] = value.strip()
    return found


def key_values(options: Sequence[str], option: str) -> dict[str, Setting]:
    """NAME=VALUE options with numbers and true/false recognised; nothing is empty text, as in negative_prompt=."""
    return {name: _scalar(value) for name, value in pairs(options, option, empty=True).items()}


def column_settings(manifest: Path | None, **columns: str | Sequence[str] | None) -> dict[str, str]:
    """The options that describe a manifest, as settings of `folder/PATH`; those not given are left out."""
    joined = {name: value if isinstance(value, str) else ",".join(value) for name, value in columns.items() if value}
    return ({"manifest": str(manifest)} if manifest else {}) | joined


def _scalar(text: str) -> Setting:
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
