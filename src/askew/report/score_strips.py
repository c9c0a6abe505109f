"""Scores of many prompts in one row: a small dot for each, and their mean on its interval."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from markupsafe import Markup

from askew.report.figures import PlotTable, Row
from askew.report.formatting import Record, measured, reason, shorten
from askew.report.mining_figures import range_scale
from askew.report.mining_sentences import score
from askew.report.plots import Scale, scale_axis
from askew.report.reading import is_estimate

LABELS = 5
"""Ticks that have room for a label each, also on a narrow screen."""


@dataclass(frozen=True, slots=True)
class Strip:
    """Scores that belong together, with the estimate of their mean."""

    label: str
    scores: Sequence[float]
    mean: Record


def strip_scale(strips: Iterable[Strip]) -> Scale:
    """A scale that holds every score and every interval; any one where there is no score."""
    scale = range_scale([value for one in strips for value in _extent(one)] or [1.0])
    every = 1 if len(scale.ticks) <= LABELS else 2
    return replace(scale, labels=tuple("" if k % every else label for k, label in enumerate(scale.labels)))


def strip_table(strips: Sequence[Strip], caption: str, heading: str, unit: str = "prompt") -> PlotTable | None:
    """A row for each strip of scores of prompts, or of another `unit`; None where nothing was scored."""
    known = [one for one in strips if one.scores]
    if not known:
        return None
    scale = strip_scale(known)
    rows = [
        Row(
            shorten(one.label, 60),
            strip(scale, one),
            (measured(one.mean, score), str(len(one.scores))),
            note="" if is_estimate(one.mean) else reason(one.mean),
        )
        for one in strips
    ]
    legend = (("strip", f"score of one {unit}"), ("dot", "their mean"), ("line", "its interval"))
    return PlotTable(caption, heading, scale_axis(scale), ("mean", f"{unit}s"), tuple(rows), legend)


def strip(scale: Scale, one: Strip) -> Markup:
    """The plot of one row."""
    parts = [Markup('<line class="grid" x1="{0}" x2="{0}" y1="0" y2="24"/>').format(scale.at(t)) for t in scale.ticks]
    parts += [Markup('<circle class="one" cx="{}" cy="20" r="2.5"/>').format(scale.at(value)) for value in one.scores]
    mean = one.mean
    if is_estimate(mean):
        if mean.get("low") is not None and mean.get("high") is not None:
            parts.append(
                Markup('<line class="whisker" x1="{}" x2="{}" y1="12" y2="12"/>').format(
                    scale.at(mean["low"]), scale.at(mean["high"])
                )
            )
        parts.append(Markup('<circle class="dot" cx="{}" cy="12" r="5"/>').format(scale.at(mean["value"])))
    said = f"mean {measured(mean, score)}" if is_estimate(mean) else f"not measured: {reason(mean)}"
    return Markup(
        '<svg class="track strip" width="100%" height="24" role="img"><title>{}</title><desc>{}</desc>{}</svg>'
    ).format(one.label, said, Markup("").join(parts))


def _extent(one: Strip) -> list[float]:
    known = [*one.scores, *(one.mean.get(name) for name in ("low", "high"))]
    return [value for value in known if value is not None]
