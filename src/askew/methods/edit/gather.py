"""What `askew edit` costs: sources, the same encoded and decoded, edits, and what is read from all of them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar, cast

import numpy as np
from PIL import Image, ImageOps

from askew import registry
from askew.errors import UsageError
from askew.findings import Identity, Instruments
from askew.measure.faces import LandmarkFinder, landmark_finder
from askew.measure.portraits import FRAME, average_face
from askew.measure.skin import Bytes
from askew.methods.edit.findings import AverageFace, EditSet
from askew.methods.edit.plan import NONE, EditPlan
from askew.methods.edit.reading import EditedGroup, Readings, read
from askew.models.base import Editor, EditRequest, Model
from askew.models.diffusers import editor_of
from askew.parts.showing import Showing, showing_pictures
from askew.parts.sources import (
    Group,
    Neutrality,
    Outcomes,
    check_filled,
    neutrality,
    present,
    size_of,
)
from askew.parts.survey.reader import beyond_drawings, fingerprints, identity_of, load_instruments, oddities
from askew.prompts.given import prompt_of
from askew.run.base import Made, Maker, Outcome, Run, encoded, provider
from askew.store.imagefile import opened
from askew.store.keys import picture_key, picture_seed
from askew.store.store import Wanted
from askew.types import Missing, Picture

W = TypeVar("W", bound=Wanted)
K = TypeVar("K", bound=Hashable)


@dataclass(frozen=True, slots=True)
class EditsGathered:
    """All of a run: by group its pictures and edits, and what was read from them."""

    model: Identity
    device: str | None
    instruments: Instruments
    sets: tuple[EditSet, ...]
    sources: Identity
    landmarks: str | None
    groups: tuple[EditedGroup, ...]
    readings: Readings
    showing: tuple[Showing, ...]
    neutrality: tuple[Neutrality, ...]
    average_faces: tuple[AverageFace, ...]


def gather(plan: EditPlan, run: Run) -> EditsGathered:
    """Pictures, edits and readings. Raises UsageError for a model that cannot edit, or pictures that it cannot take."""
    model = registry.model(plan.model, **plan.model_args)
    editor = editor_of(model, plan.edit_args)
    source = registry.model(plan.sources, **plan.sources_args) if plan.sources else model
    instruments = load_instruments(plan.vqa, source, plan.aliases, plan.values, plan.vqa_args)
    embedder = None if plan.embedder == NONE else registry.embedder(plan.embedder, **plan.embedder_args)
    finder = None if plan.landmarks == NONE else landmark_finder(plan.landmarks)
    named = [Group(name, prompt.text) for name, prompt in zip(plan.groups, plan.prompts, strict=True)]
    readers = tuple(instruments.values())
    given, shown = showing_pictures(run, source, named, plan.images, plan.seed, readers, plan.level)
    sources = _fitted(plan, run, given)
    check_filled(sources, f"{source.name}, cropped and resized")
    _check_editable(plan, run, editor, present(sources))
    groups = _edited(plan, run, editor, sources)
    readings = read(plan, run, instruments, embedder, groups)
    neutral = neutrality(run, readers, sources, plan.words, plan.level)
    run.warn(*oddities(plan.texts(), source, instruments), *_about_skin(plan))
    if unknown := [word for word in plan.words if cast("Model", model).unknown_words(prompt_of(word))]:
        run.warn(f"{model.name} does not know all words of these targets: {', '.join(unknown)}")
    makers, used = [*([plan.sources] if plan.sources else []), editor.name], [embedder.name] if embedder else None
    run.warn(*beyond_drawings(makers, instruments, used))
    return EditsGathered(
        Identity(editor.name, editor.revision, dict(editor.settings)), getattr(editor, "device", None),
        fingerprints(instruments, embedder), _sets(groups), identity_of(source, plan.sources_args),
        None if finder is None else finder.fingerprint, groups, readings, shown, neutral,
        () if finder is None else _average_faces(plan, run, finder, groups, readings),
    )  # fmt: skip


def _fitted(plan: EditPlan, run: Run, sources: Outcomes) -> Outcomes:
    """The sources as they are edited: cropped and resized if the plan says so."""
    fits = Fits(plan.side)
    return (
        _made(run, fits, {name: _each(some, fits.wanted) for name, some in sources.items()}) if plan.side else sources
    )


def _each(outcomes: Sequence[Outcome], wanted: Callable[[Picture], W]) -> list[W | Missing]:
    """What is wanted of every picture; what is missing stays so."""
    return [one if isinstance(one, Missing) else wanted(one) for one in outcomes]


def _made(run: Run, maker: Maker[W], rows: Mapping[K, Sequence[W | Missing]]) -> dict[K, tuple[Outcome, ...]]:
    """Every wanted picture in its place, those that are wanted twice made once."""
    wanted = {one.key: one for row in rows.values() for one in row if not isinstance(one, Missing)}
    made = run.make(maker, list(wanted.values()))
    return {at: tuple(one if isinstance(one, Missing) else made[one.key] for one in row) for at, row in rows.items()}


def _check_editable(plan: EditPlan, run: Run, editor: Editor, sources: Sequence[Picture]) -> None:
    """Raises UsageError unless the editor can edit every source at every strength."""
    sizes: dict[tuple[int, int], Picture] = {}
    for one, size in zip(sources, run.look(size_of, sources), strict=True):
        if not isinstance(size, Missing):
            sizes.setdefault(size, one)
    if len(sizes) > 1:
        listed = ", ".join(f"{w} x {h} ({one.source or one.path})" for (w, h), one in list(sizes.items())[:3])
        raise UsageError(
            f"the pictures to edit have {len(sizes)} different sizes, such as {listed}; a model edits pictures of "
            f"one size: let them be cropped and resized to that of the model, as in --side 512"
        )
    for size in sizes:
        editor.check(size, plan.strengths)


def _edited(plan: EditPlan, run: Run, editor: Editor, sources: Outcomes) -> tuple[EditedGroup, ...]:
    """Encode and decode all sources, and make all edits, in a fixed order.

    Pictures that were given twice are edited twice, from different noise.
    """
    restorations, edits = Restorations(editor), Edits(editor)
    restored = _made(run, restorations, {name: _each(some, restorations.wanted) for name, some in sources.items()})
    made = _made(run, edits, {
        (name, word, strength): [
            one if isinstance(one, Missing) else edits.wanted(one, k, word, strength, plan.seed)
            for k, one in enumerate(some)
        ]
        for strength in plan.strengths for word in plan.words for name, some in sources.items()
    })  # fmt: skip
    places = [(word, strength) for word in plan.words for strength in plan.strengths]
    return tuple(
        EditedGroup(name, tuple(some), restored[name], {place: made[name, *place] for place in places})
        for name, some in sources.items()
    )


def _average_faces(
    plan: EditPlan, run: Run, finder: LandmarkFinder, groups: Sequence[EditedGroup], readings: Readings
) -> tuple[AverageFace, ...]:
    """The average face of every group, and of its edits by set of targets and strength, stored as pictures."""
    maker = AverageFaces(finder.fingerprint)
    found: list[AverageFace] = []
    wanted: dict[int, list[WantedFace | Missing]] = {}
    for group in groups:
        cells: list[tuple[str | None, float | None, list[Outcome]]] = [(None, None, list(group.sources))]
        cells += [(name, strength, [one for word in words for one in group.edits[word, strength]])
                  for name, words in plan.targets.items() for strength in plan.strengths]  # fmt: skip
        for name, strength, some in cells:
            pictures = [one for one in some if isinstance(one, Picture)]
            faces = [face for one in pictures if isinstance(face := readings.faces.get(one.id), np.ndarray)]
            if faces:
                wanted[len(found)] = [maker.wanted(group.name, pictures, average_face(faces))]
            found.append(AverageFace(group.name, name, strength, len(some), len(faces), None))
    for at, (one,) in _made(run, maker, wanted).items():
        found[at] = replace(found[at], picture=one.id if isinstance(one, Picture) else None)
    return tuple(found)


def _sets(groups: Sequence[EditedGroup]) -> tuple[EditSet, ...]:
    """The pictures of every group: sources, the same encoded and decoded, and edits by target and strength."""
    found: list[EditSet] = []
    for group in groups:
        found.append(EditSet.of(group.name, group.sources, text=_text(group.sources, group.name)))
        found.append(
            EditSet.of(group.name, group.restored, "encode-decode", "nothing", _text(group.restored, group.name))
        )
        for (word, strength), row in group.edits.items():
            own = EditSet.of(group.name, row, "edit", f"{word} {strength:g}", _text(row, group.name))
            found.append(replace(own, target=word, strength=strength))
    return tuple(found)


def _text(pictures: Sequence[Outcome], name: str) -> str:
    return next((one.prompt for one in pictures if isinstance(one, Picture)), name)


def _about_skin(plan: EditPlan) -> list[str]:
    if plan.skin == "rule":
        return ["skin is found by its colour in whole pictures, which takes walls and clothes of that colour for skin: "
                "such numbers do not order groups; --skin geometry reads the cheeks of faces"]  # fmt: skip
    if plan.landmarks == NONE:
        return ["skin tone is not measured, for nobody finds faces: name who does by --landmarks faces, after "
                'pip install "askew[faces]"']  # fmt: skip
    return []


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedOf(Wanted):
    """What is to be made of a picture: with an editor, at which strength."""

    of: Picture
    strength: float = 0.0


@dataclass(frozen=True)
class Fits:
    """Crops pictures to a square around their middle and resizes them to `side` pixels."""

    name, batch_size, sees = "cropped and resized", 16, frozenset[str]()
    side: int

    def wanted(self, source: Picture) -> WantedOf:
        """The fitted picture of a source."""
        key = picture_key(self.name, "1", {"side": self.side, "of": source.id}, source.prompt, 0)
        return WantedOf(key, source.prompt, 0, f"{self.name} {self.side} {source.id}", of=source)

    def make(self, wanted: Sequence[WantedOf]) -> list[Made]:
        """One batch."""
        size = (self.side, self.side)
        return [Made(encoded(ImageOps.fit(opened(one.of.path), size, Image.Resampling.LANCZOS))) for one in wanted]


class ByEditor:
    """What a model makes of pictures, under its name."""

    sees = frozenset[str]()

    def __init__(self, model: Editor) -> None:
        self.model, self.name, self.batch_size = model, model.name, model.batch_size


class Restorations(ByEditor):
    """Pictures as they come back from a model's autoencoder."""

    def wanted(self, source: Picture) -> WantedOf:
        """The source as it comes back; its prompt is empty."""
        kept = {name: value for name, value in self.model.settings.items() if name == "variant"}
        key = picture_key(self.name, self.model.revision, {"encode_decode_of": source.id, **kept}, "", 0)
        return WantedOf(key, "", 0, f"{self.name} restoring {source.id}", of=source)

    def make(self, wanted: Sequence[WantedOf]) -> list[Made]:
        """One batch."""
        with provider(self.name, "encoding and decoding pictures"):
            return [Made(encoded(one)) for one in self.model.encode_decode([opened(one.of.path) for one in wanted])]


