"""Collections of existing images: manifests, sub-folders, and their errors."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

from askew.errors import ManifestError
from askew.models.base import Collection
from askew.models.folder import create
from askew.models.manifest import conditions, parse_pairs, read_manifest

Write = Callable[[str], Path]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder of four images of different colors, a.png to d.png."""
    path = tmp_path / "pictures"
    path.mkdir()
    for shade, name in enumerate("abcd"):
        Image.new("RGB", (4, 4), (40 * shade, 0, 0)).save(path / f"{name}.png")
    return path


@pytest.fixture
def write(folder: Path) -> Write:
    """Write the manifest of `folder`."""

    def write(text: str) -> Path:
        path = folder / "manifest.csv"
        path.write_text(text, encoding="utf-8")
        return path

    return write


def test_a_row_becomes_an_image(folder: Path, write: Write) -> None:
    write("file,prompt,condition,gender,note\nb.png,a nurse,,F,x\na.png,a nurse, diverse ,male,y\n")
    collection = create(str(folder))
    first, second = collection.pictures()
    assert isinstance(collection, Collection)
    assert (first.path, first.prompt, first.axis, first.value) == (
        folder / "b.png",
        "a nurse",
        None,
        None,
    )
    assert (second.axis, second.value) == ("condition", "diverse")
    assert first.labels == {"gender": "F"}, (
        "columns named like an axis of the catalogue are labels, others are not"
    )


def test_prompts_are_joined_and_rows_filtered(folder: Path, write: Write) -> None:
    write("file,model,job\na.png,m1,nurse\nb.png,m2,nurse\nc.png,m3,nurse\n")
    collection = create(str(folder), prompt_column="model,job", where="model=m1,model=m3")
    assert [picture.prompt for picture in collection.pictures()] == ["m1: nurse", "m3: nurse"]
    listed = create(str(folder), prompt_column=["model", "job"], where={"model": ["m1", "m3"]})
    assert listed.pictures() == collection.pictures()


def test_axis_and_value_columns_name_sets(folder: Path, write: Write) -> None:
    write("file,prompt,axis,value\na.png,p,,\nb.png,p,gender,male\nc.png,p,gender,female\n")
    sets = [(picture.axis, picture.value) for picture in create(str(folder)).pictures()]
    assert sets == [(None, None), ("gender", "male"), ("gender", "female")]


def test_half_an_axis_and_value_is_an_error(folder: Path, write: Write) -> None:
    write("file,prompt,axis,value\na.png,p,,\nb.png,p,gender,\n")
    with pytest.raises(ManifestError, match="line 3"):
        create(str(folder))


def test_a_csv_file_may_be_named_instead_of_its_folder(folder: Path, write: Write) -> None:
    manifest = write("file,prompt\na.png,p\n")
    assert create(str(manifest)).pictures() == create(str(folder)).pictures()


def test_a_manifest_may_be_in_another_folder(folder: Path, tmp_path: Path) -> None:
    manifest = tmp_path / "list.csv"
    manifest.write_text("file,prompt\nb.png,p\n", encoding="utf-8")
    assert create(str(folder), manifest=str(manifest)).pictures()[0].path == folder / "b.png"
    manifest.write_text("file,prompt\npictures\\b.png,p\n", encoding="utf-8")
    assert create(str(folder), manifest=str(manifest)).pictures()[0].path == folder / "b.png"


def test_several_csv_files_need_a_name(folder: Path) -> None:
    for name in ("one.csv", "two.csv"):
        (folder / name).write_text("file,prompt\na.png,p\n", encoding="utf-8")
    with pytest.raises(ManifestError, match=r"one\.csv, two\.csv"):
        create(str(folder))
    assert len(create(str(folder), manifest="one.csv").pictures()) == 1


