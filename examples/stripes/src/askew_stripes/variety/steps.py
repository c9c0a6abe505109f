"""The steps of `askew variety`: plan, gather, score, findings, page. A longer method has a file for
each.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from PIL import Image
from pydantic import Field

from askew import registry
from askew.findings import E, Head, Identity, Instruments, MappingKey, PictureSet
from askew.models.base import Setting
from askew.pages import skeleton
from askew.pages.blocks import (
    PLAIN,
    Bar,
    IntervalChart,
    IntervalRow,
    Page,
    Section,
    ShareBars,
    ShareSegment,
)
from askew.pages.media import Media
from askew.plan import RunPlan
from askew.run.base import Outcome, Run
from askew.stats.shares import share_intervals
from askew.store.keys import derived_seed
from askew.types import Estimate, Missing, Picture, record
from askew_stripes.statistic import effective_number

COLOURS = ("red", "green", "blue")
DRAWS = 1000


class VarietyPlan(RunPlan):
    """Everything that decides the results."""

    method: Literal["variety"] = "variety"
    prompt: str
    model: str = "stripes"
    model_args: dict[str, Setting] = Field(default_factory=dict)
    images: int = 24
    seed: int = 0


@record
class VarietyFindings(Head):
    """The content of results.json."""

    plan: VarietyPlan
    prompt: str
    shares: Annotated[Mapping[str, E], MappingKey("value")]
    effective_colours: E


@dataclass(frozen=True, slots=True)
class Gathered:
    """The pictures, and the colour of each."""

    model: Identity
    device: str | None
    instruments: Instruments
    sets: tuple[PictureSet, ...]
    colours: tuple[str | Missing, ...]


def gather(plan: VarietyPlan, run: Run) -> Gathered:
    """Make the pictures, and look at them."""
    model = registry.model(plan.model, **plan.model_args)
    pictures: list[Outcome] = run.pictures(model, [plan.prompt], plan.images, plan.seed)[
        plan.prompt
    ]
    return Gathered(
        Identity(model.name, model.revision, dict(model.settings)),
        None,
        Instruments(),
        (PictureSet.of(plan.prompt, pictures),),
        tuple(run.look(colour, pictures)),
    )


def colour(picture: Picture) -> str:
    """Which of the colours there is most of."""
    with Image.open(picture.path) as image:
        return COLOURS[
            int(np.asarray(image.convert("RGB"), dtype=float).mean(axis=(0, 1)).argmax())
        ]


def score(plan: VarietyPlan, found: Gathered, head: Head) -> VarietyFindings:
    """How many colours, and what chance would show where all are as frequent."""
    counts = np.array([sum(color == name for color in found.colours) for name in COLOURS])
    n = int(counts.sum())
    lost = sum(isinstance(color, Missing) for color in found.colours)
    if not n:
        none = Missing("error", "no picture could be made")
        return head.into(
            VarietyFindings,
            prompt=plan.prompt,
            shares=dict.fromkeys(COLOURS, none),
            effective_colours=none,
        )
    rng = np.random.default_rng(derived_seed(plan.seed, plan.prompt, "variety"))
    even = rng.multinomial(n, np.full(len(COLOURS), 1 / len(COLOURS)), DRAWS)
    drawn = np.array([effective_number(row) for row in even])
    value = effective_number(counts)
    estimate = Estimate(
        value,
        n=n,
        missing=lost,
        null=float(drawn.mean()),
        max=float(len(COLOURS)),
        p=float((1 + (drawn <= value).sum()) / (1 + DRAWS)),
    )
    known = dict(zip(COLOURS, share_intervals(counts, level=0.95, missing=lost), strict=True))
    return head.into(VarietyFindings, prompt=plan.prompt, shares=known, effective_colours=estimate)


def page(found: VarietyFindings, media: Media) -> Page:
    """What was seen first, then the score."""
    e = found.effective_colours
    seen = (
        "no picture"
        if isinstance(e, Missing)
        else f"as various as {e.value:.1f} equally frequent colours"
    )
    parts = tuple(
        ShareSegment(name, share, reference=1 / len(COLOURS))
        for name, share in found.shares.items()
    )
    n = 0 if isinstance(e, Missing) else int(e.n or 0)
    sections = (
        Section("What was seen", (ShareBars("Colours", (Bar("colour", parts, n),)),)),
        Section(
            "Score",
            (
                IntervalChart(
                    "How various",
                    "",
                    (IntervalRow("colours", e),),
                    "effective number",
                    "range",
                    PLAIN,
                ),
            ),
        ),
    )
    terms = (("Effective number", "So many equally frequent colours would be as various."),)
    return skeleton.page(
        found,
        skeleton.Heading(
            kicker="askew variety",
            title=f"“{found.prompt}”",
            answer=f"{n} pictures by {found.model.name}: {seen}.",
        ),
        sections=sections,
        facts=skeleton.facts(found),
        reading=skeleton.reading(terms),
        notes=skeleton.notes(found),
    )
