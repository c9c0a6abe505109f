"""Plan of a search for prompts. The plan contains everything that determines the results."""

from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from askew.errors import UsageError
from askew.measure.subjects import needs_person
from askew.plan import CONNECTION_SETTINGS, NonEmptyText, RunPlan, Settings, deciding_settings
from askew.prompts.axes import find_axis
from askew.prompts.evolution import Evolution, Selection
from askew.stats.looks import looks

SearchSize = Annotated[int, Field(ge=1, le=10_000)]
DEFAULT_AXES = ("gender",)
SKEW = "skew"
EQ1 = "eq1"
EQ1_CORRECTED = "eq1-corrected"
COLOR = "color:"
NO_VQA = "none"
PEOPLE = "people"

UNDECIDING = CONNECTION_SETTINGS | {"budget"}
"""Settings for a language model's server and its costs.

A run can be resumed with different values of these settings.
"""


class ScoredPlan(RunPlan):
    """Settings for scoring prompts.

    Plan of a run that scores prompts, which come from a search or from the user.

    Attributes
    ----------
    llm, llm_args
        Prompt generator and its settings.
    embedder, embedder_args
        Embedder and its settings.
    vqa, vqa_args
        VQA model, or "none", and its settings.
    objective
        Objective that scores the prompts: skew, eq1, eq1-corrected, color:NAME, or module:function.
    topic
        Topic of the prompts; empty for any topic.
    words
        Smallest and largest number of words in a prompt.
    axes
        Axes for the objective skew.
    images, variations
        Number of images per prompt, and number of variations per prompt.
    quantile
        Quantile alpha in Equation 1, in [0, 1].
    similarity
        Measure of similarity in Equation 1: cosine, unit, or auto.
    seed, confidence, bootstrap_samples
        Seed of the run, confidence level of the intervals, and number of bootstrap samples.
    """

    llm: NonEmptyText = "lexicon"
    llm_args: Settings = Field(default_factory=dict)
    embedder: NonEmptyText = "studio"
    embedder_args: Settings = Field(default_factory=dict)
    vqa: NonEmptyText = NO_VQA
    vqa_args: Settings = Field(default_factory=dict)
    objective: NonEmptyText = EQ1
    topic: str = ""
    words: tuple[SearchSize, SearchSize] = (3, 8)
    axes: tuple[NonEmptyText, ...] = ()
    images: Annotated[int, Field(ge=2, le=10_000)] = 15
    variations: Annotated[int, Field(ge=2, le=10_000)] = 15
    quantile: float = Field(default=0.25, ge=0, le=1)
    similarity: Literal["auto", "cosine", "unit"] = "auto"
    seed: int = 0
    confidence: float = Field(default=0.95, gt=0.5, lt=1)
    bootstrap_samples: int = Field(default=1000, ge=100, le=1_000_000)

    @property
    def is_eq1(self) -> bool:
        """True if the score is Equation 1 of the paper, with or without correction for chance."""
        return self.objective in (EQ1, EQ1_CORRECTED)

    @property
    def is_unit(self) -> bool:
        """True if similarities are (1 + cosine) / 2."""
        if self.similarity == "auto":
            return self.embedder.partition("/")[0] == "studio"
        return self.similarity == "unit"

    def deciding(self) -> dict[str, object]:
        """Return the fields that determine the results."""
        deciding = super().deciding()
        del deciding["vqa_args"]
        deciding["llm_args"] = deciding_settings(self.llm_args, UNDECIDING)
        vqa_args = deciding_settings(self.vqa_args, UNDECIDING)
        if vqa_args:
            deciding["vqa_args"] = vqa_args
        return deciding


