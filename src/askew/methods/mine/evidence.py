"""Collect evidence for a prompt's score: images of the prompt and images of its variations."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from askew.errors import UsageError
from askew.methods.mine.skew import SkewObjective, details
from askew.prompts.axes import find_axis
from askew.run.base import Outcome

Labels = Mapping[str, Sequence[object]]
"""Labels of images, keyed by axis."""


@dataclass(frozen=True, slots=True)
class PromptEvidence:
    """Images and counts of details that explain a prompt's score.

    Attributes
    ----------
    pictures
        Held-out images of the prompt.
    variations
        One image per variation. A variation is written by the prompt generator, or states a value
        of an axis.
    shows
        For each variation, the number of the prompt's images that show all of its details, and the
        number of images of all variations that show them. Variations without labeled details have
        no entry.
    """

    pictures: tuple[Outcome, ...]
    variations: Mapping[str, Outcome]
    shows: Mapping[str, tuple[int, int]] = field(default_factory=dict)


def stated_details(prompt: str, variations: Iterable[str]) -> dict[str, dict[str, str]]:
    """Return the values that each variation states, keyed by variation and axis.

    Variations that state no value are omitted.
    """
    stated = {text: details(prompt, text) for text in variations}
    return {text: values for text, values in stated.items() if values}


def axes_of_details(stated: Mapping[str, Mapping[str, str]]) -> list[str]:
    """Return the names of the axes on which a variation states a value."""
    return list(dict.fromkeys(axis for values in stated.values() for axis in values))


def count_details(
    objective: SkewObjective,
    prompt: str,
    stated: Mapping[str, Mapping[str, str]],
    pictures: Sequence[Outcome],
    varied: Sequence[Outcome],
) -> dict[str, tuple[int, int]]:
    """Count the images that show all details of each variation.

    Parameters
    ----------
    objective
        Objective that labels the images.
    prompt
        The prompt.
    stated
        Values that each variation states, keyed by variation and axis.
    pictures, varied
        Images of the prompt, and images of its variations.

    Returns
    -------
    dict of str to pair of int
        For each variation, the number of the prompt's images that show its details, and the number
        of images of all variations that show them. Variations whose values the instrument cannot
        label are omitted.
    """
    vqa = objective.reader.name
    labels: dict[str, Sequence[object]] = {}
    varied_labels: dict[str, Sequence[object]] = {}
    for name in axes_of_details(stated):
        axis = find_axis(name)
        with suppress(UsageError):  # the instrument does not know these values
            of_prompt = objective.observed(prompt, pictures, [axis]).values[vqa]
            of_variations = objective.observed(prompt, varied, [axis]).values[vqa]
            labels |= of_prompt
            varied_labels |= of_variations
    return {
        text: (_count(values, labels), _count(values, varied_labels))
        for text, values in stated.items()
        if values.keys() <= labels.keys()
    }


def _count(values: Mapping[str, str], labels: Labels) -> int:
    """Count the images whose labels match all given values."""
    rows = zip(*(labels[axis] for axis in values), strict=True)
    return list(rows).count(tuple(values.values()))
