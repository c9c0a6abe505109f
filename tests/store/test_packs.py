"""Packs are equal for equal content, and every damage is found when they are read."""

from __future__ import annotations

import io
import pickle
import subprocess
import sys
import tarfile
import urllib.request
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from askew.errors import StoreError, UsageError
from askew.store.bucket import OVERWRITES, Bucket
from askew.store.files import SUMS_FILE, sha256
from askew.store.imagefile import EncodedPicture, encode
from askew.store.merge import read_pack, take_pack
from askew.store.pack_address import opened_packs
from askew.store.pack_folder import PackFolder
from askew.store.pack_storage import PackStorage
from askew.store.packs import (
    DamagedPack,
    ImagePack,
    ReadingPack,
    packed_images,
    packed_readings,
    path_of,
    unpacked,
)
from askew.store.requests import PictureRequest
from askew.store.store import Store
from askew.types import Missing

SECRET = "verysecretvalue"
KEY = "AKIAEXAMPLEKEY"


def image(number: int) -> EncodedPicture:
    noise = np.random.default_rng(number).integers(0, 256, (4, 4, 3), dtype=np.uint8)
    encoded = encode(Image.fromarray(noise))
    assert isinstance(encoded, EncodedPicture)
    return encoded


def image_pack() -> ImagePack:
    requests = [
        PictureRequest(
            key=f"{number:064x}", prompt="é", seed=2**62 + number, model="m", made_by={"x": 1.5}
        )
        for number in range(3)
    ]
    outcomes = [image(0), Missing("refused", "no"), image(1)]
    name = hash_of(outcomes[0])
    rows = {name: {"map@1": np.array([1.5, -2.25], np.float32)}}
    return ImagePack(requests, outcomes, {"device": "cpu"}, {requests[0].key: {"cost": 2}}, rows)


def hash_of(outcome: EncodedPicture | Missing) -> str:
    assert isinstance(outcome, EncodedPicture)
    return outcome.id


def reading_pack() -> ReadingPack:
    name = hash_of(image(0))
    answers = [["vqa@1", name, "q1", "yes", None, ""], ["vqa@1", name, "q2", None, "refused", "no"]]
    vectors = {name: {"embedder@1": np.arange(4, dtype=np.float32)}}
    return ReadingPack(answers, {"q1": "Is it?", "q2": "Why?"}, vectors)


IMAGES_SUM = "1297b4d1b955ece582c10a2961153f8ed2280da3e826f554ba0b4d63422104b5"
READINGS_SUM = "e09a8f4beb1046b62062d0544faeb4b2b94aa3fea066f9e267665eb3cb3eb5f1"
"""SHA-256 of packs with fixed content. They change only together with the format."""

PACKS = {"images": packed_images(image_pack()), "readings": packed_readings(reading_pack())}


def test_packs_hold_what_was_packed() -> None:
    images = unpacked(PACKS["images"], "images")
    assert isinstance(images, ImagePack)
    np.testing.assert_equal(asdict(images), asdict(image_pack()))
    readings = unpacked(PACKS["readings"], "readings")
    assert isinstance(readings, ReadingPack)
    np.testing.assert_equal(asdict(readings), asdict(reading_pack()))
    assert packed_images(images) == PACKS["images"]


def test_the_bytes_of_packs_do_not_change() -> None:
    request = PictureRequest(key="0" * 64, prompt="é", seed=1, model="m", made_by={"x": 1.5})
    vectors = {EncodedPicture(b"x").id: {"map@1": np.ones(2, np.float32)}}
    images = ImagePack(
        requests=[request, request],
        outcomes=[EncodedPicture(b"x" * 700), EncodedPicture(b"x", ".jpg")],
        seen=vectors,
    )
    readings = ReadingPack(answers=[], vectors=vectors)
    assert sha256(packed_images(images)) == IMAGES_SUM
    assert sha256(packed_readings(readings)) == READINGS_SUM


@pytest.mark.parametrize("kind", ["images", "readings"])
def test_packs_are_what_tarfile_writes(kind: str) -> None:
    buffer = io.BytesIO()
    with (
        tarfile.open(fileobj=io.BytesIO(PACKS[kind])) as pack,
        tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as tar,
    ):
        for member in pack:
            plain = tarfile.TarInfo(member.name)
            plain.size = member.size
            tar.addfile(plain, pack.extractfile(member))
    assert buffer.getvalue() == PACKS[kind]


