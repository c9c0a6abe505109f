"""Labels that people wrote, as answers."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from PIL import Image

from askew.errors import ManifestError, UsageError
from askew.measure.base import CAPTION, PERSON, VQA, RatedInstrument
from askew.measure.labels import LabelVQA
from askew.measure.labels import create as labels
from askew.measure.spelling import Spelling
from askew.models.folder import FolderCollection, create
from askew.types import Missing, Picture, Question

GENDER = Question("Perceived gender?", ("male", "female"), "gender")
SEVERAL = "both=missing:several_people"

Label = Callable[..., FolderCollection]


@pytest.fixture
def label(tmp_path: Path) -> Label:
    """Return a collection of one image per label of an axis, all different."""

    def label(*written: str, axis: str = "gender") -> FolderCollection:
        lines = ["file,prompt,label"]
        for shade, text in enumerate(written):
            Image.new("RGB", (4, 4), (shade, 0, 0)).save(tmp_path / f"{shade}.png")
            lines.append(f"{shade}.png,p,{text}")
        (tmp_path / "manifest.csv").write_text("\n".join(lines), encoding="utf-8")
        return create(str(tmp_path), label={axis: "label"})

    return label


def records(collection: FolderCollection) -> list[Picture]:
    return [
        Picture(collection.digests[p.path], "store", p.prompt, None, str(p.path))
        for p in collection.pictures()
    ]


def answers(
    vqa: LabelVQA, collection: FolderCollection, question: Question = GENDER
) -> list[str | Missing]:
    return [answer for (answer,) in vqa.answer(records(collection), [question])]


def reasons(readings: Sequence[str | Missing]) -> list[str]:
    return [answer.reason if isinstance(answer, Missing) else answer for answer in readings]


def test_spellings_are_merged(label: Label) -> None:
    collection = label("F", " male", "females", "Women", "M", "")
    vqa = labels(collection=collection)
    assert isinstance(vqa, VQA)
    assert reasons(answers(vqa, collection)) == [
        "female",
        "male",
        "female",
        "female",
        "male",
        "not_asked",
    ]


@pytest.mark.parametrize(
    ("axis", "written", "value"),
    [
        ("age", "Middle_Aged", "middle-aged"),
        ("ethnicity", "Latino_Hispanic", "hispanic"),
        ("age", "Elderly", "old"),
    ],
)
def test_spellings_of_other_axes(axis: str, written: str, value: str) -> None:
    assert Spelling(axis, [value, "other"], {}).read(written) == value
    assert Spelling(axis, ["something", "other"], {}).read(written) is None, (
        "no value that the axis lacks"
    )


def test_the_error_of_unknown_labels_lists_all_of_them(label: Label) -> None:
    collection = label("female", "both", "femal", "Both", "both")
    with pytest.raises(ManifestError) as error:
        labels(collection=collection)
    message = str(error.value)
    assert "gender 'both', 2 in all, first in" in message
    assert "gender 'Both', 1 in all" in message
    assert "'femal', 1 in all" in message
    assert "nearest value: 'female'" in message
    assert str(collection.pictures()[1].path) in message


def test_aliases_name_values_and_reasons(label: Label) -> None:
    collection = label("both", "Both", "they", "lady", "M")
    aliases = {"both": "missing:several_people", "they": "missing", "gender:lady": "Female"}
    readings = answers(labels(collection=collection, aliases=aliases), collection)
    assert reasons(readings) == [
        "several_people",
        "several_people",
        "unparseable",
        "female",
        "male",
    ]
    assert readings[1] == Missing("several_people", "labelled 'both'")
    text = "both=missing:several_people, they=missing, gender:lady=Female"
    assert answers(labels(collection=collection, aliases=text), collection) == readings


@pytest.mark.parametrize(
    ("aliases", "message"),
    [
        ("both=femal", "unknown value 'femal'. Did you mean 'female'"),
        ("both=missing:several", "Did you mean 'several_people'"),
        ("gendre:both=missing", "Did you mean 'gender'"),
        ("both=male,both=female", r"give one value for each of: both \(male, female\)"),
    ],
)
def test_wrong_aliases(label: Label, aliases: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        labels(collection=label("male", "both"), aliases=aliases)


def test_an_alias_of_one_axis_leaves_the_others_alone(tmp_path: Path) -> None:
    Image.new("RGB", (4, 4)).save(tmp_path / "a.png")
    (tmp_path / "manifest.csv").write_text(
        "file,prompt,gender,ethnicity\na.png,p,mixed,mixed\n", encoding="utf-8"
    )
    with pytest.raises(ManifestError) as error:
        labels(collection=create(str(tmp_path)), aliases="gender:mixed=missing")
    assert "ethnicity 'mixed'" in str(error.value)
    assert "gender 'mixed'" not in str(error.value)


def test_values_of_the_user_come_first(label: Label) -> None:
    collection = label("nonbinary", "M", "F")
    vqa = labels(collection=collection, values={"gender": "female,male,nonbinary"})
    assert vqa.values == {"gender": ("female", "male", "nonbinary")}
    (axis,) = vqa.axes()
    assert answers(vqa, collection, axis.questions[0]) == ["nonbinary", "male", "female"]
    assert reasons(answers(vqa, collection)) == ["not_asked"] * 3, (
        "male and female are not all the answers there are"
    )


def test_values_of_an_axis_without_labels(label: Label) -> None:
    with pytest.raises(UsageError, match="Did you mean 'gender'"):
        labels(collection=label("M", "F"), values={"gendr": "male,female"})


def test_an_axis_outside_the_catalog_uses_its_labels_and_warns(label: Label) -> None:
    collection = label("Hats", "cap", "hat", "", "none worn", axis="headgear")
    vqa = labels(collection=collection, aliases="none worn=missing")
    assert vqa.values == {"headgear": ("cap", "hat")}
    assert vqa.warnings == (
        "axis 'headgear' is not in the catalog; its values are the labels: cap, hat",
    )
    (axis,) = vqa.axes()
    readings = answers(vqa, collection, axis.questions[0])
    assert reasons(readings) == ["hat", "cap", "hat", "not_asked", "unparseable"]


def test_an_axis_outside_the_catalog_needs_two_values(label: Label) -> None:
    with pytest.raises(ManifestError, match=r"two or more values, but .*: 'headgear' \(hat\)"):
        labels(collection=label("hat", "hat", axis="headgear"))


def test_a_collection_without_labels(tmp_path: Path) -> None:
    Image.new("RGB", (4, 4)).save(tmp_path / "a.png")
    with pytest.raises(ManifestError, match="no labels"):
        labels(collection=create(str(tmp_path)))


@pytest.mark.parametrize("question", [CAPTION, PERSON, Question("Age?", ("young", "old"), "age")])
def test_other_questions_are_not_answered(label: Label, question: Question) -> None:
    collection = label("male")
    assert reasons(answers(labels(collection=collection), collection, question)) == ["not_asked"]


def test_images_are_found_by_content_or_by_source(label: Label) -> None:
    collection = label("male", "female")
    first, second = records(collection)
    unknown = hashlib.sha256(b"other").hexdigest()
    asked = [
        Picture(first.id, "store", "p"),
        Picture(unknown, "store", "p", None, second.source),
        Picture(unknown, "store", "p"),
    ]
    readings = [answer for (answer,) in labels(collection=collection).answer(asked, [GENDER])]
    assert reasons(readings) == ["male", "female", "not_asked"]


def test_equal_files_that_are_not_images_may_differ_in_labels(tmp_path: Path) -> None:
    for name in ("a.png", "b.png"):
        (tmp_path / name).write_bytes(b"no picture")
    (tmp_path / "manifest.csv").write_text(
        "file,prompt,gender\na.png,p,F\nb.png,q,male\n", encoding="utf-8"
    )
    assert labels(collection=create(str(tmp_path)))


def test_copies_must_have_equal_labels(tmp_path: Path) -> None:
    for name in ("a.png", "b.png"):
        Image.new("RGB", (4, 4)).save(tmp_path / name)
    (tmp_path / "manifest.csv").write_text(
        "file,prompt,gender\na.png,p,F\nb.png,q,female\n", encoding="utf-8"
    )
    assert labels(collection=create(str(tmp_path)))
    (tmp_path / "manifest.csv").write_text(
        "file,prompt,gender\na.png,p,F\nb.png,q,male\n", encoding="utf-8"
    )
    with pytest.raises(ManifestError, match=r"identical images .*a\.png and .*b\.png"):
        labels(collection=create(str(tmp_path)))


def test_the_fingerprint_follows_answers(label: Label) -> None:
    def fingerprint(*written: str, aliases: str = "") -> str:
        return labels(collection=label(*written), aliases=aliases).fingerprint

    assert fingerprint("male", "F") == fingerprint("M", "female")
    assert fingerprint("male", "F") != fingerprint("F", "male")
    assert fingerprint("male", "both", aliases="both=missing") != fingerprint(
        "male", "both", aliases=SEVERAL
    )


def test_generated_people(shared: Path) -> None:
    collection = create(
        str(shared / "data/generated-people"),
        prompt_column="model,occupation",
        baseline_condition="baseline",
        label="gender=gender,ethnicity=race",
    )
    with pytest.raises(ManifestError, match="gender 'Both', 23 in all"):
        labels(collection=collection)
    several = "both=missing:several_people,mixed=missing:several_people"
    vqa = labels(collection=collection, aliases=several, values={"ethnicity": "white,black,asian"})
    gender, ethnicity = vqa.axes()
    assert Counter(reasons(answers(vqa, collection, gender.questions[0]))) == {
        "female": 162,
        "male": 106,
        "several_people": 32,
    }
    assert Counter(reasons(answers(vqa, collection, ethnicity.questions[0]))) == {
        "white": 102,
        "asian": 98,
        "black": 76,
        "several_people": 24,
    }


def listed(folder: Path, **absent_and_there: tuple[int, int]) -> FolderCollection:
    """Write a manifest that names, by label, absent files and existing files."""
    lines = ["file,prompt,gender"]
    for label, (absent, there) in absent_and_there.items():
        lines += [f"gone-{label}-{k}.png,p,{label}" for k in range(absent)]
        for k in range(there):
            Image.new("RGB", (4, 4), (k, ord(label), 0)).save(folder / f"{label}-{k}.png")
            lines.append(f"{label}-{k}.png,p,{label}")
    (folder / "manifest.csv").write_text("\n".join(lines), encoding="utf-8")
    return create(str(folder))


def test_files_that_are_absent_more_often_for_one_label_are_reported(tmp_path: Path) -> None:
    (warning,) = labels(collection=listed(tmp_path, F=(20, 20), M=(2, 58))).warnings
    assert warning.startswith(
        "files are missing significantly more often for the label gender 'female' (20 of 40) "
        "than 'male' (2 of 60), q = "
    )


@pytest.mark.parametrize(
    ("female", "male"), [((14, 36), (14, 36)), ((0, 30), (0, 30)), ((2, 8), (1, 9))]
)
def test_files_that_are_absent_by_chance_are_not_reported(
    tmp_path: Path, female: tuple[int, int], male: tuple[int, int]
) -> None:
    assert labels(collection=listed(tmp_path, F=female, M=male)).warnings == ()


def test_an_absent_file_has_no_answer_and_does_not_affect_others(tmp_path: Path) -> None:
    collection = listed(tmp_path, F=(1, 2), M=(0, 2))
    there = [picture for picture in collection.pictures() if picture.path in collection.digests]
    asked = [
        Picture(collection.digests[file.path], "store", "p", None, str(file.path)) for file in there
    ]
    assert [answer for (answer,) in labels(collection=collection).answer(asked, [GENDER])] == [
        "female",
        "female",
        "male",
        "male",
    ]


def test_labels_of_a_new_axis_that_differ_only_in_spelling_are_refused(label: Label) -> None:
    collection = label("Cap", "cap", "hat", "cap", axis="headgear")
    with pytest.raises(ManifestError, match=r"'Cap' \(1\) and 'cap' \(2\).*--values headgear="):
        labels(collection=collection)
    vqa = labels(collection=collection, values={"headgear": "hat,cap"})
    (axis,) = vqa.axes()
    assert answers(vqa, collection, axis.questions[0]) == ["cap", "cap", "hat", "cap"]


def test_values_of_a_new_axis_are_shown_as_written(label: Label) -> None:
    collection = label("0-2", "3-9", "Teen_Age", "20-29", "n/a", axis="years")
    vqa = labels(collection=collection, aliases="n/a=missing")
    assert vqa.values == {"years": ("0-2", "20-29", "3-9", "Teen_Age")}


def test_an_alias_of_a_known_axis_is_no_value_of_a_new_axis(tmp_path: Path) -> None:
    lines = ["file,prompt,Male,mood"]
    for shade, (male, mood) in enumerate([(1, 1), (-1, -1), (1, -2), (-1, 2)]):
        Image.new("RGB", (4, 4), (shade, 0, 0)).save(tmp_path / f"{shade}.png")
        lines.append(f"{shade}.png,p,{male},{mood}")
    (tmp_path / "manifest.csv").write_text("\n".join(lines), encoding="utf-8")
    collection = create(str(tmp_path), label="mood=mood,gender=Male")
    vqa = labels(collection=collection, aliases="1=male,-1=female")
    assert vqa.values == {"mood": ("-2", "-1", "1", "2"), "gender": ("male", "female")}
    mood, gender = vqa.axes()
    assert answers(vqa, collection, mood.questions[0]) == ["1", "-1", "-2", "2"]
    assert answers(vqa, collection, gender.questions[0]) == ["male", "female", "male", "female"]


@pytest.mark.parametrize(
    ("written", "answer"),
    [
        (("F", "F", "M"), "female"),
        (("F", "M"), "no_majority"),
        (("F", "M", ""), "no_majority"),
        (("F", "", ""), "female"),
        (("both", "both", "M"), "several_people"),
        (("F", "M", "both"), "no_majority"),
        (("", "", ""), "not_asked"),
    ],
)
def test_the_answer_is_the_label_of_more_than_half_of_the_raters(
    written: tuple[str, ...], answer: str, tmp_path: Path
) -> None:
    Image.new("RGB", (4, 4)).save(tmp_path / "0.png")
    names = [f"rater{number}" for number in range(len(written))]
    text = f"file,prompt,{','.join(names)}\n0.png,p,{','.join(written)}\n"
    (tmp_path / "manifest.csv").write_text(text, encoding="utf-8")
    collection = create(str(tmp_path), label={"gender": names})
    vqa = labels(collection=collection, aliases=SEVERAL)
    assert reasons(answers(vqa, collection)) == [answer]
    assert isinstance(vqa, RatedInstrument)
    assert vqa.raters("gender") == tuple(names)
    (picture,) = records(collection)
    assert len(vqa.rater_labels(picture, "gender")) == len(written)


def test_a_label_of_one_rater_changes_the_fingerprint(tmp_path: Path) -> None:
    Image.new("RGB", (4, 4)).save(tmp_path / "0.png")
    fingerprints = set()
    for written in ("F,F,F", "F,F,M"):
        (tmp_path / "manifest.csv").write_text(f"file,prompt,a,b,c\n0.png,p,{written}\n")
        collection = create(str(tmp_path), label="gender=a,b,c")
        fingerprints.add(labels(collection=collection).fingerprint)
    assert len(fingerprints) == 2
