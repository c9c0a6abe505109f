"""The published schema is generated from the records, and results of a run match it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator, ValidationError

import askew
from tools import results_schema


def test_the_published_schema_is_generated_from_the_records() -> None:
    published = results_schema.FILE.read_text(encoding="utf-8")
    assert published == results_schema.text(), "write it anew: python tools/results_schema.py"


@pytest.fixture(scope="module")
def results(tiny: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("schema") / "run"
    return askew.map(
        "a nurse",
        concept="gender",
        against="nurse",
        model=f"diffusers/{tiny('stable-diffusion')}",
        images=2,
        model_args={"num_inference_steps": 1},
        bootstrap_samples=100,
        run=folder,
    ).numbers


@pytest.fixture(scope="module")
def validator() -> Draft202012Validator:
    schema = results_schema.schema()
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


def test_results_match_the_schema(results: Path, validator: Draft202012Validator) -> None:
    validator.validate(json.loads(results.read_text(encoding="utf-8")))


def test_invalid_estimates_do_not_match_the_schema(
    results: Path, validator: Draft202012Validator
) -> None:
    data = json.loads(results.read_text(encoding="utf-8"))
    data["biasmap"]["pairs"][0]["miou"] = 0.3
    with pytest.raises(ValidationError):
        validator.validate(data)
