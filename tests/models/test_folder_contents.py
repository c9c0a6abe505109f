"""Files of a folder that a collection does not use are named."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image, PngImagePlugin

from askew.errors import ManifestError
from askew.models.folder import create
from askew.models.folder_contents import embedded_text
from image_collections import noise_image

NURSE = "a photo of a nurse"
CEO = "a photo of a CEO"


def save_images(folder: Path, *names: str) -> None:
    """Save different images under these names, whose last part is their suffix."""
    for number, name in enumerate(names):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        noise_image(number).save(path)


def write_json_lines(path: Path, rows: list[dict[str, object]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def warnings_of(folder: Path, **settings: str) -> str:
    """Return all warnings of a collection as one text."""
    return "\n".join(create(str(folder), **settings).warnings)


def test_metadata_of_a_hub_is_the_manifest(tmp_path: Path) -> None:
    save_images(tmp_path, "0.png", "train/1.png", "2.png")
    rows: list[dict[str, object]] = [
        {"file_name": "0.png", "prompt": NURSE, "gender": "female", "seed": 3},
        {"file_name": "train/1.png", "prompt": CEO, "gender": None, "tags": ["a"]},
        {"file_name": "2.png", "prompt": CEO},
    ]
    write_json_lines(tmp_path / "metadata.jsonl", rows)
    collection = create(str(tmp_path))
    assert [picture.prompt for picture in collection.pictures()] == [NURSE, CEO, CEO]
    genders = [picture.labels["gender"] for picture in collection.pictures()]
    assert genders == ["female", "", ""]
    assert collection.warnings == ()
    chosen = create(str(tmp_path), where="seed=3")
    assert [picture.path.name for picture in chosen.pictures()] == ["0.png"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "has no rows"),
        ("\n\n", "has no rows"),
        ('{"file": "0.png"}\n[1]\n', "line 2: not a JSON object"),
        ('{"file": "0.png"}\n\n{"file":', "line 3: not valid JSON"),
        ("[" * 100_000, "line 1: not valid JSON"),
        ('{"file": ' + "9" * 5000 + "}", "line 1: not valid JSON"),
        ('{"image": "0.png"}\n', "unknown column 'prompt'.*Known: image"),
    ],
    ids=["empty", "blank", "list", "cut off", "deep", "long number", "other name"],
)
def test_errors_of_json_lines_are_named(tmp_path: Path, text: str, message: str) -> None:
    save_images(tmp_path, "0.png")
    (tmp_path / "metadata.jsonl").write_text(text, encoding="utf-8")
    with pytest.raises(ManifestError, match=message):
        create(str(tmp_path))


@pytest.mark.parametrize("name", ["metadata.csv", "metadata.jsonl", "labels.csv", "notes.jsonl"])
def test_tables_in_sub_folders_are_named(tmp_path: Path, name: str) -> None:
    save_images(tmp_path, "train/0.png", "train/1.png")
    (tmp_path / "train" / name).write_text("x")
    assert f"train/{name} is not used; read" in warnings_of(tmp_path)
    assert f"--manifest train/{name}" in warnings_of(tmp_path)
    assert warnings_of(tmp_path, manifest="none") == ""


def test_tables_of_other_programs_are_named(tmp_path: Path) -> None:
    save_images(tmp_path, "a/0.png")
    for name in ("labels.xlsx", "labels.tsv"):
        (tmp_path / name).write_text("x")
    assert "labels.tsv, labels.xlsx are not used; save a table as CSV" in warnings_of(tmp_path)


def test_tables_beside_a_manifest_are_named_unless_the_user_chose_it(tmp_path: Path) -> None:
    save_images(tmp_path, "0.png")
    for name in ("manifest.csv", "labels.csv"):
        (tmp_path / name).write_text("file,prompt\n0.png,p\n")
    assert "labels.csv is not used" in warnings_of(tmp_path)
    assert warnings_of(tmp_path, manifest="manifest.csv") == ""


def test_a_folder_that_is_too_deep_names_its_tables(tmp_path: Path) -> None:
    save_images(tmp_path, "a/b/c/0.png")
    (tmp_path / "a" / "metadata.csv").write_text("file_name,prompt\nb/c/0.png,p\n")
    with pytest.raises(ManifestError, match=r"a manifest is needed.*--manifest a/metadata.csv"):
        create(str(tmp_path))
    assert create(str(tmp_path), manifest="a/metadata.csv").pictures()[0].prompt == "p"


def test_folders_of_runs_are_left_out(tmp_path: Path) -> None:
    save_images(tmp_path, "nurse/0.png", "run/pages/1.png", ".askew/2.png")
    (tmp_path / "run" / "shares.csv").write_text("x")
    (tmp_path / "run" / "SHA256SUMS").write_text("")
    collection = create(str(tmp_path))
    assert [picture.path.name for picture in collection.pictures()] == ["0.png"]
    assert collection.warnings == ()


def test_formats_that_are_not_read_are_named(tmp_path: Path) -> None:
    save_images(tmp_path, "nurse/0.png", "nurse/1.gif", "nurse/2.avif", "nurse/3.avif")
    (tmp_path / "nurse" / "4.HEIC").write_bytes(b"x")
    warning = warnings_of(tmp_path)
    for words in ("1 GIF (nurse/1.gif)", "2 AVIF (nurse/2.avif, nurse/3.avif)", "1 HEIC (nurse/4"):
        assert words in warning
    (tmp_path / "nurse" / "0.png").unlink()
    with pytest.raises(ManifestError, match=r"contains no image.*1 HEIC \(nurse/4.HEIC\)"):
        create(str(tmp_path))


def test_unlisted_files_of_other_formats_are_named(tmp_path: Path) -> None:
    save_images(tmp_path, "0.png", "1.gif", "2.gif")
    (tmp_path / "manifest.csv").write_text("file,prompt\n0.png,p\n1.gif,p\n")
    assert "1 GIF (2.gif)" in warnings_of(tmp_path)


@pytest.mark.parametrize("suffix", [".txt", ".json", ".png.txt", ".caption"])
def test_files_beside_images_are_named(tmp_path: Path, suffix: str) -> None:
    save_images(tmp_path, "0.png", "1.png")
    for number in (0, 1):
        (tmp_path / f"{number}{suffix}").write_text(NURSE)
    (tmp_path / "README.txt").write_text("about")
    warning = warnings_of(tmp_path)
    assert f"2 text files next to images are not used: 0{suffix}, 1{suffix}" in warning
    assert "of one prompt" not in warning


def test_side_cars_that_differ_show_that_prompts_are_pooled(tmp_path: Path) -> None:
    save_images(tmp_path, "0.png", "1.png")
    (tmp_path / "0.txt").write_text(NURSE)
    (tmp_path / "1.txt").write_text(CEO)
    pooled = f"2 images are assigned to a single prompt, {tmp_path.name!r}"
    assert f"{pooled}, but the text files next to them differ ({CEO!r}, {NURSE!r})" in warnings_of(
        tmp_path
    )


def _as_chunk(key: str) -> Callable[[Path, str], None]:
    def save(path: Path, text: str) -> None:
        chunks = PngImagePlugin.PngInfo()
        chunks.add_itxt(key, text)
        noise_image(len(text)).save(path.with_suffix(".png"), pnginfo=chunks)

    return save


def _as_exif(field: int, *, coded: bool) -> Callable[[Path, str], None]:
    def save(path: Path, text: str) -> None:
        exif = Image.Exif()
        if coded:
            exif.get_ifd(0x8769)[field] = b"UNICODE\0" + text.encode("utf-16-be")
        else:
            exif[field] = text
        noise_image(len(text)).save(path.with_suffix(".jpg"), exif=exif)

    return save


@pytest.mark.parametrize(
    "save",
    [
        _as_chunk("parameters"),
        _as_chunk("prompt"),
        _as_chunk("Description"),
        _as_exif(0x9286, coded=True),
        _as_exif(0x010E, coded=False),
    ],
    ids=["parameters", "prompt", "description", "user comment", "image description"],
)
def test_texts_in_images_are_named(tmp_path: Path, save: Callable[[Path, str], None]) -> None:
    for number, prompt in enumerate((NURSE, CEO)):
        save(tmp_path / str(number), f"{prompt}\nSteps: {number}")
    warning = warnings_of(tmp_path)
    assert (
        f"texts inside image files are not used: 0.{'jpg' if '.jpg' in warning else 'png'}"
        in warning
    )
    assert f"the texts in their files differ ({CEO!r}, {NURSE!r})" in warning


def test_seeds_in_texts_do_not_make_prompts_differ(tmp_path: Path) -> None:
    for number in (0, 1):
        _as_chunk("parameters")(tmp_path / str(number), f"{NURSE}\nSteps: 20, Seed: 1{number * 5}")
    assert "of one prompt" not in warnings_of(tmp_path)


@pytest.mark.parametrize("content", [b"", b"\x89PNG\r\n\x1a\n", b"not an image"])
def test_damaged_images_have_no_text(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "0.png").write_bytes(content)
    assert embedded_text(tmp_path / "0.png") == ""


@pytest.mark.parametrize(
    ("names", "is_pooled"),
    [
        (["nurse_01.png", "nurse_02.png", "CEO_1.png", "CEO_2.png"], True),
        (["nurse (1).png", "nurse (2).png", "chef (1).png", "chef (2).png"], True),
        (["nurse_01.png", "nurse_02.png"], False),
        (["3f9.png", "ab7.png", "abc.png", "d20.png"], False),
        (["img_1.png", "img_2.png", "cover.png"], False),
        (["nurse/1.png", "nurse/2.png", "ceo/1.png", "ceo/2.png"], False),
    ],
)
def test_names_of_files_show_that_prompts_are_pooled(
    tmp_path: Path, names: list[str], is_pooled: bool
) -> None:
    save_images(tmp_path, *names)
    assert ("the file names suggest several prompts" in warnings_of(tmp_path)) is is_pooled
