"""The plan of a search for prompts: everything that decides what it finds."""

from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from askew.errors import UsageError
from askew.plan import NonEmptyText, RunPlan, Settings
from askew.prompts.axes import find_axis
from askew.prompts.evolution import Evolution, Selection

SearchSize = Annotated[int, Field(ge=1, le=10_000)]
DEFAULT_AXES = ("gender",)
SKEW = "skew"
EQ1 = "eq1"
EQ1_CORRECTED = "eq1-corrected"
COLOR = "color:"

REACHING = frozenset(("url", "timeout", "concurrency", "budget"))
"""Settings of a language model that say how to reach it and what it may cost: another one goes on
with the search.
"""


class ScoredPlan(RunPlan):
    """How the prompts of a search, or given ones, are scored."""

    llm: NonEmptyText = "lexicon"
    llm_args: Settings = Field(default_factory=dict)
    embedder: NonEmptyText = "studio"
    embedder_args: Settings = Field(default_factory=dict)
    vqa: NonEmptyText = "none"
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
        """Whether it searches by the paper's score, as it is or less chance."""
        return self.objective in (EQ1, EQ1_CORRECTED)

    @property
    def is_unit(self) -> bool:
        """Whether similarities are moved to [0, 1]."""
        return self.similarity == "unit" or (
            self.similarity == "auto" and self.embedder.partition("/")[0] == "studio"
        )

    def deciding(self) -> dict[str, object]:
        told = {name: value for name, value in self.llm_args.items() if name not in REACHING}
        return super().deciding() | {"llm_args": told}


class MinePlan(ScoredPlan):
    """A search for the prompts that a model is most one-sided on (MineTheGap); sizes are those of
    the paper.

    Its fields are the options of `askew mine`. Without an `objective` a search about people is for
    leans, with fewer pictures of a prompt and learned selection, any other for the paper's score.
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
    top: SearchSize = 5
    runs: SearchSize = 1
    random_search: bool = True

    @model_validator(mode="before")
    @classmethod
    def _chosen(cls, data: dict[str, Any]) -> dict[str, Any]:
        if data.get("axes") or data.get("topic") == "people":
            data = {"objective": SKEW, **data}
        if data.get("objective") != SKEW:
            return data
        axes = [find_axis(name).name for name in data.get("axes") or DEFAULT_AXES]
        # few pictures of many prompts find more leans than many of few (docs/reference/mining.md)
        return {"images": 5, "selection": "learned", **data, "axes": axes}

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.axes and self.objective != SKEW:
            raise ValueError(f"axes belong to a search for leans; objective is {self.objective}")
        if self.selected * self.mutations > self.population:
            told = f"{self.selected} selected prompts with {self.mutations} mutations each"
            raise ValueError(f"{told} are more than the population of {self.population}")
        if self.words[0] > self.words[1]:
            raise ValueError(
                f"prompts of {self.words[0]} to {self.words[1]} words; the smaller number comes first"
            )
        return self

    @property
    def winners(self) -> int:
        """Prompts that are scored again, in all searches but the random ones."""
        return self.runs * self.top

    @property
    def evolution(self) -> Evolution:
        """The size of each search."""
        return Evolution(
            iterations=self.iterations,
            population=self.population,
            selected=self.selected,
            mutations=self.mutations,
            words=self.words,
            selection=self.selection,
            topic=self.topic or None,
        )


def runs_code(objective: str) -> bool:
    """Whether an objective is none of askew's own: a function to import."""
    return objective not in (SKEW, EQ1, EQ1_CORRECTED) and not objective.startswith(COLOR)


def read_mine_plan(path: Path) -> MinePlan:
    """The plan of a search in a TOML file, to be run.

    Raises UsageError that says what is wrong; also for an objective that is code, which no file may
    name.
    """
    plan = MinePlan.read(path)
    if runs_code(plan.objective):
        raise UsageError(
            f"the plan {path} names the function {plan.objective!r} as objective; a file must not make askew run code: "
            "give the search's options on the command line, with --objective, or in Python"
        )
    return plan
