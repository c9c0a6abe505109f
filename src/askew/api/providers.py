"""What can be named, and what the studio's drawings look like."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from askew import registry
from askew.errors import UnknownName, UsageError
from askew.presets import presets


def list_providers() -> list[dict[str, Any]]:
    """Every model, instrument and preset that can be named: the option that takes it, its name, and what it is.

    Presets also have `download_gb` and `memory_gb`, and what they stand for.
    """
    providers = [
        {"option": f"--{kind}", "name": name, "summary": registry.summary(point)}
        for kind in registry.GROUPS
        for name, point in registry.providers(kind).items()
    ]
    return [*providers, *({"option": "--preset", **asdict(preset)} for preset in presets().values())]


def studio_sheet(path: Path, what: str = "attributes", seed: int = 0) -> Path:
    """Write a labelled contact sheet of the studio's attributes or occupations as PNG."""
    from askew.studio.drawing import attribute_sheet, occupation_sheet

    sheets = {"attributes": attribute_sheet, "occupations": occupation_sheet}
    if what not in sheets:
        raise UnknownName("sheet", what, sheets)
    try:
        sheets[what](seed).save(path, format="PNG")
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror or error}") from error
    return path
