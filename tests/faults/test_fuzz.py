"""Any content of files and answers gives a result or one sentence, no traceback and no lost row."""

from __future__ import annotations

import json
import string
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

from askew.errors import AskewError
from askew.hosted import Server
from askew.models.folder import create
from askew.plan import read_plan
from askew.prompts.openai import create as writer_of
from askew.store.store import Store
from askew.types import Missing, Question
from local_llm import says, serving
from local_server import Reply

pytestmark = pytest.mark.slow
MANY = settings(max_examples=2_500, deadline=None, suppress_health_check=list(HealthCheck))
SOME = settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
TEXT = st.text(max_size=30)
CELL = TEXT | st.sampled_from(
    ["a.png", "b.png", "../a.png", "/a.png", "a.png\\..", "", "initial", "M", "F", '"', "\n"]
)
LEAF = st.none() | st.booleans() | st.floats() | st.integers() | TEXT
JSON = st.recursive(
    LEAF, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4)
)
ANSWER = st.one_of(TEXT, st.just(Missing("error")), st.just(Missing("refused", "\x00")))


def folder_with(manifest: bytes, place: Path) -> Path:
    for k, name in enumerate("ab"):
        pixels = np.random.default_rng(k).integers(0, 256, (4, 4, 3), np.uint8)
        Image.fromarray(pixels).save(place / f"{name}.png")
    (place / "manifest.csv").write_bytes(manifest)
    return place


@MANY
@given(
    st.lists(st.lists(CELL, min_size=2, max_size=4), max_size=6), st.sampled_from([",", ";", "\t"])
)
def test_manifests_and_labels(rows: list[list[str]], delimiter: str) -> None:
    lines = [delimiter.join(row) for row in [["file", "prompt", "gender", "condition"], *rows]]
    data = "\n".join(lines).encode("utf-8", "surrogatepass")
    with TemporaryDirectory() as place, suppress(AskewError):
        pictures = create(str(folder_with(data, Path(place)))).pictures()
        assert all(entry.path.is_relative_to(Path(place).resolve()) for entry in pictures)


@MANY
@given(st.binary(max_size=200))
def test_manifests_of_any_bytes(data: bytes) -> None:
    with TemporaryDirectory() as place, suppress(AskewError):
        create(str(folder_with(b"file,prompt\n" + data, Path(place)))).pictures()


@MANY
@given(
    st.one_of(
        st.binary(max_size=200),
        st.text(string.printable, max_size=200).map(str.encode),
        JSON.map(lambda node: f'method = "audit"\nprompts = {json.dumps(node)}'.encode()),
    )
)
def test_plans(data: bytes) -> None:
    with TemporaryDirectory() as place:
        (Path(place) / "plan.toml").write_bytes(data)
        with suppress(AskewError):
            read_plan(Path(place) / "plan.toml")


@MANY
@given(st.lists(ANSWER, min_size=1, max_size=4))
def test_answers_are_stored_exactly_or_refused_by_name(answers: list[str | Missing]) -> None:
    asked = [Question(f"{k}?") for k in range(len(answers))]
    with TemporaryDirectory() as place, Store(place) as store:
        given_back = store.put_answers("vqa", ["p"], asked, [answers])
        assert list(given_back.values()) == answers
        final = [str(answer) for answer in answers if answer != Missing("error")]
        assert sorted(map(str, store.answers("vqa", ["p"], asked).values())) == sorted(final)


@SOME
@given(
    st.binary(max_size=300) | JSON.map(lambda node: json.dumps(node).encode()),
    st.sampled_from([200, 400, 404]),
)
def test_answers_of_a_server(body: bytes, status: int) -> None:
    with serving(lambda number, content: Reply(body, status)) as server, suppress(AskewError):
        Server(server.url, attempts=1).chat(model="m", messages=[{"role": "user", "content": "?"}])


@SOME
@given(st.one_of(TEXT, JSON.map(json.dumps)))
def test_answers_of_a_language_model(text: str) -> None:
    with serving(lambda number, content: says(text)) as server, suppress(AskewError):
        writer_of("m", url=server.url).propose("a photo of a nurse", None, 0)
