"""The plan of a classification by denoising error, and how a request becomes one."""

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from askew.options import NamesOption
from askew.parts.sources.groups import planned_sources
from askew.parts.survey.instruments import STUDIO, is_studio
from askew.plan import DEFAULT_MODEL, NonEmptyText, RunPlan, Settings, check_distinct
from askew.prompts.given import PORTRAIT, stated_value

MALE_DOMINATED: tuple[str, ...] = (
    "carpenter",
    "plumber",
    "truck driver",
    "mechanic",
    "construction worker",
)
FEMALE_DOMINATED: tuple[str, ...] = (
    "babysitter",
    "secretary",
    "housekeeper",
    "nurse",
    "receptionist",
)
TARGETS = {"male-dominated": MALE_DOMINATED, "female-dominated": FEMALE_DOMINATED}
"""The paper's target sets."""

NONE = "none"
GENDER = "gender"
LIGHTER: Mapping[str, object] = {"images": 24, "samples": (1, 10, 40), "template": "a photo of {}"}
"""What differs from the paper for the studio: sizes for a laptop, and the wording of its captions."""


class ClassificationPlan(RunPlan):
    """A plan of what a diffusion model takes pictures of social groups for (Saravanan et al.,
    "downstream").

    `images` pictures of each group come from `sources`, a model or a collection such as
    folder/PATH; "" is the model itself. There is one result for each number of noise `samples`.

    targets   two sets of classes by name; every class of the first is held against every one of the second
    classes   classes of which one is right, for the accuracy; none leaves it out
    truth     the right class of a group whose name does not say it
    template  what the classifier is told of a class, which stands at {}
    vqa       who reads whether the pictures are neutral; "none" leaves it out
    """

    method: str = "classify"
    model: NonEmptyText = DEFAULT_MODEL
    model_args: Settings = Field(default_factory=dict)
    sources: str = ""
    sources_args: Settings = Field(default_factory=dict)
    groups: tuple[NonEmptyText, ...] = Field(min_length=1)
    images: int = Field(default=256, ge=2, le=100_000)
    targets: dict[NonEmptyText, tuple[NonEmptyText, ...]] = Field(
        default_factory=lambda: dict(TARGETS)
    )
    classes: tuple[NonEmptyText, ...] = ("man", "woman")
    truth: dict[str, str] = Field(default_factory=dict)
    template: NonEmptyText = PORTRAIT
    samples: tuple[Annotated[int, Field(ge=1, le=1000)], ...] = Field(
        default=(1, 10, 100), min_length=1
    )
    loss: Literal["l2", "l1", "huber"] = "l2"
    vqa: NonEmptyText = NONE
    vqa_args: Settings = Field(default_factory=dict)
    seed: int = 0
    confidence: float = Field(default=0.95, gt=0.5, lt=1)
    bootstrap_samples: int = Field(default=1000, ge=100, le=1_000_000)

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if len(self.targets) != 2:
            raise ValueError(
                f"two sets of targets are held against each other, not {len(self.targets)}; such as: "
                "male-dominated=carpenter,plumber and female-dominated=nurse,secretary"
            )
        check_distinct("class", self.target_classes)
        check_distinct("class", self.classes)
        check_distinct("group", self.groups)
        for name, words in self.targets.items():
            if len(words) < 2:
                raise ValueError(
                    f"the target set {name!r} holds {len(words)} class; it needs two or more"
                )
        if len(self.classes) == 1:
            raise ValueError(
                f"an accuracy needs two classes or more, not {self.classes[0]!r} alone"
            )
        if "{}" not in self.template:
            raise ValueError(f"the template {self.template!r} has no {{}} where the class stands")
        if list(self.samples) != sorted(set(self.samples)):
            raise ValueError("the numbers of noise samples must rise: 1, 10, 100")
        for group, word in self.truth.items():
            if group not in self.groups or word not in self.classes:
                raise ValueError(
                    f"the truth {group}={word} must name one of the groups, and one of the classes"
                )
        return self

    @property
    def true_classes(self) -> dict[str, str]:
        """The right class of each group: as given, else the one class of the group's gender. Others
        are left out.
        """
        found = dict(self.truth)
        for group in self.groups:
            own = stated_value(group, GENDER)
            fitting = [word for word in self.classes if own and stated_value(word, GENDER) == own]
            if len(fitting) == 1:
                found.setdefault(group, fitting[0])
        return found

    @property
    def target_classes(self) -> tuple[str, ...]:
        """The classes of both target sets, the first set's first."""
        return tuple(word for words in self.targets.values() for word in words)

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """Every class of the first target set with every one of the second."""
        first, second = self.targets.values()
        return list(product(first, second))


def plan_classification(
    groups: NamesOption = None, *, vqa: Sequence[str] = (), **settings: object
) -> ClassificationPlan:
    """A plan for pictures of `groups`; None means the paper's, or all groups of a collection.

    The first of `vqa` reads. `settings` are the other fields of the plan; those that are not given
    take the paper's values, or what suits the studio. Raises UsageError.
    """
    fields, found, model, maker = planned_sources(groups, settings)
    reader = {"vqa": STUDIO} if is_studio(maker) else {}  # of other pictures it can say nothing
    usual = {**LIGHTER, **reader} if is_studio(model) else {}
    named = {"groups": [group.name for group in found], **({"vqa": vqa[0]} if vqa else {})}
    return ClassificationPlan.checked({**usual, **fields, **named}, "this request")
