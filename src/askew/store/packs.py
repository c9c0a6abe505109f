"""Packs. A pack is a file with the results of one slice of a run. It never changes.

A pack is named after a hash of its slice's requests. Machines that compute the same slice write the
same pack, so they need neither locks nor a shared index.

A pack is an ordinary tar file with these members:

- SHA256SUMS contains the checksums of the other members, for use with `sha256sum --check`.
- manifest.json contains metadata for the slice, and the position and size of each file below.
- ID.png … are the images, named after their SHA-256.
- vectors.f4 contains the vectors as 32-bit floating-point numbers.
"""

import io
import json
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from askew.models.base import Setting
from askew.store.files import SUMS_FILE, digest_of, sha256
from askew.store.foreign import json_value
from askew.store.imagefile import EncodedPicture
from askew.store.requests import PictureRequest
from askew.store.rows import IndexRow, is_valid
from askew.types import Missing

FORMAT = 1
"""Version number of the pack format."""

MANIFEST = "manifest.json"
VECTORS = "vectors.f4"
BLOCK = tarfile.BLOCKSIZE
"""Size in bytes of a tar block. Each file is preceded by a block that describes the file."""

END = bytes(2 * BLOCK)
"""Two empty blocks, which end a tar file."""

Kind = Literal["images", "readings"]
Vector = NDArray[np.float32]


class DamagedPack(ValueError):
    """Raised for a changed or incomplete pack. The message is the end of a sentence."""


@dataclass(frozen=True, slots=True)
class ImagePack:
    """Images of one slice, with metadata and vectors recorded while the images were generated.

    Attributes
    ----------
    requests
        The requests.
    outcomes
        For each request, an image, or the reason why the image is missing.
    provenance
        Environment in which the images were generated.
    reports
        Metadata that a server reported for each image, keyed by image key.
    seen
        Vectors computed during generation, keyed by image id and then by embedder fingerprint.
    """

    requests: Sequence[PictureRequest]
    outcomes: Sequence[EncodedPicture | Missing]
    provenance: Mapping[str, object] = field(default_factory=dict)
    reports: Mapping[str, Mapping[str, Setting]] = field(default_factory=dict)
    seen: Mapping[str, Mapping[str, Vector]] = field(default_factory=dict)

    def rows_seen(self) -> list[Mapping[str, Vector]]:
        """Return the vectors computed during generation, one mapping per request."""
        names = [o.id if isinstance(o, EncodedPicture) else "" for o in self.outcomes]
        return [self.seen.get(name, {}) for name in names]


@dataclass(frozen=True, slots=True)
class ReadingPack:
    """Answers and vectors for the images of one slice.

    Attributes
    ----------
    answers
        Rows of the table `answers`.
    questions
        Text of each question, keyed by question hash.
    vectors
        Vectors, keyed by image id and then by embedder fingerprint.
    """

    answers: Sequence[IndexRow]
    questions: Mapping[str, str] = field(default_factory=dict)
    vectors: Mapping[str, Mapping[str, Vector]] = field(default_factory=dict)


def image_pack_name(requests: Sequence[PictureRequest], sees: frozenset[str]) -> str:
    """Return the hash that identifies a slice of images, as 64 hexadecimal digits.

    Parameters
    ----------
    requests
        Image requests of the slice, in order.
    sees
        Fingerprint of each embedder that computes vectors while the images are generated.
    """
    return digest_of(["images", [request.key for request in requests], sorted(sees)])


def path_of(name: str, kind: Kind) -> str:
    """Return a pack's path within its folder or bucket."""
    return f"slices/{name[:2]}/{name}.{kind}.tar"


def kind_of(path: str) -> Kind:
    """Return the kind of the pack that is stored at this path."""
    return "readings" if path.endswith(".readings.tar") else "images"