@pytest.mark.parametrize("name", ["b/" + "a" * 100, "é"])
def test_a_pack_with_a_name_that_askew_would_not_write_is_refused(name: str) -> None:
    with tarfile.open(fileobj=io.BytesIO(PACKS["images"])) as pack:
        files = {member: pack.extractfile(member) for member in pack}
        contents = {member.name: file.read() for member, file in files.items() if file}
    contents[name] = b""
    del contents[SUMS_FILE]
    sums = "".join(f"{sha256(data)}  {member}\n" for member, data in contents.items()).encode()
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for member, data in {SUMS_FILE: sums, **contents}.items():
            header = tarfile.TarInfo(member)
            header.size = len(data)
            tar.addfile(header, io.BytesIO(data))
    with pytest.raises(DamagedPack):
        unpacked(buffer.getvalue(), "images")


def test_an_image_is_hashed_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    hashed: list[bytes] = []

    def counted(data: bytes) -> str:
        hashed.append(data)
        return sha256(data)

    monkeypatch.setattr("askew.store.imagefile.sha256", counted)
    pack = image_pack()
    packed_images(pack)
    with Store(tmp_path) as store:
        take_pack(pack, store)
    assert len(hashed) == len(set(hashed)) == 2


def test_any_tool_opens_a_pack(tmp_path: Path) -> None:
    with tarfile.open(fileobj=io.BytesIO(PACKS["images"])) as tar:
        tar.extractall(tmp_path, filter="data")
    subprocess.run(
        ["sha256sum", "--check", "--strict", "SHA256SUMS"],
        cwd=tmp_path,
        check=True,
        capture_output=True,
    )


@given(kind=st.sampled_from(["images", "readings"]), place=st.integers(0, 2**30), data=st.data())
def test_every_flipped_bit_is_found(kind: str, place: int, data: st.DataObject) -> None:
    content = bytearray(PACKS[kind])
    content[place % len(content)] ^= 1 << data.draw(st.integers(0, 7))
    with pytest.raises(DamagedPack):
        unpacked(bytes(content), kind)  # type: ignore[arg-type]


@given(kind=st.sampled_from(["images", "readings"]), length=st.integers(0, 2**30))
def test_every_lost_end_is_found(kind: str, length: int) -> None:
    with pytest.raises(DamagedPack):
        unpacked(PACKS[kind][: length % len(PACKS[kind])], kind)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ["images", "readings"])
def test_a_pack_of_the_other_kind_is_refused(kind: str) -> None:
    other = "readings" if kind == "images" else "images"
    with pytest.raises(DamagedPack, match=f"contains {kind}, not {other}"):
        unpacked(PACKS[kind], other)  # type: ignore[arg-type]


def test_a_pack_cannot_name_a_file_elsewhere() -> None:
    pack = image_pack()
    foreign = PACKS["images"].replace(hash_of(pack.outcomes[0]).encode(), b"../" * 21 + b"x")
    with pytest.raises(DamagedPack):
        unpacked(foreign, "images")


def test_packs_enter_a_store_once(tmp_path: Path) -> None:
    pack = image_pack()
    name = hash_of(pack.outcomes[0])
    with Store(tmp_path) as store:
        for _ in range(2):
            take_pack(pack, store)
            take_pack(reading_pack(), store)
        assert len(store.pictures(request.key for request in pack.requests)) == 3
        assert store.vectors("embedder@1", [name])[name].tolist() == [0, 1, 2, 3]
        assert store.vectors("map@1", [name])[name].tolist() == [1.5, -2.25]
        assert store.reports([pack.requests[0].key]) == {pack.requests[0].key: {"cost": 2}}
        assert [row[3] for row in store.answer_rows("vqa@1", [name], ["q1", "q2"])] == ["yes", None]
        assert store.faults() == []
        journal = store.journal.path.read_text()
    assert journal.count("\n") == 3
    assert '"device": "cpu"' in journal


