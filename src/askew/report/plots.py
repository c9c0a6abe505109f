"""Inline SVG: tracks on which a score is a dot on its interval. Positions are percentages, to fit any width."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from askew.report.formatting import Record, number, percent, points
from askew.report.reading import is_estimate

_STEPS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.25, 0.5, 1.0, 2.0, 5.0)
_QUARTERS = (0.0, 0.25, 0.5, 0.75, 1.0)
_MIDDLE = 12
_HEIGHT = 24


@dataclass(frozen=True, slots=True)
class Scale:
    """A linear scale from `low` to `high`, with ticks and the way to write them."""

    low: float
    high: float
    ticks: tuple[float, ...]
    labels: tuple[str, ...]

    def at(self, value: float) -> str:
        """The position of a value as a percentage of the width, kept inside the plot."""
        share = (value - self.low) / (self.high - self.low)
        return f"{100 * min(max(share, 0.0), 1.0):.2f}%"


def unit_scale(estimates: Iterable[Record | None] = ()) -> Scale:
    """0 to 1, further only if an estimate is."""
    top = max((_reach(e) for e in estimates if e is not None and is_estimate(e)), default=1.0)
    if top <= 1:
        return Scale(0, 1, _QUARTERS, ("0", "", "0.5", "", "1"))
    ticks = tuple(0.5 * k for k in range(math.ceil(2 * top) + 1))
    return Scale(0, ticks[-1], ticks, tuple(f"{t:g}" for t in ticks))


def share_scale() -> Scale:
    """0 to 100 percent."""
    return Scale(0, 1, _QUARTERS, (percent(0), "", percent(0.5), "", percent(1)))


def signed_scale(estimates: Iterable[Record | None], as_points: bool = False) -> Scale:
    """Symmetric around zero, wide enough for every interval."""
    reach = max((_reach(e) for e in estimates if e is not None and is_estimate(e)), default=0.1)
    step = next((s for s in _STEPS if 2 * s >= reach), math.ceil(reach / 2))
    ticks = tuple(k * step for k in (-2, -1, 0, 1, 2))
    labels = tuple(points(t) if as_points else number(t, 0 if step >= 1 else 2) for t in ticks)
    return Scale(ticks[0], ticks[-1], ticks, labels)


@dataclass(frozen=True, slots=True)
class Mark:
    """A vertical mark across the track: the ideal, the mean, the initial set."""

    at: float
    kind: str


def scale_axis(scale: Scale) -> Markup:
    """The tick labels above the tracks. Hidden from screen readers: every track says its numbers."""
    last = len(scale.ticks) - 1
    labels = Markup("").join(
        Markup('<text x="{}" y="13" text-anchor="{}">{}</text>').format(
            scale.at(tick), "start" if k == 0 else "end" if k == last else "middle", label
        )
        for k, (tick, label) in enumerate(zip(scale.ticks, scale.labels, strict=True))
    )
    return Markup('<svg class="scale" width="100%" height="18" aria-hidden="true">{}</svg>').format(labels)


def track(
    scale: Scale,
    estimate: Record | None,
    title: str,
    description: str,
    *,
    marks: Sequence[Mark] = (),
    hollow: bool = False,
) -> Markup:
    """One row of a plot: the null as a grey band, the interval as a line, the score as a dot on it."""
    parts = [_grid(scale)]
    if estimate is not None and is_estimate(estimate):
        parts += [
            _null(scale, estimate),
            *(_mark(scale, m) for m in marks),
            _whisker(scale, estimate),
            _dot(scale, estimate, hollow),
        ]
    else:
        parts += [_mark(scale, m) for m in marks]
        parts.append(Markup('<text class="absent" x="50%" y="16" text-anchor="middle">not measured</text>'))
    body = Markup("").join(parts)
    return Markup(
        '<svg class="track" width="100%" height="{}" role="img"><title>{}</title><desc>{}</desc>{}</svg>'
    ).format(_HEIGHT, title, description, body)


def small_track(value: float, reference: float | None, title: str, *, hollow: bool) -> Markup:
    """A frequency as a dot between 0 and 1, with a mark where the initial set stands, if that is known."""
    scale = Scale(0, 1, (0, 1), ("0", "1"))
    mark = _mark(scale, Mark(reference, "reference")) if reference is not None else Markup("")
    line = Markup('<line class="grid" x1="0" x2="100%" y1="12" y2="12"/>')
    dot = Markup('<circle class="dot{}" cx="{}" cy="12" r="4"/>').format(" hollow" if hollow else "", scale.at(value))
    return Markup('<svg class="track small" width="100%" height="24" role="img"><title>{}</title>{}</svg>').format(
        title, line + mark + dot
    )


def _reach(estimate: Record) -> float:
    return max(abs(float(estimate[name])) for name in ("value", "low", "high") if estimate.get(name) is not None)


def _grid(scale: Scale) -> Markup:
    lines = Markup("").join(
        Markup('<line class="{}" x1="{}" x2="{}" y1="0" y2="24"/>').format(
            "zero" if tick == 0 and scale.low < 0 else "grid", scale.at(tick), scale.at(tick)
        )
        for tick in scale.ticks
    )
    return lines


def _null(scale: Scale, estimate: Record) -> Markup:
    """The scores up to the mean under chance alone; nothing for scores without a null, or whose null is zero."""
    null = estimate.get("null")
    if not null or scale.low < 0:
        return Markup("")
    band = Markup('<rect class="null" x="0" width="{}" y="2" height="20"/>').format(scale.at(null))
    return band + Markup('<line class="null-edge" x1="{}" x2="{}" y1="2" y2="22"/>').format(
        scale.at(null), scale.at(null)
    )


def _mark(scale: Scale, mark: Mark) -> Markup:
    position = scale.at(mark.at)
    return Markup('<line class="mark {}" x1="{}" x2="{}" y1="1" y2="23"/>').format(mark.kind, position, position)


def _whisker(scale: Scale, estimate: Record) -> Markup:
    low, high = estimate.get("low"), estimate.get("high")
    if low is None or high is None:
        return Markup("")
    return Markup('<line class="whisker" x1="{}" x2="{}" y1="{}" y2="{}"/>').format(
        scale.at(low), scale.at(high), _MIDDLE, _MIDDLE
    )


def _dot(scale: Scale, estimate: Record, hollow: bool) -> Markup:
    return Markup('<circle class="dot{}" cx="{}" cy="{}" r="5"/>').format(
        " hollow" if hollow else "", scale.at(estimate["value"]), _MIDDLE
    )
