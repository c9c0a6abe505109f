"""Results of a labeling study: the instruments' labeling errors, and the shares of values."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from askew.measure.raters import distribution
from askew.parts.scoring import or_missing
from askew.people.agreement import ALL, coded_agreement
from askew.people.findings import (
    GroupAgreement,
    LabelingErrors,
    PeopleShares,
    StudyAnalysis,
)
from askew.people.raters import StudyAnswers
from askew.people.records import FrameEntry, Item, StudyAxis
from askew.stats.intervals import Floats
from askew.stats.latent_truth import RatedLabels, instrument_errors, votes_of
from askew.stats.stages import StagedLabels
from askew.stats.strata import StratifiedLabels
from askew.types import Estimate, Missing, grouped

UNLABELED = "unlabeled"
DRAWS_OF_ERRORS = 400
LARGEST_LIST = 60
"""Maximum number of items without a majority label to list in the results."""


def label_analysis(study: StudyAnswers) -> StudyAnalysis:
    """Compute the results of a labeling study from the raters' answers."""
    views = [AxisView(study, axis) for axis in study.folder.plan.axes]
    agreement: list[GroupAgreement] = []
    errors: list[LabelingErrors] = []
    shares: list[PeopleShares] = []
    split: list[str] = []
    for view in views:
        agreement += group_agreement(view)
        errors += [_errors(view, name) for name in view.instruments]
        shares += [_shares(view, number) for number in range(len(study.folder.plan.sources) or 1)]
        split += [item.id for item in view.items if is_split(study, item)]
    return StudyAnalysis(
        raters=len(study.raters),
        agreement=tuple(agreement),
        errors=tuple(errors),
        shares=tuple(shares),
        split=tuple(split[:LARGEST_LIST]),
    )


@dataclass(frozen=True)
class AxisView:
    """Answered items about one axis, with the sampling-frame entries of their images.

    Attributes
    ----------
    study
        The study with its answers.
    axis
        The axis.
    """

    study: StudyAnswers
    axis: StudyAxis

    @cached_property
    def items(self) -> list[Item]:
        """Items about the axis that have at least one answer."""
        mine = [item for item in self.study.items if item.axis == self.axis.name]
        return [item for item in mine if self.study.of_item(item.id)]

    @cached_property
    def entries(self) -> Mapping[str, FrameEntry]:
        """Sampling-frame entry of each image, keyed by image id."""
        return {entry.id: entry for entry in self.study.folder.frame}

    @cached_property
    def instruments(self) -> list[str]:
        """Names of the instruments that labeled images on this axis."""
        names = (
            name for entry in self.entries.values() for name in entry.labels.get(self.axis.name, ())
        )
        return list(dict.fromkeys(names))

    def entry(self, item: Item) -> FrameEntry:
        """Return the sampling-frame entry of an item's image."""
        return self.entries[item.images[0]]

    def stratum(self, entry: FrameEntry) -> tuple[int, str]:
        """Return an image's stratum: its run, and its labels from all instruments."""
        return entry.source, entry.strata.get(self.axis.name, "")

    @cached_property
    def sizes(self) -> Counter[tuple[int, str]]:
        """Number of images in each stratum."""
        return Counter(map(self.stratum, self.study.folder.frame))

    @cached_property
    def labeled(self) -> Counter[tuple[int, str]]:
        """Number of images that raters labeled in each stratum."""
        return Counter(self.stratum(self.entry(item)) for item in self.items)

    def weight(self, item: Item) -> float:
        """Return an item's weight: the number of images in its stratum per labeled image."""
        stratum = self.stratum(self.entry(item))
        return self.sizes[stratum] / self.labeled[stratum]

    def label(self, item: Item, instrument: str) -> str:
        """Return an instrument's label for the item's image, or "unlabeled"."""
        label = self.entry(item).labels.get(self.axis.name, {}).get(instrument, "")
        return label if label in self.axis.values else UNLABELED

    def majority(self, item: Item) -> str | None:
        """Return the value that most raters chose; None if no value has a majority."""
        label = self.study.majority(item.id)
        return None if isinstance(label, Missing) else label

    def stratified(
        self, source: int | None, columns: Sequence[str | bool], cells: Mapping[str, object]
    ) -> StratifiedLabels:
        """Count the items per stratum and category, for intervals that suit the study's design.

        The parameters are the same as in `counts`.
        """
        sizes = [self.sizes[stratum] for stratum in self.strata(source)]
        design = StratifiedLabels if self.study.folder.plan.pilot is None else StagedLabels
        return design.of(sizes, self.counts(source, columns, cells))

    def strata(self, source: int | None) -> list[tuple[int, str]]:
        """Return the strata of a run, or of all runs if `source` is None."""
        return [stratum for stratum in sorted(self.sizes) if source in (None, stratum[0])]

    def counts(
        self, source: int | None, columns: Sequence[str | bool], cells: Mapping[str, object]
    ) -> Floats:
        """Count the answered items per stratum and category.

        Parameters
        ----------
        source
            Position of the run whose items are counted; None for all runs.
        columns
            The categories.
        cells
            Category of each item, keyed by item id. A category that is not in `columns` counts as
            missing.

        Returns
        -------
        array, (strata, categories + 1)
            The counts. The last column contains the items whose category is missing.
        """
        strata = self.strata(source)
        counts = np.zeros((len(strata), len(columns) + 1))
        places = {stratum: row for row, stratum in enumerate(strata)}
        for item in self.items:
            row = places.get(self.stratum(self.entry(item)))
            if row is not None:
                cell = cells[item.id]
                column = list(columns).index(cell) if cell in columns else len(columns)  # type: ignore[arg-type]
                counts[row, column] += 1
        return counts

    def majorities(self) -> dict[str, object]:
        """Return the majority value of each answered item, keyed by item id."""
        return {item.id: self.majority(item) for item in self.items}