@pytest.fixture(params=["folder", "memory"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> PackStorage:
    address = str(tmp_path / "packs") if request.param == "folder" else f"memory://{tmp_path.name}"
    return opened_packs(address)


def test_the_first_file_of_a_name_stays(place: PackStorage) -> None:
    path = path_of("ab" * 32, "images")
    assert place.get(path) is None
    assert place.put(path, b"first")
    assert not place.put(path, b"second")
    assert (place.get(path), place.paths(), place.paths("plans")) == (b"first", {path}, set())
    assert place.note == ""


def test_a_damaged_file_is_moved_away(place: PackStorage) -> None:
    path = path_of("ab" * 32, "images")
    place.put(path, b"garbage")
    assert isinstance(read_pack(place, path), DamagedPack)
    place.set_aside(path)
    assert place.paths() == set()
    assert place.paths("damaged") == {f"damaged/{path.rpartition('/')[2]}"}


def test_a_folder_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="must be a folder, but"):
        PackFolder(tmp_path / "file").put("slices/a", b"")


@pytest.mark.parametrize("address", ["s3://key:secret@bucket/run", "s3://bucket/run?key=secret"])
def test_an_address_with_a_secret_is_refused(address: str) -> None:
    with pytest.raises(UsageError, match="may be secret") as raised:
        opened_packs(address)
    assert "key" not in str(raised.value)


def test_an_unknown_address_is_refused() -> None:
    with pytest.raises(UsageError, match="Use s3://, gs://, az:// or a folder"):
        opened_packs("ftp://host/packs")


def test_a_missing_package_is_one_sentence() -> None:
    """The package is hidden in a process of its own."""
    code = (
        "import sys; sys.modules['obstore'] = None\n"
        "from askew.cli import run\n"
        "sys.exit(run(['merge', 's3://bucket/run']))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.startswith("askew: --packs s3://… needs the package 'obstore'. Install it")
    assert "'.[s3]'" in done.stderr.replace("\n", "")


@pytest.fixture(scope="module")
def moto() -> Iterator[str]:
    """Return the address of an S3 server with the bucket `packs`."""
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    address = f"http://{host}:{port}"
    urllib.request.urlopen(urllib.request.Request(f"{address}/packs", method="PUT")).close()
    yield address
    server.stop()


@pytest.fixture
def s3(moto: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the address of a bucket, with credentials in the environment."""
    use_server(monkeypatch, moto)
    return "s3://packs/run"


def use_server(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", address)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)


def test_a_bucket_of_s3_keeps_the_first_file(s3: str) -> None:
    bucket = opened_packs(s3)
    path = path_of("cd" * 32, "images")
    assert [bucket.put(path, b"first"), bucket.put(path, b"second")] == [True, False]
    assert (bucket.get(path), bucket.get("slices/none"), bucket.note) == (b"first", None, "")
    assert bucket.paths() == {path}
    bucket.set_aside(path)
    assert (bucket.paths(), bucket.paths("probes")) == (set(), set())
    for text in (pickle.dumps(bucket), repr(bucket).encode()):
        assert SECRET.encode() not in text
        assert KEY.encode() not in text
    assert pickle.loads(pickle.dumps(bucket)).get("slices/none") is None


def test_a_server_that_replaces_files_is_noticed(s3: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some servers ignore If-None-Match. obstore then sends a request that replaces the file."""
    import obstore

    put = obstore.put

    def replacing(store: object, path: str, data: bytes, **options: object) -> object:
        return put(store, path, data, **{**options, "mode": "overwrite"})  # type: ignore[arg-type]

    monkeypatch.setattr(obstore, "put", replacing)
    bucket = Bucket("s3://packs/replaced")
    path = path_of("ef" * 32, "images")
    assert [bucket.put(path, b"first"), bucket.put(path, b"second")] == [True, False]
    assert (bucket.get(path), bucket.note) == (b"first", OVERWRITES)


def test_an_absent_bucket_and_a_silent_server_are_one_sentence(
    s3: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(StoreError, match="there is no bucket at s3://absent/run"):
        Bucket("s3://absent/run").put("slices/a", b"")
    use_server(monkeypatch, "http://127.0.0.1:1")
    with pytest.raises(StoreError, match=r"has not responded for 0 s .* Repeat the") as raised:
        Bucket("s3://packs/run", patience=0.05, timeout=1).put("slices/a", b"")
    assert SECRET not in str(raised.value)
    assert KEY not in str(raised.value)
