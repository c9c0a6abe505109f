"""CLIP-like instruments: a trained network answers well, random networks show the dependences."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import tiny_networks
from askew import registry
from askew.errors import UsageError
from askew.measure import loading
from askew.measure.base import CAPTION, PERSON
from askew.measure.clip import ClipEmbedder, ClipVQA, create_embedder, create_vqa
from askew.measure.studio import StudioEmbedder
from askew.models.planted import PlantedModel
from askew.prompts.axes import AXES
from askew.run.live import LiveRun
from askew.store.store import Store
from askew.studio.caption import parse
from askew.studio.drawing import draw
from askew.studio.planted import sample
from askew.studio.scene import Scene
from askew.types import Missing, Picture, Question
from faults.doubles import small_plan
from slow_cases import quick_only

COUNT = 24
READ = ("gender", "age", "ethnicity", "environment", "hair")


@pytest.fixture(scope="module")
def scenes() -> list[Scene]:
    return [sample(parse("a photo of a person"), 0.0, seed) for seed in range(COUNT)]


@pytest.fixture(scope="module")
def drawings(tmp_path_factory: pytest.TempPathFactory, scenes: list[Scene]) -> list[Picture]:
    folder = tmp_path_factory.mktemp("drawings")
    return [_save(draw(scene, i), folder / f"{i}.png") for i, scene in enumerate(scenes)]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tiny_networks.studio_as_clip(tmp_path_factory.mktemp("trained")))


@pytest.fixture(
    scope="module", params=[tiny_networks.clip, tiny_networks.siglip], ids=["clip", "siglip"]
)
def network(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    write: Callable[[Path], Path] = request.param
    return str(write(tmp_path_factory.mktemp("network")))


def _save(image: Image.Image, path: Path) -> Picture:
    image.save(path)
    return Picture(f"{path.parent.name}/{path.name}", str(path), "a person")


def test_vectors_equal_those_of_the_network_loaded_by_transformers(
    trained: str, drawings: list[Picture]
) -> None:
    embedder = create_embedder(trained)
    studio = StudioEmbedder()
    assert np.abs(embedder.embed_pictures(drawings) - studio.embed_pictures(drawings)).max() < 1e-5
    texts = ["a photo of a nurse", "a photo of an old woman outdoors"]
    assert np.abs(embedder.embed_texts(texts) - studio.embed_texts(texts)).max() < 1e-5


@pytest.mark.parametrize("axis", quick_only(["gender"], READ))
def test_a_trained_network_labels_images(
    axis: str, trained: str, scenes: list[Scene], drawings: list[Picture]
) -> None:
    vqa = create_vqa(trained, person_filter=False)
    answers = [row[0] for row in vqa.answer(drawings, AXES[axis].questions)]
    truth = [getattr(scene, axis) for scene in scenes]
    assert np.mean([answer == value for answer, value in zip(answers, truth, strict=True)]) >= 0.9


def test_several_yes_or_no_questions_add_up(
    trained: str, scenes: list[Scene], drawings: list[Picture]
) -> None:
    axis = AXES["disability"]
    rows = create_vqa(trained, person_filter=False).answer(drawings, axis.questions)
    right = [axis.read(row) == scene.disability for row, scene in zip(rows, scenes, strict=True)]
    assert np.mean(right) >= 0.9


def test_without_a_person_answers_about_people_are_missing(
    trained: str, drawings: list[Picture], tmp_path: Path
) -> None:
    questions = [*AXES["gender"].questions, *AXES["style"].questions, PERSON]
    strict = create_vqa(trained)
    open_ = create_vqa(trained, person_filter=False)
    for row, free in zip(
        strict.answer(drawings, questions), open_.answer(drawings, questions), strict=True
    ):
        assert row[1] == free[1]
        assert row[2] == free[2]
        assert (row[0] == free[0]) == (row[2] == "yes")
        assert isinstance(row[0], Missing) == (row[2] == "no")
    assert strict.fingerprint != open_.fingerprint


def test_questions_without_captions_are_not_asked(trained: str, drawings: list[Picture]) -> None:
    vqa = create_vqa(trained, person_filter=False)
    questions = [
        CAPTION,
        Question("What is the weather of tomorrow?", (), "forecast"),
        Question("Is it raining?", ("yes", "no"), "weather"),
        Question("What is the gender?", (), "gender"),
        Question("What is shown?", ("a nurse", "a chef"), "job"),
    ]
    for row in vqa.answer(drawings[:3], questions):
        assert [getattr(answer, "reason", None) for answer in row[:3]] == ["not_asked"] * 3
        assert row[3] in AXES["gender"].values
        assert row[4] in ("a nurse", "a chef")


def test_answers_and_vectors_depend_on_image_and_text(
    network: str, drawings: list[Picture]
) -> None:
    vqa = create_vqa(network, person_filter=False)
    wheres = [
        Question("Where?", (f"{a} {b}", f"{b} {a}", a, b), "x")
        for a, b in ("ab", "cd", "ef", "gh", "ij", "kl")
    ]
    rows = vqa.answer(drawings, wheres)
    columns = list(zip(*rows, strict=True))
    assert any(len(set(column)) > 1 for column in columns)
    choices = set()
    for question, column in zip(wheres, columns, strict=True):
        choices.add(tuple(question.options.index(str(answer)) for answer in column))
    assert len(choices) > 1
    vectors = vqa.embedder.embed_pictures(drawings)
    assert np.abs(np.diff(vectors, axis=0)).max(axis=1).min() > 1e-4
    first, second = vqa.embedder.embed_texts(["a nurse", "a chef"])
    assert np.abs(first - second).max() > 1e-3


def test_vectors_do_not_depend_on_the_batch(network: str, drawings: list[Picture]) -> None:
    many = create_embedder(network, batch_size=8)
    few = create_embedder(network, batch_size=3)
    assert many is not few
    assert many.fingerprint == few.fingerprint
    assert np.abs(many.embed_pictures(drawings) - few.embed_pictures(drawings)).max() < 1e-5
    texts = ["a", "a much longer text about a nurse", "b"]
    assert np.abs(many.embed_texts(texts)[:1] - few.embed_texts(texts[:1])).max() < 1e-5


def test_vqa_and_embedder_share_what_was_embedded(
    trained: str, tmp_path: Path, scenes: list[Scene]
) -> None:
    pictures = [_save(draw(scene, i), tmp_path / f"{i}.png") for i, scene in enumerate(scenes[:4])]
    vqa = registry.vqa(f"clip/{trained}")
    embedder = registry.embedder(f"clip/{trained}")
    assert isinstance(vqa, ClipVQA)
    vqa.answer(pictures, AXES["gender"].questions)
    for picture in pictures:
        Path(picture.path).unlink()
    assert embedder is vqa.embedder
    assert embedder.embed_pictures(pictures).shape == (4, 128)


def test_a_later_process_answers_and_embeds_without_reading_an_image(
    trained: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Store(tmp_path / "store") as store:
        run = LiveRun(tmp_path / "run", store, small_plan())
        outcomes = run.pictures(PlantedModel(), ["a photo of a nurse"], 4, 0)["a photo of a nurse"]
        pictures = [outcome for outcome in outcomes if isinstance(outcome, Picture)]
        run.ask(create_vqa(trained), pictures, AXES["gender"].questions)
        loading.shared.cache_clear()
        later = create_vqa(trained)
        expected = later.answer(pictures, AXES["age"].questions)
        vectors = later.embedder.embed_pictures(pictures)
        monkeypatch.setattr(ClipEmbedder, "embed_pictures", None)  # a call fails
        answers = run.ask(later, pictures, AXES["age"].questions)
        assert [answers[picture.id] for picture in pictures] == expected
        assert np.abs(run.read(create_embedder(trained), pictures) - vectors).max() < 1e-5


def test_a_text_that_is_too_long_is_truncated(network: str) -> None:
    embedder = create_embedder(network)
    assert embedder.embed_texts(["word " * 500]).shape == embedder.embed_texts(["word"]).shape


def test_the_fingerprint_names_weights_format_and_code(network: str, tmp_path: Path) -> None:
    fingerprint = create_embedder(network).fingerprint
    assert "dtype=float32" in fingerprint
    assert create_embedder(network, dtype="bfloat16").fingerprint != fingerprint
    copy = tmp_path / "copy"
    shutil.copytree(network, copy)
    assert create_embedder(str(copy)).fingerprint == fingerprint
    (copy / "added.json").write_text("{}")
    assert create_embedder(f"{copy}/").fingerprint != fingerprint


def test_bfloat16_is_close(network: str, drawings: list[Picture]) -> None:
    exact = create_embedder(network)
    half = create_embedder(network, dtype="bfloat16")
    cosines = (exact.embed_pictures(drawings) * half.embed_pictures(drawings)).sum(axis=1)
    assert cosines.min() > 0.98


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"colour": 1}, "unknown setting 'colour'.*person_filter"),
        ({"batch_size": 0}, "batch_size is 0"),
        ({"batch_size": "many"}, "must be a whole number"),
        ({"person_filter": "perhaps"}, "true or false"),
        ({"dtype": "int8"}, "unknown dtype 'int8'"),
        ({"device": "abacus"}, "no device 'abacus'; it has:.*cpu"),
    ],
)
def test_settings_are_checked(settings: dict[str, object], message: str, network: str) -> None:
    with pytest.raises(UsageError, match=message):
        registry.vqa(f"clip/{network}", **settings)


def test_a_network_of_another_kind_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        UsageError, match=r"does not embed images and texts; choose a model that does"
    ):
        create_embedder(str(tiny_networks.llava(tmp_path / "llava")))
    answering = create_embedder(str(tiny_networks.blip(tmp_path / "blip")))
    with pytest.raises(
        UsageError,
        match=r"trained for another task: \d+ weights of a BlipModel are missing",
    ):
        answering.embed_texts(["a nurse"])
    with pytest.raises(UsageError, match="clip/ID-OR-PATH"):
        registry.embedder("clip")


def test_it_is_an_embedder(network: str) -> None:
    assert isinstance(create_embedder(network), ClipEmbedder)
