"""Writes docs/reference/results.schema.json: what results.json of every method of askew holds.

python tools/results_schema.py
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from askew import registry

FILE = Path(__file__).parents[1] / "docs" / "reference" / "results.schema.json"


def schema() -> dict[str, Any]:
    """One JSON Schema for the findings of all methods, by their plan's field `method`."""
    kinds = [
        registry.named("method", name).findings
        for name, point in registry.providers("method").items()
        if point.module.startswith("askew.")
    ]
    inputs = [(kind.__name__, "validation", TypeAdapter(kind)) for kind in kinds]
    by_input, whole = TypeAdapter.json_schemas(inputs, title="results.json of askew")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **whole,
        "oneOf": list(by_input.values()),
    }


def text() -> str:
    """The file."""
    return json.dumps(schema(), indent=1, sort_keys=True) + "\n"


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8")
