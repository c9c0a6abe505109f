"""Labeling studies: people label single images on the axes of an audit."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from askew.errors import UnknownName, UsageError
from askew.pages.words import axis_label, listing, perceived, plural, reads_appearance
from askew.people.folder import StudyFolder
from askew.people.new import (
    StudyContent,
    StudyDesign,
    most_questions,
    study_lines,
    write_study,
)
from askew.people.pilot import PilotSample, sample_pilot
from askew.people.records import (
    CANNOT_TELL,
    NO_PERSON,
    PREFER_NOT,
    SEVERAL_PEOPLE,
    FrameEntry,
    Item,
    StudyAxis,
)
from askew.people.sampling import AxisSample, sample_axis, with_strata
from askew.people.sources import SourceRun, audits_only, baseline_frame
from askew.store.keys import derived_seed
from askew.types import Axis, grouped

USUAL_PRECISION = 0.1

PURPOSE = (
    "We study how people perceive computer-generated images. Your answers show how often automatic "
    "labels of such images are wrong."
)
INSTRUCTION = (
    "You will see one image at a time, with a question about it. Choose the answer that most viewers "
    "would give. There are no right or wrong answers, and the people in the images do not exist."
)


@dataclass(frozen=True)
class LabelStudy:
    """A new labeling study and its samples of images.

    Attributes
    ----------
    folder
        The study.
    samples
        Samples of images, one per axis, or one per axis and run in a pilot.
    """

    folder: StudyFolder
    samples: Sequence[AxisSample] | Sequence[PilotSample]

    def lines(self) -> list[str]:
        """Return lines that state the study's size and the expected precision of the shares."""
        plan = self.folder.plan
        raters = self.folder.raters()
        labels = sum(len(sample.chosen) for sample in self.samples) * plan.raters_per_item
        lines = [sample.describe(plan.confidence) for sample in self.samples]
        lines.append(
            f"{plural(labels, 'label')} from {plural(len(raters), 'rater')}, "
            f"{plan.raters_per_item} per image, at most {most_questions(raters)}"
        )
        if plan.pilot is not None:
            lines.append(
                "this is the first of two stages. When the raters have answered, add the second stage "
                f"with askew study extend {self.folder.path}"
            )
        return study_lines(self.folder, *lines)


def new_label_study(
    path: Path,
    sources: Sequence[SourceRun],
    design: StudyDesign,
    axes: Sequence[str] = (),
    images: int | None = None,
) -> LabelStudy:
    """Make a study in which people label images.

    Parameters
    ----------
    path
        Folder to create.
    sources
        Finished audits.
    design
        Settings of the study.
    axes
        Names of the axes to label. [default: all axes of the first run that have known values]
    images
        Number of images to label per axis. If it is given, the precision in `design` is not used.
    """
    audits_only(sources, "label")
    chosen = [study_axis(axis) for axis in _axes(sources, axes)]
    frame = baseline_frame(sources)
    planned = replace(
        design, precision=None if images is not None else design.precision or USUAL_PRECISION
    )
    samples: Sequence[AxisSample] | Sequence[PilotSample] = (
        _pilots(chosen, frame, planned, [source.record.run for source in sources])
        if planned.pilot is not None
        else _samples(chosen, frame, planned, images)
    )
    names = [axis.name for axis in chosen]
    content = StudyContent(
        kind="label",
        title="Labels of images",
        purpose=PURPOSE,
        instruction=INSTRUCTION,
        axes=tuple(chosen),
        items=label_items([(sample.axis, sample.chosen) for sample in samples]),
        frame=_used_frame(with_strata(frame, names)),
    )
    folder = write_study(path, content, planned, sources)
    return LabelStudy(folder=folder, samples=samples)


def _samples(
    axes: Sequence[StudyAxis],
    frame: Sequence[FrameEntry],
    design: StudyDesign,
    images: int | None,
) -> list[AxisSample]:
    """Return one sample per axis for a study with a single stage."""
    samples = []
    for axis in axes:
        samples.append(
            sample_axis(
                axis,
                frame,
                np.random.default_rng(derived_seed(design.seed, axis.name, "labeled images")),
                precision=design.precision,
                images=images,
                level=design.confidence,
            )
        )
    return samples


def _pilots(
    axes: Sequence[StudyAxis],
    frame: Sequence[FrameEntry],
    design: StudyDesign,
    runs: Sequence[str],
) -> list[PilotSample]:
    """Return the pilot for each axis and run."""
    assert design.pilot is not None
    assert design.precision is not None
    samples = []
    by_source = grouped(frame, lambda entry: entry.source)
    if len({entry.id for entry in frame}) < len(frame):
        raise UsageError(
            f"the runs {listing(runs)} share images, so their samples are not independent. Make a "
            "separate study for each run, or leave out --pilot"
        )
    for axis in axes:
        for source, entries in by_source.items():
            seed = derived_seed(design.seed, axis.name, str(source), "pilot")
            samples.append(
                sample_pilot(
                    axis,
                    entries,
                    np.random.default_rng(seed),
                    pilot=design.pilot,
                    precision=design.precision,
                    level=design.confidence,
                    run=runs[source] if len(runs) > 1 else "",
                )
            )
    return samples


def _axes(sources: Sequence[SourceRun], names: Sequence[str]) -> list[Axis]:
    known = dict(sources[0].axes)
    for name in names:
        UnknownName.unless_known("axis of the run", name, known)
    chosen = [known[name] for name in names or known]
    if not chosen:
        raise UsageError(
            f"{sources[0].result.folder} has no axis with known values, so people would have no "
            "options to choose from"
        )
    for source in sources[1:]:
        for axis in chosen:
            other = source.axes.get(axis.name)
            if other is None or other.values != axis.values:
                raise UsageError(
                    f"{source.result.folder} has different values for the axis {axis.name}. Make a "
                    "separate study for each run, or name other axes with --axes"
                )
    return chosen


def study_axis(axis: Axis) -> StudyAxis:
    """Return an axis together with the question that raters answer about it."""
    subject = "the person in this image" if reads_appearance(axis.name) else "this image"
    words = perceived(axis.name) if reads_appearance(axis.name) else axis_label(axis.name)
    question = f"How would most viewers describe {subject}? ({words})"
    return StudyAxis(name=axis.name, values=axis.values, scale=axis.scale, question=question)


def label_items(samples: Iterable[tuple[StudyAxis, Iterable[str]]], before: int = 0) -> list[Item]:
    """Return an item for each image that people are to label on an axis.

    Parameters
    ----------
    samples
        Pairs of an axis and the ids of the images to label on this axis.
    before
        Number of earlier items of the study.
    """
    items: list[Item] = []
    for axis, images in samples:
        special: tuple[str, ...] = (CANNOT_TELL, PREFER_NOT)
        if reads_appearance(axis.name):
            special = (SEVERAL_PEOPLE, NO_PERSON, *special)
        for digest in images:
            items.append(
                Item(
                    id=f"i{before + len(items) + 1:05d}",
                    role="item",
                    question=axis.question,
                    options=axis.values,
                    special=special,
                    groups=((digest,),),
                    axis=axis.name,
                    scale=axis.scale,
                )
            )
    return items


def _used_frame(frame: Sequence[FrameEntry]) -> list[FrameEntry]:
    """Return the sampling frame, sorted by run, prompt and image id."""
    return sorted(frame, key=lambda entry: (entry.source, entry.prompt, entry.id))
