"""Requirements for all registered VQA models and embedders; a new one needs a line in VQAS or
EMBEDDERS.
"""

from __future__ import annotations

import atexit
from collections.abc import Callable
from contextlib import ExitStack
from functools import lru_cache
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp

import numpy as np
import pytest

from askew import registry
from askew.errors import MissingPackage, UsageError
from askew.measure.base import CAPTION, PERSON, VQA, Embedder, VectorVQA
from askew.prompts.axes import find_axis
from askew.types import Missing, Picture, Question
from slow_cases import quick_only

Case = Callable[[Path], tuple[str, dict[str, object]]]


@lru_cache
def network(family: str) -> Path:
    import tiny_networks  # imported here because it imports torch and transformers

    folder = Path(mkdtemp(prefix="askew-network-"))
    atexit.register(rmtree, folder, ignore_errors=True)
    written: Path = getattr(tiny_networks, family)(folder)
    return written


@lru_cache
def labeling_server() -> str:
    """Return the address of a server that labels images by the studio's VQA model."""
    from served_models import served

    stack = ExitStack()
    atexit.register(stack.close)
    return stack.enter_context(served()).url


def labeled_study(folder: Path) -> Path:
    """Return a study without the images of the folder."""
    from planted_raters import answers, planted_study

    rng = np.random.default_rng(0)
    study, truth = planted_study(
        Path(mkdtemp(prefix="askew-study-")) / "study", rng, images=12, labeled=12, raters=3
    )
    atexit.register(rmtree, study.path.parent, ignore_errors=True)
    study.write_answers(answers(study, truth, rng))
    return study.path


VQAS: dict[str, Case] = {
    "studio": lambda folder: ("studio", {}),
    "faces": lambda folder: ("faces", {}),
    "study": lambda folder: (f"study/{labeled_study(folder)}", {}),
    "labels": lambda folder: ("labels", {"collection": registry.model(f"folder/{folder}")}),
    "clip": lambda folder: (f"clip/{network('siglip')}", {}),
    "openai": lambda folder: ("openai/studio", {"url": labeling_server()}),
    "transformers": lambda folder: (f"transformers/{network('llava')}", {"max_tokens": 5}),
}
EMBEDDERS: dict[str, Case] = {
    "studio": lambda folder: ("studio", {}),
    "clip": lambda folder: (f"clip/{network('clip')}", {}),
}
GENDER = find_axis("gender").questions[0]
QUESTIONS = [GENDER, CAPTION, PERSON, Question("What is the weather like?", (), "weather")]


def load(name: str, folder: Path) -> VQA:
    try:
        string, settings = VQAS[name](folder)
        return registry.vqa(string, **settings)
    except MissingPackage as error:
        pytest.skip(str(error))


def load_embedder(name: str, folder: Path) -> Embedder:
    string, settings = EMBEDDERS[name](folder)
    return registry.embedder(string, **settings)


def test_every_registered_instrument_has_a_case() -> None:
    assert set(registry.providers("vqa")) == set(VQAS)
    assert set(registry.providers("embedder")) == set(EMBEDDERS)


@pytest.mark.parametrize("name", quick_only([name for name in VQAS if name != "faces"], VQAS))
def test_answers_have_the_shape_of_the_questions(
    name: str, drawn_folder: Path, pictures: list[Picture]
) -> None:
    vqa = load(name, drawn_folder)
    pictures = pictures[:3]
    rows = vqa.answer(pictures, QUESTIONS)
    assert [len(row) for row in rows] == [len(QUESTIONS)] * len(pictures)
    for row in rows:
        assert isinstance(row[0], Missing) or row[0] in GENDER.options
        assert all(isinstance(answer, str | Missing) and answer != "" for answer in row)
    assert vqa.answer([], QUESTIONS) == []
    assert vqa.answer(pictures[:1], []) == [[]]


@pytest.mark.parametrize("name", quick_only(["studio", "labels", "clip"], VQAS))
def test_answers_do_not_depend_on_batch_or_order(
    name: str, drawn_folder: Path, pictures: list[Picture]
) -> None:
    vqa = load(name, drawn_folder)
    group = pictures[:3]
    together = vqa.answer(group, QUESTIONS)
    assert vqa.answer(group[::-1], QUESTIONS)[::-1] == together
    assert [vqa.answer([picture], QUESTIONS)[0] for picture in group] == together
    assert [row[::-1] for row in vqa.answer(group, QUESTIONS[::-1])] == together


@pytest.mark.parametrize("name", ["studio", "clip"])
def test_answers_from_vectors_equal_those_from_images(
    name: str, drawn_folder: Path, pictures: list[Picture]
) -> None:
    vqa = load(name, drawn_folder)
    assert isinstance(vqa, VectorVQA)
    vectors = vqa.embedder.embed_pictures(pictures)
    assert vqa.answer_vectors(vectors, QUESTIONS) == vqa.answer(pictures, QUESTIONS)
    assert vqa.embedder.fingerprint in vqa.fingerprint


@pytest.mark.parametrize("name", VQAS)
def test_fingerprints_are_stable(name: str, drawn_folder: Path) -> None:
    assert load(name, drawn_folder).fingerprint == load(name, drawn_folder).fingerprint
    assert isinstance(load(name, drawn_folder), VQA)


@pytest.mark.parametrize("name", VQAS)
def test_an_unknown_setting_is_a_usage_error(name: str, drawn_folder: Path) -> None:
    load(name, drawn_folder)
    string, settings = VQAS[name](drawn_folder)
    with pytest.raises(UsageError, match="colour"):
        registry.vqa(string, **settings, colour=1)


@pytest.mark.parametrize("name", EMBEDDERS)
def test_vectors_are_unit_rows(name: str, drawn_folder: Path, pictures: list[Picture]) -> None:
    embedder = load_embedder(name, drawn_folder)
    assert isinstance(embedder, Embedder)
    for vectors in (
        embedder.embed_pictures(pictures),
        embedder.embed_texts(["a photo of a nurse", "a room"]),
    ):
        assert vectors.dtype == np.float32
        assert np.linalg.norm(vectors, axis=1) == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("name", EMBEDDERS)
def test_vectors_do_not_depend_on_the_batch(
    name: str, drawn_folder: Path, pictures: list[Picture]
) -> None:
    embedder = load_embedder(name, drawn_folder)
    together = embedder.embed_pictures(pictures)
    alone = np.concatenate([embedder.embed_pictures([picture]) for picture in pictures])
    assert np.abs(together - alone).max() < 1e-4
    texts = ["a photo of an old nurse in a wheelchair", "a room"]
    assert np.abs(embedder.embed_texts(texts)[1:] - embedder.embed_texts(texts[1:])).max() < 1e-4