class MinePlan(ScoredPlan):
    """Plan of a search for biased prompts (MineTheGap).

    The default sizes are the sizes in the paper.

    The fields are the options of `askew mine`. The default objective is skew. With this objective,
    the defaults are fewer images per prompt and learned selection. If all axes are about people,
    the default topic is people.

    Attributes
    ----------
    model, model_args
        Model, and its settings.
    iterations, population, selected, mutations
        Settings for the size of a search, as in `askew.prompts.evolution.Evolution`.
    selection
        Rule that selects prompts: by the measured score, or by a score predicted from the words.
    eval_images
        Number of held-out images per best prompt if the objective is skew. If `until` is set, this
        is the maximum number.
    until : "decided" or None
        "decided" adds held-out images to each best prompt until its bias is significant.
    top
        Number of best prompts per search.
    runs
        Number of searches.
    random_search
        If true, a random search of the same size is added to each search.
    """

    method: Literal["mine"] = "mine"
    model: NonEmptyText = "studio/planted"
    model_args: Settings = Field(default_factory=dict)
    iterations: SearchSize = 25
    population: SearchSize = 15
    selected: SearchSize = 5
    mutations: SearchSize = 2
    selection: Selection = "score"
    eval_images: Annotated[int, Field(ge=2, le=10_000)] = 48
    until: Literal["decided"] | None = None
    top: SearchSize = 5
    runs: SearchSize = 1
    random_search: bool = True

    @model_validator(mode="before")
    @classmethod
    def _chosen(cls, data: dict[str, Any]) -> dict[str, Any]:
        if data.get("objective", SKEW) != SKEW:
            return data
        axes = [find_axis(name).name for name in data.get("axes") or DEFAULT_AXES]
        if all(map(needs_person, axes)):
            data = {"topic": PEOPLE, **data}
        # Few images of many prompts find more biased prompts than many images of few prompts
        # (docs/reference/mining.md).
        defaults = {"objective": SKEW, "images": 5, "selection": "learned"}
        return {**defaults, **data, "axes": axes}

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.axes and self.objective != SKEW:
            raise ValueError(
                f"--axes needs the objective {SKEW}, but the objective is {self.objective}. "
                f"Use --objective {SKEW}, or leave out --axes"
            )
        if self.until and self.objective != SKEW:
            raise ValueError(
                f"--until {self.until} tests the shares of a search by {SKEW}, but the objective is "
                f"{self.objective}. Leave out --until, or use --objective {SKEW}"
            )
        if self.selected * self.mutations > self.population:
            raise ValueError(
                f"{self.selected} selected prompts with {self.mutations} mutations each exceed the "
                f"population of {self.population}. Give a larger --population"
            )
        if self.words[0] > self.words[1]:
            raise ValueError(
                f"the numbers of words {self.words[0]}-{self.words[1]} are in the wrong order. "
                "Give the smaller number first, as in --words 3-8"
            )
        return self

    @property
    def winners(self) -> int:
        """Total number of best prompts from all searches that mutate prompts."""
        return self.runs * self.top

    @property
    def first_eval_images(self) -> int:
        """Number of held-out images per best prompt, before `until` adds any."""
        return looks(self.eval_images)[0] if self.until else self.eval_images

    def deciding(self) -> dict[str, object]:
        """Return the fields that determine the results, excluding unused fields."""
        fields = super().deciding()
        if self.until is None:
            del fields["until"]
        return fields

    @property
    def evolution(self) -> Evolution:
        """Size of each search."""
        return Evolution(
            iterations=self.iterations,
            population=self.population,
            selected=self.selected,
            mutations=self.mutations,
            words=self.words,
            topic=self.topic or None,
        )


def runs_code(objective: str) -> bool:
    """Check whether an objective is a function, which askew would have to import and run."""
    return objective not in (SKEW, EQ1, EQ1_CORRECTED) and not objective.startswith(COLOR)


def read_mine_plan(path: Path) -> MinePlan:
    """Read the plan of a search from a TOML file.

    Raises
    ------
    UsageError
        If the file is invalid, or if its objective is a function. A plan file must not make askew
        run code.
    """
    plan = MinePlan.read(path)
    if runs_code(plan.objective):
        raise UsageError(
            f"the objective in the plan {path} is the function {plan.objective!r}, but a plan "
            "file must not make askew run code. Give the function with --objective, or in Python"
        )
    return plan
