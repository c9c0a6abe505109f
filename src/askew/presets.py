"""Set-ups by one name: a model, its settings and the instruments that read its pictures."""

import tomllib
from collections.abc import Mapping
from functools import lru_cache
from importlib.resources import files

from pydantic import TypeAdapter

from askew.errors import UnknownName
from askew.models.base import Setting
from askew.models.diffusers import RECOMMENDED, Recommendation
from askew.plan import PlanFields
from askew.types import record


@record
class Preset:
    """A set-up. Sizes are in GB, about: of all weights together, and of the GPU memory with all of
    them loaded.
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
    """Every preset by name, the smallest models first."""
    data = tomllib.loads(files("askew").joinpath("presets.toml").read_text(encoding="utf-8"))
    known = RECOMMENDED | TypeAdapter(dict[str, Recommendation]).validate_python(
        data["instruments"]
    )
    for table in data["presets"].values():
        strings = dict.fromkeys((table["model"], *table["vqa"], table["embedder"]))
        parts = [known[string.partition("/")[2]] for string in strings]
        table["model_args"] = (parts[0].biasconnect if table.pop("settings", None) else None) or {}
        for size in ("download_gb", "memory_gb"):
            table[size] = round(sum(getattr(part, size) for part in parts), 1)
    return TypeAdapter(dict[str, Preset]).validate_python(data["presets"])


def with_preset(name: str | None, chosen: PlanFields) -> PlanFields:
    """The fields of a plan: those that a user has chosen, else those of the preset.

    A chosen model, VQA or embedder takes none of the preset's settings; chosen settings of a
    preset's model join the preset's own. Raises UnknownName.
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
