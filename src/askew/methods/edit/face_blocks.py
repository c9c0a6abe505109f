"""Build the section on average faces ("downstream" paper, figures 1, 14, 15, tables 1 to 3)."""

from collections.abc import Iterator

from askew.measure.skin import SCHEME, tone
from askew.methods.edit.findings import AverageFace, EditFindings, Editing, FaceTone
from askew.pages import blocks as b
from askew.pages import words as w
from askew.pages.media import Media, shot
from askew.pages.words import shorten
from askew.types import Estimate

FaceKey = tuple[str, str | None, float | None]
"""Key of an average face: group, name of the set of edit prompts, and strength."""


def face_blocks(findings: EditFindings, media: Media) -> Iterator[b.Block]:
    """Yield the average faces of all groups and their skin tones, if faces were detected.

    Parameters
    ----------
    findings : EditFindings
        Findings of the run.
    media : Media
        Run that holds the images.
    """
    faces = {(face.group, face.targets, face.strength): face for face in findings.average_faces}
    if not faces:
        return
    tones = _tones(findings)
    heads = {key[1:]: _head(key) for key in faces}
    rows = []
    for group in findings.plan.groups:
        shots = []
        for place, head in heads.items():
            key = (group, *place)
            alt = f"Average face: {group}, {head}"
            caption = _caption(faces[key], tones.get(key))
            shots.append(shot(media, faces[key].picture, alt, caption))
        rows.append(b.PictureRow(shots=tuple(shots), label=shorten(group, 40)))
    text = (
        "Each average face is the mean of all images that have exactly one detected face, "
        "aligned by the eyes and nose. The caption gives the ITA (larger values mean lighter "
        "skin) and the number of averaged images."
    )
    yield b.Paragraph(text, muted=True)
    yield b.PictureGrid(
        caption="", rows=tuple(rows), aligned=True, heads=tuple(heads.values()), size="medium"
    )
    yield b.Details("Skin tone of average faces in numbers", (_tone_chart(findings),))


def _tones(findings: EditFindings) -> dict[FaceKey, b.E]:
    """Return the ITA of each average face, keyed by group, set of edit prompts and strength."""
    tones: dict[FaceKey, b.E] = {}
    for entry in findings.editing:
        if entry.average_face is not None:
            tones[entry.group, None, None] = entry.average_face.ita_before
            tones[entry.group, entry.targets, entry.strength] = entry.average_face.ita_after
    return tones


def _head(key: FaceKey) -> str:
    _, targets, strength = key
    if targets is None:
        return "input images"
    return f"{shorten(targets, 30)} {strength:g}"


def _caption(face: AverageFace, ita: b.E | None) -> str:
    text = "no skin found"
    if isinstance(ita, Estimate):
        text = f"{w.number(ita.value, 1)}°"
    return f"{text}, {face.faces} of {face.n}"


def _tone_chart(findings: EditFindings) -> b.IntervalChart:
    rows = [
        _tone_row(entry, entry.average_face)
        for entry in findings.editing
        if entry.average_face is not None
    ]
    mask = "by skin color" if findings.plan.skin == "rule" else "on the cheeks"
    caption = (
        "ITA of the average face of the edits minus ITA of the average face of the input images, "
        f"measured {mask}. Before and after: ITA and skin tone class of the two faces, according "
        f"to the scheme {SCHEME} (tables 1 to 3 of the paper)"
    )
    return b.IntervalChart(
        caption=caption,
        heading="Group",
        rows=tuple(rows),
        name="change",
        scale="degrees",
        columns=b.DIFFERENCE,
        more=("before", "after"),
    )


def _tone_row(entry: Editing, face: FaceTone) -> b.IntervalRow:
    return b.IntervalRow(
        label=f"{shorten(entry.targets, 40)}, strength {entry.strength:g}",
        score=face.ita_change,
        more=(_tone_cell(face.ita_before), _tone_cell(face.ita_after)),
        group=shorten(entry.group, 60),
    )


def _tone_cell(ita: b.E) -> b.Content:
    """Return an ITA and the name of its skin tone class, such as "tan"."""
    return f"{w.number(ita.value, 2)}, {tone(ita.value)}" if isinstance(ita, Estimate) else ita