@pytest.mark.parametrize(
    ("text", "settings", "message"),
    [
        ("", {}, "has no rows"),
        ("file,prompt\n\n", {}, "no rows below its header"),
        ("file,prompt\na.png,p\nb.png\nc.png,p,q,r\n", {}, "line 3 has 1, line 4 has 4"),
        ("file,prompt,prompt\na.png,p,p\n", {}, "more than one column is named prompt"),
        ("file,,prompt\na.png,x,p\n", {}, "no name for column 2"),
        ('file,prompt\na.png,"p\n', {}, "not valid CSV"),
        ("path,prompt\na.png,p\n", {}, "unknown column 'file'.*Known: path, prompt.*--file-column"),
        ("file,job\na.png,p\n", {}, "unknown column 'prompt'.*--prompt-column"),
        ("file,occupation\na.png,p\n", {"prompt_column": "ocupation"}, "Did you mean 'occupation'"),
        ("file,prompt\na.png,p\n", {"label": "gender=sex"}, "unknown column 'sex'.*--label"),
        ("file,prompt\na.png,p\n", {"label": "gender"}, "'gender' must have the form KEY=VALUE"),
        ("file,prompt,m\na.png,p,flux\n", {"where": "m=flix"}, "column 'm'.*Did you mean 'flux'"),
        ("file,prompt,m\na.png,p,x\nb.png,q,y\n", {"where": "m=x,prompt=q"}, "no row matches"),
        ("file,prompt\na.png,p\n,p\n", {}, "line 3: no file"),
        ("file,prompt\na.png,p\nb.png,\n", {}, "no prompt in column 'prompt' on line 3"),
        (
            "file,prompt\na.png,p\nb.png,p\na.png,q\n",
            {},
            r"more than once, with different content:\s+a\.png \(lines 2, 4\): prompt 'p' and 'q'",
        ),
        (
            "file,prompt,condition\na.png,p,x\nb.png,p,y\n",
            {},
            "condition of the baseline images with --baseline-condition; conditions are: x, y",
        ),
        (
            "file,prompt,condition\na.png,p,base\nb.png,p,y\n",
            {"baseline_condition": "bas"},
            "Did you mean 'base'",
        ),
        (
            "file,prompt\na.png,p\n",
            {"baseline_condition": "base"},
            "needs a condition column",
        ),
    ],
)
def test_errors_of_manifests_are_named(
    folder: Path, write: Write, text: str, settings: dict[str, str], message: str
) -> None:
    write(text)
    with pytest.raises(ManifestError, match=message):
        create(str(folder), **settings)


@pytest.mark.parametrize("settings", [{"label": "gender=sex"}, {"condition": "sex"}])
def test_a_wrong_column_is_reported_before_absent_files(
    folder: Path, write: Write, settings: dict
) -> None:
    write("file,prompt\ngone.png,p\n")
    with pytest.raises(ManifestError, match="unknown column 'sex'"):
        create(str(folder), **settings)


def test_absent_files_are_counted_and_reported(folder: Path, write: Write) -> None:
    write(
        "file,prompt,gender\na.png,p,F\n"
        + "".join(f"gone{k}.png,p,M\n" for k in range(7))
        + "b.png,q,F\n"
    )
    collection = create(str(folder))
    assert len(collection.pictures()) == 9
    assert set(collection.digests) == {folder / "a.png", folder / "b.png"}
    (absent, outside) = collection.warnings
    assert absent == (
        "7 of 9 files listed in the manifest manifest.csv do not exist and count as missing "
        "(absent_file): gone0.png, gone1.png, gone2.png, gone3.png, gone4.png and 2 more"
    )
    assert outside.startswith("2 images")


def test_an_absent_file_is_an_error_with_strict(folder: Path, write: Write) -> None:
    write("file,prompt\na.png,p\n" + "".join(f"gone{k}.png,p\n" for k in range(7)))
    with pytest.raises(
        ManifestError, match=r"7 of 8 files do not exist: gone0\.png.*gone4\.png and 2 more"
    ):
        create(str(folder), strict=True)


def test_a_manifest_without_any_existing_file_is_an_error(folder: Path, write: Write) -> None:
    write("file,prompt\nx.png,p\ny.png,p\n")
    with pytest.raises(
        ManifestError, match=r"2 of 2 files do not exist: x\.png, y\.png\. Their paths"
    ):
        create(str(folder))


def test_a_file_that_comes_back_changes_the_revision(folder: Path, write: Write) -> None:
    write("file,prompt\na.png,p\nb.png,p\n")
    whole = create(str(folder)).revision
    (folder / "b.png").rename(folder / "b.kept")
    assert create(str(folder)).revision != whole
    (folder / "b.kept").rename(folder / "b.png")
    assert create(str(folder)).revision == whole


def test_a_file_that_cannot_be_read_counts_as_absent(folder: Path, write: Write) -> None:
    write(f"file,prompt\na.png,p\n{'x' * 300}.png,p\nb.png/c.png,p\n")
    assert list(create(str(folder)).digests) == [folder / "a.png"]


