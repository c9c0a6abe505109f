"""Make images of average faces for reports ("downstream" paper, figures 1, 14 and 15)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from PIL import Image

from askew.measure.portraits import FRAME, average_face
from askew.measure.skin import Bytes
from askew.methods.edit.cells import EditCell, EditedGroup, EditReadings
from askew.methods.edit.edits import FunctionMaker
from askew.methods.edit.findings import AverageFace
from askew.methods.edit.plan import EditPlan
from askew.run.base import MakerOutput, Outcome, Run, encoded
from askew.store.keys import picture_key
from askew.store.requests import PictureRequest
from askew.types import Picture

MAKER = "average face"
"""Name of the `Maker` that makes average faces.

The name is part of the keys under which average faces are stored.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class FaceRequest(PictureRequest):
    """Request to make the image of an average face.

    Attributes
    ----------
    pixels : bytes
        RGB values of the face, row by row.
    """

    pixels: bytes


def average_faces(
    plan: EditPlan,
    run: Run,
    fingerprint: str,
    groups: Sequence[EditedGroup],
    readings: EditReadings,
) -> tuple[AverageFace, ...]:
    """Make and store average faces of each group's input images and edits.

    Each group has one face for its input images, and one face per set of edit prompts and strength.

    Parameters
    ----------
    plan : EditPlan
        Edit prompts and strengths.
    run : Run
        Run that stores the images.
    fingerprint : str
        Fingerprint of the face detector, which is part of the keys under which faces are stored.
    groups : sequence of EditedGroup
        The groups and their edits.
    readings : EditReadings
        Aligned faces.

    Returns
    -------
    tuple of AverageFace
        The field `picture` is None if no face was detected.
    """
    entries: list[AverageFace] = []
    requests: list[FaceRequest | None] = []
    for group in groups:
        for entry, outcomes in _rows(plan, group):
            pictures = [outcome for outcome in outcomes if isinstance(outcome, Picture)]
            faces = _faces_of(pictures, readings)
            entries.append(replace(entry, faces=len(faces)))
            requests.append(_request(group.name, fingerprint, pictures, faces))
    by_key = {request.key: request for request in requests if request is not None}
    maker = FunctionMaker(name=MAKER, batch_size=16, make=decoded)
    images = run.make(maker, list(by_key.values()))
    return tuple(
        _with_picture(entry, request, images)
        for entry, request in zip(entries, requests, strict=True)
    )


def _rows(plan: EditPlan, group: EditedGroup) -> list[tuple[AverageFace, list[Outcome]]]:
    """Return, for each image set of a group, its images and an entry without an average face."""
    sources = list(group.sources)
    rows = [(_entry(group, None, None, sources), sources)]
    for name, words in plan.edit_prompts.items():
        for strength in plan.strengths:
            cell = EditCell(group=group, words=words, strength=strength)
            edits = [edit for row in cell.rows for edit in row]
            rows.append((_entry(group, name, strength, edits), edits))
    return rows


def _entry(
    group: EditedGroup, name: str | None, strength: float | None, outcomes: Sequence[Outcome]
) -> AverageFace:
    return AverageFace(
        group=group.name,
        targets=name,
        strength=strength,
        n=len(outcomes),
        faces=0,
        picture=None,
    )


def _faces_of(pictures: Sequence[Picture], readings: EditReadings) -> list[Bytes]:
    faces = [readings.faces.get(picture.id) for picture in pictures]
    return [face for face in faces if isinstance(face, np.ndarray)]


def _request(
    group: str, fingerprint: str, pictures: Sequence[Picture], faces: Sequence[Bytes]
) -> FaceRequest | None:
    if not faces:
        return None
    settings = {"finder": fingerprint, "of": ",".join(picture.id for picture in pictures)}
    key = picture_key(MAKER, "1", settings, group, 0)
    return FaceRequest(
        key=key,
        prompt=group,
        seed=0,
        model=f"average face {key}",
        pixels=average_face(faces).tobytes(),
    )


def _with_picture(
    entry: AverageFace, request: FaceRequest | None, images: Mapping[str, Outcome]
) -> AverageFace:
    image = None if request is None else images[request.key]
    return replace(entry, picture=image.id) if isinstance(image, Picture) else entry


def decoded(wanted: Sequence[FaceRequest]) -> list[MakerOutput]:
    """Return average faces as images."""
    images = [Image.frombytes("RGB", (FRAME, FRAME), request.pixels) for request in wanted]
    return [MakerOutput(encoded(image)) for image in images]
