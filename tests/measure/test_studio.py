"""The studio's instruments: correct on new drawings, and silent where there is nothing to label."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from askew.measure import studio
from askew.measure.base import CAPTION, PERSON
from askew.measure.small_clip import SmallClip
from askew.measure.studio import VALUES, StudioEmbedder, StudioVQA, Vectors
from askew.prompts.axes import AXES, BIASCONNECT, find_axis
from askew.store.files import sha256
from askew.studio import weights
from askew.studio.caption import lexicon, parse
from askew.studio.drawing import draw
from askew.studio.scene import ATTRIBUTES, Scene
from askew.types import Missing, Picture, Question
from benchmarks.heard import worded
from benchmarks.studio_vqa import SEED, accuracy, chance, confusion, covered, person_accuracy
from training.drawings import render, uniform_scenes

COUNT = 200
LEAST = {"disability": 0.95}
QUICKLY_COVERED = {"gender"}

NURSE = Scene(
    gender="male",
    age="old",
    ethnicity="asian",
    disability="wheelchair",
    occupation="nurse",
    hair="long",
)


@pytest.fixture(scope="module")
def vqa() -> StudioVQA:
    return StudioVQA()


Drawings = tuple[list[Scene], NDArray[np.uint8]]


@pytest.fixture(scope="module")
def drawings() -> Drawings:
    scenes = uniform_scenes(COUNT, SEED + 1)
    return scenes, render(scenes, range(SEED, SEED + COUNT))


@pytest.fixture(scope="module")
def vectors(vqa: StudioVQA, drawings: Drawings) -> Vectors:
    return vqa.embedder.embed_pixels(drawings[1])


def picture_of(scene: Scene, folder: Path, seed: int = 5) -> Picture:
    path = folder / "picture.png"
    draw(scene, seed).save(path)
    return Picture(sha256(path.read_bytes()), str(path), "a prompt")


@pytest.mark.parametrize("attribute", VALUES)
def test_new_drawings_are_labeled_correctly(
    vqa: StudioVQA, drawings: Drawings, vectors: Vectors, attribute: str
) -> None:
    assert accuracy(confusion(vqa, drawings[0], vectors, attribute)) >= LEAST.get(attribute, 0.97)


@pytest.mark.parametrize(
    "attribute",
    [
        pytest.param(name, marks=() if name in QUICKLY_COVERED else pytest.mark.slow)
        for name in ATTRIBUTES
    ],
)
def test_a_covered_attribute_is_not_labeled(
    vqa: StudioVQA, drawings: Drawings, attribute: str
) -> None:
    scenes = drawings[0][:24]
    pixels = drawings[1][:24]
    counts = confusion(
        vqa, scenes, vqa.embedder.embed_pixels(covered(scenes, pixels, attribute)), attribute
    )
    guess = chance(counts)
    assert accuracy(counts) <= guess + 4 * np.sqrt(guess * (1 - guess) / counts.sum())


def test_every_word_of_the_grammar_is_near_its_value(vqa: StudioVQA) -> None:
    """The text tower, which the diffusion models share, embeds a prompt nearest its value."""
    prompts = list(map(worded, lexicon()))
    descriptions = [parse(prompt) for prompt in prompts]
    vectors = vqa.embedder.embed_texts(prompts)
    read = {name: vqa.read(vectors, name) for name in VALUES}
    wrong = set()
    for k, (prompt, description) in enumerate(zip(prompts, descriptions, strict=True)):
        values = {**description.attributes, "occupation": description.occupation}
        if any(value and read[name][k] != value for name, value in values.items()):
            wrong.add(prompt)
    assert wrong == {"a photo of sheet metal workers", "a photo of a person no glasses"}


def test_another_tokenizer_is_another_instrument(
    vqa: StudioVQA, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(weights("embedder"), tmp_path, dirs_exist_ok=True)
    monkeypatch.setattr(studio, "weights", lambda name: tmp_path)
    assert StudioVQA(StudioEmbedder()).fingerprint == vqa.fingerprint
    tokenizer = tmp_path / "tokenizer.json"
    tokenizer.write_text(tokenizer.read_text().replace('"woman"', '"womxn"'))
    assert StudioVQA(StudioEmbedder()).fingerprint != vqa.fingerprint


def test_the_plain_network_equals_that_of_transformers(drawings: Drawings) -> None:
    embedder = StudioEmbedder()
    model, tokenizer = embedder.text_tower()
    network = SmallClip(weights("embedder"))
    texts = ["a nurse", "Café  men's 12 glasses <|endoftext|> and a woman", "", "word " * 80]
    with torch.inference_mode():
        for count in (1, 7):
            batch = studio.network_input(drawings[1][:count])
            wanted = model.get_image_features(pixel_values=batch).pooler_output
            assert torch.equal(network.images(batch), wanted)
        for group in (texts[:1], texts):
            tokens = tokenizer(group, padding=True, truncation=True, return_tensors="pt")
            assert torch.equal(
                network.texts(group), model.get_text_features(**tokens).pooler_output
            )


@pytest.mark.slow
def test_labels_need_torch_but_not_transformers() -> None:
    code = """if True:
    import sys
    import numpy as np
    from askew.measure.studio import StudioVQA
    from askew.prompts.axes import AXES
    vqa = StudioVQA()
    vectors = vqa.embedder.embed_pixels(np.zeros((1, 128, 128, 3), np.uint8))
    assert vqa.answer_vectors(vectors, AXES["gender"].questions)
    print(*{"torch", "transformers", "diffusers"} & set(sys.modules))
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["torch"]