@pytest.mark.parametrize("elsewhere", [False, True])
def test_paths_that_begin_with_a_slash_are_read_below_the_folder(
    folder: Path, write: Write, tmp_path: Path, elsewhere: bool
) -> None:
    text = "file,prompt\n/a.png,p\n\\b.png,p\n/gone.png,p\n"
    manifest = tmp_path / "list.csv" if elsewhere else folder / "manifest.csv"
    manifest.write_text(text, encoding="utf-8")
    collection = create(str(folder), manifest=str(manifest))
    assert [picture.path for picture in collection.pictures()][:2] == [
        folder / "a.png",
        folder / "b.png",
    ]
    assert collection.warnings[0] == (
        f'2 paths in the manifest {manifest.name} begin with "/" and were read below {folder}'
    )
    assert collection.warnings[1].startswith("1 of 3 files")


def test_an_existing_absolute_path_is_used(folder: Path, write: Write, tmp_path: Path) -> None:
    other = shutil.copy(folder / "b.png", tmp_path / "outside.png")
    write(f"file,prompt\n{other},p\n{folder}/a.png,p\nc.png,p\n")
    collection = create(str(folder), allow_outside=True)
    assert [picture.path for picture in collection.pictures()] == [
        Path(other),
        folder / "a.png",
        folder / "c.png",
    ]
    assert collection.warnings == (f"2 images in {folder} are not in the manifest manifest.csv",)


LED_OUT = (
    "../outside.png {outside} ..\\outside.png x/../../outside.png link.png linked/outside.png "
    "../gone.png /etc/passwd"
)


@pytest.mark.parametrize("path", LED_OUT.split())
def test_files_outside_the_folder_are_refused_by_name(
    path: str, folder: Path, write: Write, tmp_path: Path
) -> None:
    outside = shutil.copy(folder / "b.png", tmp_path / "outside.png")
    (folder / "link.png").symlink_to(outside)
    (folder / "linked").symlink_to(tmp_path)
    write(f"file,prompt\na.png,p\n{path.format(outside=outside)},p\n")
    with pytest.raises(ManifestError, match=r"line 3: .* leads out of .*--allow-outside"):
        create(str(folder))


def test_a_link_out_of_a_folder_of_folders_is_refused(folder: Path, tmp_path: Path) -> None:
    shutil.copy(folder / "b.png", tmp_path / "outside.png")
    (folder / "link.png").symlink_to(tmp_path / "outside.png")
    with pytest.raises(ManifestError, match=r"links lead out of .*link\.png"):
        create(str(folder), manifest="none")
    assert create(str(folder), manifest="none", allow_outside=True).pictures()


def test_absent_files_that_the_filter_leaves_out_do_not_matter(folder: Path, write: Write) -> None:
    write("file,prompt\na.png,p\ngone.png,q\n")
    assert len(create(str(folder), where="prompt=p").pictures()) == 1


def test_files_outside_the_manifest_are_counted(folder: Path, write: Write) -> None:
    write("file,prompt\na.png,p\nb.png,q\n")
    (folder / ".hidden.png").touch()
    assert create(str(folder)).warnings == (
        f"2 images in {folder} are not in the manifest manifest.csv",
    )
    warnings = create(str(folder), where="prompt=p").warnings
    assert warnings[0].startswith("2 images"), (
        "rows that a filter leaves out are in the manifest all the same"
    )


def test_prompts_without_a_baseline_set_are_reported(folder: Path, write: Write) -> None:
    write("file,prompt,condition\na.png,CEO,\nb.png,ceo,x\nc.png,nurse,\nd.png,nurse,x\n")
    assert create(str(folder)).warnings == ("no baseline image for: ceo",)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
def test_utf8_with_and_without_a_byte_order_mark(folder: Path, encoding: str) -> None:
    (folder / "manifest.csv").write_text("file,prompt\na.png,Köchin\n", encoding=encoding)
    assert create(str(folder)).pictures()[0].prompt == "Köchin"


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16"])
def test_other_encodings_are_refused_with_the_line(folder: Path, encoding: str) -> None:
    (folder / "manifest.csv").write_bytes("file,prompt\na.png,Köchin\n".encode(encoding))
    with pytest.raises(ManifestError, match=r"line [12]: byte 0x.. is not UTF-8"):
        create(str(folder))


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_separators_and_line_ends_of_spreadsheets(folder: Path, delimiter: str) -> None:
    text = 'file,prompt\r\na.png,"two\nlines"\r\n\r\nb.png,p\r\n'.replace(",", delimiter)
    (folder / "manifest.csv").write_bytes(text.encode())
    manifest = read_manifest(folder / "manifest.csv")
    assert [(line, row["prompt"]) for line, row in manifest.rows.items()] == [
        (3, "two\nlines"),
        (5, "p"),
    ]


