"""What `askew edit` costs: sources, the same encoded and decoded, edits, and what is read from all of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar, cast

import numpy as np

from askew import registry
from askew.errors import UsageError
from askew.findings import Identity, Instruments
from askew.measure.landmarks import LandmarkFinder, landmark_finder
from askew.measure.portraits import average_face
from askew.methods.edit.findings import AverageFace, EditSet
from askew.methods.edit.makers import AverageFaces, Edits, Fits, Restorations, WantedFace
from askew.methods.edit.plan import NONE, EditPlan
from askew.methods.edit.reading import PIECEWISE, EditedGroup, Readings, read
from askew.models.base import Collection, Model
from askew.models.editing import Editor, editor_of
from askew.parts import drawings
from askew.parts.showing import Showing, showing_pictures, showing_warnings
from askew.parts.sources import (
    Group,
    Neutrality,
    Outcomes,
    check_filled,
    identity,
    neutrality,
    neutrality_by_labels,
    neutrality_warnings,
    present,
    size_of,
)
from askew.parts.survey.reader import fingerprints, load_instruments, oddities
from askew.prompts.groups import prompt_of
from askew.run.base import Maker, Outcome, Run
from askew.store.store import Wanted
from askew.types import Missing, Picture

W = TypeVar("W", bound=Wanted)


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
    neutral = neutrality(run, instruments.values(), sources, plan.words, plan.level)
    neutral += neutrality_by_labels(source, given, plan.words, plan.level)
    run.warn(*oddities(plan, source, instruments), *_unknown_targets(plan, cast("Model", model)))
    run.warn(*showing_warnings(shown, given=isinstance(source, Collection)))
    run.warn(*neutrality_warnings(neutral), *_about_skin(plan))
    makers, used = [*([plan.sources] if plan.sources else []), editor.name], [embedder.name] if embedder else None
    run.warn(*drawings.beyond(makers, {"vqa": instruments, "embedder": used}))
    return EditsGathered(
        Identity(editor.name, editor.revision, dict(editor.settings)), getattr(editor, "device", None),
        fingerprints(instruments, embedder), tuple(_sets(groups, readings)), identity(source, plan.sources_args),
        None if finder is None else finder.fingerprint, groups, readings, shown, tuple(neutral),
        () if finder is None else _average_faces(plan, run, finder, groups, readings),
    )  # fmt: skip


def _fitted(plan: EditPlan, run: Run, sources: Outcomes) -> Outcomes:
    """The sources as they are edited: cropped and resized if the plan says so."""
    if not plan.side:
        return sources
    fits = Fits(plan.side)
    made = _make(run, fits, [fits.wanted(one) for one in present(sources)])
    return {name: _each(some, lambda one: made[fits.wanted(one).key]) for name, some in sources.items()}


def _make(run: Run, maker: Maker[W], wanted: Sequence[W]) -> Mapping[str, Outcome]:
    """Every wanted picture by its key, those that are wanted twice once."""
    return run.make(maker, list({one.key: one for one in wanted}.values()))


def _each(outcomes: Sequence[Outcome], instead: Callable[[Picture], Outcome]) -> tuple[Outcome, ...]:
    """Others in the place of pictures; what is missing stays so."""
    return tuple(one if isinstance(one, Missing) else instead(one) for one in outcomes)


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
    restored = _make(run, restorations, [restorations.wanted(one) for one in present(sources)])
    wanted = {
        (name, word, strength): [
            one if isinstance(one, Missing) else edits.wanted(one, k, word, strength, plan.seed)
            for k, one in enumerate(some)
        ]
        for strength in plan.strengths
        for word in plan.words
        for name, some in sources.items()
    }
    made = _make(run, edits, [one for row in wanted.values() for one in row if not isinstance(one, Missing)])
    cells = [(word, strength) for word in plan.words for strength in plan.strengths]
    return tuple(
        EditedGroup(
            name, tuple(some), _each(some, lambda one: restored[restorations.wanted(one).key]),
            {cell: tuple(one if isinstance(one, Missing) else made[one.key] for one in wanted[name, *cell])
             for cell in cells},
        )
        for name, some in sources.items()
    )  # fmt: skip


def _average_faces(
    plan: EditPlan, run: Run, finder: LandmarkFinder, groups: Sequence[EditedGroup], readings: Readings
) -> tuple[AverageFace, ...]:
    """The average face of every group, and of its edits by set of targets and strength, stored as pictures."""
    maker = AverageFaces(finder.fingerprint + (f" {PIECEWISE}" if plan.alignment == PIECEWISE else ""))
    found: list[tuple[AverageFace, WantedFace | None]] = []
    for group in groups:
        cells: list[tuple[str | None, float | None, list[Outcome]]] = [(None, None, list(group.sources))]
        cells += [(name, strength, [one for word in words for one in group.edits[word, strength]])
                  for name, words in plan.targets.items() for strength in plan.strengths]  # fmt: skip
        for name, strength, some in cells:
            pictures = [one for one in some if isinstance(one, Picture)]
            faces = [face for one in pictures if isinstance(face := readings.faces.get(one.id), np.ndarray)]
            wanted = maker.wanted(group.name, pictures, average_face(faces)) if faces else None
            found.append((AverageFace(group.name, name, strength, len(some), len(faces), None), wanted))
    made = _make(run, maker, [one for _, one in found if one])
    shown = [(entry, made[one.key] if one else None) for entry, one in found]
    return tuple(replace(entry, picture=one.id) if isinstance(one, Picture) else entry for entry, one in shown)


def _sets(groups: Sequence[EditedGroup], readings: Readings) -> list[EditSet]:
    """The pictures of every group: sources, the same encoded and decoded, and edits by target and strength."""
    found, skin = [], readings.skin_by_picture()

    def of(
        name: str, pictures: Sequence[Outcome], axis: str | None = None, value: str | None = None,
        target: str | None = None, strength: float | None = None,
    ) -> EditSet:  # fmt: skip
        text = next((one.prompt for one in pictures if isinstance(one, Picture)), name)
        seen = [skin.get(one.id, (None, None)) if isinstance(one, Picture) else (None, None) for one in pictures]
        tones, covered = zip(*seen, strict=True)
        own = EditSet.of(name, list(pictures), axis, value, text)
        return replace(own, target=target, strength=strength, ita=tones, coverage=covered)

    for group in groups:
        found.append(of(group.name, group.sources))
        found.append(of(group.name, group.restored, "encode-decode", "nothing"))
        found += [of(group.name, row, "edit", f"{word} {strength:g}", word, strength)
                  for (word, strength), row in group.edits.items()]  # fmt: skip
    return found


def _about_skin(plan: EditPlan) -> list[str]:
    if plan.skin == "rule":
        return ["skin is found by its colour in whole pictures, which takes walls and clothes of that colour for skin: "
                "such numbers do not order groups; --skin geometry reads the cheeks of faces"]  # fmt: skip
    if plan.landmarks == NONE:
        return ["skin tone is not measured, for nobody finds faces: name who does by --landmarks faces, after "
                'pip install "askew[faces]"']  # fmt: skip
    return []


def _unknown_targets(plan: EditPlan, model: Model) -> list[str]:
    words = [word for word in plan.words if model.unknown_words(prompt_of(word))]
    return [f"{model.name} does not know all words of these targets: {', '.join(words)}"] if words else []
