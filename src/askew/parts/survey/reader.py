"""Run a survey: obtain images for a plan's prompts, and label them with the plan's instruments."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from pathlib import Path

from askew.errors import UsageError
from askew.findings import GatheredData, PictureSet
from askew.measure.base import CAPTION, PERSON, VQA, Embedder, SampledLabels
from askew.models.base import Collection, Model
from askew.parts.survey.agreement import AxisRatings, ratings_of
from askew.parts.survey.confusion import (
    Confusion,
    Errors,
    closed_axes,
    confusions,
    instrument_errors,
)
from askew.parts.survey.cut_prompts import check_values_received
from askew.parts.survey.following import Following, following_of_plan, following_warnings
from askew.parts.survey.instruments import (
    Source,
    fingerprints,
    identity_of,
    source_warnings,
    studio_warnings,
)
from askew.parts.survey.observed import Answer, ObservedSet, observe
from askew.parts.survey.together import check_together
from askew.plan import Plan, PromptPlan
from askew.prompts.axes import BIASCONNECT
from askew.run.base import Outcome, Run
from askew.run.count import counted_run
from askew.run.inquiries import Inquiry
from askew.run.work import Work, once_each, unmade
from askew.types import Missing, Prompt, Question, is_copy

LABELED = 60
LABELED_OF_MANY = 24
FEW_SETS = 6
"""Maximum numbers of images per set whose labels the results contain.

The first number applies to baseline sets, and to all sets of a prompt that has at most `FEW_SETS`
sets. The second number applies to all other sets.
"""

NOBODY = Missing("no_person", "the instrument sees nobody")

Observed = Mapping[str, Sequence[ObservedSet]]
"""Image sets of each prompt, baseline set first."""

PicturesOfPrompt = tuple[Prompt, Sequence[Outcome]]


@dataclass(frozen=True, slots=True)
class PromptImages:
    """Image sets of a prompt that are not labeled yet.

    Attributes
    ----------
    prompt : PromptPlan
        Prompt, with its axes.
    sets : sequence of PicturesOfPrompt
        Image sets of the prompt.
    """

    prompt: PromptPlan
    sets: Sequence[PicturesOfPrompt]

    @property
    def pictures(self) -> list[Outcome]:
        """The images of all sets."""
        return [picture for _, pictures in self.sets for picture in pictures]


@dataclass(frozen=True)
class SurveyReader:
    """Instruments of a plan. They label images and answer questions about them.

    Attributes
    ----------
    run : Run
        Run that passes the questions to the instruments.
    instruments : mapping of name to VQA
        Instruments of the plan.
    captioner : str or None
        Instrument that also writes captions of images.
    person : bool
        True to ask whether an image shows a person if axes are about people, and to ignore labels
        of images without a person (BiasConnect, appendix A.3).
    """

    run: Run
    instruments: Mapping[str, VQA]
    captioner: str | None = None
    person: bool = False

    def questions(self, prompt: PromptPlan, instrument: str) -> list[Question]:
        """Return the questions about a prompt's axes, then the questions on caption and person."""
        questions = [question for axis in prompt.axes for question in axis.axis().questions]
        if instrument == self.captioner:
            questions.append(CAPTION)
        if self._asks_for_person(prompt):
            questions.append(PERSON)
        return questions

    def unmade(self, model: Model, prompt: PromptPlan, images: int) -> Work:
        """Return the work of generating and labeling `images` new images of a prompt."""
        return unmade(
            model, images, [len(self.questions(prompt, name)) for name in self.instruments]
        )

    def read(self, prompt: PromptPlan, sets: Sequence[PicturesOfPrompt]) -> list[ObservedSet]:
        """Label the image sets of a prompt."""
        return self.read_all([PromptImages(prompt, sets)])[0]

    def read_all(self, images: Sequence[PromptImages]) -> list[list[ObservedSet]]:
        """Label the image sets of each prompt.

        The questions about the images of all prompts are passed to the run in a single call.
        """
        inquiries = [
            Inquiry(vqa, of_prompt.pictures, self.questions(of_prompt.prompt, name))
            for name, vqa in self.instruments.items()
            for of_prompt in images
        ]
        answers = iter(self.run.ask_all(inquiries))
        by_prompt: list[dict[str, dict[str, list[Answer]]]] = [{} for _ in images]
        for name in self.instruments:
            for of_prompt, by_instrument in zip(images, by_prompt, strict=True):
                by_instrument[name] = self._of_people(of_prompt.prompt, next(answers))
        return [
            self._observed(of_prompt, by_instrument)
            for of_prompt, by_instrument in zip(images, by_prompt, strict=True)
        ]

    def _observed(
        self, images: PromptImages, answers: Mapping[str, Mapping[str, list[Answer]]]
    ) -> list[ObservedSet]:
        axes = [axis.axis() for axis in images.prompt.axes]
        return [
            observe(
                prompt=set_prompt,
                pictures=pictures,
                axes=axes,
                answers=answers,
                captioner=self.captioner,
            )
            for set_prompt, pictures in images.sets
        ]

    def _of_people(
        self, prompt: PromptPlan, answers: Mapping[str, list[Answer]]
    ) -> dict[str, list[Answer]]:
        """Return answers by image.

        If the questions ask whether an image shows a person, images without a person get no
        answers.
        """
        if not self._asks_for_person(prompt):
            return dict(answers)
        return {
            picture: [NOBODY] * len(row) if row[-1] == "no" else row
            for picture, row in answers.items()
        }

    def _asks_for_person(self, prompt: PromptPlan) -> bool:
        return self.person and any(axis.name in BIASCONNECT for axis in prompt.axes)


