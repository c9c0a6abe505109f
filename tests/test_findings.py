"""Findings are read back as written, and faults and estimates are named by their place."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests

from askew import findings
from askew.errors import RunError, UsageError
from askew.findings import (
    FORMAT,
    E,
    Environment,
    Head,
    Identity,
    Instruments,
    MappingKey,
    scored,
    with_q,
)
from askew.plan import RunPlan
from askew.types import Estimate, Missing, record


class TinyPlan(RunPlan):
    """A plan."""

    method: str = "tiny"


@record
class Scores:
    """Scores of an axis."""

    axis: str
    mad: E
    shares: Annotated[Mapping[str, E], MappingKey("value")]
    chance: float | None = None


@record
class TinyFindings(Head):
    """Findings."""

    plan: TinyPlan
    tiny: tuple[Scores, ...]


def tiny_findings(*scores: Scores) -> TinyFindings:
    plan = TinyPlan()
    machine = Environment(
        "3.11", "here", {"numpy": "2"}, None, 1, None, "2026-01-01T00:00:00+00:00"
    )
    head = Head(
        FORMAT,
        "0",
        1,
        plan,
        plan.hash,
        machine,
        (),
        Identity("m", "1", {"bias": 0.5}),
        Instruments(),
        (),
    )
    return head.into(TinyFindings, tiny=scores)


def estimate_with(value: float, p: float | None = None) -> Estimate:
    return Estimate(value, value - 1, value + 1, 0.95, "a method", 12, 1, p=p)


FINDINGS = tiny_findings(
    Scores(
        "gender",
        estimate_with(5.557e-05, 0.01),
        {"female": estimate_with(0.25, 0.02), "male": Missing("no_person", "")},
    ),
    Scores("age", Missing("not_asked", "nobody"), {"young": estimate_with(1.0)}),
)


def changed(tmp_path: Path, **fields: object) -> Path:
    data: dict[str, Any] = json.loads(findings.written(FINDINGS))
    path = tmp_path / "results.json"
    path.write_text(json.dumps({**data, **fields}), encoding="utf-8")
    return path


def test_findings_are_read_back_as_they_were_written(tmp_path: Path) -> None:
    path = findings.write(FINDINGS, tmp_path / "results.json")
    assert findings.read(TinyFindings, path) == FINDINGS
    assert findings.write(FINDINGS, tmp_path / "again.json").read_bytes() == path.read_bytes()


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_finite_number_survives(value: float) -> None:
    result = tiny_findings(Scores("gender", Estimate(value), {}))
    back = findings.adapter(TinyFindings).validate_json(findings.written(result))
    assert back.tiny[0].mad.value == value


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_a_number_that_is_not_finite_is_not_written(tmp_path: Path, number: float) -> None:
    with pytest.raises(RunError, match=r"tiny\.0\.chance is -?(nan|inf): .*finite number"):
        findings.write(
            tiny_findings(Scores("gender", estimate_with(1.0), {}, number)),
            tmp_path / "results.json",
        )
    assert not (tmp_path / "results.json").exists()
    with pytest.raises(ValueError, match="must be Missing"):
        estimate_with(number)


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"format": FORMAT + 1}, "newer askew .* upgrade"),
        ({"format": FORMAT - 1}, "older askew: repeat the run's command"),
        (
            {"tiny": [{"axis": "gender"}]},
            r"tiny\.0\.mad.* Field required.*repeat the run's command",
        ),
        (
            {"tiny": [{"axis": 3, "mad": {"reason": "error"}, "shares": {}}]},
            r"tiny\.0\.axis is 3: .*string",
        ),
        ({"unheard": 1}, "unheard is 1: .*(Unexpected|not permitted)"),
    ],
)
def test_errors_of_reading_name_the_place_and_the_remedy(
    tmp_path: Path, fields: dict[str, object], says: str
) -> None:
    with pytest.raises(UsageError, match=says):
        findings.read(TinyFindings, changed(tmp_path, **fields))


@pytest.mark.parametrize(
    ("text", "says"), [("{", "not strict JSON"), ("[]", "JSON object"), ('{"a": NaN}', "NaN")]
)
def test_other_files_are_refused(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "results.json").write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match=says):
        findings.read(TinyFindings, tmp_path / "results.json")


def test_a_folder_without_results_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(
        UsageError, match=r"contains no results\.json: name the folder of a finished run"
    ):
        findings.read(TinyFindings, tmp_path / "results.json")


def test_every_estimate_is_listed_with_its_names() -> None:
    estimates = list(scored(FINDINGS))
    assert [(entry.score, entry.names) for entry in estimates] == [
        ("mad", {"axis": "gender"}),
        ("shares", {"axis": "gender", "value": "female"}),
        ("shares", {"axis": "age", "value": "young"}),
    ]
    assert estimates[1].address == ("tiny", 0, "shares", "female")
    assert findings.score_names(TinyFindings) == ["mad", "shares"]


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
def test_q_values_are_those_of_benjamini_and_hochberg(ps: list[float]) -> None:
    adjusted = with_q(tuple(Estimate(0.0, p=p) for p in ps), lambda at: "all")
    expected = multipletests(ps, method="fdr_bh")[1]
    assert np.allclose([estimate.q for estimate in adjusted], expected)


def test_families_are_adjusted_separately_and_one_is_left_out() -> None:
    first = Estimate(0.0, p=0.01)
    second = Estimate(0.0, p=0.04)
    adjusted = with_q(
        {"a": (first, second), "b": (second,), "c": (first,)},
        lambda at: None if at[0] == "c" else at[0],
    )
    assert [entry.estimate.q for entry in scored(adjusted)] == pytest.approx(
        [0.02, 0.04, 0.04, None]
    )
    assert adjusted["c"] == (first,)


def test_nothing_else_changes_with_q() -> None:
    whole = with_q(FINDINGS, lambda at: "all")
    assert replace(whole, tiny=FINDINGS.tiny) == FINDINGS
    assert whole.tiny[0].axis == "gender"
    assert whole.tiny[0].shares["male"] == FINDINGS.tiny[0].shares["male"]


def test_seeds_are_texts_in_json_and_numbers_of_older_files_are_read() -> None:
    picture_set = findings.PictureSet(
        prompt="a nurse",
        axis=None,
        value=None,
        text="a nurse",
        n=1,
        missing={},
        pictures=("a",),
        seeds=(2**63 - 1, None),
    )
    text = findings.adapter(findings.PictureSet).dump_json(picture_set)
    assert b'["9223372036854775807",null]' in text
    assert findings.adapter(findings.PictureSet).validate_json(text) == picture_set
    older = text.replace(b'"9223372036854775807"', b"9223372036854775807")
    assert findings.adapter(findings.PictureSet).validate_json(older) == picture_set
