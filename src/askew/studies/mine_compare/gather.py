"""What `askew mine-compare` costs: the pictures of every model for the prompts of every search, of fresh seeds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from askew import registry
from askew.errors import UsageError
from askew.findings import Identity, Instruments, PictureSet
from askew.measure.base import Embedder
from askew.methods.mine.objectives import Alignment, BiasObjective
from askew.models.base import Model
from askew.parts import drawings
from askew.parts.survey.reader import unknown_words
from askew.run.base import Outcome, Rows, Run
from askew.studies.mine_compare.findings import ComparedModel
from askew.studies.mine_compare.plan import MinedSetPlan, MiningComparisonPlan
from askew.types import Missing

GIVEN = "given prompts"
"""The set of those that were not mined."""


@dataclass(frozen=True, slots=True)
class OnSet:
    """A model's pictures of the prompts of one set, held against the variations that the prompts were mined with."""

    model: str
    mined_for: str
    pictures: Mapping[str, list[Outcome]]
    readings: Mapping[str, Alignment | Missing]


@dataclass(frozen=True, slots=True)
class ComparisonGathered:
    """All of a comparison; `vectors` by set those of its prompts, (prompts, dimensions)."""

    models: tuple[ComparedModel, ...]
    device: str | None
    instruments: Instruments
    scored: tuple[OnSet, ...]
    vectors: Mapping[str, Rows]

    @property
    def model(self) -> Identity:
        """The first one."""
        first = self.models[0]
        return Identity(first.model, first.revision, first.settings)

    @property
    def sets(self) -> tuple[PictureSet, ...]:
        """One for every prompt and model."""
        found = {(one.model, text): PictureSet.of(text, pictures, model=one.model)
                 for one in self.scored for text, pictures in one.pictures.items()}  # fmt: skip
        return tuple(found.values())


def gather(plan: MiningComparisonPlan, run: Run) -> ComparisonGathered:
    """Raises UsageError for names that do not exist, or pictures that exist already."""
    models = {one.name: registry.model(one.model, **one.model_args) for one in plan.conditions}
    made = {name: model for name, model in models.items() if isinstance(model, Model)}
    for name in models.keys() - made.keys():
        raise UsageError(f"{name} holds pictures that exist already; this needs models that make new ones")
    embedder = registry.embedder(plan.embedder, **plan.embedder_args)
    pictures = {(name, one.name): run.pictures(model, _texts(one), plan.images, plan.seed)
                for name, model in made.items() for one in plan.sets}  # fmt: skip
    scored = tuple(_on_set(plan, run, embedder, name, one, pictures[name, one.name])
                   for name in made for one in plan.sets)  # fmt: skip
    texts = {one.name: _texts(one) for one in plan.sets} | ({GIVEN: list(plan.given)} if plan.given else {})
    vectors = zip(texts, run.look(embedder.embed_texts, list(texts.values())), strict=True)
    prompts = [text for one in plan.sets for text in _texts(one)]
    run.warn(*dict.fromkeys(said for model in made.values() for said in unknown_words(model, prompts)))
    run.warn(*drawings.beyond([model.name for model in made.values()], {"embedder": [embedder.name]}))
    return ComparisonGathered(
        tuple(ComparedModel(name, one.name, one.revision, dict(one.settings)) for name, one in made.items()),
        getattr(next(iter(made.values())), "device", None),
        Instruments(embedder={embedder.name: embedder.fingerprint}),
        scored,
        {name: rows for name, rows in vectors if not isinstance(rows, Missing)},
    )


def _on_set(
    plan: MiningComparisonPlan, run: Run, embedder: Embedder, model: str, one: MinedSetPlan,
    pictures: Mapping[str, list[Outcome]],
) -> OnSet:  # fmt: skip
    variations = {prompt.text: prompt.variations for prompt in one.prompts}
    objective = BiasObjective(run, embedder, lambda text, _: pictures[text], variations.__getitem__, 2, plan.quantile,
                              plan.unit)  # fmt: skip
    return OnSet(model, one.name, pictures, {text: objective.read(text, plan.seed) for text in variations})


def _texts(one: MinedSetPlan) -> list[str]:
    return [prompt.text for prompt in one.prompts]
