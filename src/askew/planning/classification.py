"""From a request to the plan of a classification: defaults that suit the model, and the groups of a collection."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from askew import registry
from askew.errors import UsageError
from askew.methods.sources import social_groups
from askew.plan import DEFAULT_MODEL
from askew.planning.sources import with_source_settings
from askew.plans.classification import ClassificationPlan

STUDIO = "studio"
LIGHTER: Mapping[str, Any] = {"images": 24, "samples": (1, 10, 40), "template": "a photo of {}"}
"""What differs from the paper for the studio: sizes for a laptop, and the wording of its captions."""

INSTRUMENTS: Mapping[str, Any] = {"embedder": STUDIO, "vqa": STUDIO}
"""Who reads the studio's own pictures besides; of others they can say nothing."""


def plan_classification(
    groups: str | Sequence[str] | None = None, *, targets: Mapping[str, Sequence[str]] | None = None, **settings: Any
) -> ClassificationPlan:
    """A plan for pictures of `groups`; None means all groups of a collection.

    `settings` are the other fields of the plan; those that are None take the paper's values, or what suits the studio.
    Raises UsageError.
    """
    chosen = {name: value for name, value in settings.items() if value is not None}
    if isinstance(chosen.get("vqa"), tuple):  # of a preset
        chosen["vqa"] = chosen["vqa"][0]
    model = chosen.get("model", DEFAULT_MODEL)
    chosen, of = with_source_settings(chosen, model), chosen.get("sources") or model
    if _is_studio(model):
        chosen = {**LIGHTER, **(INSTRUMENTS if _is_studio(of) else {}), **chosen}
    settings_of = chosen.get("sources_args" if chosen.get("sources") else "model_args", {})
    named = social_groups(registry.model(of, **settings_of), groups)
    chosen["groups"] = tuple(group.name for group in named)
    if targets is not None:
        chosen["targets"] = {name: tuple(words) for name, words in targets.items()}
    return ClassificationPlan.checked(chosen, "this request")


def _is_studio(name: str) -> bool:
    return name.partition("/")[0] == STUDIO


def parse_stages(texts: Sequence[str]) -> tuple[tuple[int, int], ...]:
    """Stages from texts such as "10:5". Raises UsageError."""
    stages = []
    for text in texts:
        samples, colon, keep = text.partition(":")
        if not (colon and samples.strip().isdecimal() and keep.strip().isdecimal()):
            raise UsageError(f"the stage {text!r} should read SAMPLES:CLASSES, such as 10:5")
        stages.append((int(samples), int(keep)))
    return tuple(stages)