def observed_sets(plan: Plan, source: Source, reader: SurveyReader) -> dict[str, list[ObservedSet]]:
    """Generate all prompts' image sets, or take them from a collection, and label the images."""
    if isinstance(source, Collection):
        pictures = _collected(plan, source, reader.run)
    else:
        pictures = _generated(plan, source, reader.run)
    images = [PromptImages(prompt, pictures[prompt.text]) for prompt in plan.prompts]
    observed = reader.read_all(images)
    return {prompt.text: sets for prompt, sets in zip(plan.prompts, observed, strict=True)}


def _collected(plan: Plan, source: Collection, run: Run) -> dict[str, list[PicturesOfPrompt]]:
    """Return the images of a collection for each prompt and image set."""
    sets: dict[str, dict[Prompt, list[Outcome]]] = {prompt.text: {} for prompt in plan.prompts}
    for filed, picture in run.collect(source):
        if filed.prompt in sets:
            prompt = Prompt(filed.prompt, filed.axis, filed.value)
            sets[filed.prompt].setdefault(prompt, []).append(picture)
    return {text: _baseline_first(of_prompt) for text, of_prompt in sets.items()}


def _baseline_first(sets: Mapping[Prompt, Sequence[Outcome]]) -> list[PicturesOfPrompt]:
    distinct = [(prompt, once_each(pictures)) for prompt, pictures in sets.items()]
    return sorted(distinct, key=lambda item: item[0].axis is not None)


def _generated(plan: Plan, source: Source, run: Run) -> dict[str, list[PicturesOfPrompt]]:
    """Generate the images of all prompts of a plan."""
    assert not isinstance(source, Collection)
    check_values_received(source, plan.prompts)
    pictures = run.pictures(source, plan.texts(), plan.images, plan.seed)
    sets: dict[str, list[PicturesOfPrompt]] = {}
    for planned in plan.prompts:
        sets[planned.text] = [(prompt, pictures[prompt.text]) for prompt in planned.prompts()]
    return sets


