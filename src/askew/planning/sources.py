"""What plans of edits and of classifications share about source pictures: who makes them, and with which settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from askew.errors import UsageError
from askew.models.base import Setting
from askew.models.diffusers.recommended import recommended

DIFFUSERS = "diffusers"
PAPER_SOURCES: Mapping[str, Setting] = {"num_inference_steps": 100, "guidance_scale": 8.5}
"""The paper's settings of whoever makes source pictures (section 3)."""


def with_source_settings(fields: Mapping[str, Any], model: str) -> dict[str, Any]:
    """The fields of a plan with the paper's settings for the model that makes the sources, under those that are given.

    `model` makes them unless `fields` name other `sources`. Raises UsageError for settings of sources that are not
    named.
    """
    sources, given = fields.get("sources"), fields.get("sources_args")
    if given and not sources:
        raise UsageError(
            f"{', '.join(given)}: such settings describe pictures that are given, and none are; say where they are, as "
            f"in --sources folder/PATH"
        )
    name = "sources_args" if sources else "model_args"
    return {**fields, name: {**paper_settings(sources or model, PAPER_SOURCES), **(fields.get(name) or {})}}


def paper_settings(model: str, settings: Mapping[str, Setting]) -> dict[str, Setting]:
    """The paper's settings, if `model` is one of diffusers whose makers recommend no others; else none."""
    provider, _, name = model.partition("/")
    return {} if provider != DIFFUSERS or recommended(name) else dict(settings)
