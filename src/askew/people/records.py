"""Records for a study with human raters: the plan, items, raters, answers and sampling frame.

Special answers, such as ":cannot_tell", start with a colon. Values of an axis never start with a
colon.
"""

from collections.abc import Mapping
from dataclasses import field
from typing import Literal, get_args

from askew.types import Missing, MissingReason, Scale, record

StudyKind = Literal["label", "choose", "rate", "concepts", "axes"]
KINDS: tuple[str, ...] = get_args(StudyKind)

Role = Literal["item", "check", "repeat"]
"""Role of an item: a question of the study, an attention check, or a repeated question."""

SEVERAL_PEOPLE = ":several_people"
NO_PERSON = ":no_person"
CANNOT_TELL = ":cannot_tell"
PREFER_NOT = ":prefer_not"
NOT_RELEVANT = ":not_relevant"
NONE_OF_THESE = ":none_of_these"

SPECIAL_ANSWERS: Mapping[str, str] = {
    SEVERAL_PEOPLE: "Several people",
    NO_PERSON: "No person",
    CANNOT_TELL: "I cannot tell",
    PREFER_NOT: "I prefer not to answer",
    NOT_RELEVANT: "Not relevant for these images",
    NONE_OF_THESE: "None of these",
}
"""Special answers, mapped to the text shown to raters."""

_REASONS: Mapping[str, MissingReason] = {
    SEVERAL_PEOPLE: "several_people",
    NO_PERSON: "no_person",
    CANNOT_TELL: "cannot_tell",
}

WITHDRAWN = "withdrawn"
"""Rater id in the anonymous records that are kept for raters who withdrew."""


def label_of(answer: str) -> str | Missing:
    """Convert an answer to a label, or to `Missing` with the reason why it is not a label."""
    if answer == PREFER_NOT:
        return Missing("not_asked", "the rater prefers not to answer")
    if answer == NOT_RELEVANT:
        return Missing("not_asked", "the question is not relevant for the images")
    reason = _REASONS.get(answer)
    return answer if reason is None else Missing(reason)


@record
class StudyAxis:
    """An axis that raters judge.

    Attributes
    ----------
    name : str
        Name of the axis.
    values : tuple of str
        Values of the axis.
    scale : str
        Scale of the values: "nominal" or "ordinal".
    question : str
        Question that raters are asked about the axis.
    """

    name: str
    values: tuple[str, ...]
    scale: Scale
    question: str


@record
class ExclusionRules:
    """Rules for excluding raters, which are fixed before the first answer.

    Attributes
    ----------
    least_checks : float
        Minimum share of attention checks that a rater must answer correctly, in [0, 1].
    least_seconds : float
        Minimum median time per answer in seconds. Faster raters are excluded.
    """

    least_checks: float = 0.75
    least_seconds: float = 0.8


@record
class StudySource:
    """A run from which the study takes images.

    Attributes
    ----------
    run : str
        Name of the run folder.
    plan_hash : str
        Hash of the run's plan.
    model : str
        Model of the run.
    """

    run: str
    plan_hash: str
    model: str


@record
class SourcePaths:
    """Paths of a study's runs on the machine on which the study was made.

    Attributes
    ----------
    runs : tuple of str
        Absolute paths of the run folders.
    stores : tuple of str
        Absolute paths of the stores that contain the images, in the order of the runs.
    """

    runs: tuple[str, ...]
    stores: tuple[str, ...]


@record
class StudyPlan:
    """Content of study.toml, which must not change after the first answer.

    Attributes
    ----------
    kind : str
        Kind of the study.
    version : int
        Version of the study. To change the study after the first answer, increase the version by 1.
    title, purpose, contact, retention : str
        Texts on the first page: the title, the purpose, whom to ask, and how long answers are kept.
    instruction : str
        Instruction on the first page.
    seed : int
        Seed for the order of items and options.
    raters : int
        Planned number of raters.
    raters_per_item : int
        Number of raters who judge each item.
    axes : tuple of StudyAxis
        Axes that raters judge.
    rules : ExclusionRules
        Rules for excluding raters.
    sources : tuple of StudySource
        Runs from which the study takes images.
    confidence : float
        Confidence level of all intervals.
    precision : float, optional
        Planned half-width of the confidence intervals.
    pilot : int, optional
        Number of images that the pilot contains for each instrument label. None for a study
        without a second stage.
    """

    kind: StudyKind
    version: int
    title: str
    purpose: str
    contact: str
    retention: str
    instruction: str
    seed: int
    raters: int
    raters_per_item: int
    axes: tuple[StudyAxis, ...]
    rules: ExclusionRules
    sources: tuple[StudySource, ...]
    confidence: float = 0.95
    precision: float | None = None
    pilot: int | None = None

    def axis(self, name: str) -> StudyAxis:
        """Return the axis that has this name."""
        return next(axis for axis in self.axes if axis.name == name)


