"""Finished runs that provide a study with images, prompts, and labels from instruments."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from askew.errors import UsageError
from askew.method import Result, load
from askew.methods.audit.gather import gather
from askew.methods.audit.plan import AuditPlan
from askew.parts.survey.confusion import closed_axes
from askew.parts.survey.instruments import is_by_people
from askew.parts.survey.observed import ObservedSet
from askew.parts.survey.reader import seen_again
from askew.people.records import FrameEntry, SourcePaths, StudySource
from askew.types import Axis, Missing, Picture


@dataclass(frozen=True)
class SourceRun:
    """A finished run and its image sets.

    Attributes
    ----------
    result
        Result of the run.
    sets
        Labeled image sets, keyed by prompt; empty if the run is not an audit.
    """

    result: Result[Any, Any]
    sets: Mapping[str, Sequence[ObservedSet]]

    @property
    def axes(self) -> Mapping[str, Axis]:
        """Axes with known values in the run, keyed by name."""
        plan = self.result.plan
        return closed_axes(plan.prompts) if isinstance(plan, AuditPlan) else {}

    @property
    def record(self) -> StudySource:
        """Description of the run for a study's plan."""
        return StudySource(
            run=self.result.folder.name,
            plan_hash=self.result.plan.hash,
            model=self.result.findings.model.name,
        )


def open_sources(folders: Sequence[Path], store: Path | None = None) -> list[SourceRun]:
    """Open finished runs as sources of a study.

    Raises
    ------
    UsageError
        If no run is given, if a folder does not contain a finished run, or if images or labels of a
        run are missing from its store.
    """
    if not folders:
        raise UsageError("a study needs a finished run. Use --from RUN to name the run")
    return [_open(folder, store) for folder in folders]


def _open(folder: Path, store: Path | None) -> SourceRun:
    result = load(folder, store)
    if not isinstance(result.plan, AuditPlan):
        return SourceRun(result=result, sets={})
    sets = seen_again(result.plan, result.folder, result.store, partial(gather, result.plan))
    return SourceRun(result=result, sets=sets)


def reopened_sources(paths: SourcePaths, records: Sequence[StudySource]) -> list[SourceRun]:
    """Open the runs of an existing study to read only their images, not their labels.

    Parameters
    ----------
    paths
        Paths of the runs and their stores.
    records
        Descriptions of the runs in the study's plan.

    Raises
    ------
    UsageError
        If a folder does not contain the finished run from which the study was made.
    """
    if len(paths.runs) != len(records):
        names = ", ".join(record.run for record in records)
        raise UsageError(f"the study contains images of {names}. Name these runs with --from")
    sources = []
    for run, store, record in zip(paths.runs, paths.stores, records, strict=True):
        result = load(run, store)
        if result.plan.hash != record.plan_hash:
            raise UsageError(
                f"{run} is not the run {record.run} from which the study was made. Use --from to "
                "name its folder"
            )
        sources.append(SourceRun(result=result, sets={}))
    return sources


def audits_only(sources: Sequence[SourceRun], kind: str) -> None:
    """Raise UsageError if a source is not an audit.

    Parameters
    ----------
    sources
        The runs.
    kind
        Kind of the study.
    """
    for source in sources:
        if not source.sets:
            raise UsageError(
                f"{source.result.folder} is a run of askew {source.result.method.name}. "
                f"A {kind} study needs a run of askew audit. Use --from RUN to name a run"
            )


def baseline_frame(sources: Sequence[SourceRun]) -> list[FrameEntry]:
    """Return the distinct baseline images of all runs, with labels from instruments."""
    entries: dict[tuple[int, str], FrameEntry] = {}
    for number, source in enumerate(sources):
        for prompt, of_prompt in source.sets.items():
            for observed in of_prompt:
                if observed.prompt.axis is None:
                    for entry in _entries(observed, number, prompt):
                        entries.setdefault((number, entry.id), entry)
    return list(entries.values())


def baseline_images(source: SourceRun, prompt: str) -> tuple[str, ...]:
    """Return the ids of a prompt's baseline images, without duplicates."""
    sets = source.sets.get(prompt, ())
    return _distinct_images(observed for observed in sets if observed.prompt.axis is None)


def images_of_set(source: SourceRun, prompt: str, name: str) -> tuple[str, ...]:
    """Return the ids of the images in one of a prompt's image sets, without duplicates."""
    sets = source.sets.get(prompt, ())
    return _distinct_images(observed for observed in sets if observed.name == name)


def _distinct_images(sets: Iterable[ObservedSet]) -> tuple[str, ...]:
    images: dict[str, None] = {}
    for observed in sets:
        for picture in observed.pictures:
            if isinstance(picture, Picture):
                images[picture.id] = None
    return tuple(images)


def _entries(observed: ObservedSet, number: int, prompt: str) -> list[FrameEntry]:
    """Return the sampling frame's entries for an image set, one per image."""
    entries = []
    for place, picture in enumerate(observed.pictures):
        if isinstance(picture, Picture):
            entries.append(
                FrameEntry(
                    id=picture.id,
                    source=number,
                    prompt=prompt,
                    set=observed.name,
                    labels=_labels(observed, place),
                )
            )
    return entries


def _labels(observed: ObservedSet, place: int) -> dict[str, dict[str, str]]:
    """Return an image's labels, keyed by axis and instrument. Labels from people are omitted."""
    labels: dict[str, dict[str, str]] = {}
    for instrument, by_axis in observed.values.items():
        if is_by_people(instrument):
            continue
        for axis, column in by_axis.items():
            label = column[place]
            text = f":{label.reason}" if isinstance(label, Missing) else label
            labels.setdefault(axis, {})[instrument] = text
    return labels