def packed_images(pack: ImagePack) -> bytes:
    """Encode a pack of images. Identical content always yields identical bytes."""
    images: dict[str, EncodedPicture] = {}
    rows = []
    for request, outcome in zip(pack.requests, pack.outcomes, strict=True):
        row: dict[str, object] = {
            "key": request.key,
            "prompt": request.prompt,
            "seed": request.seed,
            "model": request.model,
        }
        if isinstance(outcome, Missing):
            row |= {"reason": outcome.reason, "detail": outcome.detail}
        else:
            name = outcome.id + outcome.suffix
            row["file"] = name
            images[name] = outcome
        rows.append(row)
    content = {
        "made_by": dict(pack.requests[0].made_by) if pack.requests else {},
        "provenance": dict(pack.provenance),
        "reports": {key: dict(report) for key, report in pack.reports.items()},
        "images": rows,
    }
    return _packed("images", content, images, pack.seen)


def packed_readings(pack: ReadingPack) -> bytes:
    """Encode a pack of answers and vectors. Identical content always yields identical bytes."""
    content = {
        "answers": [list(row) for row in pack.answers],
        "questions": dict(pack.questions),
    }
    return _packed("readings", content, {}, pack.vectors)


def unpacked(data: bytes, kind: Kind) -> ImagePack | ReadingPack:
    """Decode the bytes of a pack.

    Raises
    ------
    DamagedPack
        If the pack is incomplete or damaged, or if its content is not in the form that askew
        writes.
    """
    with _refused_garbage():
        content, files = _unpacked(data, kind)
        if kind == "images":
            return _image_pack(content, files)
        return _reading_pack(content, files)


def _image_pack(content: Mapping[str, Any], files: Mapping[str, bytes]) -> ImagePack:
    return ImagePack(
        requests=[_request(row, content["made_by"]) for row in content["images"]],
        outcomes=[_outcome(row, files) for row in content["images"]],
        provenance=dict(content["provenance"]),
        reports=dict(content["reports"]),
        seen=_vectors(content, files),
    )


def _reading_pack(content: Mapping[str, Any], files: Mapping[str, bytes]) -> ReadingPack:
    answers = content["answers"]
    if not all(is_valid("answers", row) for row in answers):
        raise DamagedPack("contains an answer that askew would not write")
    return ReadingPack(
        answers=answers, questions=dict(content["questions"]), vectors=_vectors(content, files)
    )


@contextmanager
def _refused_garbage() -> Iterator[None]:
    """Convert exceptions that unexpected content causes into DamagedPack."""
    try:
        yield
    except DamagedPack:
        raise
    except (tarfile.TarError, EOFError) as error:
        raise DamagedPack("is not a complete tar file") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DamagedPack("contains metadata that askew would not write") from error


