"""Labeling studies: people label single images on the axes of an audit."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from askew.errors import UnknownName, UsageError
from askew.pages.words import axis_label, perceived, plural, reads_appearance
from askew.people.folder import StudyFolder
from askew.people.new import (
    StudyContent,
    StudyDesign,
    most_questions,
    study_lines,
    write_study,
)
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
from askew.types import Axis

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
        Samples of images, one per axis.
    """

    folder: StudyFolder
    samples: Sequence[AxisSample]

    def lines(self) -> list[str]:
        """Return lines that state the study's size and the expected precision of the shares."""
        plan = self.folder.plan
        raters = self.folder.raters()
        labels = sum(len(sample.chosen) for sample in self.samples) * plan.raters_per_item
        lines = [
            f"{sample.axis.name}: {len(sample.chosen)} of {plural(sample.images, 'image')} in "
            f"{plural(len(sample.strata), 'stratum', 'strata')}, expected half-width of shares "
            f"{sample.half_width:.3f} ({plan.confidence:.0%} interval, if instruments are right for "
            f"{sample.accuracy:.0%} of the images)"
            for sample in self.samples
        ]
        return study_lines(
            self.folder,
            *lines,
            f"{plural(labels, 'label')} from {plural(len(raters), 'rater')}, "
            f"{plan.raters_per_item} per image, at most {most_questions(raters)}",
        )


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
        Number of images to label per axis, which replaces the precision in `design`.
    """
    audits_only(sources, "label")
    chosen = [study_axis(axis) for axis in _axes(sources, axes)]
    frame = baseline_frame(sources)
    samples = []
    for axis in chosen:
        rng = np.random.default_rng(derived_seed(design.seed, axis.name, "labeled images"))
        precision = None if images is not None else design.precision or USUAL_PRECISION
        samples.append(
            sample_axis(
                axis, frame, rng, precision=precision, images=images, level=design.confidence
            )
        )
    names = [axis.name for axis in chosen]
    content = StudyContent(
        kind="label",
        title="Labels of images",
        purpose=PURPOSE,
        instruction=INSTRUCTION,
        axes=tuple(chosen),
        items=_items(samples),
        frame=_used_frame(with_strata(frame, names)),
    )
    planned = replace(design, precision=None if images is not None else precision)
    folder = write_study(path, content, planned, sources)
    return LabelStudy(folder=folder, samples=samples)


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


def _items(samples: Sequence[AxisSample]) -> list[Item]:
    items: list[Item] = []
    for sample in samples:
        axis = sample.axis
        special: tuple[str, ...] = (CANNOT_TELL, PREFER_NOT)
        if reads_appearance(axis.name):
            special = (SEVERAL_PEOPLE, NO_PERSON, *special)
        for digest in sample.chosen:
            items.append(
                Item(
                    id=f"i{len(items) + 1:05d}",
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
