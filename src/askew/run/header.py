"""The head of results.json: what was run, by which version, on which machine, with which model and instruments."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from importlib.metadata import version
from typing import Any

from askew.measure.base import VQA, Embedder
from askew.models.base import Model
from askew.models.editing import Editor
from askew.plan import RunPlan
from askew.run.environment import environment


def provenance(plan: RunPlan, source: object, started: datetime, warnings: Sequence[str]) -> dict[str, Any]:
    """What all results begin with; `source` is the model whose device is named, if it has one."""
    return {
        "askew": version("askew"),
        "plan": plan.model_dump(mode="json"),
        "plan_hash": plan.hash,
        "environment": environment(getattr(source, "device", None), started),
        "warnings": list(warnings),
    }


def identity(model: Model | Editor) -> dict[str, Any]:
    """Name, revision and settings of a model, or of an editor."""
    return {"name": model.name, "revision": model.revision, "settings": dict(model.settings)}


def fingerprint(instrument: VQA | Embedder | None) -> dict[str, str] | None:
    """The fingerprint of an instrument by its name; None if there is none."""
    return {instrument.name: instrument.fingerprint} if instrument else None
