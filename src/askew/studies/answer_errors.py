"""Simulate errors in answers and captions, and compute association scores from the result.

TIBET (section 5.3, figure 5c) simulates errors that are independent across images. In askew, the
errors are also independent across questions, and a caption is treated as the answer to an
additional question. If a question has a list of values, a wrong answer is any other value from the
list. A wrong caption, or a wrong answer to an open question, is a different text that the
instrument produced for an image of the same prompt. After introducing the errors, askew repeats the
extraction of concepts and the merging of synonyms.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Literal

import numpy as np
import scipy
from numpy.typing import NDArray

from askew.errors import NotEnoughData
from askew.measure.concepts import concept_counts, synonym_groups
from askew.methods.audit.tibet import phrases_of, texts_of_sets, without_captions
from askew.parts.scoring import Scoring
from askew.parts.survey.observed import ObservedSet
from askew.stats.association import Codes, Variant, cas, corrupt, mad
from askew.stats.intervals import Floats
from askew.stats.rank import rank_correlations
from askew.types import Axis

Errors = Literal["answers", "captions", "both"]


@dataclass(frozen=True, slots=True)
class PossibleAnswers:
    """Answers that an instrument can give to each question about a prompt's images.

    Attributes
    ----------
    sizes : array of int, (questions,)
        Number of possible answers to each question.
    is_caption : array of bool, (questions,)
        True if the answer to the question is a caption.
    vocabulary : tuple of str
        Concepts that occur in the possible answers.
    counts : sparse array of int, (answers, concepts)
        How often each possible answer contains each concept. The rows list the answers to the first
        question, then the answers to the second, and so on.
    variant : "paper" or "code"
        Rule for merging synonyms.
    """

    sizes: NDArray[np.int64]
    is_caption: NDArray[np.bool_]
    vocabulary: tuple[str, ...]
    counts: scipy.sparse.csr_array
    variant: Variant

    def rates(self, rate: float, errors: Errors) -> Floats:
        """Return an array of shape (questions,) with the error rate of each question."""
        can_err = {
            "answers": ~self.is_caption,
            "captions": self.is_caption,
            "both": np.ones_like(self.is_caption),
        }
        return np.where(can_err[errors], rate, 0.0)

    def frequencies(self, sets: Sequence[Codes]) -> list[Floats]:
        """Return the frequency of each concept in each set, after merging synonyms across all sets.

        Parameters
        ----------
        sets : sequence of array, (runs, images, questions)
            Codes of the answers in each image set.

        Returns
        -------
        list of array, (runs, concepts)
            For each set, the mean number of occurrences of each concept per image. Occurrences of
            synonyms are added to the count of the first synonym.
        """
        totals = np.stack([self._occurrences(codes) for codes in sets])
        merged = np.zeros_like(totals)
        for run in range(totals.shape[1]):
            words = np.flatnonzero(totals[:, run].any(axis=0))
            groups = synonym_groups([self.vocabulary[word] for word in words], self.variant)
            np.add.at(merged[:, run].T, groups, totals[:, run, words].T)
        return [of_set / codes.shape[1] for of_set, codes in zip(merged, sets, strict=True)]

    def _occurrences(self, codes: Codes) -> NDArray[np.int64]:
        """Count each concept's occurrences in a set; return an array of shape (runs, concepts)."""
        runs = len(codes)
        first = np.cumsum(self.sizes) - self.sizes
        total = self.counts.shape[0]
        answers = (codes + first).reshape(runs, -1) + total * np.arange(runs)[:, None]
        tally = np.bincount(answers.ravel(), minlength=runs * total).reshape(runs, total)
        return np.asarray(tally @ self.counts, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class AnsweredSets:
    """Answers about the image sets of a prompt, encoded as integers.

    Attributes
    ----------
    possible : PossibleAnswers
        Possible answers, to which the codes refer.
    codes : mapping of set to array of int, (images, questions)
        Codes of the answers in each image set, keyed by the name of the set. Only images that have
        answers to all questions have a row.
    """

    possible: PossibleAnswers
    codes: Mapping[str, Codes]


@dataclass(frozen=True, slots=True)
class SimulatedAxis:
    """Association scores of an axis, with and without simulated errors.

    Attributes
    ----------
    before : array, (K,)
        CAS of each value without errors.
    after : array, (runs, K)
        CAS of each value in each simulation.
    """

    before: Floats
    after: Floats

    @property
    def nearest_kept(self) -> float:
        """Share of simulations in which the value with the largest CAS stays the same."""
        return float(np.mean(self.after.argmax(axis=-1) == self.before.argmax()))


@dataclass(frozen=True, slots=True)
class Ranking:
    """Effect of simulated errors on the ranking of a prompt's axes by MAD.

    Attributes
    ----------
    largest_kept : array, (runs,)
        1 for each simulation in which the axis with the largest MAD stays the same, and 0 for the
        others.
    correlation : array, (runs,)
        Spearman's correlation between the axes' MAD values before the errors and their MAD values
        after the errors; NaN if there are fewer than three axes.
    """

    largest_kept: Floats
    correlation: Floats


def ranking(changes: Sequence[SimulatedAxis], variant: Variant) -> Ranking | None:
    """Return the changes in the ranking of axes by MAD; None if there are fewer than two axes.

    Parameters
    ----------
    changes
        A prompt's scores on all axes, before and after the errors.
    variant
        Variant of MAD.
    """
    if len(changes) < 2:
        return None
    before = np.array([mad(change.before, variant) for change in changes])
    after = np.stack([mad(change.after, variant) for change in changes], axis=-1)
    return Ranking(
        largest_kept=np.asarray(after.argmax(axis=-1) == before.argmax(), dtype=float),
        correlation=rank_correlations(before, after),
    )


def answered_sets(
    sets: Sequence[ObservedSet], axes: Sequence[Axis], scoring: Scoring, own_concepts: bool
) -> AnsweredSets:
    """Encode the answers about the image sets of a prompt as integers.

    Parameters
    ----------
    sets
        Image sets: the baseline set, followed by the counterfactual sets.
    axes
        The axes. Concepts are extracted from the answers about these axes.
    scoring
        Instrument whose answers are encoded, and variant of the scores.
    own_concepts
        True if no concepts are extracted from captions.
    """
    texts = texts_of_sets(without_captions(sets) if own_concepts else sets, axes, scoring)
    columns = texts[0].columns
    all_rows = list(chain.from_iterable(of_set.rows for of_set in texts))
    values = [axis.values for axis in axes]
    choices = []
    for place, column in enumerate(columns):
        if column < len(axes) and values[column]:
            choices.append(list(values[column]))
        else:
            choices.append(sorted({row[place] for row in all_rows}))
    all_answers = [[answer] for of_question in choices for answer in of_question]
    counted = concept_counts(all_answers, phrases=phrases_of(axes, scoring))
    possible = PossibleAnswers(
        sizes=np.array([len(of_question) for of_question in choices], dtype=np.int64),
        is_caption=np.array([column == len(axes) for column in columns], dtype=bool),
        vocabulary=counted.vocabulary,
        counts=scipy.sparse.csr_array(counted.counts),
        variant=scoring.variant,
    )
    codes = {
        observed.name: _codes(of_set.rows, choices)
        for observed, of_set in zip(sets, texts, strict=True)
    }
    return AnsweredSets(possible=possible, codes=codes)


def _codes(rows: Sequence[Sequence[str]], choices: Sequence[Sequence[str]]) -> Codes:
    """Return the index of each answer among the choices for its question.

    The shape is (images, questions).
    """
    codes = np.zeros((len(rows), len(choices)), dtype=np.int64)
    for question, answers in enumerate(choices):
        place = {answer: code for code, answer in enumerate(answers)}
        codes[:, question] = [place[row[question]] for row in rows]
    return codes


def axis_changes(
    answered: AnsweredSets,
    sets_by_axis: Mapping[str, Sequence[str]],
    rate: float,
    errors: Errors,
    *,
    rng: np.random.Generator,
    runs: int,
) -> dict[str, SimulatedAxis]:
    """Simulate errors in all sets, and score the axes before and after the errors.

    Parameters
    ----------
    answered
        The encoded answers about all sets. The baseline set comes first.
    sets_by_axis
        Names of the counterfactual sets of each axis.
    rate
        Probability that an answer is wrong.
    errors
        Output that the errors affect: answers, captions or both.
    rng
        Random generator for the errors.
    runs
        Number of simulations.

    Returns
    -------
    dict
        Scores before and after the errors, keyed by axis. An axis is left out if one of its image
        sets has no concepts.
    """
    possible = answered.possible
    baseline = next(iter(answered.codes))
    names = [baseline, *(name for of_axis in sets_by_axis.values() for name in of_axis)]
    names = [name for name in names if answered.codes[name].size]
    if baseline not in names:
        return {}
    rates = possible.rates(rate, errors)
    clean = [answered.codes[name][None] for name in names]
    wrong = [
        corrupt(np.repeat(codes, runs, axis=0), possible.sizes, rates, rng=rng) for codes in clean
    ]
    before = dict(zip(names, possible.frequencies(clean), strict=True))
    after = dict(zip(names, possible.frequencies(wrong), strict=True))
    changes = {}
    for axis, of_axis in sets_by_axis.items():
        if len(of_axis) > 1 and all(name in before for name in of_axis):
            change = _axis_change(baseline, of_axis, before, after, possible.variant)
            if change is not None:
                changes[axis] = change
    return changes


def _axis_change(
    baseline: str,
    counterfactuals: Sequence[str],
    before: Mapping[str, Floats],
    after: Mapping[str, Floats],
    variant: Variant,
) -> SimulatedAxis | None:
    """Compute the scores of an axis before and after the errors.

    None if an image set has no concepts before the errors or in a simulation.
    """
    scores = []
    for frequencies in (before, after):
        compared = np.stack([frequencies[name] for name in counterfactuals])
        try:
            scores.append(cas(frequencies[baseline], compared, variant).T)
        except NotEnoughData:
            return None
    return SimulatedAxis(before=scores[0][0], after=scores[1])