class Edits(ByEditor):
    """Pictures that a model edits towards words."""

    def wanted(self, source: Picture, k: int, word: str, strength: float, seed: int) -> WantedOf:
        """The edit of a group's picture `k`.

        Its seed is the same for every group and strength, so that they make pairs.
        """
        prompt = prompt_of(word)
        own = picture_seed(seed, prompt, k)
        settings = {**self.model.settings, "edit_of": source.id, "strength": strength}
        key = picture_key(self.name, self.model.revision, settings, prompt, own)
        about = f"{self.name} editing {source.id} at {strength:g}"
        return WantedOf(key, prompt, own, about, of=source, strength=strength)

    def make(self, wanted: Sequence[WantedOf]) -> list[Made]:
        """One batch."""
        with provider(self.name, f"editing towards {wanted[0].prompt!r}"):
            requests = [EditRequest(opened(one.of.path), one.prompt, one.strength, one.seed or 0) for one in wanted]
            return [Made(encoded(image)) for image in self.model.edit(requests)]


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedFace(Wanted):
    """An average face: its pixels as bytes, rows of RGB."""

    pixels: bytes


@dataclass(frozen=True)
class AverageFaces:
    """Average faces as pictures, so that reports can show them. `way` says how faces were found and laid together."""

    name, batch_size, sees = "average face", 16, frozenset[str]()
    way: str

    def wanted(self, group: str, pictures: Sequence[Picture], face: Bytes) -> WantedFace:
        """The average face of some pictures of a group."""
        ids = ",".join(one.id for one in pictures)
        key = picture_key(self.name, "1", {"finder": self.way, "of": ids}, group, 0)
        return WantedFace(key, group, 0, f"{self.name} {key}", pixels=face.tobytes())

    def make(self, wanted: Sequence[WantedFace]) -> list[Made]:
        """One batch."""
        return [Made(encoded(Image.frombytes("RGB", (FRAME, FRAME), one.pixels))) for one in wanted]
