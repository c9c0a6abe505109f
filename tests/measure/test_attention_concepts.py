"""Concept tokens of the studio change attention maps of their concepts, and nothing else."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from askew import registry
from askew.measure.attention import AttentionReader, ConceptTokens
from askew.measure.attention.reader import decode_maps, watching
from askew.models.base import Request
from askew.studio import CONCEPT_VECTORS, CONCEPTS, weights

PROMPTS = ("a photo of a nurse", "a photo of a nurse of any gender and race")


@pytest.fixture(scope="module")
def studio() -> Any:
    return cast("Any", registry.model("studio", num_inference_steps=1))


def reader(model: Any, *concepts: str, prompt: str = PROMPTS[0]) -> AttentionReader:
    return AttentionReader(model, prompt, concepts, "nurse", "ovam", "cond", {1: 0})


def test_tokens_change_no_image_of_any_prompt(studio: Any) -> None:
    requests = [Request(prompt, 1) for prompt in PROMPTS]
    before = [np.asarray(image) for image in studio.generate(requests)]
    table = studio.pipeline.text_encoder.get_input_embeddings().weight.clone()
    ConceptTokens(studio).teach(studio.pipeline)
    after = [np.asarray(image) for image in studio.generate(requests)]
    assert np.array_equal(before, after)
    taught = studio.pipeline.text_encoder.get_input_embeddings().weight
    assert torch.equal(taught[: len(table)], table)
    assert len(taught) == len(table) + len(CONCEPTS)
    ConceptTokens(studio).teach(studio.pipeline)
    assert len(studio.pipeline.text_encoder.get_input_embeddings().weight) == len(taught)


def test_a_concept_is_mapped_by_its_token(studio: Any) -> None:
    concept_reader = reader(studio, "Gender", "xylophone")
    assert concept_reader.attributions == [
        "a photo of a nurse and <gender>",
        "a photo of a nurse and xylophone",
    ]
    with watching(studio, concept_reader) as maps:
        studio.generate([Request(PROMPTS[0], 1)])
    (row,) = maps.values()
    layers = decode_maps(row[None])
    assert {layer.shape[1] for layer in layers.values()} == {4}
    concept_reader.check()


def test_a_concept_that_is_compared_with_has_its_token_unless_the_prompt_contains_it(
    studio: Any,
) -> None:
    added = AttentionReader(studio, PROMPTS[0], ["xylophone"], "race", "ovam", "cond", {})
    assert added.attributions == ["a photo of a nurse and xylophone and <race>"]
    contained = AttentionReader(studio, PROMPTS[1], ["xylophone"], "race", "ovam", "cond", {})
    assert contained.attributions == [f"{PROMPTS[1]} and xylophone"]
    contained.check()


def test_only_fingerprints_of_concepts_with_tokens_depend_on_the_vectors(
    studio: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    known, unknown = (reader(studio, word).fingerprint for word in ("gender", "xylophone"))
    other = tmp_path / "vectors"
    other.write_bytes(b"other vectors")
    monkeypatch.setattr(type(studio), "concept_vectors", other)
    assert reader(studio, "gender").fingerprint != known
    assert reader(studio, "xylophone").fingerprint == unknown


def test_the_table_is_small_and_no_part_of_the_networks() -> None:
    table = load_file(CONCEPT_VECTORS)
    assert set(table) == set(CONCEPTS)
    assert torch.equal(table["race"], table["ethnicity"])
    assert CONCEPT_VECTORS.stat().st_size < 4096
    assert not CONCEPT_VECTORS.is_relative_to(weights("studio"))
