"""Label and measure input images, restored images and edits."""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial

from askew.measure.base import VQA, Embedder
from askew.measure.landmarks import Landmarks
from askew.measure.portraits import NOT_SOUGHT, Face, SkinChange, find_face, skin_changes
from askew.methods.edit.cells import EditedGroup, EditReadings
from askew.methods.edit.plan import NONE, EditPlan
from askew.parts.scoring import Vectors
from askew.parts.sources.group_check import ADDITIONAL, axis_values
from askew.parts.sources.neutrality import occupation_question
from askew.run.base import Outcome, Run
from askew.types import Missing, Picture

LocatedFace = tuple[Picture, Landmarks | Missing]
"""An image and the landmarks of its face."""


def read(
    plan: EditPlan,
    run: Run,
    instruments: Mapping[str, VQA],
    embedder: Embedder | None,
    groups: Sequence[EditedGroup],
) -> EditReadings:
    """Label and measure all images of the groups.

    Parameters
    ----------
    plan : EditPlan
        Plan of the run.
    run : Run
        Run that passes images to the instruments.
    instruments : mapping of str to VQA
        Instruments that label the images.
    embedder : Embedder or None
        Embedder of the images.
    groups : sequence of EditedGroup
        The groups with their edits.

    Returns
    -------
    EditReadings
        Labels and measurements. All images are labeled, but skin and faces are measured only in
        input images and edits, not in restored images.
    """
    rows = [row for group in groups for row in (group.sources, *group.edits.values())]
    sources_and_edits = _distinct(rows)
    pictures = _distinct([sources_and_edits, *(group.restored for group in groups)])
    labels = axis_values(
        run=run,
        instruments=instruments.values(),
        axes=[axis.axis() for axis in plan.axes],
        pictures=pictures,
        also=lambda vqa: [occupation_question(vqa, plan.words)],
    )
    occupations = labels.pop(ADDITIONAL)
    vectors = _vectors(run, embedder, pictures)
    faces = _faces(plan, run, sources_and_edits)
    return EditReadings(
        labels=labels,
        occupations=occupations,
        vectors=vectors,
        skin=_skin(plan, run, groups, faces),
        faces={
            picture: face.pixels if isinstance(face, Face) else face
            for picture, face in faces.items()
        },
        mask=plan.skin,
    )


def _distinct(rows: Iterable[Iterable[Outcome]]) -> list[Picture]:
    pictures = (outcome for row in rows for outcome in row if isinstance(outcome, Picture))
    return list({picture.id: picture for picture in pictures}.values())


def _vectors(
    run: Run, embedder: Embedder | None, pictures: Sequence[Picture]
) -> dict[str, Vectors]:
    if embedder is None:
        return {}
    rows = run.read(embedder, pictures)
    return {picture.id: row for picture, row in zip(pictures, rows, strict=True)}


def _faces(plan: EditPlan, run: Run, pictures: Sequence[Picture]) -> dict[str, Face | Missing]:
    if plan.landmarks == NONE:
        return {}
    faces = run.look(partial(find_face, plan.landmarks), pictures)
    return {picture.id: face for picture, face in zip(pictures, faces, strict=True)}


def _skin(
    plan: EditPlan,
    run: Run,
    groups: Sequence[EditedGroup],
    faces: Mapping[str, Face | Missing],
) -> dict[tuple[str, str], SkinChange]:
    """Compare the skin in each input image with the skin in its edits."""
    compared = [images for group in groups for images in _images_by_source(group, faces)]
    skin: dict[tuple[str, str], SkinChange] = {}
    all_changes = run.look(partial(skin_changes, plan.skin), compared)
    for images, changes in zip(compared, all_changes, strict=True):
        if isinstance(changes, Missing):
            continue
        source, *edits = (picture.id for picture, _ in images)
        for edit, change in zip(edits, changes, strict=True):
            skin[source, edit] = change
    return skin


def _images_by_source(
    group: EditedGroup, faces: Mapping[str, Face | Missing]
) -> list[list[LocatedFace]]:
    """Return a list per input image: the image and its edits, with the landmarks of their faces."""
    compared = []
    for source, *edits in zip(group.sources, *group.edits.values(), strict=True):
        if isinstance(source, Picture):
            pictures = [source, *(edit for edit in edits if isinstance(edit, Picture))]
            compared.append([_located(picture, faces) for picture in pictures])
    return compared


def _located(picture: Picture, faces: Mapping[str, Face | Missing]) -> LocatedFace:
    face = faces.get(picture.id, NOT_SOUGHT)
    return picture, face.landmarks if isinstance(face, Face) else face
