"""Define the plan of `askew map`, and build it from a request."""

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

PROFESSIONS = tuple(
    "architect artist athlete cashier chef doctor driver engineer firefighter journalist "
    "lawyer mechanic musician nurse officer pilot scientist teacher waiter worker".split()
)
"""Professions in tables 3 to 6 of the paper."""

AXES: Mapping[str, str] = {"race": "ethnicity", "sex": "gender"}
"""Name of the axis of each concept, for concepts that are named differently from their axis."""

DEFAULT_IMAGES = 24

Tau = Annotated[float, Field(ge=0, le=100)]


class MapPlan(Plan):
    """Plan of a run that maps a model's attention to concepts (BiasMap).

    The model generates `images` images for each prompt, and the instruments label these images on
    the prompt's axes.

    Attributes
    ----------
    embedder : str
        Not used.
    concepts : tuple of str
        Words to map. The prompt need not contain them.
    against : tuple of str
        For each prompt, the word in it that is compared with the concepts, such as an occupation.
    compared : tuple of str
        Names of further models. Each of these models is compared with the first model, using images
        with the same seeds.
    baseline_run : str
        Folder of a finished run. All models are compared with the model of that run.
    definition : "ovam" or "output"
        Quantity from which a map is computed. "ovam" uses attention weights; "output" uses the
        attention output, for SD3, Flux and similar models.
    branch : "cond" or "uncond"
        Branch of classifier-free guidance that is mapped. The paper uses the conditional branch.
    threshold : "percentile", "max" or "minmax"
        How the threshold of the masks is defined. The paper uses "percentile".
    tau : float
        Threshold, from 0 to 100.
    masks : str
        Folder with ground-truth masks, named WORD/IMAGE.png. Empty if there are none.
    masks_digest : str
        Hash of the files with ground-truth masks.
    taus : tuple of float
        Thresholds at which maps are compared with the ground-truth masks.
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
        """Return the first model and the models that are compared with it."""
        return (self.model, *self.compared)

    @model_validator(mode="after")
    def _check_words(self) -> Self:
        if len(self.against) != len(self.prompts):
            raise ValueError(
                f"`against` has {len(self.against)} words for {len(self.prompts)} prompts, but "
                "needs one word per prompt"
            )
        check_distinct("concept", self.concepts)
        words = {word.casefold() for word in self.against}
        repeated = words & {concept.casefold() for concept in self.concepts}
        if repeated:
            raise ValueError(
                f"{', '.join(sorted(repeated))} is both a concept and the word of a prompt; use "
                "different words for --concept and --against"
            )
        if len(set(self.models)) < len(self.models):
            raise ValueError(f"--model names a model twice: {', '.join(self.models)}")
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
    """Return the plan for prompts and professions.

    Parameters
    ----------
    prompts
        Prompts, all of which contain the word `against`.
    concepts
        Words to map.
    against
        Word in the prompts that is compared with the concepts.
    professions
        Professions for which the paper's prompt is added. True means the paper's 20 professions.
    models
        Names of models. Later models are compared with the first model, which also determines the
        default number of images.
    masks
        Folder with ground-truth masks.
    settings
        Other fields of `MapPlan`.

    Returns
    -------
    MapPlan
        The checked plan.

    Raises
    ------
    UsageError
        If the request cannot be met.
    """
    _check_request(prompts, concepts, against, models)
    prompt_words = _prompt_words(prompts, against, professions)
    if "taus" in settings and not masks:
        raise UsageError("--taus needs ground-truth masks; give their folder with --masks FOLDER")
    words = [word for _, word in prompt_words]
    if masks:
        settings["masks_digest"] = _masks_digest(Path(masks), [*concepts, *words])
    if "images" not in settings:
        model_args = cast("PlanFields", settings).get("model_args", {})
        suggestion = getattr(open_model_if_fast(models[0], model_args), "suggestion", None)
        settings["images"] = DEFAULT_IMAGES if suggestion is None else suggestion.images
    names = dict.fromkeys(axes_of(concepts).values()) or ("gender",)
    axes = tuple(AxisPlan.of(find_axis(name)) for name in names)
    fields = {
        **settings,
        "masks": masks,
        "model": models[0],
        "compared": list(models[1:]),
        "concepts": list(concepts),
        "against": words,
        "prompts": [PromptPlan.of(prompt, axes).model_dump() for prompt, _ in prompt_words],
    }
    return MapPlan.checked(fields, "this request")


def _check_request(
    prompts: Sequence[str], concepts: Sequence[str], against: str | None, models: Sequence[str]
) -> None:
    """Raise UsageError if a model, word or concept is missing or empty."""
    if not models or not all(model.strip() for model in models):
        raise UsageError(
            "no model is given; choose a model with attention layers: --model studio or --model "
            "diffusers/ID-OR-PATH"
        )
    if prompts and not (against or "").strip():
        raise UsageError(
            "the concepts must be compared with a word of the prompt; give the word, as in "
            "--against nurse"
        )
    if not concepts or not all(concept.strip() for concept in concepts):
        raise UsageError(
            "a concept is missing or empty; give at least one, as in --concept gender --concept "
            "race"
        )


def _prompt_words(
    prompts: Sequence[str], against: str | None, professions: Sequence[str] | bool
) -> list[tuple[str, str]]:
    """Return (prompt, word) pairs; raise UsageError if there are no prompts."""
    names = PROFESSIONS if professions is True else tuple(professions or ())
    prompt_words = [(prompt, str(against)) for prompt in prompts]
    prompt_words += [(profession_prompt(name), name) for name in names]
    if not prompt_words:
        raise UsageError(
            'there is no prompt; give one, as in: askew map "a photo of a nurse" --against nurse'
        )
    return prompt_words


def _masks_digest(folder: Path, words: Sequence[str]) -> str:
    """Return a hash of the names and contents of all mask files of the words."""
    distinct = list(dict.fromkeys(words))
    lines = []
    for word in distinct:
        for file in sorted((folder / word).glob("*.png")):
            lines.append(f"{file.relative_to(folder)} {sha256(file.read_bytes()).hexdigest()}")
    if not lines:
        raise UsageError(
            f"{folder} contains no masks; --masks needs a folder that contains a subfolder of PNG "
            f"files for at least one of these words: {', '.join(distinct)}"
        )
    return sha256("\n".join(lines).encode()).hexdigest()


def axes_of(concepts: Sequence[str]) -> dict[str, str]:
    """Return the catalog's axis for each concept that has one, such as ethnicity for race."""
    axes = {}
    for concept in concepts:
        try:
            axes[concept] = find_axis(AXES.get(concept.lower(), concept)).name
        except UnknownName:
            continue
    return axes


def profession_prompt(profession: str) -> str:
    """Return the paper's prompt for a profession (section 3)."""
    article = "an" if profession[:1].lower() in tuple("aeiou") else "a"
    return f"A photo of the face of {article} {profession}"
