"""Steps of `askew variety`: plan, gather, score, findings and page.

A longer method has a file for each step.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from pydantic import Field

from askew import registry
from askew.findings import E, Head, Identity, Instruments, MappingKey, PictureSet
from askew.models.base import Setting
from askew.pages import skeleton
from askew.pages.blocks import (
    PLAIN,
    FirstScreen,
    IntervalChart,
    IntervalRow,
    Page,
    Section,
    ValueChart,
    ValueGroup,
    ValueShare,
)
from askew.pages.media import Media
from askew.plan import RunPlan
from askew.run.base import Outcome, Run
from askew.stats.shares import share_intervals
from askew.store.keys import derived_seed
from askew.types import Estimate, Missing, Picture, record
from askew_stripes.statistic import effective_number

COLORS = ("red", "green", "blue")
DRAWS = 1000


class VarietyPlan(RunPlan):
    """All settings that determine the results."""

    method: Literal["variety"] = "variety"
    prompt: str
    model: str = "stripes"
    model_args: dict[str, Setting] = Field(default_factory=dict)
    images: int = 24
    seed: int = 0


@record
class VarietyFindings(Head):
    """Content of results.json.

    Attributes
    ----------
    plan, prompt
        Plan and prompt.
    shares
        Share of each color.
    effective_colors
        Effective number of colors.
    """

    plan: VarietyPlan
    prompt: str
    shares: Annotated[Mapping[str, E], MappingKey("value")]
    effective_colors: E


@dataclass(frozen=True, slots=True)
class Gathered:
    """Images and their colors.

    Attributes
    ----------
    model, device, instruments
        Model, device and instruments, for the results.
    sets
        The image set.
    colors
        Color of each image.
    """

    model: Identity
    device: str | None
    instruments: Instruments
    sets: tuple[PictureSet, ...]
    colors: tuple[str | Missing, ...]


def gather(plan: VarietyPlan, run: Run) -> Gathered:
    """Generate the images, and measure their colors."""
    model = registry.model(plan.model, **plan.model_args)
    by_prompt = run.pictures(model, [plan.prompt], plan.images, plan.seed)
    images: list[Outcome] = by_prompt[plan.prompt]
    return Gathered(
        model=Identity(model.name, model.revision, dict(model.settings)),
        device=None,
        instruments=Instruments(),
        sets=(PictureSet.of(plan.prompt, images),),
        colors=tuple(run.look(color, images)),
    )


def color(picture: Picture) -> str:
    """Return the color with the largest mean value."""
    with Image.open(picture.path) as image:
        pixels = np.asarray(image.convert("RGB"), dtype=float)
    return COLORS[int(pixels.mean(axis=(0, 1)).argmax())]


def score(plan: VarietyPlan, gathered: Gathered, head: Head) -> VarietyFindings:
    """Score the diversity of colors."""
    counts = np.array([gathered.colors.count(name) for name in COLORS])
    missing = sum(isinstance(color, Missing) for color in gathered.colors)
    if not counts.any():
        failed = Missing("error", "no image could be generated")
        return head.into(
            VarietyFindings,
            prompt=plan.prompt,
            shares=dict.fromkeys(COLORS, failed),
            effective_colors=failed,
        )
    shares = share_intervals(counts, level=0.95, missing=missing)
    return head.into(
        VarietyFindings,
        prompt=plan.prompt,
        shares=dict(zip(COLORS, shares, strict=True)),
        effective_colors=_effective_colors(plan, counts, missing),
    )


def _effective_colors(plan: VarietyPlan, counts: NDArray[np.int_], missing: int) -> Estimate:
    """Estimate the effective number of colors, with a test of equal frequencies."""
    n = int(counts.sum())
    rng = np.random.default_rng(derived_seed(plan.seed, plan.prompt, "variety"))
    uniform = np.full(len(COLORS), 1 / len(COLORS))
    drawn = np.array([effective_number(row) for row in rng.multinomial(n, uniform, DRAWS)])
    value = effective_number(counts)
    return Estimate(
        value,
        n=n,
        missing=missing,
        null=float(drawn.mean()),
        max=float(len(COLORS)),
        p=float((1 + (drawn <= value).sum()) / (1 + DRAWS)),
    )


def page(findings: VarietyFindings, media: Media) -> Page:
    """Return the page: first the shares, then the score."""
    estimate = findings.effective_colors
    n = 0
    answer = "no image"
    if isinstance(estimate, Estimate):
        n = int(estimate.n or 0)
        answer = f"as diverse as {estimate.value:.1f} equally frequent colors"
    segments = tuple(
        ValueShare(name, share, reference=1 / len(COLORS))
        for name, share in findings.shares.items()
    )
    shares = ValueChart("Colors", (ValueGroup("color", segments, n),))
    rows = (IntervalRow("colors", estimate),)
    chart = IntervalChart("Diversity", "", rows, "effective number", "range", PLAIN)
    term = "Number of equally frequent colors that would be as diverse."
    return skeleton.page(
        findings,
        skeleton.Heading(
            kicker="askew variety",
            title=f"“{findings.prompt}”",
            answer=f"{n} images by {findings.model.name}: {answer}.",
            meta=skeleton.meta(findings),
            first=FirstScreen((shares,)),
        ),
        sections=(Section("Score", (chart,)),),
        reading=skeleton.reading((("Effective number", term),)),
        notes=skeleton.notes(findings),
    )
