"""Records of a study with human raters: its plan, items, raters, answers and sampling frame.

An answer that is not a value begins with a colon, such as ":cannot_tell". Values never do.
"""

from collections.abc import Mapping
from dataclasses import field
from typing import Literal, get_args

from askew.types import Missing, MissingReason, Scale, record

StudyKind = Literal["label", "choose", "rate", "concepts", "axes"]
KINDS: tuple[str, ...] = get_args(StudyKind)

Role = Literal["item", "check", "repeat"]
"""Role of an item: a question of the study, an attention check, or a question that is repeated."""

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
"""Answers that are not a value, with their texts."""

_REASONS: Mapping[str, MissingReason] = {
    SEVERAL_PEOPLE: "several_people",
    NO_PERSON: "no_person",
    CANNOT_TELL: "cannot_tell",
}

WITHDRAWN = "withdrawn"
"""Id of the line that is left of a rater who withdrew."""


def label_of(answer: str) -> str | Missing:
    """Return the label of an answer. A rater who prefers not to answer gives no label."""
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
        Its values.
    scale : str
        "nominal" or "ordinal".
    question : str
        Question that raters read.
    """

    name: str
    values: tuple[str, ...]
    scale: Scale
    question: str


@record
class ExclusionRules:
    """Rules by which raters are excluded, fixed before the first answer.

    Attributes
    ----------
    least_checks : float
        Smallest share of attention checks that a rater must pass, in [0, 1].
    least_seconds : float
        Smallest median time per answer in seconds.
    """

    least_checks: float = 0.75
    least_seconds: float = 0.8


@record
class StudySource:
    """A run whose images are in the study.

    Attributes
    ----------
    run : str
        Name of the run folder.
    plan_hash : str
        Hash of its plan.
    model : str
        Its model.
    """

    run: str
    plan_hash: str
    model: str


@record
class StudyPlan:
    """Content of study.toml, which is frozen after the first answer.

    Attributes
    ----------
    kind : str
        Kind of the study.
    version : int
        Version. A change after the first answer needs the next version.
    title, purpose, contact, retention : str
        Texts of the first page: title, purpose, person to ask, and time for which answers are kept.
    instruction : str
        Instruction on the first page.
    seed : int
        Seed of all orders.
    raters : int
        Planned number of raters.
    raters_per_item : int
        Number of raters of each item.
    axes : tuple of StudyAxis
        The axes.
    rules : ExclusionRules
        Rules of exclusion.
    sources : tuple of StudySource
        The runs.
    confidence : float
        Level of all intervals.
    precision : float, optional
        Half-width that the shares are planned to reach.
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

    def axis(self, name: str) -> StudyAxis:
        """Return the axis with a name."""
        return next(axis for axis in self.axes if axis.name == name)


@record
class Item:
    """A question about images. It contains nothing that a rater must not read.

    Attributes
    ----------
    id : str
        Name of the item.
    role : str
        Its role.
    question : str
        The question.
    options : tuple of str
        Values from which raters choose, in their order.
    special : tuple of str
        Further answers, such as ":cannot_tell".
    groups : tuple of tuple of str
        SHA-256 of the images, by group. Groups are shown beside each other.
    axis : str, optional
        Axis of the question.
    prompt : str
        Prompt that raters read; may be empty.
    labels : tuple of str
        Text above each group; may be empty.
    multiple : bool
        Whether raters choose any number of options.
    free_text : bool
        Whether raters may write a text.
    scale : str
        "ordinal" options keep their order or are reversed; "nominal" options are rotated.
    expected : str, optional
        Correct answer of an attention check.
    repeats : str, optional
        Id of the item that is asked a second time.
    texts : mapping of option to str
        Texts of options that differ from the option.
    keeps_order : bool
        Whether options keep their order for all raters.
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
    """A rater.

    Attributes
    ----------
    id : str
        Name of the rater in the files of the study.
    number : int
        Number of the rater, which determines the order of options.
    token : str
        SHA-256 of the secret in the rater's link.
    items : tuple of str
        Items of the rater in their order.
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
    """An answer of a rater to an item. The last answer to an item counts.

    Attributes
    ----------
    rater, item : str
        Ids of the rater and the item.
    version : int
        Version of the study.
    answer : tuple of str
        The chosen options; one option unless the item allows several.
    text : str
        Text that the rater wrote; may be empty.
    seconds : float, optional
        Time from showing the item to the answer.
    """

    rater: str
    item: str
    version: int
    answer: tuple[str, ...]
    text: str = ""
    seconds: float | None = None


@record
class FrameEntry:
    """An image of the runs, or facts about an item, which raters never read.

    Attributes
    ----------
    id : str
        SHA-256 of an image, or id of an item.
    source : int
        Position of the run in the plan.
    prompt, set : str
        Prompt and image set.
    labels : mapping of axis to mapping of instrument to str
        Labels by instruments. A missing label is its reason with a colon before it.
    strata : mapping of axis to str
        Stratum of the image on each axis.
    facts : mapping of str to float
        Numbers about an item, such as scores.
    names : mapping of str to str
        Texts about an item.
    """

    id: str
    source: int = 0
    prompt: str = ""
    set: str = ""
    labels: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    strata: Mapping[str, str] = field(default_factory=dict)
    facts: Mapping[str, float] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
