"""ITI-GEN: its loss by plain sums, learning with the studio's text tower, and damaged files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.numpy import load

import askew
import tiny_pipelines
from askew.errors import UsageError
from askew.measure.studio import StudioEmbedder
from askew.mitigations import base as mitigation
from askew.mitigations import iti_gen
from askew.mitigations.iti_gen import (
    ITIGen,
    direction_loss,
    encode_tokens,
    encoder_digest,
    learn_tokens,
    states_with_tokens,
)
from askew.models.base import Request
from askew.models.diffusers.model import DiffusersModel
from askew.store.states import StateFile

PROMPT = "a photo of a nurse"
EVEN = {"gender": {"male": 0.5, "female": 0.5}}


def unit(x: np.ndarray) -> np.ndarray:
    return x / np.linalg.norm(x, axis=-1, keepdims=True)


def test_the_loss_agrees_with_a_plain_sum() -> None:
    rng = np.random.default_rng(0)
    shape = (3, 2)
    texts = unit(rng.normal(size=(6, 8)))
    original = unit(rng.normal(size=8))
    pictures = [unit(rng.normal(size=8)) for _ in range(3)]
    loss = direction_loss(
        torch.tensor(texts),
        [torch.tensor(picture) for picture in pictures],
        torch.tensor(original),
        0,
        shape,
    )
    table = texts.reshape(3, 2, 8)
    total = 0.0
    for i, j in combinations(range(3), 2):
        parts = []
        for other in range(2):
            t_i = table[i, other]
            t_j = table[j, other]
            aligned = float(unit(pictures[i] - pictures[j]) @ unit(t_i - t_j))
            parts.append(1 - aligned + max(0.0, 0.8 - float(t_i @ original + t_j @ original) / 2))
        total += float(np.mean(parts))
    assert float(loss) == pytest.approx(total / 2, abs=1e-6)


def test_the_first_step_on_equal_texts_follows_the_cosine_loss() -> None:
    text = unit(np.ones(4))
    pictures = [unit(np.array([1.0, 0, 0, 0])), unit(np.array([0, 1.0, 0, 0]))]
    texts = torch.tensor(np.stack([text, text]))
    loss = direction_loss(texts, [torch.tensor(picture) for picture in pictures], texts[0], 0, (2,))
    assert float(loss) == pytest.approx(
        sum(1 - float(picture @ text) for picture in pictures), abs=1e-9
    )


EPOCHS = 20


@contextmanager
def fewer_epochs() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(iti_gen, "EPOCHS", EPOCHS)
        yield


@pytest.fixture(scope="module")
def learned() -> tuple[StudioEmbedder, dict[str, np.ndarray], list[np.ndarray]]:
    embedder = StudioEmbedder()
    rng = np.random.default_rng(1)
    texts = [embedder.embed_texts([f"a photo of a {value} nurse"])[0] for value in EVEN["gender"]]
    pictures = [
        unit(text + 0.02 * rng.normal(size=(20, len(text)))).astype(np.float32) for text in texts
    ]
    with fewer_epochs():
        tokens = learn_tokens(*embedder.text_tower(), [PROMPT], {"gender": pictures}, 0)
    return embedder, tokens, pictures


def test_learned_texts_differ_as_the_images_do(
    learned: tuple[StudioEmbedder, dict[str, np.ndarray], list[np.ndarray]],
) -> None:
    embedder, tokens, pictures = learned
    model, tokenizer = embedder.text_tower()
    texts = []
    with torch.no_grad():
        for table in tokens["gender"]:
            states, place = states_with_tokens(model, tokenizer, PROMPT, torch.tensor(table)[None])
            texts.append(unit(model.text_projection(states[0, place]).numpy()))
    away = unit(pictures[0].mean(axis=0) - pictures[1].mean(axis=0))
    assert float(unit(texts[0] - texts[1]) @ away) > 0.9
    assert tokens["gender"].shape == (2, 3, 128)


def test_a_truncated_file_and_an_empty_value_are_errors_of_one_sentence(
    learned: tuple[StudioEmbedder, dict[str, np.ndarray], list[np.ndarray]],
) -> None:
    embedder, tokens, _ = learned
    whole = {
        "method": "iti-gen",
        "targets": EVEN,
        "tokens": {"gender": encode_tokens(tokens["gender"])},
        "width": 128,
        "encoder": encoder_digest(embedder.text_tower()[0].text_model),
    }
    loaded = mitigation.parse_mitigation(whole, "m.toml")
    assert isinstance(loaded, ITIGen)
    assert np.array_equal(loaded.table("gender"), tokens["gender"])
    with pytest.raises(
        UsageError, match="the tokens of 'gender' are incomplete or damaged: 3072 bytes are needed"
    ):
        mitigation.parse_mitigation(
            whole | {"tokens": {"gender": whole["tokens"]["gender"][:-8]}}, "m.toml"
        )
    with pytest.raises(UsageError, match="one of the values of 'gender' has no images"):
        learn_tokens(
            *embedder.text_tower(), [PROMPT], {"gender": [np.zeros((0, 128)), np.ones((1, 128))]}, 0
        )


@pytest.mark.parametrize("damage", ["swapped tokens", "swapped values", "random tokens", "shares"])
def test_tokens_carry_a_digest(
    learned: tuple[StudioEmbedder, dict[str, np.ndarray], list[np.ndarray]], damage: str
) -> None:
    """Swapped tokens would give women where men are asked for."""
    _, tokens, _ = learned
    table = tokens["gender"]
    whole = ITIGen(
        targets={"gender": {"male": 0.9, "female": 0.1}},
        tokens={"gender": encode_tokens(table)},
        width=128,
        encoder="0",
    )
    signed = whole.with_digest()
    assert signed.fingerprint == whole.fingerprint
    content = signed.model_dump(mode="json")
    assert mitigation.parse_mitigation(content, "m.toml") == signed
    if damage == "shares":
        shares = {"gender": {"male": 0.5, "female": 0.5}}
        assert mitigation.parse_mitigation(content | {"targets": shares}, "m.toml")
        return
    changes = {
        "swapped tokens": {"tokens": {"gender": encode_tokens(table[::-1])}},
        "swapped values": {"targets": {"gender": {"female": 0.1, "male": 0.9}}},
        "random tokens": {"tokens": {"gender": encode_tokens(np.zeros_like(table))}},
    }
    with pytest.raises(UsageError, match="the digest differs"):
        mitigation.parse_mitigation(content | changes[damage], "m.toml")


@pytest.mark.slow
def test_killed_training_continues_to_the_same_bytes(
    learned: tuple[StudioEmbedder, dict[str, np.ndarray], list[np.ndarray]], tmp_path: Path
) -> None:
    embedder, tokens, pictures = learned
    done: list[int] = []

    def killed(epochs: int) -> None:
        done.append(epochs)
        if sum(done) == 12:
            raise KeyboardInterrupt

    asked = (
        *embedder.text_tower(),
        [PROMPT],
        {"gender": pictures},
        0,
        StateFile(tmp_path / "kept"),
    )
    with fewer_epochs():
        with pytest.raises(KeyboardInterrupt):
            learn_tokens(*asked, killed)
        done.clear()
        again = learn_tokens(*asked, done.append)
        assert done == [12] + [1] * (EPOCHS - 12)
        assert again["gender"].tobytes() == tokens["gender"].tobytes()
        assert learn_tokens(*asked)["gender"].tobytes() == tokens["gender"].tobytes()


def test_tokens_can_be_exported(
    learned: tuple[StudioEmbedder, dict[str, np.ndarray], list[np.ndarray]],
) -> None:
    embedder, tokens, _ = learned
    technique = ITIGen(
        targets=EVEN,
        tokens={"gender": encode_tokens(tokens["gender"])},
        width=128,
        encoder=encoder_digest(embedder.text_tower()[0].text_model),
    )
    assert np.array_equal(load(technique.extra_files()[".safetensors"])["gender"], tokens["gender"])


def test_tokens_of_another_text_encoder_are_refused_by_name(tmp_path: Path) -> None:
    tokens = {"gender": encode_tokens(np.ones((2, 3, 32), np.float32))}
    technique = ITIGen(targets=EVEN, tokens=tokens, width=32, encoder="0" * 16)
    for family, reason in (
        ("stable-diffusion", "a text encoder that differs from that of this StableDiffusionPip"),
        ("stable-diffusion-xl", "a single text encoder, but the Stable.*XLPipeline of .* has more"),
    ):
        model = DiffusersModel(
            tiny_pipelines.save(family, tmp_path / family), num_inference_steps=1
        )
        with pytest.raises(UsageError, match=reason):
            technique.wrap(model).generate([Request(PROMPT, 1, 0)])


def test_a_full_prompt_is_an_error() -> None:
    model, tokenizer = StudioEmbedder().text_tower()
    with pytest.raises(UsageError, match="leaves no room for 3 tokens; shorten the prompt"):
        states_with_tokens(
            model, tokenizer, "a photo of " + "old " * 60 + "nurse", torch.zeros(1, 3, 128)
        )


@pytest.mark.slow
def test_two_axes_at_once_lose_half_of_their_bias(tmp_path: Path) -> None:
    """Bias in gender and age of the studio's nurses halves; a prefix alone left .24 of .42."""
    findings = askew.mitigate(
        PROMPT,
        axes=["gender", "age"],
        monitor=["gender", "age"],
        model="studio",
        techniques=["iti-gen"],
        images=48,
        eval_images=96,
        run=tmp_path / "run",
    ).findings
    before = [axis.before.mark for axis in findings.techniques[0].axes]
    after = [axis.after.mark for axis in findings.techniques[0].axes]
    assert np.mean(after) < np.mean(before) / 2
