"""Measure how well raters agree on the images of a survey, and how their labels are distributed."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from askew.findings import E
from askew.measure.base import VQA, RatedInstrument
from askew.measure.raters import distribution, is_absent, majority
from askew.pages import blocks as b
from askew.pages.words import axis_label, capital, listing, measured, percent, plural
from askew.parts.scoring import Scoring, or_missing
from askew.parts.survey.observed import Answer, ObservedSet
from askew.stats.agreement import alpha_estimate, kappa_estimate
from askew.types import Axis, Missing, Picture, record

LARGEST_LIST = 12
"""Maximum number of images without a majority label that the findings list."""


@dataclass(frozen=True)
class AxisRatings:
    """Labels that several raters gave to images on one axis.

    Attributes
    ----------
    axis
        The axis.
    instrument
        Name of the instrument that returns the majority label of the raters.
    raters
        Names of the raters.
    labels
        Labels of each image in the order of `raters`, keyed by image id.
    """

    axis: Axis
    instrument: str
    raters: tuple[str, ...]
    labels: Mapping[str, Sequence[Answer]]

    @property
    def codes(self) -> NDArray[np.int64]:
        """Index of the value that each rater chose; -1 if the rater chose no value.

        Shape (raters, images).
        """
        codes = np.full((len(self.raters), len(self.labels)), -1, dtype=np.int64)
        for column, labels in enumerate(self.labels.values()):
            for row, label in enumerate(labels):
                if label in self.axis.values:
                    codes[row, column] = self.axis.values.index(str(label))
        return codes


@record
class RaterAgreement:
    """Agreement between raters on an axis.

    Attributes
    ----------
    axis, instrument : str
        The axis, and the instrument that returns the raters' majority label.
    raters : tuple of str
        Names of the raters.
    coefficient : str
        "kappa" (Cohen) for two raters, "alpha" (Krippendorff) for more.
    agreement : Estimate or Missing
        Value of the coefficient; 0 corresponds to the agreement expected by chance.
    images : int
        Number of images with a label from at least one rater.
    unanimous : int
        Number of images that have at least two labels and whose labels are all the same.
    no_majority : int
        Number of images for which no label was chosen by more than half of the raters.
    split : tuple of str
        IDs of the first images without a majority label.
    votes : mapping of rater to mapping of label to int
        Number of times that each rater gave each label.
    shares_of_votes : mapping of value to float
        Share of an image's raters who chose each label, averaged over images.
    """

    axis: str
    instrument: str
    raters: tuple[str, ...]
    coefficient: str
    agreement: E
    images: int
    unanimous: int
    no_majority: int
    split: tuple[str, ...]
    votes: Mapping[str, Mapping[str, int]]
    shares_of_votes: Mapping[str, float]


def ratings_of(
    instruments: Mapping[str, VQA], axes: Iterable[Axis], sets: Iterable[ObservedSet]
) -> tuple[AxisRatings, ...]:
    """Return the labels that several raters gave to all images, per instrument and axis."""
    pictures = {}
    for observed in sets:
        for picture in observed.pictures:
            if isinstance(picture, Picture):
                pictures[picture.id] = picture
    ratings = []
    for name, vqa in instruments.items():
        if not isinstance(vqa, RatedInstrument):
            continue
        for axis in axes:
            raters = vqa.raters(axis.name)
            if len(raters) < 2:
                continue
            labels = {key: vqa.rater_labels(each, axis.name) for key, each in pictures.items()}
            known = {key: of_image for key, of_image in labels.items() if of_image}
            ratings.append(AxisRatings(axis=axis, instrument=name, raters=raters, labels=known))
    return tuple(ratings)


def agreement(ratings: AxisRatings, scoring: Scoring) -> RaterAgreement:
    """Return the agreement between raters on each axis, with bootstrap intervals.

    Parameters
    ----------
    ratings
        Labels from the raters.
    scoring
        Settings for the interval.
    """
    values = ratings.axis.values
    is_pair = len(ratings.raters) == 2
    labels = [tuple(of_image) for of_image in ratings.labels.values()]
    compute = partial(kappa_estimate if is_pair else alpha_estimate, scale=ratings.axis.scale)
    estimate = or_missing(
        compute,
        ratings.codes,
        len(values),
        rng=scoring.rng(ratings.axis.name, ratings.instrument, "agreement"),
        **scoring.interval_options,
    )
    votes = {}
    for row, rater in enumerate(ratings.raters):
        votes[rater] = _votes(of_image[row] for of_image in labels)
    split = [key for key, of_image in ratings.labels.items() if _is_split(of_image)]
    return RaterAgreement(
        axis=ratings.axis.name,
        instrument=ratings.instrument,
        raters=ratings.raters,
        coefficient="kappa" if is_pair else "alpha",
        agreement=estimate,
        images=sum(not all(map(is_absent, of_image)) for of_image in labels),
        unanimous=sum(map(_is_unanimous, labels)),
        no_majority=len(split),
        split=tuple(split[:LARGEST_LIST]),
        votes=votes,
        shares_of_votes=_shares_of_votes(labels, values),
    )


def _votes(labels: Iterable[Answer]) -> dict[str, int]:
    texts = [label.reason if isinstance(label, Missing) else label for label in labels]
    return dict(sorted(Counter(texts).items()))


def _is_split(labels: Sequence[Answer]) -> bool:
    answer = majority(labels)
    return isinstance(answer, Missing) and answer.reason == "no_majority"


def _is_unanimous(labels: Sequence[Answer]) -> bool:
    given = [label for label in labels if not is_absent(label)]
    return len(given) > 1 and all(label == given[0] for label in given)


def _shares_of_votes(labels: Iterable[Sequence[Answer]], values: Sequence[str]) -> dict[str, float]:
    """Return the share of an image's raters who chose each label, averaged over images."""
    distributions = [distribution(of_image, values) for of_image in labels]
    known = [shares for shares in distributions if shares]
    if not known:
        return {}
    sums: Counter[str] = Counter()
    for shares in known:
        sums.update(shares)
    return {value: float(sums[value]) / len(known) for value in values}


def agreement_table(entries: Sequence[RaterAgreement]) -> b.Table:
    """Return a table of agreement, images without a majority label, and shares on each axis."""
    rows: list[tuple[b.Content, ...]] = []
    for entry in entries:
        shares = [f"{percent(share)} {value}" for value, share in entry.shares_of_votes.items()]
        name = "κ" if entry.coefficient == "kappa" else "α"
        rows.append(
            (
                capital(axis_label(entry.axis)),
                f"{name} = {measured(entry.agreement)}",
                f"{entry.unanimous} of {entry.images}",
                f"{entry.no_majority} of {entry.images}",
                listing(shares) if shares else "none",
            )
        )
    raters = plural(len(entries[0].raters), "rater")
    return b.Table(
        f"Agreement between {raters} (Cohen's κ for two, Krippendorff's α for more; 0 by chance)",
        ("axis", "agreement", "equal labels", "no majority", "shares of all labels"),
        tuple(rows),
    )
