"""Write docs/reference/results.schema.json: the JSON Schema of results.json for every method.

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
    """Return one JSON Schema for the findings of all methods of askew."""
    kinds = [
        registry.named("method", name).findings
        for name, point in registry.providers("method").items()
        if point.module.startswith("askew.")
    ]
    inputs = [(kind.__name__, "validation", TypeAdapter(kind)) for kind in kinds]
    by_input, common = TypeAdapter.json_schemas(inputs, title="results.json of askew")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **common,
        "oneOf": list(by_input.values()),
    }


def text() -> str:
    """Return the content of the file."""
    return json.dumps(schema(), indent=1, sort_keys=True) + "\n"


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8")
