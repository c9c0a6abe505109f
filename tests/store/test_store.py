"""The store returns what was put in, finds broken files, and reports faults of its folder."""

from __future__ import annotations

import io
import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from askew.errors import StoreError, UsageError
from askew.store.imagefile import EncodedPicture, encode, is_blank
from askew.store.keys import SEEDS, file_key, picture_key, picture_seed, question_hash
from askew.store.requests import PictureRequest
from askew.store.store import Store, default_store, working_process
from askew.types import Missing, Picture, Question


def drawing(seed: int = 0) -> Image.Image:
    noise = np.random.default_rng(seed).integers(0, 256, (16, 16, 3), dtype=np.uint8)
    return Image.fromarray(noise).resize((128, 128), Image.Resampling.NEAREST)


def wanted(name: str) -> PictureRequest:
    return PictureRequest(picture_key("m", "1", {}, name, 1), name, 1, "m")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "store") as opened:
        yield opened


# Keys


def test_keys_equal_those_of_earlier_versions() -> None:
    """With other keys, all images of existing stores would be generated again."""
    assert (
        picture_key("studio/planted", "1", {"bias": 0.5}, "a nurse", 7)[:16] == "7e7ae5d55544596b"
    )
    assert picture_seed(0, "a nurse", 0) == 3146114445748892818


def test_key_changes_with_each_part() -> None:
    base = ("m", "1", {"a": 1, "b": 2}, "a nurse", 7)
    others = [
        ("n", *base[1:]),
        ("m", "2", *base[2:]),
        ("m", "1", {"a": 1}, "a nurse", 7),
        (*base[:3], "a nun", 7),
    ]
    keys = {picture_key(*parts) for parts in [base, *others, (*base[:4], 8)]}  # type: ignore[arg-type]
    assert len(keys) == 6
    assert picture_key("m", "1", {"b": 2, "a": 1}, "a nurse", 7) in keys


@settings(max_examples=15, deadline=None)
@given(st.integers(), st.text(), st.integers(min_value=0))
def test_seed_is_a_positive_63_bit_number(run_seed: int, prompt: str, k: int) -> None:
    assert 1 <= picture_seed(run_seed, prompt, k) <= SEEDS


def test_seeds_differ_between_prompts_images_and_runs() -> None:
    seeds = set()
    for run in range(5):
        for prompt in ("a", "b"):
            seeds |= {picture_seed(run, prompt, k) for k in range(50)}
    assert len(seeds) == 500


def test_setting_that_is_not_a_number_is_refused() -> None:
    with pytest.raises(UsageError, match="finite"):
        picture_key("m", "1", {"bias": float("nan")}, "a nurse", 1)


def test_the_key_of_a_question_covers_all_that_affects_an_answer() -> None:
    """Labels of people are looked up by axis, so a text asked about two axes is two questions."""
    questions = [
        Question("a?", ("x", "y")),
        Question("a?", ("y", "x")),
        Question("a?"),
        Question("a?", ("x", "y"), "age"),
    ]
    assert (
        len({question_hash(question) for question in [*questions, Question("a?", ("x", "y"))]}) == 4
    )


# Images


def test_equal_pixels_give_equal_bytes_whatever_the_metadata() -> None:
    plain = drawing()
    other = drawing().convert("RGBA")
    other.info |= {"dpi": (300, 300), "icc_profile": b"x", "transparency": 3}
    assert encode(plain) == encode(other)
    data = encode(plain)
    assert isinstance(data, EncodedPicture)
    with Image.open(io.BytesIO(data.data)) as back:
        assert np.array_equal(np.asarray(back), np.asarray(plain))


@pytest.mark.parametrize(
    ("image", "blank"),
    [
        (Image.new("RGB", (8, 8), (3, 2, 1)), True),
        (Image.new("P", (8, 8), 7), True),
        (np.full((4, 4, 3), np.nan), True),
        (np.zeros((0, 0, 3)), True),
        (drawing(), False),
        (drawing().convert("L"), False),
        (Image.fromarray(np.arange(300, 6700, 100, dtype=np.uint16).reshape(8, 8)), False),
        (Image.fromarray(np.arange(300, 364, dtype=np.uint16).reshape(8, 8)), True),
    ],
)
def test_blank(image: Image.Image, blank: bool) -> None:
    assert is_blank(image) is blank


def test_images_come_back(store: Store) -> None:
    pair = [wanted("a nurse"), wanted("a blank"), wanted("failed")]
    given_back = store.put_pictures(
        pair, [encode(drawing()), Missing("blank_image"), Missing("error", "500")], {}
    )
    picture = given_back[0]
    assert isinstance(picture, Picture)
    assert picture.path.endswith(f"pictures/{picture.id[:2]}/{picture.id}.png")
    assert (picture.prompt, picture.seed) == ("a nurse", 1)
    assert given_back[1:] == [Missing("blank_image"), Missing("error", "500")]
    pictures = store.pictures(value.key for value in [*pair, wanted("never made")])
    # an error is tried again
    assert pictures == {
        pair[0].key: picture,
        pair[1].key: Missing("blank_image"),
    }


