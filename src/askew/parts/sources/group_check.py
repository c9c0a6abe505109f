"""Check whether input images show their intended group.

A score for the group "men" is meaningless if the model ignored the word "man". askew therefore
generates extra images and uses them instead of images that show another group. In the paper, CLIP
confirmed that all input images showed their group.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from askew.findings import E
from askew.measure.base import VQA
from askew.models.base import Model
from askew.parts.sources.findings import GroupCheck
from askew.parts.sources.groups import (
    SocialGroup,
    Source,
    check_filled,
    present,
    source_pictures,
)
from askew.parts.sources.words import group_check_warnings
from askew.parts.survey.instruments import is_studio
from askew.parts.survey.observed import axis_answers
from askew.prompts.axes import find_axis
from askew.prompts.given import stated_value
from askew.run.base import Answer, ModelMaker, Outcome, Run
from askew.run.work import Work, once_each, unmade, wanted_pictures
from askew.stats.shares import share_intervals
from askew.types import Axis, Missing, Picture, Question

EXTRA_FACTOR = 2
"""Maximum number of extra images per group, as a multiple of the number of requested images."""

APPEARANCE_AXES = ("gender", "age", "ethnicity", "body_type", "disability")
"""Axes on which images are labeled if the name of a group states a value of the axis."""

ADDITIONAL = ""
"""Key under which `axis_values` returns the answers to the last additional question."""

LabelsByAxis = dict[str, dict[str, Answer]]
"""Labels, keyed by axis and then by image id."""


def checked_pictures(
    run: Run,
    source: Source,
    groups: Sequence[SocialGroup],
    images: int,
    seed: int,
    instruments: Sequence[VQA],
    level: float,
) -> tuple[dict[str, list[Outcome]], tuple[GroupCheck, ...]]:
    """Obtain `images` images for each group, and replace those that fail the group check.

    Images are replaced only if an instrument labels them.

    A generated image that shows another group is replaced with an extra image of the right group
    or, if no extra image is left, with `Missing`. If the user supplied the images, all of them are
    kept. askew adds a warning to the run if too few images show a group.

    Returns
    -------
    pictures : dict
        Images, keyed by group name.
    checks : tuple of GroupCheck
        Result for each group whose name states a value.

    Raises
    ------
    UsageError
        If a group has no image.
    """
    drawn = source_pictures(run, source, groups, images, seed)
    says = {group.name: stated_values(group.name) for group in groups}
    named = {axis for stated in says.values() for axis in stated}
    axes = [find_axis(name) for name in APPEARANCE_AXES if name in named]
    labelers = [vqa for vqa in instruments if _can_label(vqa, source)]
    if not axes or not labelers:
        return drawn, ()

    labels = axis_values(run, labelers, axes, present(drawn))
    pools = [
        GroupPool(
            group=group,
            says=says[group.name],
            pictures=drawn[group.name],
            images=images,
            labels=labels,
        )
        for group in groups
    ]
    if isinstance(source, Model):
        _draw_extra(run, source, pools, seed, labelers, axes)

    given = not isinstance(source, Model)
    chosen = {pool.group.name: pool.chosen(keep_all=given) for pool in pools}
    check_filled(chosen, source.name)
    entries = tuple(pool.entry(chosen[pool.group.name], level) for pool in pools if pool.says)
    run.warn(*group_check_warnings(entries, given=given))
    return chosen, entries


def _can_label(vqa: VQA, source: Source) -> bool:
    """Check whether an instrument can label the images.

    The studio's instrument can label only studio images.
    """
    return is_studio(source.name) or not is_studio(vqa.name)


def axis_values(
    run: Run,
    instruments: Iterable[VQA],
    axes: Sequence[Axis],
    pictures: Sequence[Outcome],
    also: Callable[[VQA], Sequence[Question]] = lambda vqa: (),
) -> LabelsByAxis:
    """Label all images; for each axis, use the first instrument that labels at least one image.

    Parameters
    ----------
    also
        Function that returns additional questions for an instrument. The answers to the last
        additional question are returned under the key `ADDITIONAL`.
    """
    labels: LabelsByAxis = {}
    questions = [question for axis in axes for question in axis.questions]
    for vqa in instruments:
        additional = also(vqa)
        rows = run.ask(vqa, pictures, [*questions, *additional])
        read = {picture: axis_answers(axes, row) for picture, row in rows.items()}
        keys = [axis.name for axis in axes]
        if additional:
            keys.append(ADDITIONAL)
            for picture, row in rows.items():
                read[picture][ADDITIONAL] = row[-1]
        for key in keys:
            if not _has_label(labels.get(key, {})):
                labels[key] = {picture: values[key] for picture, values in read.items()}
    return labels


def _has_label(values: Mapping[str, Answer]) -> bool:
    return any(not isinstance(value, Missing) for value in values.values())


def stated_values(name: str) -> dict[str, str]:
    """Return the values stated in a group's name, keyed by axis in `APPEARANCE_AXES`."""
    stated = {}
    for axis in APPEARANCE_AXES:
        value = stated_value(name, axis)
        if value is not None:
            stated[axis] = value
    return stated


