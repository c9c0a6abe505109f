"""Define the plan of a classification by denoising error, and build it from a request."""

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
"""Settings for the studio, where they differ from the paper's settings.

They suit a laptop and the wording of the studio's captions.
"""


class ClassificationPlan(RunPlan):
    """Plan of a run that classifies images of social groups (Saravanan et al., "downstream").

    Attributes
    ----------
    model, model_args
        Diffusion model that classifies the images, and its settings.
    sources, sources_args
        Model or collection (folder/PATH) from which the input images come, and its settings. Empty
        if the classifying model also generates them.
    groups : tuple of str
        Names of the groups.
    images : int
        Number of input images per group.
    targets : mapping of str to tuple of str
        Two sets of classes. Each class in the first set is compared with each class in the second
        set.
    classes : tuple of str
        Classes for which accuracy is measured. If empty, no accuracy is measured.
    truth : mapping of str to str
        True class of each group whose name does not state its class.
    template : str
        Template of the prompts, in which {} is replaced by the class.
    samples : tuple of int
        Numbers of noise samples, in increasing order. askew reports results for each number.
    loss : "l2", "l1" or "huber"
        Loss function for the error in the predicted noise.
    vqa, vqa_args
        Instrument that checks the input images, or "none", and its settings.
    seed, confidence, bootstrap_samples
        Seed of all random draws, confidence level of the intervals, and number of bootstrap
        samples.
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
                f"a classification compares two sets of classes, not {len(self.targets)}. Give "
                "two sets: --targets male-dominated=carpenter,plumber --targets "
                "female-dominated=nurse,secretary"
            )
        check_distinct("class", self.target_classes)
        check_distinct("class", self.classes)
        check_distinct("group", self.groups)
        for name, words in self.targets.items():
            if len(words) < 2:
                raise ValueError(
                    f"the set {name!r} has {len(words)} class, but needs at least two. Use "
                    f"--targets {name}=CLASS,CLASS"
                )
        if len(self.classes) == 1:
            raise ValueError(
                f"accuracy needs at least two classes, but only {self.classes[0]!r} is given. Use "
                "--classes man,woman"
            )
        if "{}" not in self.template:
            raise ValueError(f"the template {self.template!r} has no {{}} where the class belongs")
        if list(self.samples) != sorted(set(self.samples)):
            raise ValueError("the numbers of noise samples must increase, as in --samples 1,10,100")
        for group, word in self.truth.items():
            if group not in self.groups or word not in self.classes:
                raise ValueError(
                    f"--truth {group}={word} must name a group and a class of the plan"
                )
        return self

    @property
    def true_classes(self) -> dict[str, str]:
        """True class of each group: the class in `truth`, or the class that its name states.

        Groups without a true class are omitted.
        """
        classes = dict(self.truth)
        for group in self.groups:
            stated = self._class_of_gender(stated_value(group, GENDER))
            if stated is not None:
                classes.setdefault(group, stated)
        return classes

    def _class_of_gender(self, gender: str | None) -> str | None:
        """Return the class whose name states this gender; None unless exactly one class does."""
        fitting = [word for word in self.classes if stated_value(word, GENDER) == gender]
        return fitting[0] if gender and len(fitting) == 1 else None

    @property
    def target_classes(self) -> tuple[str, ...]:
        """Classes of both target sets, starting with the first set."""
        return tuple(word for words in self.targets.values() for word in words)

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """All pairs of a class from the first target set and a class from the second target set."""
        first, second = self.targets.values()
        return list(product(first, second))


def plan_classification(
    groups: NamesOption = None, *, vqa: Sequence[str] = (), **settings: object
) -> ClassificationPlan:
    """Plan a run that classifies images of social groups.

    Parameters
    ----------
    groups : str or sequence of str, optional
        Names of the groups. By default, the paper's four groups, or all groups of a collection.
    vqa : sequence of str
        Names of instruments. The first instrument checks the input images.
    **settings : object
        Other fields of the plan. Their defaults are the paper's values or, for the studio, values
        that suit the studio.

    Returns
    -------
    ClassificationPlan
        The plan.

    Raises
    ------
    UsageError
        If the request cannot be met.
    """
    planned = planned_sources(groups, settings)
    data: dict[str, object] = {}
    if is_studio(planned.model):
        data |= LIGHTER
        if is_studio(planned.maker):
            # The studio's instrument can label no other images.
            data["vqa"] = STUDIO
    data |= planned.fields
    data["groups"] = [group.name for group in planned.groups]
    if vqa:
        data["vqa"] = vqa[0]
    return ClassificationPlan.checked(data, "this request")