def _packed(
    kind: Kind,
    content: Mapping[str, object],
    images: Mapping[str, EncodedPicture],
    vectors: Mapping[str, Mapping[str, Vector]],
) -> bytes:
    """Return a tar file with the checksums, the manifest and the other files, in this order."""
    files = {name: image.data for name, image in images.items()}
    digests = {name: image.id for name, image in images.items()}
    listed_vectors, rows = _listed_vectors(vectors)
    if rows:
        files[VECTORS] = rows
        digests[VECTORS] = sha256(rows)
    offset = 0
    places = {}
    for name, file in files.items():
        places[name] = [offset + BLOCK, len(file)]
        offset += BLOCK + -(-len(file) // BLOCK) * BLOCK
    manifest = {
        "pack": FORMAT,
        "kind": kind,
        **content,
        "vectors": listed_vectors,
        # places count from the end of this file
        "files": places,
    }
    manifest_file = json.dumps(manifest, sort_keys=True).encode("ascii")
    sums = _sums({MANIFEST: sha256(manifest_file), **digests})
    return _tar({SUMS_FILE: sums, MANIFEST: manifest_file, **files})


def _sums(digests: Mapping[str, str]) -> bytes:
    """Return the content of SHA256SUMS for files with these digests."""
    return "".join(f"{digest}  {name}\n" for name, digest in digests.items()).encode("ascii")


def _tar(files: Mapping[str, bytes]) -> bytes:
    """Return a tar file that records neither times nor owners.

    Identical files always yield identical bytes.
    """
    parts = []
    for name, file in files.items():
        parts += [_tar_header(name, len(file)), file, bytes(-len(file) % BLOCK)]
    length = sum(map(len, parts)) + len(END)
    return b"".join([*parts, END, bytes(-length % tarfile.RECORDSIZE)])


def _tar_header(name: str, size: int) -> bytes:
    """Return the header of a file, without a time or an owner."""
    if not name.isascii() or len(name) > tarfile.LENGTH_NAME:
        raise ValueError(f"the name {name} is not ASCII or too long for a tar file")
    header = tarfile.TarInfo(name)
    header.size = size
    return header.tobuf(tarfile.USTAR_FORMAT)


def _listed_vectors(
    vectors: Mapping[str, Mapping[str, Vector]],
) -> tuple[list[list[object]], bytes]:
    """Return a list of the vectors' positions, and all vectors concatenated as bytes."""
    listed: list[list[object]] = []
    rows = []
    place = 0
    for name, by_fingerprint in sorted(vectors.items()):
        for fingerprint, vector in sorted(by_fingerprint.items()):
            listed.append([fingerprint, name, place, len(vector)])
            rows.append(vector.astype("<f4").tobytes())
            place += len(vector)
    return listed, b"".join(rows)


def _unpacked(data: bytes, kind: Kind) -> tuple[dict[str, Any], dict[str, bytes]]:
    """Verify all checksums of a pack, and return its manifest and its other files."""
    files = dict(_members(data))
    if _tar(files) != data:
        raise DamagedPack("has changed: it contains bytes that askew would not write")
    sums = files.pop(SUMS_FILE, b"")
    if not files or sums != _sums({name: sha256(file) for name, file in files.items()}):
        raise DamagedPack("has changed: a SHA-256 differs")
    manifest = json_value(files.pop(MANIFEST))
    if manifest["pack"] != FORMAT:
        raise DamagedPack(
            f"has the format {manifest['pack']}, but this version of askew reads {FORMAT}"
        )
    if manifest["kind"] != kind:
        raise DamagedPack(f"contains {manifest['kind']}, not {kind}")
    return manifest, files


def _members(data: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield the names and contents of the files in a tar file."""
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        for member in tar:
            file = tar.extractfile(member) if member.isreg() else None
            if file is None:
                raise DamagedPack("contains a link or a folder")
            yield member.name, file.read()


def _vectors(
    content: Mapping[str, Any], files: Mapping[str, bytes]
) -> dict[str, dict[str, Vector]]:
    """Return the vectors, keyed by image id and then by embedder fingerprint."""
    numbers = np.frombuffer(files.get(VECTORS, b""), "<f4").astype(np.float32)
    vectors: dict[str, dict[str, Vector]] = {}
    for fingerprint, name, place, length in content["vectors"]:
        vector = numbers[place : place + length]
        if not is_valid("vectors", (fingerprint, name, vector.tobytes())) or len(vector) != length:
            raise DamagedPack("contains a vector that askew would not write")
        vectors.setdefault(name, {})[fingerprint] = vector
    return vectors


def _request(row: Mapping[str, Any], made_by: Mapping[str, Setting]) -> PictureRequest:
    return PictureRequest(
        key=row["key"],
        prompt=row["prompt"],
        seed=row["seed"],
        model=row["model"],
        made_by=dict(made_by),
    )


def _outcome(row: Mapping[str, Any], files: Mapping[str, bytes]) -> EncodedPicture | Missing:
    """Return the image listed in a manifest row, or the reason why the image is missing."""
    fixed = (row["prompt"], row["seed"], row["model"], None)
    if "file" not in row:
        missing = Missing(row["reason"], row["detail"])
        _check_row((row["key"], None, None, missing.reason, missing.detail, *fixed))
        return missing
    path = PurePosixPath(row["file"])
    _check_row((row["key"], path.stem, path.suffix, None, "", *fixed))
    image = EncodedPicture(files[row["file"]], path.suffix)
    if image.id != path.stem:
        raise DamagedPack(f"has changed: the SHA-256 of the image {path.stem[:12]} differs")
    return image


def _check_row(row: IndexRow) -> None:
    if not is_valid("pictures", row):
        raise DamagedPack("contains an image that askew would not write")
