"""Run the costly part of `askew edit`: obtain input images, edits, labels and measurements."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import cast

from askew import mitigations, registry
from askew.errors import UsageError
from askew.findings import GatheredData, Identity
from askew.measure.base import Embedder
from askew.measure.landmarks import LandmarkFinder, landmark_finder
from askew.methods.edit.average_faces import average_faces
from askew.methods.edit.cells import EditedGroup, EditReadings
from askew.methods.edit.edits import edited_groups, resized_sources
from askew.methods.edit.findings import AverageFace, EditSet
from askew.methods.edit.plan import NONE, EditPlan
from askew.methods.edit.reading import read
from askew.models.base import Editor, Model, Restorer
from askew.models.editors import editor_of
from askew.parts.sources.findings import GroupCheck, Neutrality
from askew.parts.sources.group_check import checked_pictures
from askew.parts.sources.groups import (
    Outcomes,
    SocialGroup,
    Source,
    check_filled,
    present,
    size_of,
)
from askew.parts.sources.neutrality import neutrality
from askew.parts.survey.instruments import (
    cuts_prompts,
    fingerprints,
    identity_of,
    load_instruments,
    source_warnings,
    studio_warnings,
)
from askew.prompts.given import prompt_of
from askew.run.base import Outcome, Run
from askew.types import Missing, Picture

LISTED_SIZES = 3
"""Maximum number of image sizes listed in an error message."""


@dataclass(frozen=True, slots=True)
class EditsGathered(GatheredData):
    """All data that a run of `askew edit` obtained.

    Attributes
    ----------
    sources : Identity
        Model or collection from which the input images come.
    landmarks : str or None
        Fingerprint of the face detector.
    groups : tuple of EditedGroup
        Images of the groups.
    readings : EditReadings
        Labels and measurements.
    showing : tuple of GroupCheck
        For each group, how many of its input images show what the group's name states.
    neutrality : tuple of Neutrality
        For each group, how many of its input images already show an edit prompt.
    average_faces : tuple of AverageFace
        Average faces. Empty if faces were not detected.
    """

    sources: Identity
    landmarks: str | None
    groups: tuple[EditedGroup, ...]
    readings: EditReadings
    showing: tuple[GroupCheck, ...]
    neutrality: tuple[Neutrality, ...]
    average_faces: tuple[AverageFace, ...]


@dataclass(frozen=True, slots=True)
class EditTools:
    """Models and instruments of a run.

    Attributes
    ----------
    model : Model
        Model under test.
    editor : Editor
        Editor that uses the model.
    source : Model or Collection
        Model or collection from which the input images come.
    embedder : Embedder or None
        Embedder of the images.
    finder : LandmarkFinder or None
        Face detector.
    """

    model: Model
    editor: Editor
    source: Source
    embedder: Embedder | None
    finder: LandmarkFinder | None


def gather(plan: EditPlan, run: Run) -> EditsGathered:
    """Obtain input images, edits, labels and measurements.

    Parameters
    ----------
    plan : EditPlan
        Plan of the run.
    run : Run
        Run that generates the images and passes them to the instruments.

    Returns
    -------
    EditsGathered
        The data from which the scores are computed.

    Raises
    ------
    UsageError
        If the model cannot edit, or cannot edit the input images.
    """
    tools = _load_tools(plan)
    instruments = load_instruments(plan.vqa, tools.source, plan.aliases, plan.values, plan.vqa_args)
    labelers = tuple(instruments.values())
    drawn, checks = checked_pictures(
        run=run,
        source=tools.source,
        groups=_social_groups(plan),
        images=plan.images,
        seed=plan.seed,
        instruments=labelers,
        level=plan.confidence,
    )
    sources = _editable_sources(plan, run, tools, drawn)
    groups = edited_groups(plan, run, tools.editor, sources)
    readings = read(plan, run, instruments, tools.embedder, groups)
    neutral = neutrality(run, labelers, sources, plan.words, plan.confidence)
    run.warn(*source_warnings(plan.texts(), tools.source, instruments))
    run.warn(*_warnings(plan, tools))
    makers = [plan.sources, tools.editor.name] if plan.sources else [tools.editor.name]
    embedders = [tools.embedder.name] if tools.embedder else None
    run.warn(*studio_warnings(makers, instruments, embedders))
    faces: tuple[AverageFace, ...] = ()
    if tools.finder is not None:
        faces = average_faces(plan, run, tools.finder.fingerprint, groups, readings)
    return EditsGathered(
        model=Identity(tools.editor.name, tools.editor.revision, dict(tools.editor.settings)),
        device=getattr(tools.editor, "device", None),
        instruments=fingerprints(instruments, tools.embedder),
        sets=_sets(groups),
        sources=identity_of(tools.source, plan.sources_args),
        landmarks=tools.finder.fingerprint if tools.finder else None,
        groups=groups,
        readings=readings,
        showing=checks,
        neutrality=neutral,
        average_faces=faces,
    )


def _load_tools(plan: EditPlan) -> EditTools:
    model = mitigations.open_model(plan.model, plan.model_args)
    editor = editor_of(model, plan.edit_args)
    source = model
    if plan.sources:
        source = mitigations.open_model(plan.sources, plan.sources_args)
    embedder = None
    if plan.embedder != NONE:
        embedder = registry.embedder(plan.embedder, **plan.embedder_args)
    finder = None if plan.landmarks == NONE else landmark_finder(plan.landmarks)
    return EditTools(
        model=cast("Model", model), editor=editor, source=source, embedder=embedder, finder=finder
    )


def _social_groups(plan: EditPlan) -> list[SocialGroup]:
    return [
        SocialGroup(name=name, prompt=prompt.text)
        for name, prompt in zip(plan.groups, plan.prompts, strict=True)
    ]


def _editable_sources(plan: EditPlan, run: Run, tools: EditTools, drawn: Outcomes) -> Outcomes:
    """Resize the input images if the plan requires it, and check that the model can edit them."""
    sources = resized_sources(run, drawn, plan.resize) if plan.resize else drawn
    check_filled(sources, f"{tools.source.name}, cropped and resized")
    _check_editable(plan, run, tools.editor, present(sources))
    return sources


def _check_editable(plan: EditPlan, run: Run, editor: Editor, sources: Sequence[Picture]) -> None:
    """Raise UsageError if the model cannot edit all input images at all strengths."""
    by_size: dict[tuple[int, int], Picture] = {}
    for picture, size in zip(sources, run.look(size_of, sources), strict=True):
        if not isinstance(size, Missing):
            by_size.setdefault(size, picture)
    if len(by_size) > 1:
        examples = [
            f"{width} x {height} ({picture.source or picture.path})"
            for (width, height), picture in list(by_size.items())[:LISTED_SIZES]
        ]
        raise UsageError(
            f"the input images have {len(by_size)} different sizes, such as "
            f"{', '.join(examples)}, but the model needs images of the same size. Crop and resize "
            "them to the model's size, for example with --resize 512"
        )
    for size in by_size:
        editor.check(size, plan.strengths)


def _warnings(plan: EditPlan, tools: EditTools) -> list[str]:
    """Return warnings about skin tone, the missing autoencoder and unknown words."""
    warnings = []
    if plan.skin == "rule":
        warnings.append(
            "skin is detected by color anywhere in the image. Walls and clothes of the same "
            "color count as skin, so skin tones cannot be compared between groups. Use --skin "
            "geometry, which measures the cheeks of detected faces"
        )
    elif tools.finder is None:
        warnings.append(
            "skin tone is not measured because no face detector is set. Add --landmarks faces"
        )
    if not isinstance(tools.editor, Restorer):
        warnings.append(
            f"the autoencoder of {tools.editor.name} is not accessible, so label changes are not "
            "compared with those caused by encoding and decoding alone"
        )
    unknown = [word for word in plan.words if tools.model.unknown_words(prompt_of(word))]
    if unknown:
        verb = "cuts" if cuts_prompts(tools.model) else "does not know all words of"
        warnings.append(f"{tools.model.name} {verb} these edit prompts: {', '.join(unknown)}")
    return warnings


def _sets(groups: Sequence[EditedGroup]) -> tuple[EditSet, ...]:
    """Return the image sets of all groups: input images, restored images and edits."""
    sets: list[EditSet] = []
    for group in groups:
        sets.append(_set(group, group.sources))
        if group.restored:
            sets.append(_set(group, group.restored, "encode-decode", "nothing"))
        for (word, strength), row in group.edits.items():
            edit_set = _set(group, row, "edit", f"{word} {strength:g}")
            sets.append(replace(edit_set, target=word, strength=strength))
    return tuple(sets)


def _set(
    group: EditedGroup, row: Sequence[Outcome], axis: str | None = None, value: str | None = None
) -> EditSet:
    prompts = (outcome.prompt for outcome in row if isinstance(outcome, Picture))
    return EditSet.of(group.name, row, axis, value, text=next(prompts, group.name))
