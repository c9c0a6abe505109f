"""Presets: named combinations of a model, its settings and instruments.

This module reads askew's presets, and merges a preset with the fields that a user chooses.
"""

import tomllib
from collections.abc import Mapping
from functools import lru_cache
from importlib.resources import files

from pydantic import TypeAdapter

from askew.errors import UnknownName
from askew.models.base import Setting
from askew.models.diffusers.recommended import RECOMMENDED, Recommendation
from askew.plan import PlanFields
from askew.types import record


@record
class Preset:
    """A model with its settings and instruments.

    Attributes
    ----------
    summary
        Description of the preset in one line.
    model, vqa, embedder
        Provider strings.
    model_args
        Settings of the model.
    download_gb
        Approximate total size of all weights in GB.
    memory_gb
        Approximate GPU memory in GB that all networks need together.
    """

    summary: str
    model: str
    vqa: tuple[str, ...]
    embedder: str
    model_args: Mapping[str, Setting]
    download_gb: float
    memory_gb: float


@lru_cache
def presets() -> Mapping[str, Preset]:
    """Return all presets, keyed by name, starting with the smallest models."""
    data = tomllib.loads(files("askew").joinpath("presets.toml").read_text(encoding="utf-8"))
    known = RECOMMENDED | TypeAdapter(dict[str, Recommendation]).validate_python(
        data["instruments"]
    )
    for table in data["presets"].values():
        strings = dict.fromkeys((table["model"], *table["vqa"], table["embedder"]))
        parts = [known[string.partition("/")[2]] for string in strings]
        has_settings = table.pop("settings", None) and parts[0].biasconnect
        table["model_args"] = parts[0].biasconnect if has_settings else {}
        for size in ("download_gb", "memory_gb"):
            table[size] = round(sum(getattr(part, size) for part in parts), 1)
    return TypeAdapter(dict[str, Preset]).validate_python(data["presets"])


def with_preset(name: str | None, chosen: PlanFields) -> PlanFields:
    """Return the plan fields that a user chose, completed with the preset's values.

    If the user chose a model, the preset's model settings are not used. If the user chose no model,
    the user's model settings are added to the preset's settings.

    Raises
    ------
    UnknownName
        If there is no such preset.
    """
    if name is None:
        return chosen
    UnknownName.unless_known("preset", name, presets())
    preset = presets()[name]
    result: PlanFields = {
        "model": preset.model,
        "vqa": preset.vqa,
        "embedder": preset.embedder,
        **chosen,
    }
    if "model" not in chosen:
        result["model_args"] = {**preset.model_args, **chosen.get("model_args", {})}
    return result
