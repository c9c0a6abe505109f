"""What `askew edit` costs: sources, the same encoded and decoded, edits, and what is read from all
of them.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Generic, TypeVar, cast

import numpy as np
from PIL import Image, ImageOps

from askew import mitigations, registry
from askew.errors import UsageError
from askew.findings import GatheredData, Identity
from askew.measure.faces import LandmarkFinder, landmark_finder
from askew.measure.portraits import FRAME, average_face
from askew.methods.edit.cells import EditedGroup, EditReadings
from askew.methods.edit.findings import AverageFace, EditSet
from askew.methods.edit.plan import NONE, EditPlan
from askew.methods.edit.reading import read
from askew.models.base import EditRequest, Model
from askew.models.diffusers import editor_of
from askew.models.pipeline import Editor
from askew.parts.sources.findings import GroupCheck, Neutrality
from askew.parts.sources.group_check import checked_pictures
from askew.parts.sources.groups import Outcomes, SocialGroup, check_filled, present, size_of
from askew.parts.sources.neutrality import neutrality
from askew.parts.survey.instruments import (
    fingerprints,
    identity_of,
    load_instruments,
    source_warnings,
    studio_warnings,
)
from askew.prompts.given import prompt_of
from askew.run.base import MakerOutput, Outcome, Run, encoded, provider
from askew.store.imagefile import opened
from askew.store.keys import picture_key, picture_seed
from askew.store.requests import PictureRequest
from askew.types import Missing, Picture

W = TypeVar("W", bound=PictureRequest)
K = TypeVar("K", bound=Hashable)


@dataclass(frozen=True, slots=True)
class EditsGathered(GatheredData):
    """All of a run: by group its pictures and edits, and what was read from them."""

    sources: Identity
    landmarks: str | None
    groups: tuple[EditedGroup, ...]
    readings: EditReadings
    showing: tuple[GroupCheck, ...]
    neutrality: tuple[Neutrality, ...]
    average_faces: tuple[AverageFace, ...]


def gather(plan: EditPlan, run: Run) -> EditsGathered:
    """Pictures, edits and readings. Raises UsageError for a model that cannot edit, or pictures
    that it cannot take.
    """
    model = mitigations.open_model(plan.model, plan.model_args)
    editor = editor_of(model, plan.edit_args)
    source = mitigations.open_model(plan.sources, plan.sources_args) if plan.sources else model
    instruments = load_instruments(plan.vqa, source, plan.aliases, plan.values, plan.vqa_args)
    embedder = (
        None if plan.embedder == NONE else registry.embedder(plan.embedder, **plan.embedder_args)
    )
    finder = None if plan.landmarks == NONE else landmark_finder(plan.landmarks)
    named = [
        SocialGroup(name, prompt.text)
        for name, prompt in zip(plan.groups, plan.prompts, strict=True)
    ]
    readers = tuple(instruments.values())
    given, shown = checked_pictures(
        run, source, named, plan.images, plan.seed, readers, plan.confidence
    )
    sources = _fitted(run, given, plan.resize) if plan.resize else given
    check_filled(sources, f"{source.name}, cropped and resized")
    _check_editable(plan, run, editor, present(sources))
    groups = _edited(plan, run, editor, sources)
    readings = read(plan, run, instruments, embedder, groups)
    neutral = neutrality(run, readers, sources, plan.words, plan.confidence)
    run.warn(*source_warnings(plan.texts(), source, instruments))
    if plan.skin == "rule":
        run.warn(
            "skin is found by its colour in whole pictures, which takes walls and clothes of that colour for "
            "skin: such numbers do not order groups; --skin geometry reads the cheeks of faces"
        )
    elif finder is None:
        run.warn(
            "skin tone is not measured, for nobody finds faces: name who does by --landmarks faces, after "
            'pip install "askew[faces]"'
        )
    unknown = [word for word in plan.words if cast("Model", model).unknown_words(prompt_of(word))]
    if unknown:
        run.warn(f"{model.name} does not know all words of these targets: {', '.join(unknown)}")
    makers = [*([plan.sources] if plan.sources else []), editor.name]
    used = [embedder.name] if embedder else None
    run.warn(*studio_warnings(makers, instruments, used))
    return EditsGathered(
        Identity(editor.name, editor.revision, dict(editor.settings)),
        getattr(editor, "device", None),
        fingerprints(instruments, embedder),
        _sets(groups),
        identity_of(source, plan.sources_args),
        None if finder is None else finder.fingerprint,
        groups,
        readings,
        shown,
        neutral,
        () if finder is None else _average_faces(plan, run, finder, groups, readings),
    )


def _fitted(run: Run, sources: Outcomes, side: int) -> Outcomes:
    """Pictures cropped to a square around their middle and resized to `side` pixels."""
    name = "cropped and resized"

    def wanted(_: str, k: int, source: Picture) -> "EditPictureRequest":
        key = picture_key(name, "1", {"side": side, "of": source.id}, source.prompt, 0)
        return EditPictureRequest(key, source.prompt, 0, f"{name} {side} {source.id}", of=source)

    return _made(run, FunctionMaker(name, 16, partial(fitted, side)), sources, wanted)


def _check_editable(plan: EditPlan, run: Run, editor: Editor, sources: Sequence[Picture]) -> None:
    """Raises UsageError unless the editor can edit every source at every strength."""
    sizes: dict[tuple[int, int], Picture] = {}
    for one, size in zip(sources, run.look(size_of, sources), strict=True):
        if not isinstance(size, Missing):
            sizes.setdefault(size, one)
    if len(sizes) > 1:
        listed = ", ".join(
            f"{w} x {h} ({one.source or one.path})" for (w, h), one in list(sizes.items())[:3]
        )
        raise UsageError(
            f"the pictures to edit have {len(sizes)} different sizes, such as {listed}; a model edits pictures of "
            f"one size: let them be cropped and resized to that of the model, as in --resize 512"
        )
    for size in sizes:
        editor.check(size, plan.strengths)


def _edited(plan: EditPlan, run: Run, editor: Editor, sources: Outcomes) -> tuple[EditedGroup, ...]:
    """Encode and decode all sources, and make all edits, in a fixed order.

    Pictures that were given twice are edited twice, from different noise.
    """
    kept = {name: value for name, value in editor.settings.items() if name == "variant"}

    def restoration(_: str, k: int, source: Picture) -> "EditPictureRequest":
        key = picture_key(
            editor.name, editor.revision, {"encode_decode_of": source.id, **kept}, "", 0
        )
        return EditPictureRequest(key, "", 0, f"{editor.name} restoring {source.id}", of=source)

    back = FunctionMaker(editor.name, editor.batch_size, partial(restored, editor))
    onwards = FunctionMaker(editor.name, editor.batch_size, partial(edited, editor))
    returned = _made(run, back, sources, restoration)
    places = [
        (name, word, strength)
        for strength in plan.strengths
        for word in plan.words
        for name in sources
    ]
    made = _made(
        run,
        onwards,
        {place: sources[place[0]] for place in places},
        lambda place, k, source: wanted_edit(editor, source, k, *place[1:], plan.seed),
    )
    cells = [(word, strength) for word in plan.words for strength in plan.strengths]
    return tuple(
        EditedGroup(name, tuple(some), returned[name], {cell: made[name, *cell] for cell in cells})
        for name, some in sources.items()
    )


def wanted_edit(
    editor: Editor, source: Picture, k: int, word: str, strength: float, seed: int
) -> "EditPictureRequest":
    """The edit of a group's picture `k`. Its seed is the same for every group and strength, so that
    they make pairs.
    """
    prompt = prompt_of(word)
    own = picture_seed(seed, prompt, k)
    settings = {**editor.settings, "edit_of": source.id, "strength": strength}
    key = picture_key(editor.name, editor.revision, settings, prompt, own)
    return EditPictureRequest(
        key,
        prompt,
        own,
        f"{editor.name} editing {source.id} at {strength:g}",
        of=source,
        strength=strength,
    )


def _average_faces(
    plan: EditPlan,
    run: Run,
    finder: LandmarkFinder,
    groups: Sequence[EditedGroup],
    readings: EditReadings,
) -> tuple[AverageFace, ...]:
    """The average face of every group, and of its edits by set of targets and strength, stored as
    pictures.

    Its key tells how faces were found and laid together.
    """
    rows: list[tuple[AverageFace, FaceRequest | None]] = []
    for group in groups:
        cells: list[tuple[str | None, float | None, list[Outcome]]] = [
            (None, None, list(group.sources))
        ]
        cells += [
            (name, strength, [one for word in words for one in group.edits[word, strength]])
            for name, words in plan.edit_prompts.items()
            for strength in plan.strengths
        ]
        for name, strength, some in cells:
            pictures = [one for one in some if isinstance(one, Picture)]
            faces = [
                face
                for one in pictures
                if isinstance(face := readings.faces.get(one.id), np.ndarray)
            ]
            of = {"finder": finder.fingerprint, "of": ",".join(one.id for one in pictures)}
            key = picture_key("average face", "1", of, group.name, 0)
            rows.append(
                (
                    AverageFace(group.name, name, strength, len(some), len(faces), None),
                    FaceRequest(
                        key,
                        group.name,
                        0,
                        f"average face {key}",
                        pixels=average_face(faces).tobytes(),
                    )
                    if faces
                    else None,
                )
            )
    made = run.make(
        FunctionMaker("average face", 16, averaged),
        list({one.key: one for _, one in rows if one}.values()),
    )
    return tuple(
        replace(face, picture=one.id)
        if wanted and isinstance(one := made[wanted.key], Picture)
        else face
        for face, wanted in rows
    )


def _sets(groups: Sequence[EditedGroup]) -> tuple[EditSet, ...]:
    """The pictures of every group: sources, the same encoded and decoded, and edits by target and
    strength.
    """
    found: list[EditSet] = []
    for group in groups:
        rows: list[tuple[tuple[Outcome, ...], str | None, str | None, str | None, float | None]]
        rows = [
            (group.sources, None, None, None, None),
            (group.restored, "encode-decode", "nothing", None, None),
        ]
        rows += [
            (row, "edit", f"{word} {strength:g}", word, strength)
            for (word, strength), row in group.edits.items()
        ]
        for row, axis, value, word, strength in rows:
            text = next((one.prompt for one in row if isinstance(one, Picture)), group.name)
            found.append(
                replace(
                    EditSet.of(group.name, row, axis, value, text), target=word, strength=strength
                )
            )
    return tuple(found)


@dataclass(frozen=True, slots=True, kw_only=True)
class EditPictureRequest(PictureRequest):
    """What is to be made of a picture: with an editor, at which strength."""

    of: Picture
    strength: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class FaceRequest(PictureRequest):
    """An average face: its pixels as bytes, rows of RGB."""

    pixels: bytes


@dataclass(frozen=True)
class FunctionMaker(Generic[W]):
    """A maker by a function that can be sent to another process."""

    name: str
    batch_size: int
    make: Callable[[Sequence[W]], list[MakerOutput]]
    sees = frozenset[str]()


def _made(
    run: Run,
    maker: FunctionMaker[W],
    rows: Mapping[K, Sequence[Outcome]],
    wanted: Callable[[K, int, Picture], W],
) -> dict[K, tuple[Outcome, ...]]:
    """What is wanted of every picture `k` of a row, in its place; what is wanted twice is made
    once.
    """
    asked = {
        at: [one if isinstance(one, Missing) else wanted(at, k, one) for k, one in enumerate(row)]
        for at, row in rows.items()
    }
    once = {one.key: one for row in asked.values() for one in row if not isinstance(one, Missing)}
    made = run.make(maker, list(once.values()))
    return {
        at: tuple(one if isinstance(one, Missing) else made[one.key] for one in row)
        for at, row in asked.items()
    }


def fitted(side: int, wanted: Sequence[EditPictureRequest]) -> list[MakerOutput]:
    """Squares of `side` pixels."""
    size = (side, side)
    return [
        MakerOutput(encoded(ImageOps.fit(opened(one.of.path), size, Image.Resampling.LANCZOS)))
        for one in wanted
    ]


def restored(editor: Editor, wanted: Sequence[EditPictureRequest]) -> list[MakerOutput]:
    """Pictures as they come back from a model's autoencoder."""
    with provider(editor.name, "encoding and decoding pictures"):
        return [
            MakerOutput(encoded(one))
            for one in editor.encode_decode([opened(one.of.path) for one in wanted])
        ]


def edited(editor: Editor, wanted: Sequence[EditPictureRequest]) -> list[MakerOutput]:
    """Pictures that a model edits towards words."""
    with provider(editor.name, f"editing towards {wanted[0].prompt!r}"):
        requests = [
            EditRequest(opened(one.of.path), one.prompt, one.strength, one.seed or 0)
            for one in wanted
        ]
        return [MakerOutput(encoded(image)) for image in editor.edit(requests)]


def averaged(wanted: Sequence[FaceRequest]) -> list[MakerOutput]:
    """Average faces as pictures, so that reports can show them."""
    return [
        MakerOutput(encoded(Image.frombytes("RGB", (FRAME, FRAME), one.pixels))) for one in wanted
    ]