def is_split(study: StudyAnswers, item: Item) -> bool:
    """Check whether an item has labels from raters, but no majority label."""
    label = study.majority(item.id)
    return isinstance(label, Missing) and label.reason == "no_majority"


def group_agreement(view: AxisView) -> list[GroupAgreement]:
    """Return the agreement between raters, across all images and for each prompt."""
    groups = grouped(view.items, lambda item: view.entry(item).prompt)
    entries = [_agreement(view, ALL, view.items)]
    if len(groups) > 1:
        entries += [_agreement(view, prompt, items) for prompt, items in groups.items()]
    return entries


def _agreement(view: AxisView, group: str, items: list[Item]) -> GroupAgreement:
    agreement = coded_agreement(
        view.study,
        view.study.codes([item.id for item in items], view.axis.values),
        len(view.axis.values),
        name=view.axis.name,
        group=group,
        scale=view.axis.scale,
    )
    return replace(agreement, no_majority=sum(is_split(view.study, item) for item in items))


def _errors(view: AxisView, instrument: str) -> LabelingErrors:
    """Return an instrument's labeling errors on an axis."""
    values = view.axis.values
    columns = (*values, UNLABELED)
    counts: dict[str, dict[str, int]] = {value: dict.fromkeys(columns, 0) for value in values}
    equal: dict[str, object] = {}
    for item in view.items:
        true = view.majority(item)
        label = view.label(item, instrument)
        equal[item.id] = None
        if true is not None:
            counts[true][label] += 1
            equal[item.id] = None if label == UNLABELED else true == label
    level = view.study.folder.plan.confidence

    def share_equal() -> Estimate:
        return view.stratified(None, (True, False), equal).estimates(level)[0]

    rates, rater_rates = _rates(view, instrument)
    return LabelingErrors(
        axis=view.axis.name,
        instrument=instrument,
        values=values,
        counts=counts,
        equal=or_missing(share_equal),
        rates=rates,
        rater_rates=rater_rates,
    )


