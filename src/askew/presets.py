"""Set-ups by one name: a model, its settings and the instruments that read its pictures."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any

from askew.errors import UnknownName
from askew.models.base import Setting
from askew.models.diffusers import RECOMMENDED
from askew.plan import PlanFields

BIASCONNECT = "biasconnect"


@dataclass(frozen=True, slots=True)
class Preset:
    """A set-up. Sizes are in GB, about: of all weights together, and of the GPU memory with all of them loaded."""

    name: str
    summary: str
    model: str
    model_args: Mapping[str, Setting]
    vqa: tuple[str, ...]
    embedder: str
    download_gb: float
    memory_gb: float


@lru_cache
def presets() -> Mapping[str, Preset]:
    """Every preset by name, the smallest models first."""
    data = tomllib.loads(files("askew").joinpath("presets.toml").read_text(encoding="utf-8"))
    sizes = {name: (known.download_gb, known.memory_gb) for name, known in RECOMMENDED.items()}
    sizes |= {name: (known["download_gb"], known["memory_gb"]) for name, known in data["instruments"].items()}
    return {name: _preset(name, table, sizes) for name, table in data["presets"].items()}


def with_preset(name: str | None, chosen: PlanFields) -> PlanFields:
    """The fields of a plan: those that a user has chosen, else those of the preset.

    A chosen model, VQA or embedder takes none of the preset's settings; chosen settings of a preset's model join the
    preset's own. Raises UnknownName.
    """
    if name is None:
        return chosen
    if name not in presets():
        raise UnknownName("preset", name, presets())
    preset = presets()[name]
    result: PlanFields = {"model": preset.model, "vqa": preset.vqa, "embedder": preset.embedder, **chosen}
    if "model" not in chosen:
        result["model_args"] = {**preset.model_args, **chosen.get("model_args", {})}
    return result


def _preset(name: str, table: Mapping[str, Any], sizes: Mapping[str, tuple[float, float]]) -> Preset:
    providers = (table["model"], *table["vqa"], table["embedder"])
    parts = list(dict.fromkeys(string.partition("/")[2] for string in providers))
    known = RECOMMENDED[parts[0]].biasconnect if table.get("settings") == BIASCONNECT else None
    return Preset(
        name=name,
        summary=table["summary"],
        model=table["model"],
        model_args=dict(known or {}),
        vqa=tuple(table["vqa"]),
        embedder=table["embedder"],
        download_gb=round(sum(sizes[part][0] for part in parts), 1),
        memory_gb=round(sum(sizes[part][1] for part in parts), 1),
    )
