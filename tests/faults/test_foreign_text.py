"""Hostile JSON and TOML give one sentence within a second, whatever reads them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path

import numpy as np
import pytest

from askew import findings
from askew.cli import run
from askew.errors import AskewError
from askew.hosted import Server
from askew.measure.attention import decode_maps
from askew.methods.audit.findings import AuditFindings
from askew.mitigations.base import load_mitigation
from askew.models.folder import create
from askew.parts.survey.shares import recorded_shares
from askew.plan import read_plan
from askew.prompts.answers import UnusableAnswer, parse
from askew.prompts.llm import Completion
from askew.serve.app import ImageRequest
from askew.serve.labels import LabelRequest
from askew.serve.replies import BadRequest
from askew.store import foreign
from askew.store.completions import Completions
from askew.store.files import read_json
from askew.store.journal import Journal
from askew.store.rows import is_valid
from hostile_text import TOML, VALUES, at_most_a_second, is_one_sentence
from local_llm import serving
from local_server import Reply


def in_results(value: str, folder: Path) -> Path:
    path = folder / "results.json"
    path.write_text(f'{{"format": {value}, "shares": {value}}}')
    return path


def as_findings(value: str, folder: Path) -> None:
    findings.read(AuditFindings, in_results(value, folder))


def as_comparison(value: str, folder: Path) -> None:
    findings.read_records(tuple[int, ...], in_results(value, folder))


def as_shares(value: str, folder: Path) -> None:
    recorded_shares(in_results(value, folder).parent)


def as_manifest(value: str, folder: Path) -> None:
    (folder / "manifest.jsonl").write_text(f'{{"file": {value}}}\n')
    create(str(folder)).pictures()


def as_maps(value: str, folder: Path) -> None:
    decode_maps(np.array([[len(value), *value.encode()]], np.float32))


def as_image_request(value: str, folder: Path) -> None:
    ImageRequest.read(f'{{"prompt": "a", "seed": {value}}}'.encode())


def as_label_request(value: str, folder: Path) -> None:
    LabelRequest.read(f'{{"messages": {value}}}'.encode())


def as_model_answer(value: str, folder: Path) -> None:
    parse(Completion(f'{{"axes": {value}}}'))


REFUSING: tuple[Callable[[str, Path], None], ...] = (
    as_findings,
    as_comparison,
    as_shares,
    as_manifest,
    as_maps,
    as_image_request,
    as_label_request,
    as_model_answer,
)


@pytest.mark.parametrize("read", REFUSING)
@pytest.mark.parametrize("value", VALUES)
def test_a_reader_refuses_hostile_json(
    read: Callable[[str, Path], None], value: str, tmp_path: Path
) -> None:
    with at_most_a_second(), pytest.raises((AskewError, BadRequest, UnusableAnswer)) as caught:
        read(VALUES[value], tmp_path)
    assert is_one_sentence(caught.value)


@pytest.mark.parametrize("value", VALUES)
def test_hostile_json_in_a_store_counts_as_absent(value: str, tmp_path: Path) -> None:
    with at_most_a_second():
        (tmp_path / "opened.json").write_text(f'{{"a": {VALUES[value]}}}')
        assert read_json(tmp_path / "opened.json") == {}

        (tmp_path / "completions" / "ab").mkdir(parents=True)
        (tmp_path / "completions" / "ab" / "abc.json").write_text(f'{{"text": {VALUES[value]}}}')
        assert Completions(tmp_path).completion("abc") is None

        text = f'["reports", {VALUES[value]}, {{}}]'
        digest = blake2b(text.encode(), digest_size=8).hexdigest()
        (tmp_path / "journal.jsonl").write_text(f"\n{digest} {text}")
        assert Journal(tmp_path / "journal.jsonl").damaged() == 1

        assert not is_valid("reports", ("key", f'{{"a": {VALUES[value]}}}'))


@pytest.mark.parametrize("status", [200, 400])
@pytest.mark.parametrize("value", ["nested lists", "some levels", "5,000 digits"])
def test_hostile_answers_of_a_server(value: str, status: int) -> None:
    body = f'{{"error": {VALUES[value]}, "choices": {VALUES[value]}}}'.encode()
    headers = {"Content-Type": "application/json"}
    with (
        serving(lambda number, content: Reply(body, status, headers)) as server,
        at_most_a_second(),
        pytest.raises(AskewError) as caught,
    ):
        Server(server.url, attempts=1).chat(model="m", messages=[])
    assert is_one_sentence(caught.value)
    assert len(server.requests) == 1


@pytest.mark.parametrize("read", [read_plan, load_mitigation])
@pytest.mark.parametrize("text", TOML)
def test_a_reader_refuses_hostile_toml(
    read: Callable[[Path], object], text: str, tmp_path: Path
) -> None:
    (tmp_path / "plan.toml").write_text(TOML[text])
    with at_most_a_second(), pytest.raises(AskewError, match="cannot be read as TOML") as caught:
        read(tmp_path / "plan.toml")
    assert is_one_sentence(caught.value)


def test_long_dotted_texts_and_comments_are_no_keys() -> None:
    dots = ".".join("a" * 40)
    document = f'# {dots}\na = "{dots}"\nb = \'{dots}\'\nc = """\n{dots}\n\\" """\nd.e = 1.5\n'
    table = foreign.toml_table(document)
    assert table["a"] == table["b"] == table["c"].split("\n")[0] == dots
    assert table["d"] == {"e": 1.5}


def test_the_head_of_a_plan_ends_before_its_first_table() -> None:
    head = 'a = """\n[x]\n"""\nb = [\n[1], # ]\n["["]]\nc = {d = [2]}\n'
    table = foreign.toml_head(f"{head}  [[prompts]]\nthis is not TOML")
    assert table == {"a": "[x]\n", "b": [[1], ["["]], "c": {"d": [2]}}


def test_a_bad_run_is_one_line_of_the_list(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plans = {
        **{f"toml{number}": text for number, text in enumerate(TOML.values())},
        "unneeded": 'model = "m"\n[[prompts]]\n' + TOML["dots"],
        "good": 'method = "audit"\nmodel = "studio/planted"\n',
        "bytes": "\0",
    }
    for name, text in plans.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "plan.toml").write_text(text)
        (tmp_path / name / "plan.hash").write_text("0" * 64)
    (tmp_path / "link").mkdir()
    (tmp_path / "link" / "plan.toml").symlink_to(tmp_path / "nothing")
    with at_most_a_second():
        assert run(["runs", str(tmp_path)]) == 0
    lines = capsys.readouterr().out.splitlines()[1:]
    described = {line.split()[0]: line.split()[1:] for line in lines}
    assert described.keys() == plans.keys()
    assert described["good"][:2] == ["audit", "studio/planted"]
    assert described["unneeded"][:2] == ["audit", "m"]
    assert described["toml0"][:4] == ["?", "?", "damaged", "plan"]


def test_a_limit_is_named(tmp_path: Path) -> None:
    messages = {
        '{"a": ' + "9" * 25 + "}": "an integer of more than 20 digits",
        "[" * 101 + "]" * 101: "has more than 100 levels of nesting",
    }
    for text, message in messages.items():
        with pytest.raises(foreign.LimitError, match=re.escape(message)):
            foreign.json_value(text)
    assert foreign.json_value("[" * 100 + "]" * 100)
    assert foreign.json_value(json.dumps({"a": 10**20 - 1})) == {"a": 10**20 - 1}