@record
class Item:
    """A question about images, with only the information that raters may see.

    Attributes
    ----------
    id : str
        Id of the item.
    role : str
        Role of the item: "item", "check" or "repeat".
    question : str
        The question.
    options : tuple of str
        Values from which raters choose, in their original order.
    special : tuple of str
        Special answers that raters can also choose, such as ":cannot_tell".
    groups : tuple of tuple of str
        SHA-256 checksum of each image, with one tuple per group of images. Groups are shown side by
        side.
    axis : str, optional
        Axis to which the question belongs.
    prompt : str
        Prompt that is shown to raters; may be empty.
    labels : tuple of str
        Text above each group; may be empty.
    multiple : bool
        Whether raters may choose any number of options.
    free_text : bool
        Whether raters may also enter text.
    scale : str
        Scale of the options. "ordinal" options are shown to some raters in reverse order, and
        "nominal" options are rotated.
    expected : str, optional
        Correct answer to an attention check.
    repeats : str, optional
        Id of the item that this item repeats.
    texts : mapping of option to str
        Text that is shown to raters in place of an option's name.
    keeps_order : bool
        Whether all raters see the options in the same order.
    """

    id: str
    role: Role
    question: str
    options: tuple[str, ...]
    special: tuple[str, ...] = ()
    groups: tuple[tuple[str, ...], ...] = ()
    axis: str | None = None
    prompt: str = ""
    labels: tuple[str, ...] = ()
    multiple: bool = False
    free_text: bool = False
    scale: Scale = "nominal"
    expected: str | None = None
    repeats: str | None = None
    texts: Mapping[str, str] = field(default_factory=dict)
    keeps_order: bool = False

    @property
    def images(self) -> tuple[str, ...]:
        """All images of the item."""
        return tuple(image for group in self.groups for image in group)


@record
class RaterRecord:
    """A rater, and the items assigned to the rater.

    Attributes
    ----------
    id : str
        Id of the rater in the study's files.
    number : int
        Number of the rater, which determines the order of the options.
    token : str
        SHA-256 hash of the secret in the rater's link; empty if the rater has no link.
    items : tuple of str
        Ids of the rater's items, in the order in which the rater sees them.
    consented : bool
        Whether the rater agreed to take part.
    """

    id: str
    number: int
    token: str
    items: tuple[str, ...]
    consented: bool = False


@record
class AnswerRecord:
    """A rater's answer to an item. If a rater answers an item again, only the last answer counts.

    Attributes
    ----------
    rater, item : str
        Ids of the rater and the item.
    version : int
        Version of the study that the rater answered.
    answer : tuple of str
        Options that the rater chose: a single option, unless the item allows more than one.
    text : str
        Text that the rater wrote; may be empty.
    seconds : float, optional
        Time in seconds from the display of the item to the answer.
    """

    rater: str
    item: str
    version: int
    answer: tuple[str, ...]
    text: str = ""
    seconds: float | None = None


@record
class FrameEntry:
    """Information about an image or an item. Raters never see this information.

    Attributes
    ----------
    id : str
        SHA-256 checksum of an image, or id of an item.
    source : int
        Position of the run among the sources in the plan.
    prompt, set : str
        Prompt, and name of the image set.
    labels : mapping of axis to mapping of instrument to str
        Labels from the instruments. A missing label is stored as a colon followed by the reason.
    strata : mapping of axis to str
        Name of the image's stratum on each axis.
    facts : mapping of str to float
        Numbers that describe an item, such as scores.
    names : mapping of str to str
        Texts that describe an item, such as the names of its image sets.
    """

    id: str
    source: int = 0
    prompt: str = ""
    set: str = ""
    labels: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    strata: Mapping[str, str] = field(default_factory=dict)
    facts: Mapping[str, float] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
