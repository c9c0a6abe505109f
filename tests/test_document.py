"""The tidy table of all estimates, and its file formats."""

from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import dataclass
from typing import Any

import pytest

from askew import document
from askew.document import Document, EstimateRow, rows
from askew.findings import scored
from askew.pages.plain import escaped
from askew.types import Estimate
from test_findings import FINDINGS, Scores, tiny_findings

pyarrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")


@dataclass
class TinyDocument(Document):
    """A document without a page."""

    findings: Any = FINDINGS
    page = report = None

    def estimates(self) -> list[EstimateRow]:
        return rows(scored(self.findings), "tiny", self.findings.model.name)


def test_a_row_contains_method_model_place_and_score() -> None:
    first, second, _ = TinyDocument().estimates()
    assert (first.method, first.model, first.axis, first.score) == ("tiny", "m", "gender", "mad")
    assert (second.of, second.value, second.n, second.missing) == ("female", 0.25, 12, 1)


def test_csv_is_read_back() -> None:
    text = TinyDocument().export("csv")
    read = list(csv.DictReader(io.StringIO(str(text))))
    assert [float(row["value"]) for row in read] == [5.557e-05, 0.25, 1.0]
    assert read[0]["q"] == ""


@pytest.mark.parametrize("begin", ["=", "+", "-", "@"])
def test_no_cell_of_csv_is_a_formula(begin: str) -> None:
    findings = tiny_findings(Scores(f"{begin}1+1", Estimate(-2.5), {}))
    (row,) = csv.DictReader(io.StringIO(str(TinyDocument(findings).export("csv"))))
    assert row["axis"] == f"'{begin}1+1"
    assert float(row["value"]) == -2.5


@pytest.mark.parametrize("end", ["\r", "\r\n"])
def test_a_carriage_return_starts_no_row_of_csv(end: str) -> None:
    findings = tiny_findings(Scores(f"a{end}=1+1", Estimate(-2.5), {}))
    text = str(TinyDocument(findings).export("csv"))
    assert "\r" not in text
    (row,) = csv.DictReader(io.StringIO(text))
    assert row["axis"] == "a\n=1+1"
    begins = tiny_findings(Scores(f"{end}=1+1", Estimate(-2.5), {}))
    (row,) = csv.DictReader(io.StringIO(str(TinyDocument(begins).export("csv"))))
    assert row["axis"] == "'\n=1+1"


@pytest.mark.parametrize("text", ["see https://a.example/b", "FTP://a.example", "www.a.example"])
def test_addresses_in_markdown_are_no_links(text: str) -> None:
    assert not re.search(r"://|www\.\w", escaped(text), re.IGNORECASE)


def test_json_and_parquet_have_the_same_content() -> None:
    from_json = json.loads(TinyDocument().export("json"))
    from pyarrow import parquet

    content = TinyDocument().export("parquet")
    assert isinstance(content, bytes)
    assert parquet.read_table(io.BytesIO(content)).to_pylist() == from_json


def test_a_frame_is_of_the_best_installed_package(monkeypatch: pytest.MonkeyPatch) -> None:
    from_json = json.loads(TinyDocument().export("json"))
    pandas = pytest.importorskip("pandas")
    frame = TinyDocument().frame()
    assert isinstance(frame, pandas.DataFrame)
    assert list(frame["value"]) == [row["value"] for row in from_json]
    assert list(frame.columns) == list(from_json[0])
    installed = {"pandas", "pyarrow"}
    monkeypatch.setattr(document, "find_spec", lambda name: name in installed)
    installed.remove("pandas")
    assert TinyDocument().frame().to_pylist() == from_json
    installed.clear()
    assert TinyDocument().frame() == TinyDocument().estimates()
