"""Damage to the learned tokens in a store is named, and the tokens are learned a second time."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

from askew.cli import run
from askew.measure.studio import StudioEmbedder
from askew.mitigations import iti_gen
from askew.store.states import StateFile
from askew.store.store import Store

PROMPT = "a photo of a nurse"


def learn(state: StateFile) -> tuple[bytes, list[int]]:
    """Return the tokens learned from random vectors, and the epochs that were reported."""
    rng = np.random.default_rng(0)
    vectors = [rng.normal(size=(5, 128)).astype(np.float32) for _ in range(2)]
    reported: list[int] = []
    tables = iti_gen.learn_tokens(
        *StudioEmbedder().text_tower(), [PROMPT], {"gender": vectors}, 0, state, reported.append
    )
    return tables["gender"].tobytes(), reported


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a store; learning takes only four epochs."""
    monkeypatch.setattr(iti_gen, "EPOCHS", 2)
    Store(tmp_path / ".askew").close()
    return tmp_path / ".askew"


def flipped(data: bytes, place: int) -> bytes:
    return data[: place // 8] + bytes([data[place // 8] ^ 1 << place % 8]) + data[place // 8 + 1 :]


@pytest.mark.slow
def test_damaged_tokens_are_named_set_aside_and_learned_a_second_time(
    store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    state = StateFile(store / "iti-gen" / ("ab" * 32))
    tokens, reported = learn(state)
    assert reported == [1] * 2
    assert learn(state) == (tokens, [2])
    assert run(["check", str(store)]) == 0
    whole = state.path.read_bytes()
    places = random.Random(1).sample(range(8 * len(whole)), 40)
    damaged = [flipped(whole, place) for place in (0, 64 * 8, *places)]
    damaged += [b"", whole[:1000], whole[:-1], whole + b"\0", whole[65:]]
    for data in damaged:
        state.path.write_bytes(data)
        assert not state.is_intact
    state.path.write_bytes(flipped(whole, 8 * (len(whole) // 2)))
    capsys.readouterr()
    assert run(["check", str(store)]) == 1
    assert f"{state.path} has changed: its checksum differs" in capsys.readouterr().err
    assert learn(state) == (tokens, [1] * 2)
    assert run(["check", str(store)]) == 0
    assert len([*(store / "quarantine").iterdir()]) == 1


def test_tokens_under_another_name_are_damage(store: Path) -> None:
    """Tokens for other images have another name; a renamed file would give other results."""
    state = StateFile(store / "iti-gen" / ("ab" * 32))
    state.write(b"tokens")
    assert state.read() == b"tokens"
    other = StateFile(store / "iti-gen" / ("cd" * 32))
    state.path.rename(other.path)
    assert other.read() is None


def test_a_state_of_another_computation_is_set_aside(store: Path) -> None:
    """The checksum is right, but the content is not a state of these tokens."""
    state = StateFile(store / "iti-gen" / ("ab" * 32))
    tokens, _ = learn(state)
    state.write(b"PK no state")
    assert learn(state) == (tokens, [1] * 2)


def test_rebuilding_a_store_sets_damaged_tokens_aside(
    store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    state = StateFile(store / "iti-gen" / ("ab" * 32))
    state.write(b"tokens")
    state.path.write_bytes(state.path.read_bytes()[:-1])
    assert run(["check", str(store), "--rebuild"]) == 0
    assert (
        "damaged saved states of token learning moved to quarantine: 1" in capsys.readouterr().out
    )
    assert run(["check", str(store)]) == 0