def _rates(
    view: AxisView, instrument: str
) -> tuple[dict[str, dict[str, Estimate | Missing]], dict[str, dict[str, float]]]:
    """Return, for each true value, how often the instrument and the raters assign each label."""
    values = view.axis.values
    columns = (*values, UNLABELED)
    strata = sorted(view.sizes)
    codes = view.study.codes([item.id for item in view.items], view.axis.values)
    if not (codes >= 0).any():
        missing = Missing("not_asked", "no image has a label from a rater")
        return {value: dict.fromkeys(columns, missing) for value in values}, {}
    data = RatedLabels.of(
        votes_of(codes, len(values)),
        [columns.index(view.label(item, instrument)) for item in view.items],
        len(columns),
        [view.weight(item) for item in view.items],
        [strata.index(view.stratum(view.entry(item))) for item in view.items],
    )
    errors = instrument_errors(
        data,
        rng=view.study.rng(view.axis.name, instrument, "errors"),
        draws=DRAWS_OF_ERRORS,
        level=view.study.folder.plan.confidence,
    )
    rates: dict[str, dict[str, Estimate | Missing]] = {}
    rater_rates: dict[str, dict[str, float]] = {}
    for place, value in enumerate(values):
        rates[value] = dict(zip(columns, errors.rates[place], strict=True))
        rater_rates[value] = dict(zip(values, errors.rater_rates[place].tolist(), strict=True))
    return rates, rater_rates


def _shares(view: AxisView, source: int) -> PeopleShares:
    """Return the share of each value in a run's images, according to the raters."""
    plan = view.study.folder.plan
    values = view.axis.values
    majorities = view.majorities()
    estimates: list[Sequence[Estimate | Missing]] = []
    for of_model in (False, True):
        estimated = _stratified_shares(view, source, majorities, of_model=of_model)
        estimates.append(estimated)
    images = [entry for entry in view.study.folder.frame if entry.source == source]
    items = [item for item in view.items if view.entry(item).source == source]
    with_majority = [item for item in items if majorities[item.id] is not None]
    return PeopleShares(
        axis=view.axis.name,
        run=plan.sources[source].run if plan.sources else "",
        images=len(images),
        labeled=len(with_majority),
        shares=dict(zip(values, estimates[0], strict=True)),
        model_shares=dict(zip(values, estimates[1], strict=True)),
        votes=_votes(view, items),
        by_instrument={name: _by_instrument(view, images, name) for name in view.instruments},
        reached=_is_reached(estimates[0], plan.precision),
        pilot=_pilot_images(view, with_majority),
    )


def _pilot_images(view: AxisView, items: Sequence[Item]) -> int | None:
    """Return how many items belong to the pilot; None for a study with a single stage."""
    if view.study.folder.plan.pilot is None:
        return None
    second = {item.id for item in view.study.folder.second_items}
    return sum(item.id not in second for item in items)


def _stratified_shares(
    view: AxisView, source: int, majorities: Mapping[str, object], *, of_model: bool
) -> Sequence[Estimate | Missing]:
    values = view.axis.values
    level = view.study.folder.plan.confidence

    def estimate(place: int) -> Estimate:
        labels = view.stratified(source, values, majorities)
        return labels.estimates(level, of_model=of_model)[place]

    return [or_missing(estimate, place) for place in range(len(values))]


def _votes(view: AxisView, items: Sequence[Item]) -> dict[str, float]:
    """Return the share of raters per value, averaged over images; empty if there are no labels.

    Images are weighted by stratum, so that the average represents all images of the run.
    """
    sums: Counter[str] = Counter()
    total = 0.0
    for item in items:
        shares = distribution(view.study.labels(item.id), view.axis.values)
        if shares:
            weight = view.weight(item)
            total += weight
            for value, share in shares.items():
                sums[value] += weight * share  # type: ignore[assignment]
    return {value: sums[value] / total for value in view.axis.values} if total else {}


def _by_instrument(
    view: AxisView, images: Sequence[FrameEntry], instrument: str
) -> dict[str, float]:
    """Return the share of each value in an instrument's labels; empty if there are no labels."""
    labels = Counter(entry.labels.get(view.axis.name, {}).get(instrument) for entry in images)
    total = sum(labels[value] for value in view.axis.values)
    return {value: labels[value] / total for value in view.axis.values} if total else {}


def _is_reached(estimates: Sequence[Estimate | Missing], precision: float | None) -> bool | None:
    if precision is None:
        return None
    widths = []
    for estimate in estimates:
        if isinstance(estimate, Missing) or estimate.low is None or estimate.high is None:
            return False
        widths.append((estimate.high - estimate.low) / 2)
    return max(widths) <= precision
