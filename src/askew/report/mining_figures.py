"""The figures of a search: its course, its prompts against chance, and pictures of a prompt on a map."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from askew.report.figures import PlotTable, Row
from askew.report.formatting import (
    ABSENT,
    Record,
    capital,
    measured,
    number,
    perceived,
    percent,
    probability,
    quote,
    reason,
    shorten,
)
from askew.report.mining import by_fresh_score, is_bias
from askew.report.mining_sentences import score
from askew.report.plots import Scale, scale_axis, track, unit_scale
from askew.report.reading import exceeds_chance, grouped, is_estimate
from askew.report.thumbnails import OpenPicture, data_uri

_STEPS = tuple(m * 10.0**e for e in range(-5, 3) for m in (1, 2, 5))
_TICKS = 6
WIDTH, HEIGHT = 960, 400
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 16, 14, 44
_SPREAD = 0.34
"""How far the prompts of one iteration are spread to either side, in iterations."""

MARK = 44
"""Side of a picture on the map."""


def range_scale(values: Iterable[float]) -> Scale:
    """A linear scale around these values, with round ticks."""
    found = list(values)
    low, high = min(found), max(found)
    reach = (high - low) or abs(high) or 1.0
    step = next((s for s in _STEPS if reach / s <= _TICKS), reach / _TICKS)
    first, last = int(low // step), int(-(-high // step))
    ticks = tuple(k * step for k in range(first, max(last, first + 1) + 1))
    digits = max(0, len(f"{step:.5f}".rstrip("0").partition(".")[2]))
    return Scale(ticks[0], ticks[-1], ticks, tuple(number(t, digits) for t in ticks))


def prompts(section: Record, anchors: Mapping[str, str]) -> PlotTable | None:
    """The prompts found by their score on fresh seeds, with what chance gives each; None if none was scored."""
    entries, bias = [e for e in by_fresh_score(section["best"]) if is_estimate(e["fresh_score"])], is_bias(section)
    if not entries:
        return None
    scale = range_scale(value for e in entries for value in _extent(e))
    rows = [
        Row(
            shorten(e["prompt"], 70),
            _lane(scale, e),
            (measured(e["fresh_score"], score), score(e["fresh_score"].get("null")), _q(e), score(_found(e))),
            strong=bool(exceeds_chance(e["fresh_score"])),
            anchor=anchors.get(e["prompt"]),
        )
        for e in entries
    ]
    legend = [("dot", "score on fresh seeds"), ("line", "interval for the true score"),
              ("hollow-dot", "score when it was found")]  # fmt: skip
    if any(e.get("null_range") for e in entries):
        level = percent(entries[0]["fresh_score"].get("level"))
        legend.append(("null", f"{level} of scores of pictures of the variations"))
    return PlotTable(
        f"The best prompts of every search. Further left is {'more one-sided' if bias else 'nearer'}",
        "Prompt",
        scale_axis(scale),
        ("fresh seeds", "chance", "q", "when found"),
        tuple(rows),
        tuple(legend),
    )


@dataclass(frozen=True, slots=True)
class Plane:
    """Where iterations and losses lie in the course of a search."""

    iterations: int
    scale: Scale

    def x(self, iteration: float) -> float:
        return _LEFT + (WIDTH - _LEFT - _RIGHT) * (iteration + 0.5) / self.iterations

    def y(self, loss: float) -> float:
        share = (loss - self.scale.low) / (self.scale.high - self.scale.low)
        return HEIGHT - _BOTTOM - (HEIGHT - _TOP - _BOTTOM) * share


def course(section: Record, run: int) -> Markup | None:
    """One search: every prompt a point, lines from prompts to their mutations, the best loss so far dashed."""
    history = [entry for entry in section["history"] if entry["run"] == run]
    losses = [p["score"] for entry in history for p in entry["prompts"] if p["score"] is not None]
    if not losses:
        return None
    random = [e for e in (section["random"] or {}).get("history", ()) if e["run"] == run]
    plane = Plane(len(history), range_scale([*losses, *(e["best_so_far"] for e in random if e["best_so_far"])]))
    places = _places(plane, history)
    winner = next((e for e in by_fresh_score(section["best"]) if e["run"] == run), None)
    line = set(winner["lineage"]) if winner else set()
    parts = [
        axes(plane),
        _lines(history, places, line),
        _record(plane, random, "course-random") if random else Markup(""),
        _record(plane, history, "course-best"),
        _points(history, places, line),
        _label(winner["prompt"], places) if winner else Markup(""),
    ]
    return drawing(parts, f"Loss of {len(losses)} prompts over {len(history)} iterations")


def races(section: Record, runs: int) -> Markup | None:
    """The best loss so far of every search, mined and random, and their means; None for a single search."""
    if runs < 2 or not section["random"]:
        return None
    series = [("course-random", section["random"]["history"]), ("course-best", section["history"])]
    values = [e["best_so_far"] for _, some in series for e in some if e["best_so_far"] is not None]
    plane = Plane(1 + max(e["iteration"] for e in section["history"]), range_scale(values))
    parts = [axes(plane)]
    for kind, some in series:
        for run in range(runs):
            parts.append(_record(plane, [e for e in some if e["run"] == run], f"{kind} thin"))
        parts.append(_record(plane, _means(some), f"{kind} mean"))
    return drawing(parts, f"Best loss so far in {runs} mined and {runs} random searches")


def picture_map(entry: Record, open_picture: OpenPicture) -> Markup | None:
    """Pictures of a prompt and of its variations where they lie in the embedding, by its two main directions."""
    found = entry.get("map")
    if not found:
        return None
    marks = [("variation", *row) for row in found["variations"]] + [("own", *row) for row in found["pictures"]]
    xs, ys = [m[2] for m in marks], [m[3] for m in marks]
    parts = []
    for kind, picture, x, y in marks:
        image = open_picture(picture)
        if image is None:
            continue
        left, top = _within(x, xs, WIDTH), HEIGHT - MARK - _within(y, ys, HEIGHT)
        parts.append(
            Markup(
                '<image href="{}" x="{:.1f}" y="{:.1f}" width="{m}" height="{m}"/>'
                '<rect class="map-{}" x="{:.1f}" y="{:.1f}" width="{m}" height="{m}"/>'
            ).format(data_uri(image), left, top, kind, left, top, m=MARK)
        )
    return drawing(
        parts, f"{len(found['pictures'])} pictures of the prompt among {len(found['variations'])} of variations"
    )


def openbias(section: Record) -> list[PlotTable]:
    """The entropy scores of the closed questions about each prompt."""
    scale = unit_scale()
    tables = []
    for (prompt,), entries in grouped(section["openbias"], ["prompt"]).items():
        rows = [
            Row(
                capital(perceived(e["axis"])),
                track(scale, e["score"], e["axis"], measured(e["score"])),
                (measured(e["score"]), number(e["score"].get("null")), probability(e["score"].get("q"))),
                strong=bool(exceeds_chance(e["score"])),
                note="" if is_estimate(e["score"]) else reason(e["score"]),
            )
            for e in entries
        ]
        legend = (("dot", "1 - H / ln K"), ("line", "interval for the true score"), ("null", "what chance alone gives"))
        caption = f"Entropy score of each question about {quote(prompt, 80)}: 0 for equal answers, 1 for one alone"
        tables.append(PlotTable(caption, "Question", scale_axis(scale), ("score", "chance", "q"), tuple(rows), legend))
    return tables


def _extent(entry: Record) -> list[float]:
    fresh = entry["fresh_score"]
    known = [fresh["value"], fresh.get("low"), fresh.get("high"), _found(entry), *(entry.get("null_range") or ())]
    return [value for value in known if value is not None]


def _found(entry: Record) -> float | None:
    value = entry["score"].get("value")
    return None if value is None else float(value)


def _q(entry: Record) -> str:
    return probability(entry["fresh_score"].get("q")) if entry["fresh_score"].get("q") is not None else ABSENT


def _lane(scale: Scale, entry: Record) -> Markup:
    fresh, found, chance = entry["fresh_score"], _found(entry), entry.get("null_range")
    parts = [Markup('<line class="grid" x1="{0}" x2="{0}" y1="0" y2="24"/>').format(scale.at(t)) for t in scale.ticks]
    if chance:
        width = f"{float(scale.at(chance[1])[:-1]) - float(scale.at(chance[0])[:-1]):.2f}%"
        parts.append(
            Markup('<rect class="null" x="{}" width="{}" y="2" height="20"/>').format(scale.at(chance[0]), width)
        )
    if fresh.get("low") is not None and fresh.get("high") is not None:
        parts.append(
            Markup('<line class="whisker" x1="{}" x2="{}" y1="12" y2="12"/>').format(
                scale.at(fresh["low"]), scale.at(fresh["high"])
            )
        )
    if found is not None:
        parts.append(Markup('<circle class="dot hollow" cx="{}" cy="12" r="4"/>').format(scale.at(found)))
    parts.append(Markup('<circle class="dot" cx="{}" cy="12" r="5"/>').format(scale.at(fresh["value"])))
    said = f"{measured(fresh, score)} on fresh seeds"
    return Markup(
        '<svg class="track" width="100%" height="24" role="img"><title>{}</title><desc>{}</desc>{}</svg>'
    ).format(entry["prompt"], said, Markup("").join(parts))


def _places(plane: Plane, history: Sequence[Record]) -> dict[str, tuple[float, float]]:
    """By prompt its point; the prompts of an iteration stand side by side in the order of their evaluation."""
    found = {}
    for entry in history:
        count = len(entry["prompts"])
        for k, prompt in enumerate(entry["prompts"]):
            if prompt["score"] is not None:
                aside = _SPREAD * (2 * k / (count - 1) - 1) if count > 1 else 0.0
                found[prompt["prompt"]] = (plane.x(entry["iteration"] + aside), plane.y(prompt["score"]))
    return found


def axes(plane: Plane) -> Markup:
    """Ticks and grid lines of the losses, and the numbers of the iterations."""
    scale, bottom = plane.scale, HEIGHT - _BOTTOM
    rows = [
        Markup('<line class="grid-line" x1="{}" x2="{}" y1="{:.1f}" y2="{:.1f}"/><text x="{}" y="{:.1f}" '
               'text-anchor="end">{}</text>').format(
            _LEFT, WIDTH - _RIGHT, plane.y(tick), plane.y(tick), _LEFT - 8, plane.y(tick) + 4, label
        )
        for tick, label in zip(scale.ticks, scale.labels, strict=True)
    ]  # fmt: skip
    every = max(1, -(-plane.iterations // 13))
    columns = [
        Markup('<text x="{:.1f}" y="{}" text-anchor="middle">{}</text>').format(plane.x(k), bottom + 18, k + 1)
        for k in range(0, plane.iterations, every)
    ]
    name = Markup('<text x="{}" y="{}" text-anchor="middle">iteration</text>').format(WIDTH / 2, HEIGHT - 6)
    return Markup("").join([*rows, *columns, name])


def _lines(history: Sequence[Record], places: Mapping[str, tuple[float, float]], line: set[str]) -> Markup:
    """From every prompt to its mutations; the line of the prompt that won stands out, above the others."""
    plain: list[Markup] = []
    won: list[Markup] = []
    for entry in history:
        for prompt in entry["prompts"]:
            start, end = places.get(prompt["parent"] or ""), places.get(prompt["prompt"])
            if start is None or end is None:
                continue
            is_won = {prompt["prompt"], prompt["parent"]} <= line
            kind = "descent won" if is_won else "descent"
            mark = Markup('<line class="{}" x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}"/>')
            (won if is_won else plain).append(mark.format(kind, *start, *end))
    return Markup("").join([*plain, *won])


def _points(history: Sequence[Record], places: Mapping[str, tuple[float, float]], line: set[str]) -> Markup:
    parts = []
    for entry in history:
        for prompt in entry["prompts"]:
            if (place := places.get(prompt["prompt"])) is None:
                continue
            kind = f"point {prompt['origin']}" + (" won" if prompt["prompt"] in line else "")
            parts.append(
                Markup('<circle class="{}" cx="{:.1f}" cy="{:.1f}" r="4"><title>{}: {}</title></circle>').format(
                    kind, *place, shorten(prompt["prompt"], 80), score(prompt["score"])
                )
            )
    return Markup("").join(parts)


def _label(prompt: str, places: Mapping[str, tuple[float, float]]) -> Markup:
    """The text of a prompt below its point, turned to the side that has room."""
    x, y = places[prompt]
    return Markup('<text class="name" x="{:.1f}" y="{:.1f}" text-anchor="{}">{}</text>').format(
        x, y + 18, "start" if x < WIDTH / 2 else "end", shorten(prompt, 50)
    )


def _record(plane: Plane, entries: Sequence[Record], kind: str) -> Markup:
    """The best loss so far as steps."""
    known = [e for e in sorted(entries, key=lambda e: e["iteration"]) if e["best_so_far"] is not None]
    points = [
        f"{x:.1f},{plane.y(e['best_so_far']):.1f}"
        for e in known
        for x in (plane.x(e["iteration"] - 0.5), plane.x(e["iteration"] + 0.5))
    ]
    return Markup('<polyline class="{}" points="{}"/>').format(kind, " ".join(points))


def _means(entries: Sequence[Record]) -> list[Record]:
    """The mean over the searches, iteration by iteration."""
    by_iteration: dict[int, list[float]] = {}
    for e in entries:
        if e["best_so_far"] is not None:
            by_iteration.setdefault(e["iteration"], []).append(e["best_so_far"])
    return [{"iteration": k, "best_so_far": sum(some) / len(some)} for k, some in sorted(by_iteration.items())]


def _within(value: float, values: Sequence[float], size: int) -> float:
    reach = max(values) - min(values)
    return (size - MARK) * ((value - min(values)) / reach if reach else 0.5)


def drawing(parts: Sequence[Markup], title: str) -> Markup:
    """The parts as one picture, which scrolls on a narrow screen."""
    return Markup(
        '<div class="wide" role="region" aria-label="{}" tabindex="0">'
        '<svg class="course" viewBox="0 0 {} {}" role="img"><title>{}</title>{}</svg></div>'
    ).format(title, WIDTH, HEIGHT, title, Markup("").join(parts))
