"""Second stage of a labeling study, which adds as many images as the pilot's labels require.

askew writes the images first, then the items of the second stage, then the raters' assignments. If
askew is interrupted after it has written the items, the next extension only assigns these items.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from askew.errors import NotEnoughData, UsageError
from askew.pages.words import listing, plural
from askew.people.assignment import ExtraItems, item_orders, rater_id
from askew.people.folder import SOURCES_FILE, StudyFolder
from askew.people.label_analysis import AxisView
from askew.people.new import write_images
from askew.people.new_label import label_items
from askew.people.pilot import drawn_images, sample_name
from askew.people.raters import StudyAnswers, all_answers, summaries
from askew.people.records import Item, RaterRecord, SourcePaths, StudyAxis
from askew.people.sources import reopened_sources
from askew.stats.stages import Pilot, second_stage
from askew.store.keys import derived_seed
from askew.types import grouped

SECOND = "-2"
"""Suffix of the ids of attention checks in the second stage."""


@dataclass(frozen=True)
class SecondSample:
    """Images that the second stage adds for an axis and a run.

    Attributes
    ----------
    axis
        The axis.
    run
        Name of the run if the study has several runs; empty otherwise.
    images
        Number of images in the run.
    labeled
        Number of images that raters labeled in the pilot.
    chosen
        Ids of the additional images.
    """

    axis: StudyAxis
    run: str
    images: int
    labeled: int
    chosen: tuple[str, ...]

    def describe(self, precision: float | None) -> str:
        """Return a sentence that states the sizes of both stages."""
        name = sample_name(self.axis, self.run)
        text = f"{name}: the pilot has labels for {self.labeled} of {self.images} images. "
        width = f"a half-width of {precision:g}"
        if not self.chosen:
            return f"{text}No further images are needed for {width}"
        return f"{text}The second stage adds {plural(len(self.chosen), 'image')} for {width}"


@dataclass(frozen=True)
class StudyExtension:
    """Second stage of a study.

    Attributes
    ----------
    folder
        The study before the extension.
    samples
        Additional images, one sample per axis and run.
    items
        Items of the second stage, with attention checks and repeated items.
    orders
        Ids of each rater's new items, in the order in which the rater sees them, keyed by rater id.
    new_raters
        Raters who take part only in the second stage.
    is_written
        Whether the study folder contains the second stage.
    """

    folder: StudyFolder
    samples: Sequence[SecondSample]
    items: Sequence[Item]
    orders: Mapping[str, tuple[str, ...]]
    new_raters: Sequence[RaterRecord]
    is_written: bool = False

    def lines(self) -> list[str]:
        """Return lines that state the size of the second stage and the command to run next."""
        path = self.folder.path
        precision = self.folder.plan.precision
        lines = [f"second stage of the study in {path}"]
        lines += [sample.describe(precision) for sample in self.samples]
        if not self.items:
            return [*lines, f"the pilot is enough. next: askew study results {path}"]
        lines.append(self._describe_raters())
        if not self.is_written:
            return [*lines, "nothing was written. Add the second stage without --dry-run"]
        return [
            *lines,
            "the raters' links lead to the new questions",
            f"next: askew study serve {path}",
        ]

    def _describe_raters(self) -> str:
        """Return a line that states the numbers of labels, raters and new questions."""
        per_item = self.folder.plan.raters_per_item
        labels = sum(len(sample.chosen) for sample in self.samples) * per_item
        raters = plural(len(self.orders), "rater")
        if self.new_raters:
            raters += f" ({len(self.new_raters)} new)"
        most = max(map(len, self.orders.values()))
        return (
            f"{plural(labels, 'label')} from {raters}, {per_item} per image, at most "
            f"{plural(most, 'new question')} per rater, including checks"
        )


def extend_study(
    folder: StudyFolder, paths: SourcePaths | None = None, *, is_dry_run: bool = False
) -> StudyExtension:
    """Add the second stage to a study.

    Parameters
    ----------
    folder
        The study.
    paths
        Paths of the study's runs. [default: the paths used when the study was made]
    is_dry_run
        Whether to compute the second stage without adding it.

    Raises
    ------
    UsageError
        If the study has no pilot or already has a second stage, if answers to the pilot are
        missing, or if a run is not available.
    """
    extension = planned_extension(folder)
    if is_dry_run or not extension.items:
        return extension
    if not folder.second_items:
        known = paths or folder.source_paths()
        if known is None:
            raise UsageError(
                f"{folder.path / SOURCES_FILE} is missing. Name the runs of the study with --from"
            )
        write_images(folder, extension.items, reopened_sources(known, folder.plan.sources))
    add_second_stage(extension)
    return replace(extension, is_written=True)


def planned_extension(folder: StudyFolder) -> StudyExtension:
    """Compute the second stage of a study from the answers to its pilot.

    If an earlier extension was interrupted after it wrote its items, these items form the second
    stage.

    Raises
    ------
    UsageError
        If the study has no pilot or already has a second stage, or answers to the pilot are missing.
    """
    _check_pilot(folder)
    _check_answers(folder)
    everyone = all_answers(folder)
    study = everyone.without({rater.id for rater in summaries(everyone) if rater.excluded})
    if not study.raters:
        raise UsageError(
            f"the rules in {folder.path} exclude all raters, so the pilot has no labels. Make a new "
            "study with askew study new label"
        )
    items = [item for item in folder.second_items if item.role == "item"]
    if items:
        samples = _interrupted_samples(study, items)
    else:
        samples = second_samples(study)
        before = len(study.items)
        items = label_items([(sample.axis, sample.chosen) for sample in samples], before)
    return _with_raters(study, samples, items)


def _check_pilot(folder: StudyFolder) -> None:
    """Raise UsageError if the study has no pilot, or already has a second stage."""
    if folder.plan.pilot is None:
        raise UsageError(
            f"the study {folder.path} has no pilot, so it has no second stage. Make a study with "
            "askew study new label --pilot 50"
        )
    if _is_assigned(folder):
        raise UsageError(
            f"the study {folder.path} already has a second stage. Compute its results with askew "
            f"study results {folder.path}"
        )


def _is_assigned(folder: StudyFolder) -> bool:
    """Check whether any rater has an item of the second stage."""
    second = {item.id for item in folder.second_items}
    return any(not second.isdisjoint(rater.items) for rater in folder.raters())


def _check_answers(folder: StudyFolder) -> None:
    """Raise UsageError if any rater who did not withdraw has not answered the pilot.

    Imported answers from other raters can replace the answers of the assigned raters.
    """
    answers = folder.answers()
    answered = grouped(answers, lambda key: key[1])
    raters = folder.raters()
    needed = 0
    missing = 0
    late: dict[str, None] = {}
    for item in folder.items.values():
        if item.role != "item":
            continue
        given = {rater for rater, _ in answered.get(item.id, ())}
        assigned = [rater.id for rater in raters if item.id in rater.items]
        of_item = min(len(given.union(assigned)), folder.plan.raters_per_item)
        needed += of_item
        if len(given) < of_item:
            missing += of_item - len(given)
            late.update(dict.fromkeys(rater for rater in assigned if rater not in given))
    if missing or not needed:
        names = f", from {listing(sorted(late))}" if late else ""
        raise UsageError(
            f"the pilot of the study {folder.path} is not finished: {missing} of "
            f"{plural(needed, 'answer')} are missing{names}. Wait for these answers, or open the links "
            "of raters who will not answer, and choose Withdraw"
        )


def second_samples(study: StudyAnswers) -> list[SecondSample]:
    """Compute the second stage from the pilot's majority labels, and draw the images to add.

    Parameters
    ----------
    study
        The study without the answers of excluded raters.
    """
    samples = []
    for axis in study.folder.plan.axes:
        view = AxisView(study, axis)
        for source in range(len(study.folder.plan.sources) or 1):
            samples.append(_second_sample(view, source))
    return samples


def _second_sample(view: AxisView, source: int) -> SecondSample:
    """Draw the images that the second stage adds for an axis and a run."""
    plan = view.study.folder.plan
    name = view.axis.name
    asked = {item.images[0] for item in view.study.items if item.axis == name}
    by_stratum = grouped(view.study.folder.frame, view.stratum)
    strata = view.strata(source)
    unasked = []
    for stratum in strata:
        unasked.append([entry for entry in by_stratum[stratum] if entry.id not in asked])
    pilot = Pilot.of(
        [view.sizes[stratum] for stratum in strata],
        view.counts(source, view.axis.values, view.majorities()),
        list(map(len, unasked)),
    )
    rng = np.random.default_rng(derived_seed(plan.seed, name, str(source), "second stage"))
    assert plan.precision is not None
    try:
        additional = second_stage(pilot, plan.precision, plan.confidence, rng=rng)
    except NotEnoughData as error:
        raise UsageError(
            f"no image of the pilot has a value of the axis {name} from the raters, so the pilot does "
            "not show how many labels are needed. Make a new study with other images or another axis"
        ) from error
    chosen: list[str] = []
    for entries, count in zip(unasked, additional.tolist(), strict=True):
        chosen += drawn_images(entries, count, rng)
    return SecondSample(
        axis=view.axis,
        run=plan.sources[source].run if len(plan.sources) > 1 else "",
        images=int(pilot.sizes.sum()),
        labeled=int(pilot.labeled.sum()),
        chosen=tuple(chosen),
    )


def _interrupted_samples(study: StudyAnswers, items: Sequence[Item]) -> list[SecondSample]:
    """Return one sample per axis: the images of the items that an interrupted extension wrote."""
    samples = []
    for axis in study.folder.plan.axes:
        of_axis = [item for item in items if item.axis == axis.name]
        samples.append(
            SecondSample(
                axis=axis,
                run="",
                images=len(study.folder.frame),
                labeled=len(AxisView(study, axis).items),
                chosen=tuple(item.images[0] for item in of_axis),
            )
        )
    return samples


def _with_raters(
    study: StudyAnswers, samples: Sequence[SecondSample], items: Sequence[Item]
) -> StudyExtension:
    """Assign the items of the second stage to the raters of the pilot who are not excluded.

    If there are fewer raters than an item needs, new raters are added.
    """
    folder = study.folder
    plan = folder.plan
    raters = [rater for rater in folder.raters() if rater.id in study.raters]
    new_raters = _new_raters(folder, plan.raters_per_item - len(raters)) if items else []
    raters += new_raters
    extra = ExtraItems.of(items, SECOND)
    numbers = [rater.number for rater in raters]
    seed = derived_seed(plan.seed, "second stage")
    orders = item_orders(items, extra.checks, numbers, plan.raters_per_item, seed)
    all_items = list(folder.second_items) or extra.with_used(items, orders)
    known = {item.id for item in all_items}
    of_raters = {}
    for rater, order in zip(raters, orders, strict=True):
        new_items = tuple(name for name in order if name in known)
        if new_items:
            of_raters[rater.id] = new_items
    return StudyExtension(
        folder=folder, samples=samples, items=all_items, orders=of_raters, new_raters=new_raters
    )


def _new_raters(folder: StudyFolder, count: int) -> list[RaterRecord]:
    """Return new raters, who have no items and no links yet."""
    first = max((rater.number for rater in folder.raters()), default=-1) + 1
    raters = []
    for number in range(first, first + count):
        raters.append(RaterRecord(id=rater_id(number), number=number, token="", items=()))
    return raters


def add_second_stage(extension: StudyExtension) -> None:
    """Write the items of the second stage and the raters' new assignments.

    Raises
    ------
    UsageError
        If another process has extended the study in the meantime.
    """
    folder = extension.folder
    with folder.locked():
        current = StudyFolder(folder.path)
        if current.second_items != folder.second_items or _is_assigned(current):
            raise UsageError(f"another process has added a second stage to {folder.path}")
        if not current.second_items:
            current.write_second_items(extension.items)
        raters = []
        for rater in (*current.raters(), *extension.new_raters):
            items = (*rater.items, *extension.orders.get(rater.id, ()))
            raters.append(replace(rater, items=items))
        current.write_raters([*raters, *current.withdrawn_lines()])