def test_drawings_without_a_person_are_recognized(
    vqa: StudioVQA, drawings: Drawings, vectors: Vectors
) -> None:
    assert person_accuracy(vqa, drawings[0], vectors) == 1.0


def test_without_a_person_answers_about_people_are_missing(vqa: StudioVQA, tmp_path: Path) -> None:
    empty = picture_of(Scene(person=False, environment="outdoors", style="sketch"), tmp_path)
    questions = [*AXES["gender"].questions, PERSON, *AXES["environment"].questions, CAPTION]
    gender, person, environment, words = vqa.answer([empty], questions)[0]
    assert gender == Missing("no_person")
    assert (person, environment) == ("no", "outdoors")
    assert not parse(str(words)).person


def test_every_axis_of_biasconnect_is_answered(vqa: StudioVQA, tmp_path: Path) -> None:
    picture = picture_of(NURSE, tmp_path)
    for name in BIASCONNECT:
        axis = find_axis(name)
        assert axis.read(vqa.answer([picture], axis.questions)[0]) == getattr(NURSE, name)


def test_open_questions_are_answered_from_concepts(vqa: StudioVQA, tmp_path: Path) -> None:
    picture = picture_of(NURSE, tmp_path)
    open_questions = [
        Question("Describe the appearance in the image.", (), "appearance"),
        Question("What is the ethnicity of the person in the image?", (), "race"),
        Question("What is the economic outlook?", (), "economy"),
    ]
    appearance, race, economy = vqa.answer([picture], open_questions)[0]
    assert "male" in str(appearance).split()
    assert race == "asian"
    assert isinstance(economy, Missing)
    assert economy.reason == "not_asked"


def test_other_words_for_the_options_are_understood(vqa: StudioVQA, tmp_path: Path) -> None:
    question = Question("What is the body type?", ("fat", "thin", "muscular"), "body_type")
    assert vqa.answer([picture_of(Scene(body_type="obese"), tmp_path)], [question]) == [["fat"]]


def test_a_caption_states_the_labels(vqa: StudioVQA, tmp_path: Path) -> None:
    description = parse(str(vqa.answer([picture_of(NURSE, tmp_path)], [CAPTION])[0][0]))
    assert description.occupation == "nurse"
    assert description.attributes["disability"] == "wheelchair"
    assert description.attributes["gender"] == NURSE.gender


def test_errors_are_known_for_its_own_axes_only(vqa: StudioVQA) -> None:
    counts = vqa.known_errors(AXES["gender"])
    assert counts is not None
    assert counts.shape == (2, 2)
    assert np.trace(counts) / counts.sum() > 0.95
    assert vqa.known_errors(AXES["weather"]) is None
