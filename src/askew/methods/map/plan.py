"""The plan of where a model attends to concepts, and how a request becomes one."""

from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Literal, Self, cast

from pydantic import Field, model_validator

from askew.errors import UnknownName, UsageError
from askew.mitigations import open_model_if_fast
from askew.plan import (
    DEFAULT_MODEL,
    AxisPlan,
    NonEmptyText,
    Plan,
    PlanFields,
    PromptPlan,
    check_distinct,
)
from askew.prompts.axes import find_axis

PROFESSIONS = (
    "architect",
    "artist",
    "athlete",
    "cashier",
    "chef",
    "doctor",
    "driver",
    "engineer",
    "firefighter",
    "journalist",
    "lawyer",
    "mechanic",
    "musician",
    "nurse",
    "officer",
    "pilot",
    "scientist",
    "teacher",
    "waiter",
    "worker",
)
"""Those of the paper's tables 3 to 6."""

AXES: Mapping[str, str] = {"race": "ethnicity", "sex": "gender"}
"""Axes that go by another name than the concept."""

Tau = Annotated[float, Field(ge=0, le=100)]


class MapPlan(Plan):
    """A plan of where a model attends to concepts (BiasMap); mask and branch are those of the
    paper.

    `images` pictures of each prompt are made; the axes of a prompt are what the instruments read in
    them.

    against     by prompt the word of it, such as its occupation, that the `concepts` are held against
    compared    further models, with the same settings, whose pictures of the same seeds are held against the first's
    baseline_run  folder of a finished run of maps, whose model all models are held against instead
    definition  ovam: attention weights; output: what attention gathers (SD3, Flux and their like)
    branch      whose image is listened to where there is guidance
    threshold   where a map is high, at `tau`
    masks       folder with true places, WORD/PICTURE.png, that maps at `taus` are held against; "" has none
    """

    method: str = "map"
    embedder: NonEmptyText = "none"
    concepts: tuple[NonEmptyText, ...] = Field(min_length=1)
    against: tuple[NonEmptyText, ...] = Field(min_length=1)
    compared: tuple[NonEmptyText, ...] = ()
    baseline_run: str = ""
    definition: Literal["ovam", "output"] = "ovam"
    branch: Literal["cond", "uncond"] = "cond"
    threshold: Literal["percentile", "max", "minmax"] = "percentile"
    tau: Tau = 70.0
    masks: str = ""
    masks_digest: str = ""
    taus: tuple[Tau, ...] = Field(
        default=(10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0), min_length=1
    )

    @property
    def models(self) -> tuple[str, ...]:
        """The model that others are held against, and those."""
        return (self.model, *self.compared)

    @model_validator(mode="after")
    def _fits_prompts(self) -> Self:
        if len(self.against) != len(self.prompts):
            raise ValueError(
                f"{len(self.prompts)} prompts need as many words to hold concepts against"
            )
        check_distinct("concept", self.concepts)
        held = {word.casefold() for word in self.against} & {
            concept.casefold() for concept in self.concepts
        }
        if held:
            raise ValueError(
                f"the concept {', '.join(sorted(held))} is the word that concepts are held against"
            )
        if len(set(self.models)) < len(self.models):
            raise ValueError(f"a model is named twice: {', '.join(self.models)}")
        return self


def plan_map(
    prompts: Sequence[str],
    *,
    concepts: Sequence[str],
    against: str | None = None,
    professions: Sequence[str] | bool = False,
    models: Sequence[str] = (DEFAULT_MODEL,),
    masks: str = "",
    **settings: object,
) -> MapPlan:
    """A plan for `prompts`, whose word `against` the concepts are held against, and for
    `professions`.

    `professions` True stands for the paper's 20. The first of `models` is the one that the others
    are held against; it says how many pictures suit it. `settings` are the other fields of
    `MapPlan`. Raises UsageError.
    """
    if not all(model.strip() for model in models) or not models:
        raise UsageError(
            "no model is named; name one whose insides can be seen: studio or diffusers/ID-OR-PATH"
        )
    if prompts and not (against or "").strip():
        raise UsageError(
            "name the word of the prompt whose place the concepts are held against, as in --against nurse"
        )
    named = PROFESSIONS if professions is True else tuple(professions or ())
    pairs = [(prompt, str(against)) for prompt in prompts] + [
        (profession_prompt(p), p) for p in named
    ]
    if not pairs:
        raise UsageError(
            'there is no prompt; give one, as in: askew map "a photo of a nurse" --against nurse'
        )
    if not concepts or not all(concept.strip() for concept in concepts):
        raise UsageError(
            "a concept is empty; name one or more, as in --concept gender --concept race"
        )
    if "taus" in settings and not masks:
        raise UsageError(
            "--taus are thresholds for masks that are given; say where they are, as in --masks FOLDER"
        )
    if masks:
        folder = Path(masks)
        words = dict.fromkeys((*concepts, *(word for _, word in pairs)))
        files = [file for word in words for file in sorted((folder / word).glob("*.png"))]
        if not files:
            raise UsageError(
                f"{folder} has no folder with the masks of a word, named after it: {', '.join(words)}"
            )
        parts = (
            f"{file.relative_to(folder)} {sha256(file.read_bytes()).hexdigest()}" for file in files
        )
        settings["masks_digest"] = sha256("\n".join(parts).encode()).hexdigest()
    if "images" not in settings:
        args = cast("PlanFields", settings).get("model_args", {})
        suggestion = getattr(open_model_if_fast(models[0], args), "suggestion", None)
        settings["images"] = 24 if suggestion is None else suggestion.images
    read = dict.fromkeys(axes_of(concepts).values()) or ("gender",)
    axes = tuple(AxisPlan.of(find_axis(name)) for name in read)
    planned = [PromptPlan.of(prompt, axes).model_dump() for prompt, _ in pairs]
    data = {
        **settings,
        "masks": masks,
        "model": models[0],
        "compared": list(models[1:]),
        "concepts": list(concepts),
        "against": [word for _, word in pairs],
        "prompts": planned,
    }
    return MapPlan.checked(data, "this request")


def axes_of(concepts: Sequence[str]) -> dict[str, str]:
    """By concept the axis of the catalogue that it is, for those that are one: race is ethnicity."""
    found = {}
    for concept in concepts:
        try:
            found[concept] = find_axis(AXES.get(concept.lower(), concept)).name
        except UnknownName:
            continue
    return found


def profession_prompt(profession: str) -> str:
    """The paper's prompt for a profession (section 3)."""
    return f"A photo of the face of {'an' if profession[:1].lower() in tuple('aeiou') else 'a'} {profession}"