def test_first_image_stays(store: Store) -> None:
    first = store.put_pictures([wanted("a")], [encode(drawing(1))], {})
    assert store.put_pictures([wanted("a")], [encode(drawing(2))], {}) == first


def test_corrupt_image_is_not_found_set_aside_and_replaced(store: Store) -> None:
    (first,) = store.put_pictures([wanted("a")], [encode(drawing())], {})
    assert isinstance(first, Picture)
    data = Path(first.path).read_bytes()
    Path(first.path).write_bytes(data[:-9] + b"x" + data[-8:])
    assert store.pictures([wanted("a").key]) == {}
    assert store.put_pictures([wanted("a")], [encode(drawing())], {}) == [first]
    assert Path(first.path).read_bytes() == data
    assert len(quarantined(store)) == 1


# Files of a user


def add_file(store: Store, path: Path, prompt: str = "") -> Picture | Missing:
    (result,) = store.add_files(
        [PictureRequest(file_key("", "", str(path.absolute())), prompt, None, "file", path)]
    )
    return result


def quarantined(store: Store) -> list[Path]:
    return sorted((store.path / "quarantine").glob("*"))


def jpeg(path: Path, seed: int = 0) -> Path:
    drawing(seed).save(path, "JPEG")
    return path


def test_file_keeps_its_bytes_and_suffix(store: Store, tmp_path: Path) -> None:
    source = jpeg(tmp_path / "Nurse.JPG")
    picture = add_file(store, source, "nurse")
    assert isinstance(picture, Picture)
    assert Path(picture.path).read_bytes() == source.read_bytes()
    assert (Path(picture.path).suffix, picture.prompt, picture.source) == (
        ".jpg",
        "nurse",
        str(source),
    )
    assert add_file(store, source, "nurse") == picture


def test_changed_file_is_read_again(store: Store, tmp_path: Path) -> None:
    first = add_file(store, jpeg(tmp_path / "a.jpg", 1))
    second = add_file(store, jpeg(tmp_path / "a.jpg", 2))
    assert isinstance(first, Picture)
    assert isinstance(second, Picture)
    assert first.id != second.id


GARBAGE = {
    "empty": b"",
    "text": b"not a picture",
    "postscript": b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n",
    "zeros": bytes(5000),
}