def test_folders_name_prompts_and_conditions(folder: Path, tmp_path: Path) -> None:
    root = tmp_path / "tree"
    for place, name in (
        ("nurse", "a"),
        ("nurse/diverse", "b"),
        ("ceo/initial", "c"),
        ("ceo/diverse", "d"),
    ):
        (root / place).mkdir(parents=True, exist_ok=True)
        shutil.copy(folder / f"{name}.png", root / place)
    by_condition = {(p.prompt, p.value): p.path.name for p in create(str(root)).pictures()}
    assert by_condition == {
        ("nurse", None): "a.png",
        ("nurse", "diverse"): "b.png",
        ("ceo", None): "c.png",
        ("ceo", "diverse"): "d.png",
    }


def test_a_flat_folder_is_one_prompt(folder: Path) -> None:
    assert {(p.prompt, p.axis) for p in create(str(folder)).pictures()} == {("pictures", None)}


def test_folders_that_cannot_be_read_are_errors(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ManifestError, match="no folder"):
        create(str(tmp_path / "absent"))
    (tmp_path / "empty").mkdir()
    with pytest.raises(ManifestError, match="contains no image"):
        create(str(tmp_path / "empty"))
    (folder / "1/2/3").mkdir(parents=True)
    (folder / "a.png").rename(folder / "1/2/3/a.png")
    with pytest.raises(ManifestError, match=r"needed: .*a\.png"):
        create(str(folder))


def test_the_revision_follows_content_and_conditions_but_not_place_or_labels(
    folder: Path, write: Write, tmp_path: Path
) -> None:
    write("file,prompt,gender\na.png,p,F\nb.png,p,M\n")
    first = create(str(folder)).revision
    copy = shutil.copytree(folder, tmp_path / "copy")
    assert create(str(copy)).revision == first
    write("file,prompt,gender\na.png,p,M\nb.png,p,M\n")
    assert create(str(folder)).revision == first
    write("file,prompt,gender\na.png,p,F\nb.png,q,M\n")
    assert create(str(folder)).revision != first
    Image.new("RGB", (4, 4), "white").save(copy / "a.png")
    assert create(str(copy)).revision != first


@given(
    st.dictionaries(
        st.sampled_from("abc"), st.lists(st.sampled_from("uvw"), min_size=1, max_size=3), max_size=3
    )
)
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_pairs_are_read_back_as_they_were_written(values: dict[str, list[str]]) -> None:
    text = ", ".join(f"{key} = {value}" for key, row in values.items() for value in row)
    assert (
        parse_pairs(text) == {key: tuple(row) for key, row in values.items()} == parse_pairs(values)
    )


@given(st.lists(st.sampled_from(["", "Initial", "x", "y"]), min_size=1))
def test_only_the_empty_and_initial_conditions_are_baselines(cells: list[str]) -> None:
    if len(set(cells)) == 1:
        assert conditions(cells, "", "here") == [(None, None)] * len(cells)
    elif {"", "Initial"} & set(cells):
        expected = [
            (None, None) if cell in ("", "Initial") else ("condition", cell) for cell in cells
        ]
        assert conditions(cells, "", "here") == expected
    else:
        with pytest.raises(ManifestError, match="x, y"):
            conditions(cells, "", "here")


def test_generated_people(shared: Path) -> None:
    collection = create(
        str(shared / "data/generated-people"),
        prompt_column="model,occupation",
        baseline_condition="baseline",
        label="gender=gender,ethnicity=race",
    )
    sets = Counter((picture.prompt, picture.value) for picture in collection.pictures())
    assert len(sets) == 30
    assert set(sets.values()) == {10}
    assert sets["dall_e_3: swe", "controlled"] == 10
    assert collection.warnings == ()
    assert {p.labels["gender"] for p in collection.pictures()} >= {"F", "females", "male", "Both"}
    assert len(set(collection.digests.values())) == 300
