"""From a request to a plan of where a model attends to concepts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from askew.errors import UnknownName, UsageError
from askew.plan import DEFAULT_MODEL, AxisPlan, PromptPlan
from askew.plans.maps import MapPlan
from askew.plans.reading import make_plan
from askew.prompts.axes import find_axis

PROFESSIONS = (
    "architect", "artist", "athlete", "cashier", "chef", "doctor", "driver", "engineer", "firefighter", "journalist",
    "lawyer", "mechanic", "musician", "nurse", "officer", "pilot", "scientist", "teacher", "waiter", "worker",
)  # fmt: skip
"""Those of the paper's tables 3 to 6."""

TEMPLATE = "A photo of the face of {article} {profession}"
AXES: Mapping[str, str] = {"race": "ethnicity", "sex": "gender"}
"""Axes that go by another name than the concept."""

NO_MODEL = "no model is named; name one whose insides can be seen: studio or diffusers/ID-OR-PATH"
READ_ANYWAY = "gender"
"""The axis that instruments read where no concept is one."""


def plan_map(
    prompts: Sequence[str],
    *,
    concepts: Sequence[str],
    against: str | None = None,
    professions: Sequence[str] | bool = False,
    models: Sequence[str] = (DEFAULT_MODEL,),
    **settings: Any,
) -> MapPlan:
    """A plan for `prompts`, whose word `against` the concepts are held against, and for `professions`.

    `professions` True stands for the paper's 20. The first of `models` is the one that the others are held against.
    `settings` are the other fields of `MapPlan`. Raises UsageError.
    """
    if not all(model.strip() for model in models) or not models:
        raise UsageError(NO_MODEL)
    if prompts and not (against or "").strip():
        raise UsageError("name the word of the prompt whose place the concepts are held against, as in --against nurse")
    named = PROFESSIONS if professions is True else tuple(professions or ())
    pairs = [(prompt, str(against)) for prompt in prompts] + [(profession_prompt(p), p) for p in named]
    if not pairs:
        raise UsageError('there is no prompt; give one, as in: askew map "a photo of a nurse" --against nurse')
    if not concepts or not all(concept.strip() for concept in concepts):
        raise UsageError("a concept is empty; name one or more, as in --concept gender --concept race")
    axes = tuple(AxisPlan.of(find_axis(name)) for name in axes_of(concepts).values()) or (
        AxisPlan.of(find_axis(READ_ANYWAY)),
    )
    planned = [PromptPlan(text=prompt, axes=tuple({a.name: a for a in axes}.values())) for prompt, _ in pairs]
    data = {**settings, "method": "map", "model": models[0], "compared": list(models[1:]), "concepts": list(concepts),
            "against": [b for _, b in pairs], "prompts": [p.model_dump() for p in planned]}  # fmt: skip
    plan = make_plan(data, "this request")
    if not isinstance(plan, MapPlan):
        raise TypeError(f"a plan of maps became a {type(plan).__name__}")
    return plan


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
    article = "an" if profession[:1].lower() in tuple("aeiou") else "a"
    return TEMPLATE.format(article=article, profession=profession)