@dataclass(frozen=True)
class SurveyData(GatheredData):
    """Data of a survey.

    Attributes
    ----------
    observed : Observed
        Image sets of each prompt.
    confusion : tuple of Confusion
        Instrument labels compared with human labels, if there are any.
    errors : Errors
        Error counts of instruments, taken from `confusion` or, if not available there, from the
        instruments' calibration.
    following : tuple of Following
        Labels of the baseline images, compared with the values requested by mitigations.
    ratings : tuple of AxisRatings
        Labels from several raters; empty if there are none.
    """

    observed: Observed
    confusion: tuple[Confusion, ...]
    errors: Errors
    following: tuple[Following, ...]
    ratings: tuple[AxisRatings, ...]


def surveyed(
    plan: Plan,
    source: Source,
    reader: SurveyReader,
    observed: Observed,
    embedder: Embedder | None = None,
    other_sources: Iterable[str] = (),
) -> SurveyData:
    """Return the data of a survey, and warn about unsuitable words and instruments.

    Parameters
    ----------
    plan, source, reader, observed
        Plan, source of the images, instruments, and labeled image sets.
    embedder
        Embedder of the run; None if the run has no embedder.
    other_sources
        Names of additional models whose images the instruments label.
    """
    embedders = [embedder.name] if embedder else []
    reader.run.warn(*source_warnings(plan.texts(), source, reader.instruments))
    reader.run.warn(*studio_warnings([source.name, *other_sources], reader.instruments, embedders))
    for instrument in reader.instruments.values():
        if isinstance(instrument, SampledLabels) and instrument.sample_warning:
            reader.run.warn(instrument.sample_warning)
    check_together(reader.run, reader.instruments, plan.prompts, observed)
    confusion = confusions(plan.prompts, observed, plan.vqa)
    follows = following_of_plan(plan, source, observed)
    reader.run.warn(*following_warnings(follows))
    all_sets = [image_set for of_prompt in observed.values() for image_set in of_prompt]
    return SurveyData(
        model=identity_of(source, plan.model_args),
        device=getattr(source, "device", None),
        instruments=fingerprints(reader.instruments, embedder),
        sets=tuple(_picture_sets(observed)),
        observed=observed,
        confusion=confusion,
        errors=instrument_errors(plan.prompts, reader.instruments, observed, confusion),
        following=follows,
        ratings=ratings_of(reader.instruments, closed_axes(plan.prompts).values(), all_sets),
    )


def _picture_sets(observed: Observed) -> list[PictureSet]:
    sets = []
    for text, of_prompt in observed.items():
        for entry in of_prompt:
            prompt = entry.prompt
            of_set = PictureSet.of(text, entry.pictures, prompt.axis, prompt.value, prompt.text)
            few_sets = len(of_prompt) <= FEW_SETS
            most = LABELED if prompt.axis is None or few_sets else LABELED_OF_MANY
            sets.append(replace(of_set, labels=_first_labels(entry, most)))
    return sets


def _first_labels(observed: ObservedSet, most: int) -> dict[str, tuple[str | None, ...]]:
    """Return the first instrument's labels for the first distinct images in a set."""
    if not observed.values:
        return {}
    first_instrument = next(iter(observed.values))
    distinct = [not is_copy(picture) for picture in observed.pictures]
    labels = {}
    for axis, answers in observed.values[first_instrument].items():
        of_distinct = list(compress(answers, distinct))[:most]
        labels[axis] = tuple(
            None if isinstance(answer, Missing) else answer for answer in of_distinct
        )
    return labels


def seen_again(
    plan: Plan, folder: Path, store: Path, gather: Callable[[Run], SurveyData]
) -> Observed:
    """Return the image sets of a finished run, using only the run's store.

    Raises
    ------
    UsageError
        If an image or an answer is missing from the store.
    """
    with counted_run(plan, folder, store) as counted:
        observed = gather(counted).observed
    if counted.work.left:
        raise UsageError(
            f"images or answers of the run {folder} are missing from the store {store}. Give the "
            "run's store with --store, or repeat the run's command"
        )
    return observed