@pytest.mark.parametrize("kind", [*GARBAGE, "truncated png", "truncated jpeg"])
def test_garbage_is_missing_and_never_copied(store: Store, tmp_path: Path, kind: str) -> None:
    source = tmp_path / "picture.png"
    if kind in GARBAGE:
        source.write_bytes(GARBAGE[kind])
    else:
        drawing().save(source, kind.split()[1])
        source.write_bytes(source.read_bytes()[: source.stat().st_size // 2])
    before = source.read_bytes()
    outcome = add_file(store, source)
    assert isinstance(outcome, Missing)
    assert outcome.reason == "corrupt_file"
    assert str(source) in outcome.detail
    assert source.read_bytes() == before
    assert add_file(store, source) == outcome
    assert quarantined(store) == []


def test_an_absent_or_blank_file_is_missing(store: Store, tmp_path: Path) -> None:
    Image.new("RGB", (9, 9)).save(tmp_path / "black.png")
    for path in (tmp_path / "absent.png", tmp_path / "black.png" / "within.png"):
        assert add_file(store, path) == Missing("absent_file", str(path))
    assert add_file(store, tmp_path / "black.png") == Missing(
        "blank_image", f"{tmp_path / 'black.png'}: the image shows a single color"
    )
    assert quarantined(store) == []


def test_name_that_is_not_unicode(store: Store, tmp_path: Path) -> None:
    source = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.png"))
    drawing().save(source)
    assert isinstance(add_file(store, source), Picture)
    source.write_bytes(b"broken")
    outcome = add_file(store, source)
    assert isinstance(outcome, Missing)
    assert "caf\\xe9.png" in outcome.detail


# Answers and vectors


def test_answers_come_back_and_the_first_final_one_stays(store: Store) -> None:
    asked = [Question("Bright?", ("yes", "no")), Question("What?")]
    store.put_answers(
        "vqa", ["p", "q"], asked, [["yes", Missing("refused")], [Missing("error"), "a cat"]]
    )
    hashes = [question_hash(question) for question in asked]
    first = {
        ("p", hashes[0]): "yes",
        ("p", hashes[1]): Missing("refused"),
        ("q", hashes[1]): "a cat",
    }
    assert store.answers("vqa", ["p", "q", "r"], asked) == first
    store.put_answers("vqa", ["p", "q"], asked, [["no", "a dog"], ["no", "a dog"]])
    assert store.answers("vqa", ["p", "q"], asked) == {**first, ("q", hashes[0]): "no"}
    assert store.answers("another vqa", ["p", "q"], asked) == {}


def test_vectors_come_back(store: Store) -> None:
    rows = {f"p{i}": np.random.default_rng(i).normal(size=5).astype(np.float32) for i in range(3)}
    store.put_vectors("e", rows)
    vectors = store.vectors("e", [*rows, "absent"])
    assert vectors.keys() == rows.keys()
    assert all(np.array_equal(vectors[name], row) for name, row in rows.items())
    assert vectors["p0"].dtype == np.float32


@pytest.mark.slow
def test_thousands_of_rows_are_fast(store: Store) -> None:
    begun = time.process_time()
    ids = [f"{i:064x}" for i in range(5000)]
    asked = [Question(f"q{j}?") for j in range(10)]
    store.put_answers("vqa", ids, asked, [["yes"] * 10] * 5000)
    assert len(store.answers("vqa", ids, asked)) == 50_000
    assert time.process_time() - begun < 10  # it takes about one second


# The folder


def test_default_store_is_beside_the_run() -> None:
    assert default_store(Path("/data/runs/one")) == Path("/data/runs/.askew")


def test_store_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "store").write_text("")
    with pytest.raises(StoreError, match="must be a folder"):
        Store(tmp_path / "store")
    with pytest.raises(StoreError, match="must be a folder"):
        Store(tmp_path / "store" / "inside")


def test_a_folder_without_write_permission_is_an_error(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    nobody = os.geteuid() == 0
    if nobody:
        os.seteuid(65534)
    try:
        with pytest.raises(StoreError, match="cannot be written"):
            Store(tmp_path / "store")
    finally:
        if nobody:
            os.seteuid(0)
        tmp_path.chmod(0o700)


@pytest.mark.parametrize(
    ("schema", "message"), [(99, "newer askew.*update askew, or"), (1, "older askew.*: choose")]
)
@pytest.mark.parametrize("create", [True, False])
def test_store_of_another_version(tmp_path: Path, schema: int, message: str, create: bool) -> None:
    Store(tmp_path).close()
    with sqlite3.connect(tmp_path / "index.sqlite") as connection:
        connection.execute("UPDATE meta SET value = ?", [schema])
    connection.close()
    with pytest.raises(StoreError, match=message):
        Store(tmp_path, create=create)
    before = (tmp_path / "index.sqlite").read_bytes()
    with pytest.raises(StoreError, match=message):
        Store.rebuild(tmp_path)
    assert (tmp_path / "index.sqlite").read_bytes() == before


def test_damaged_index(tmp_path: Path) -> None:
    (tmp_path / "index.sqlite").write_bytes(b"no database" * 1000)
    with pytest.raises(StoreError, match="damaged"):
        Store(tmp_path)


def test_index_that_cannot_grow(store: Store) -> None:
    store.index._connection.execute("PRAGMA max_page_count = 1")
    with pytest.raises(StoreError, match="disk is full"):
        store.put_pictures(
            [wanted(f"{i} " * 500) for i in range(90)], [Missing("refused", "x" * 500)] * 90, {}
        )
    store.index._connection.execute("PRAGMA max_page_count = 100000")
    assert store.pictures([wanted("0 " * 500).key]) == {}


def test_looking_at_an_absent_store_writes_nothing(tmp_path: Path) -> None:
    with Store(tmp_path / "store", create=False) as store:
        assert store.pictures(["key"]) == {}
    assert list(tmp_path.iterdir()) == []


def test_abandoned_files_are_deleted(tmp_path: Path) -> None:
    Store(tmp_path).close()
    old = tmp_path / "incoming" / "old.part"
    new = tmp_path / "incoming" / "new.part"
    for part in (old, new):
        part.write_bytes(b"half a pict")
    os.utime(old, (0, 0))
    Store(tmp_path).close()
    assert (old.exists(), new.exists()) == (False, True)


# Runs in progress

HOLD_A_RUN = """
import sys
from pathlib import Path
from askew.store.store import Store, default_store, working_process
folder = Path(sys.argv[1])
with Store(default_store(folder)) as store, store.turn_of_run(folder):
    print("ready", flush=True)
    sys.stdin.read()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not name the process")
def test_the_process_that_works_on_a_run_is_known(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    other = tmp_path / "other"
    assert working_process(folder) is None
    assert not default_store(folder).exists()
    command = [sys.executable, "-c", HOLD_A_RUN, str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        assert working_process(folder) == process.pid
        with Store(default_store(other)) as store, store.turn_of_run(other) as is_mine:
            assert is_mine
            assert working_process(folder) == process.pid
            assert working_process(other) == os.getpid()
        assert working_process(other) is None
        process.communicate(b"")
    assert working_process(folder) is None
