"""Files of a manifest: rows that repeat a file, paths of other machines, and a hub's cache."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askew.errors import ManifestError
from askew.models.base import FiledPicture
from askew.models.folder import create
from askew.models.manifest import Manifest, label_columns
from askew.models.manifest_files import distinct_rows
from image_collections import noise_image


def save_folder(folder: Path, text: str, *names: str) -> str:
    """Save images and a manifest in a folder, and return the folder."""
    for number, name in enumerate(names):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        noise_image(number).save(path)
    (folder / "manifest.csv").write_text(text, encoding="utf-8")
    return str(folder)


ANNOTATORS = "file,prompt,annotator,gender\n" + "".join(
    f"{name}.png,p,{person},{label}\n"
    for name, labels in {"a": "MM", "b": "FM", "c": "MF"}.items()
    for person, label in zip(("ann", "bob"), labels, strict=True)
)
"""Labels of two people, who disagree on b.png and c.png."""


def test_rows_of_another_annotator_are_filtered_before_repeats_are_checked(tmp_path: Path) -> None:
    folder = save_folder(tmp_path, ANNOTATORS, "a.png", "b.png", "c.png")
    for person, labels in {"ann": ["M", "F", "M"], "bob": ["M", "M", "F"]}.items():
        collection = create(folder, where=f"annotator={person}")
        assert [picture.labels["gender"] for picture in collection.pictures()] == labels
        assert collection.warnings == ()


def test_contradicting_rows_are_all_listed_with_the_filter_that_separates_them(
    tmp_path: Path,
) -> None:
    folder = save_folder(tmp_path, ANNOTATORS, "a.png", "b.png", "c.png")
    with pytest.raises(ManifestError) as caught:
        create(folder)
    message = str(caught.value)
    assert "b.png (lines 4, 5): label of gender 'F' and 'M'" in message
    assert "c.png (lines 6, 7): label of gender 'M' and 'F'" in message
    assert "a.png" not in message
    assert message.endswith("for example with --where annotator=ann.")


@pytest.mark.parametrize(
    ("text", "difference"),
    [
        ("file,prompt\na.png,p\na.png,q\n", "prompt 'p' and 'q'"),
        ("file,prompt,condition\na.png,p,\na.png,p,x\n", "condition '' and 'condition x'"),
        ("file,prompt,axis,value\na.png,p,,\na.png,p,age,old\n", "condition '' and 'age old'"),
    ],
)
def test_contradictions_are_named(tmp_path: Path, text: str, difference: str) -> None:
    folder = save_folder(tmp_path, text, "a.png")
    with pytest.raises(ManifestError, match=r"a\.png \(lines 2, 3\): ") as caught:
        create(folder)
    assert difference in str(caught.value)
    assert "or filter them with --where" in str(caught.value)


def test_many_contradictions_are_all_listed(tmp_path: Path) -> None:
    names = [f"{number}.png" for number in range(30)]
    rows = "".join(f"{name},p\n{name},q\n" for name in names)
    folder = save_folder(tmp_path, f"file,prompt\n{rows}", *names)
    with pytest.raises(ManifestError) as caught:
        create(folder)
    assert all(f"  {name} (lines" in str(caught.value) for name in names)


def test_equal_rows_count_once_with_a_warning(tmp_path: Path) -> None:
    text = (
        ",file,prompt,gender\n0,a.png,p,F\n1,b.png,p,M\n2,a.png,p,F\n3,./b.png,p,M\n4,a.png,p,F\n"
    )
    collection = create(save_folder(tmp_path, text, "a.png", "b.png"))
    assert [picture.path.name for picture in collection.pictures()] == ["a.png", "b.png"]
    assert collection.warnings == (
        "3 rows repeat another row of the manifest manifest.csv and were dropped: "
        "a.png (lines 2, 4, 6), b.png (lines 3, 5)",
    )


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("pq")), min_size=1, max_size=8))
def test_rows_agree_or_are_refused(rows: list[tuple[str, str]]) -> None:
    pictures = {
        line: FiledPicture(Path(file), prompt, axis=None, value=None, labels={})
        for line, (file, prompt) in enumerate(rows, 2)
    }
    cells = {line: {"file": file, "prompt": prompt} for line, (file, prompt) in enumerate(rows, 2)}
    manifest = Manifest(path=Path("m.csv"), columns=("file", "prompt"), rows=cells)
    if len(set(rows)) > len(dict(rows)):
        with pytest.raises(ManifestError):
            distinct_rows(manifest, pictures, {"file", "prompt"})
        return
    distinct, warnings = distinct_rows(manifest, pictures, {"file", "prompt"})
    assert {(str(picture.path), picture.prompt) for picture in distinct} == set(rows)
    assert len(distinct) == len(set(rows))
    assert bool(warnings) == (len(rows) > len(set(rows)))


@pytest.mark.parametrize(
    "label", ["gender=ann,bob", "gender=ann, gender=bob", {"gender": ["ann", "bob"]}]
)
def test_columns_of_several_raters_are_read(label: object, tmp_path: Path) -> None:
    text = "file,prompt,ann,bob\na.png,p,F,M\n"
    folder = save_folder(tmp_path, text, "a.png")
    collection = create(folder, label=label)  # type: ignore[arg-type]
    (picture,) = collection.pictures()
    assert collection.raters == {"gender": ("ann", "bob")}
    assert (picture.labels, picture.rater_labels) == ({}, {"gender": ("F", "M")})


def test_labels_name_their_columns() -> None:
    assert label_columns("gender=a, age=b") == {"gender": ("a",), "age": ("b",)}
    assert label_columns("gender=a,b, age=b") == {"gender": ("a", "b"), "age": ("b",)}
    with pytest.raises(ManifestError, match="'gender' must have the form KEY=VALUE"):
        label_columns("gender")
    with pytest.raises(ManifestError, match="names the column a twice"):
        label_columns("gender=a,a")


@pytest.mark.parametrize("header", ["", " "])
def test_an_index_without_a_name_is_read(tmp_path: Path, header: str) -> None:
    stream = io.StringIO()
    rows = [
        [header, "file", "prompt"],
        *[[str(k), f"{name}.png", "p"] for k, name in enumerate("ab")],
    ]
    csv.writer(stream).writerows(rows)
    collection = create(save_folder(tmp_path, stream.getvalue(), "a.png", "b.png"))
    assert [picture.path.name for picture in collection.pictures()] == ["a.png", "b.png"]


def test_empty_columns_without_a_name_are_read(tmp_path: Path) -> None:
    folder = save_folder(tmp_path, "file,prompt,,\na.png,p,,\n", "a.png")
    assert len(create(folder).pictures()) == 1


ELSEWHERE = [
    "/home/ann/project/{}",
    "C:\\Users\\ann\\project\\{}",
    "//server/share/{}",
    "../project/{}",
    "images/of/ann/{}",
    "https://example.org/{}",
]
"""Paths of other machines."""


@pytest.mark.parametrize("pattern", ELSEWHERE)
def test_paths_of_another_machine_are_matched_by_name(tmp_path: Path, pattern: str) -> None:
    names = ["a.png", "b.png"]
    rows = "".join(f"{pattern.format(name)},p\n" for name in names)
    folder = save_folder(tmp_path, f"file,prompt\n{rows}", "x/a.png", "b.png")
    with pytest.raises(ManifestError, match="--match-names"):
        create(folder)
    collection = create(folder, match_names=True)
    assert [picture.path for picture in collection.pictures()] == [
        tmp_path / "x" / "a.png",
        tmp_path / "b.png",
    ]
    assert collection.warnings == (
        f"2 files of the manifest were found in {tmp_path} by name, not by path",
    )


def test_the_longest_ending_of_a_path_decides(tmp_path: Path) -> None:
    text = "file,prompt\n/data/train/a.png,p\n/data/test/a.png,p\n/data/gone.png,p\n"
    folder = save_folder(tmp_path, text, "train/a.png", "test/a.png")
    collection = create(folder, match_names=True)
    paths = [str(picture.path.relative_to(tmp_path)) for picture in collection.pictures()]
    assert paths[:2] == ["train/a.png", "test/a.png"]
    assert any("1 of 3 files" in warning for warning in collection.warnings)


def test_names_of_several_files_are_not_matched(tmp_path: Path) -> None:
    text = "file,prompt\n/data/a.png,p\n"
    folder = save_folder(tmp_path, text, "train/a.png", "test/a.png")
    with pytest.raises(ManifestError, match="Their paths must be relative"):
        create(folder)
    with pytest.raises(ManifestError, match=r"several files match.*test/a.png, train/a.png"):
        create(folder, match_names=True)


def test_some_absent_files_are_offered_by_name(tmp_path: Path) -> None:
    folder = save_folder(tmp_path, "file,prompt\na.png,p\nx/b.png,p\n", "a.png", "b.png")
    assert "use --match-names to read them" in create(folder).warnings[0]
    with pytest.raises(ManifestError, match="use --match-names to read them"):
        create(folder, strict=True)


@pytest.fixture
def snapshot(tmp_path: Path) -> Path:
    """Return a snapshot in the cache of a hub, whose files are links to blobs."""
    cache = tmp_path / "hub" / "datasets--ann--people"
    folder = cache / "snapshots" / "0123abcd"
    (cache / "blobs").mkdir(parents=True)
    (folder / "data").mkdir(parents=True)
    for number, name in enumerate(["data/a.png", "data/b.png"]):
        noise_image(number).save(cache / "blobs" / f"b10b{number}", "PNG")
        (folder / name).symlink_to(f"../../../blobs/b10b{number}")
    table = cache / "blobs" / "7ab1e"
    table.write_text("file_name,prompt\ndata/a.png,p\ndata/b.png,q\n")
    (folder / "metadata.csv").symlink_to("../../blobs/7ab1e")
    return folder


@pytest.mark.parametrize("name", ["", "metadata.csv"])
def test_links_of_a_cache_are_followed_in_the_cache(snapshot: Path, name: str) -> None:
    collection = create(str(snapshot / name))
    assert [picture.path.name for picture in collection.pictures()] == ["a.png", "b.png"]
    assert len(collection.digests) == 2
    assert collection.warnings == ()
    assert len(create(str(snapshot / "data"), manifest="none").pictures()) == 2


@pytest.mark.parametrize("target", ["../../../../../outside.png", "../../../refs/outside.png"])
def test_links_out_of_a_cache_are_refused(snapshot: Path, tmp_path: Path, target: str) -> None:
    outside = snapshot / "data" / target
    outside.resolve().parent.mkdir(exist_ok=True)
    noise_image(3).save(outside.resolve())
    (snapshot / "data" / "c.png").symlink_to(target)
    with pytest.raises(ManifestError, match=r"links lead out of .*c\.png"):
        create(str(snapshot / "data"), manifest="none")
    (snapshot.parents[1] / "blobs" / "7ab1e").write_text("file_name,prompt\ndata/c.png,p\n")
    with pytest.raises(ManifestError, match="leads out of"):
        create(str(snapshot))


def test_blobs_of_a_cache_are_read_through_links_only(snapshot: Path) -> None:
    table = snapshot.parents[1] / "blobs" / "7ab1e"
    table.write_text("file_name,prompt\n../../blobs/b10b0,p\n")
    with pytest.raises(ManifestError, match="leads out of"):
        create(str(snapshot))
    blobs = snapshot.parents[1] / "blobs"
    blobs.rename(blobs.parent / "elsewhere")
    blobs.symlink_to("elsewhere")
    with pytest.raises(ManifestError, match="links lead out of"):
        create(str(snapshot / "data"), manifest="none")
