"""OpenBias's questions about pictures whose answers are known."""

from __future__ import annotations

import pytest

from askew.methods.openbias import openbias
from askew.types import Axis, Estimate, Missing, Picture, Question

GENDER = Axis("gender", ("male", "female"), questions=(Question("Gender?", ("male", "female"), "gender"),))
PLACE = Axis("place", ("in", "out"), questions=(Question("Where?", ("in", "out"), "place"),))
OPEN = Axis("mood", (), questions=(Question("Mood?", (), "mood"),))


def test_one_sided_answers_are_found_and_even_ones_are_not() -> None:
    pictures: list[Picture | Missing] = [Picture(str(k), "", "a nurse") for k in range(20)]

    def ask(some: object, questions: object) -> dict[str, list[str | Missing]]:
        return {str(k): ["female", ("in", "out")[k % 2]] for k in range(20)}

    entries = openbias({"a nurse": pictures}, lambda prompt: [GENDER, PLACE, OPEN], ask, seed=0, draws=200, level=0.95)
    scores = {entry["axis"]: entry["score"] for entry in entries}
    assert set(scores) == {"gender", "place"}
    assert entries[0]["counts"] == {"male": 0, "female": 20}
    assert scores["gender"].value == 1.0
    assert scores["gender"].q < 0.05
    assert scores["place"].value == pytest.approx(0.0)
    assert scores["place"].q > 0.5


def test_without_an_answer_there_is_no_score() -> None:
    pictures: list[Picture | Missing] = [Picture("1", "", "a nurse"), Missing("refused")]
    entries = openbias(
        {"a nurse": pictures}, lambda p: [GENDER], lambda s, q: {"1": [Missing("no_person")]},
        seed=0, draws=100, level=0.95,
    )  # fmt: skip
    assert isinstance(entries[0]["score"], Missing)
    assert not isinstance(entries[0]["score"], Estimate)
