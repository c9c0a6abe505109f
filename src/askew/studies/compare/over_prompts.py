"""Compare two runs over all prompts, paired by prompt.

If each of many prompts has only a few images, askew cannot reach a verdict on a single prompt.
A verdict on the average over all prompts is still possible.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from askew.parts.scoring import Scoring
from askew.parts.survey.observed import ObservedSet
from askew.parts.survey.shares import DISTANCE
from askew.plan import AxisPlan, PromptPlan
from askew.stats.prompt_pairs import FEWEST_PAIRS, PromptPairs
from askew.studies.compare.findings import ALL_PROMPTS, RUN_DISTANCE, ScoreDifference
from askew.types import grouped

SetsByPrompt = Mapping[str, Sequence[ObservedSet]]
"""Image sets of a run, keyed by prompt."""


@dataclass(frozen=True, slots=True, eq=False)
class _Labels:
    """Both runs' label counts on an axis of an image set.

    `before` contains the number of images that show each value in the first run, and `after`
    contains these numbers for the second run. `unlabeled` is the total number of images without a
    label in the two runs.
    """

    set: str
    axis: AxisPlan
    before: list[int]
    after: list[int]
    unlabeled: int

    @property
    def kind(self) -> tuple[str, str, tuple[str, ...], str]:
        """Set, axis, values and scale. Counts are added up only if all four are equal."""
        return self.set, self.axis.name, self.axis.values, self.axis.scale

    @property
    def measured(self) -> bool:
        """True if each of the two runs has at least one labeled image."""
        return any(self.before) and any(self.after)


@dataclass(frozen=True, slots=True)
class RunsOverPrompts:
    """Two runs that share prompts.

    A difference is the second run's score minus the first run's score.

    Attributes
    ----------
    names
        Names of the first and the second run.
    sets
        Image sets of the first and of the second run.
    prompts
        Prompts that both runs share.
    scoring
        Settings of the scores.
    """

    names: tuple[str, str]
    sets: tuple[SetsByPrompt, SetsByPrompt]
    prompts: Sequence[PromptPlan]
    scoring: Scoring

    def differences(self, instrument: str) -> list[ScoreDifference]:
        """Return the differences on axes with labels for at least `FEWEST_PAIRS` prompts.

        Axes of different prompts may have the same name but different values. askew then compares
        only the prompts with the most common list of values.

        Parameters
        ----------
        instrument
            Name of the instrument whose labels are compared.
        """
        kinds = grouped(self._labels(instrument), lambda labels: labels.kind)
        largest: dict[tuple[str, str], list[_Labels]] = {}
        for (set_name, axis, *_), labels in kinds.items():
            most = largest.setdefault((set_name, axis), labels)
            if _prompts(labels) > _prompts(most):
                largest[set_name, axis] = labels
        entries: list[ScoreDifference] = []
        for labels in largest.values():
            if _prompts(labels) >= FEWEST_PAIRS:
                entries += self._entries(labels, instrument)
        return entries

    def _labels(self, instrument: str) -> Iterator[_Labels]:
        """Yield the labels of all prompts' image sets, except counterfactual sets."""
        for prompt in self.prompts:
            of_first_run, of_second_run = (sets[prompt.text] for sets in self.sets)
            second = {observed.name: observed for observed in of_second_run}
            for of_first in of_first_run:
                name = of_first.name
                if name in second and not prompt.has(of_first.prompt.axis):
                    for axis in prompt.closed:
                        yield _labels_of(of_first, second[name], axis, instrument)

    def _entries(self, labels: Sequence[_Labels], instrument: str) -> Iterator[ScoreDifference]:
        """Yield the differences between shares, and the distance between the runs."""
        axis = labels[0].axis
        set_name = labels[0].set
        measured = [of_prompt for of_prompt in labels if of_prompt.measured]
        unlabeled = sum(of_prompt.unlabeled for of_prompt in labels)
        pairs = PromptPairs.of(
            [of_prompt.after for of_prompt in measured],
            [of_prompt.before for of_prompt in measured],
        )
        level = self.scoring.level
        entry = partial(
            ScoreDifference,
            prompt=ALL_PROMPTS,
            axis=axis.name,
            set=set_name,
            instrument=instrument,
            runs=self.names,
            prompts=len(measured),
        )
        for place, value in enumerate(axis.values):
            test_of_value = pairs.of_value(place).test()
            after, before = pairs.share_estimates(place, level=level)
            difference = pairs.share_difference(place, level=level, test=test_of_value)
            of_value = entry(
                score="share", value=value, difference=difference, of_runs=(before, after)
            )
            yield of_value.tested(test_of_value).with_missing(unlabeled)
        test = pairs.test()
        between = pairs.distance(
            test,
            distance=DISTANCE[axis.scale],
            rng=self.scoring.rng(ALL_PROMPTS, set_name, axis.name, instrument, "between runs"),
            draws=self.scoring.draws,
        )
        of_axis = entry(score=RUN_DISTANCE, value=None, difference=between)
        yield of_axis.tested(test).with_missing(unlabeled)


def _prompts(labels: Sequence[_Labels]) -> int:
    """Return the number of prompts whose images are labeled in both runs."""
    return sum(of_prompt.measured for of_prompt in labels)


def _labels_of(first: ObservedSet, second: ObservedSet, axis: AxisPlan, instrument: str) -> _Labels:
    """Count both runs' labels on an axis of an image set."""
    before, after = (observed.counts(instrument, axis.axis()) for observed in (first, second))
    images = len(first.pictures) + len(second.pictures)
    return _Labels(
        set=first.name,
        axis=axis,
        before=before,
        after=after,
        unlabeled=images - sum(before) - sum(after),
    )