@dataclass(slots=True)
class GroupPool:
    """All images generated for a group, and their labels.

    Attributes
    ----------
    group : SocialGroup
        The group.
    says : mapping of axis to value
        Values stated in the name of the group.
    pictures : list of Outcome
        The requested images, followed by the extra images.
    images : int
        Number of requested images.
    labels : LabelsByAxis
        Labels of the images of all groups.
    """

    group: SocialGroup
    says: Mapping[str, str]
    pictures: list[Outcome]
    images: int
    labels: LabelsByAxis

    def shows(self, picture: Outcome) -> bool | None:
        """Check whether an image's labels match the group's name; None if there are no labels."""
        if isinstance(picture, Missing):
            return None
        verdicts = []
        for axis, stated in self.says.items():
            value = self.labels[axis].get(picture.id)
            if isinstance(value, str):
                verdicts.append(value == stated)
        return all(verdicts) if verdicts else None

    def lacking(self) -> int:
        """Return the number of additional images of the group that are needed."""
        verdicts = [self.shows(picture) for picture in self.pictures]
        wrong = verdicts[: self.images].count(False)
        in_reserve = verdicts[self.images :].count(True)
        return wrong - in_reserve

    def chosen(self, keep_all: bool) -> list[Outcome]:
        """Return the requested images, after replacing images that show another group.

        If `keep_all` is True, no image is replaced.
        """
        wanted = self.pictures[: self.images]
        if keep_all:
            return wanted
        reserve = iter([picture for picture in self.pictures[self.images :] if self.shows(picture)])
        return [
            next(reserve, Missing("other_group")) if self.shows(picture) is False else picture
            for picture in wanted
        ]

    def entry(self, chosen: Sequence[Outcome], level: float) -> GroupCheck:
        """Compute the result of the group check from the number of images that show the group."""
        verdicts = [
            self.shows(picture) for picture in self.pictures if isinstance(picture, Picture)
        ]
        yes = verdicts.count(True)
        no = verdicts.count(False)
        share: E = Missing("not_asked", "no instrument labels the values in the name of the group")
        if yes + no:
            share = share_intervals([yes, no], level=level, missing=verdicts.count(None))[0]
        return GroupCheck(
            group=self.group.name,
            says=self.says,
            share=share,
            drawn=len(self.pictures),
            empty=sum(_is_of_other_group(outcome) for outcome in chosen),
        )


def _is_of_other_group(outcome: Outcome) -> bool:
    return isinstance(outcome, Missing) and outcome.reason == "other_group"


def _draw_extra(
    run: Run,
    source: Model,
    pools: Sequence[GroupPool],
    seed: int,
    labelers: Sequence[VQA],
    axes: Sequence[Axis],
) -> None:
    """Add images to each pool until enough show the group, within the limit `EXTRA_FACTOR`."""

    def draw() -> None:
        while short := [pool for pool in pools if _may_draw(pool)]:
            for pool in short:
                _draw_for(pool, run, source, seed, labelers, axes)

    stating = [pool for pool in pools if pool.says]
    unlabeled = any(pool.shows(picture) is None for pool in stating for picture in pool.pictures)
    if unlabeled:
        # A counting run does not know what images show: it counts the largest possible number.
        most = _most_work(source, stating, labelers, axes)
        rounds = most.pictures * len(labelers)
        run.decide("further sources", draw, most, None, rounds=rounds)
    else:
        draw()


def _may_draw(pool: GroupPool) -> bool:
    return pool.lacking() > 0 and len(pool.pictures) < pool.images * (1 + EXTRA_FACTOR)


def _draw_for(
    pool: GroupPool,
    run: Run,
    source: Model,
    seed: int,
    labelers: Sequence[VQA],
    axes: Sequence[Axis],
) -> None:
    """Generate and label the images that the pools still need, up to the limit."""
    limit = pool.images * (1 + EXTRA_FACTOR)
    already = len(pool.pictures)
    up_to = min(limit, already + pool.lacking())
    wanted = wanted_pictures(source, [pool.group.prompt], up_to, seed)[already:]
    outcomes = run.make(ModelMaker(source), wanted)
    pictures = [outcomes[picture.key] for picture in wanted]
    pool.pictures = once_each([*pool.pictures, *pictures])
    for axis, values in axis_values(run, labelers, axes, pictures).items():
        pool.labels[axis] |= values


def _most_work(
    source: Model, stating: Sequence[GroupPool], labelers: Sequence[VQA], axes: Sequence[Axis]
) -> Work:
    """Return an upper bound on the work needed to generate extra images for these pools."""
    pictures = sum(EXTRA_FACTOR * pool.images for pool in stating)
    questions = sum(len(axis.questions) for axis in axes)
    return unmade(source, pictures, [questions] * len(labelers))
