"""The published schema is generated from the records, and results of a run match it."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

import askew
from tools import results_schema


def test_the_published_schema_is_generated_from_the_records() -> None:
    published = results_schema.FILE.read_text(encoding="utf-8")
    assert published == results_schema.text(), "write it anew: python tools/results_schema.py"


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("schema") / "run"
    return askew.map(
        "a nurse", concept="gender", against="nurse", images=2, bootstrap_samples=100, run=folder
    ).numbers


def test_results_match_the_schema(results: Path) -> None:
    jsonschema.validate(json.loads(results.read_text(encoding="utf-8")), results_schema.schema())


def test_invalid_estimates_do_not_match_the_schema(results: Path) -> None:
    data = json.loads(results.read_text(encoding="utf-8"))
    data["biasmap"]["pairs"][0]["miou"] = 0.3
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(data, results_schema.schema())
