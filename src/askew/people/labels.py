"""Instrument that takes its labels from the raters of a study, selected with `--vqa study/DIR`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from askew.errors import NotEnoughData, UsageError
from askew.measure.raters import majority
from askew.people.folder import StudyFolder
from askew.people.label_analysis import AxisView
from askew.people.raters import StudyAnswers, all_answers, summaries
from askew.people.records import Item, label_of
from askew.stats.latent_truth import RatedLabels, instrument_errors, votes_of
from askew.store.files import digest_of
from askew.types import Axis, Missing, Picture, Question

VERSION = 1
EQUAL_WEIGHTS = 1.02
"""Maximum ratio of the largest to the smallest sampling weight in a simple random sample.

If the ratio is larger, askew treats the sample as stratified.
"""

NOT_IN_STUDY = Missing("not_asked", "the study does not contain this image")


@dataclass(frozen=True)
class StudyVQA:
    """Instrument that answers each question with the majority label from a study's raters.

    Answers from excluded raters are ignored.

    Attributes
    ----------
    name
        Name of the instrument, which is "study/" followed by the study's folder.
    study
        The study, limited to the raters who are not excluded.
    """

    name: str
    study: StudyAnswers

    @cached_property
    def fingerprint(self) -> str:
        """Fingerprint, which changes whenever the answers of included raters change."""
        answers = []
        for (rater, item), answer in sorted(self.study.answers.items()):
            if rater in self.study.raters:
                answers.append([rater, item, list(answer.answer)])
        items = sorted(item.id for item in self.study.items)
        return f"study/{VERSION}/{digest_of([items, answers])[:16]}"

    @cached_property
    def _items(self) -> Mapping[tuple[str, str], Item]:
        """Items, keyed by image id and axis."""
        return {(item.images[0], str(item.axis)): item for item in self.study.items}

    def answer(
        self, pictures: Sequence[Picture], questions: Sequence[Question]
    ) -> list[list[str | Missing]]:
        """Return the majority labels, as one list per image with one label per question."""
        answers = []
        for picture in pictures:
            answers.append([self._answer(picture, question) for question in questions])
        return answers

    def _answer(self, picture: Picture, question: Question) -> str | Missing:
        axes = {axis.name: axis for axis in self.study.folder.plan.axes}
        axis = axes.get(question.axis or "")
        if axis is None:
            return Missing("not_asked", "raters were not asked this question")
        if question.options and not set(axis.values) <= set(question.options):
            return Missing(
                "not_asked", f"the options must contain all values: {', '.join(axis.values)}"
            )
        labels = self.rater_labels(picture, axis.name)
        return majority(labels) if labels else NOT_IN_STUDY

    def raters(self, axis: str) -> tuple[str, ...]:
        """Return the ids of the raters who are not excluded."""
        return self.study.raters

    def rater_labels(self, picture: Picture, axis: str) -> tuple[str | Missing, ...]:
        """Return each rater's label for an image; empty if no rater answered."""
        item = self._items.get((picture.id, axis))
        if item is None or not self.study.of_item(item.id):
            return ()
        labels = []
        for rater in self.study.raters:
            option = self.study.first_option(rater, item.id)
            labels.append(NOT_IN_STUDY if option is None else label_of(option))
        return tuple(labels)

    @cached_property
    def sample_warning(self) -> str:
        """Warning if the labeled images are a stratified sample; empty for a random sample."""
        for axis in self.study.folder.plan.axes:
            view = AxisView(self.study, axis)
            weights = [view.weight(item) for item in view.items]
            if weights and max(weights) > EQUAL_WEIGHTS * min(weights):
                return (
                    f"the images of {self.name} were sampled according to labels from other "
                    f"instruments, so their shares of {axis.name} are not estimates of the shares "
                    "in all images. The corrected shares of other instruments, and askew study "
                    "results, take this into account"
                )
        return ""

    def labeling_errors(
        self, axis: Axis, labels: Mapping[str, str | Missing]
    ) -> NDArray[np.int64] | None:
        """Estimate how often an instrument assigns each label for each true value.

        Parameters
        ----------
        axis
            The axis.
        labels
            Labels from the instrument, keyed by image id.

        Returns
        -------
        array, (true values, labels), or None
            Effective counts, weighted by stratum and corrected for the raters' errors. The counts
            are rounded to whole numbers, since the rounding error is smaller than the sampling
            error. None if no image has labels from both the instrument and the raters.
        """
        known = {each.name: each for each in self.study.folder.plan.axes}
        if axis.name not in known or known[axis.name].values != axis.values:
            return None
        view = AxisView(self.study, known[axis.name])
        items = [item for item in view.items if labels.get(item.images[0]) in axis.values]
        if not items:
            return None
        strata = sorted(view.sizes)
        try:
            data = RatedLabels.of(
                votes_of(
                    self.study.codes([item.id for item in items], view.axis.values),
                    len(axis.values),
                ),
                [axis.values.index(str(labels[item.images[0]])) for item in items],
                len(axis.values),
                [view.weight(item) for item in items],
                [strata.index(view.stratum(view.entry(item))) for item in items],
            )
        except NotEnoughData:
            return None
        errors = instrument_errors(data, rng=np.random.default_rng(0), draws=2)
        return np.rint(errors.counts).astype(np.int64)


def create(name: str) -> StudyVQA:
    """Return an instrument that answers questions with the raters' labels from a study.

    Parameters
    ----------
    name
        Folder of the study.

    Raises
    ------
    UsageError
        If the folder does not contain a labeling study, or all answers are from excluded raters.
    """
    if not name:
        raise UsageError("name the folder of the study: --vqa study/DIR")
    folder = StudyFolder.opened(Path(name))
    if folder.plan.kind != "label":
        raise UsageError(
            f"{name} is a study of the kind {folder.plan.kind}. --vqa study/DIR needs a study of "
            "the kind label"
        )
    study = all_answers(folder)
    excluded = {rater.id for rater in summaries(study) if rater.excluded}
    included = study.without(excluded)
    if not included.raters:
        raise UsageError(f"all answers of the study {name} are from excluded raters")
    return StudyVQA(name=f"study/{name}", study=included)
