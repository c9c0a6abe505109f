"""The report: one HTML file that needs nothing else, made from results.json and the pictures."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from askew.errors import UsageError
from askew.plans.reading import make_plan
from askew.report import figures, formatting, sentences
from askew.report.formatting import Record
from askew.report.reading import Reading, grouped, is_estimate, leaning, ranked_axes
from askew.report.thumbnails import Allowance, Grid, OpenPicture, grid


def write_report(results: Record, open_picture: OpenPicture, path: Path) -> Path:
    """Writes the report to `path` and returns it. The same results and pictures give the same bytes.

    `open_picture` maps a picture id to its image, or to None if there is no such picture any more.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f"{path.name}.part")
    unfinished.write_text(render(results, open_picture), encoding="utf-8")
    os.replace(unfinished, path)
    return path


def render(results: Record, open_picture: OpenPicture) -> str:
    """The report's page as text."""
    reading = Reading(results)
    environment = page_environment()
    style = environment.get_template("report.css").render()
    page = environment.get_template("report.html.j2").render(
        results=results,
        reading=reading,
        headline=sentences.headline(results),
        prompts=_prompt_sections(reading, open_picture),
        domains=[(entry, figures.domain(entry)) for entry in reading.part("domain")],
        folder=_folder_section(reading, open_picture),
        missing=missing_rows(reading),
        plan_text=_plan_text(reading.plan),
        style=Markup(style),
    )
    return formatting.clean(page)


@dataclass(frozen=True, slots=True)
class AxisSection:
    """All that the report shows of one axis of one prompt."""

    anchor: str
    name: str
    axis: Record
    finding: sentences.Finding
    associations: figures.PlotTable
    shares: list[figures.PlotTable]
    concepts: figures.Matrix | None
    grids: list[tuple[str, str, Grid]]
    counterfactual_shares: list[tuple[str, Record]]


@dataclass(frozen=True, slots=True)
class PromptSection:
    """All that the report shows of one prompt."""

    anchor: str
    prompt: str
    entry: Record
    leaning: int
    ranking: figures.PlotTable
    pictures: Grid | None
    axes: list[AxisSection]


@dataclass(frozen=True, slots=True)
class FolderSection:
    """Shares that stand for themselves: of a folder's pictures, or of axes without counterfactuals."""

    distances: list[figures.PlotTable]
    groups: list[tuple[str, list[tuple[str, figures.PlotTable]]]]
    grids: list[tuple[str, str, Grid]]


def _prompt_sections(reading: Reading, open_picture: OpenPicture) -> list[PromptSection]:
    sets = reading.part("sets")
    initial = sum(s["axis"] is None for s in sets)
    allowance = Allowance.of(initial, len(sets) - initial)
    anchors = Anchors()
    return [_prompt_section(reading, entry, anchors, open_picture, allowance) for entry in reading.tibet]


def _prompt_section(
    reading: Reading, entry: Record, anchors: Anchors, open_picture: OpenPicture, allowance: Allowance
) -> PromptSection:
    prompt, axes = entry["prompt"], ranked_axes(entry)
    anchor = anchors.make(prompt)
    names = {name: anchors.make(f"{anchor} {name}") for name, _ in axes}
    return PromptSection(
        anchor,
        prompt,
        entry,
        leaning(axis for _, axis in axes),
        figures.ranking(entry, names),
        grid(reading.set_of(prompt, None, None), open_picture, allowance.initial),
        [_axis_section(reading, prompt, name, axis, names[name], open_picture, allowance.strip) for name, axis in axes],
    )


def _axis_section(
    reading: Reading, prompt: str, name: str, axis: Record, anchor: str, open_picture: OpenPicture, strip: int
) -> AxisSection:
    chosen = [("initial", prompt, reading.set_of(prompt, None, None))]
    for value in axis["cas"]:
        picture_set = reading.set_of(prompt, name, value)
        chosen.append((value, picture_set["text"] if picture_set else "", picture_set))
    grids = [(title, text, g) for title, text, s in chosen if (g := grid(s, open_picture, strip)) is not None]
    own = [(v, s) for v in axis["cas"] for s in reading.shares_of(prompt, f"{name}: {v}", name)]
    return AxisSection(
        anchor,
        name,
        axis,
        sentences.axis_finding(reading, prompt, name),
        figures.associations(name, axis),
        [figures.shares(s) for s in reading.shares_of(prompt, "initial", name)],
        figures.concepts(axis),
        grids,
        own,
    )


def _folder_section(reading: Reading, open_picture: OpenPicture) -> FolderSection | None:
    entries = reading.other_shares
    if not entries:
        return None
    groups = [
        (prompt, [(sentences.shares_sentence(s), figures.shares(s)) for s in found])
        for (prompt,), found in grouped(entries, ["prompt"]).items()
    ]
    return FolderSection(
        [figures.distances(found) for found in grouped(entries, ["axis"]).values()],
        groups,
        [] if reading.tibet else _all_grids(reading, open_picture),
    )


def _all_grids(reading: Reading, open_picture: OpenPicture) -> list[tuple[str, str, Grid]]:
    sets = reading.part("sets")
    most = Allowance.of(len(sets), 0).initial
    named = [
        (s["prompt"], f"{s['axis']}: {s['value']}" if s["axis"] else "", grid(s, open_picture, most)) for s in sets
    ]
    return [(prompt, where, g) for prompt, where, g in named if g is not None]


def missing_rows(reading: Reading) -> list[tuple[str, str, int, Mapping[str, int]]]:
    """What is missing: (what, where, of how many, {reason: count}), only where something is."""
    rows = [
        ("pictures", _where(s["prompt"], s["axis"], s["value"]), len(s["pictures"]), s["missing"])
        for s in reading.part("sets")
    ]
    for s in reading.part("shares"):
        absent = s.get("missing") or {}
        asked = sum((s.get("counts") or {}).values()) + sum(absent.values())
        where = f"{formatting.shorten(s['prompt'], 60)} – {sentences.set_label(s['set'])}"
        rows.append((f"{formatting.perceived(s['axis'])} by {s['instrument']}", where, asked, absent))
    return [row for row in rows if any((row[3] or {}).values())]


def _where(prompt: str, axis: str | None, value: str | None) -> str:
    picture_set = "initial" if axis is None else f"{axis}: {value}"
    return f"{formatting.shorten(prompt, 60)} – {sentences.set_label(picture_set)}"


def _plan_text(plan: Record) -> str:
    """The plan as TOML; as JSON if it comes from a version whose plans looked different."""
    try:
        return make_plan(dict(plan)).to_toml()
    except UsageError:
        return json.dumps(plan, indent=2, ensure_ascii=False)


class Anchors:
    """Readable anchors, each used once."""

    def __init__(self) -> None:
        self._used: set[str] = set()

    def make(self, text: str) -> str:
        stem = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:60] or "section"
        name, k = f"p-{stem.removeprefix('p-')}", 2
        while name in self._used:
            name, k = f"p-{stem.removeprefix('p-')}-{k}", k + 1
        self._used.add(name)
        return name


def page_environment() -> Environment:
    """Templates, with the filters that write numbers and names."""
    environment = Environment(
        loader=PackageLoader("askew.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=False,
    )
    for name in (
        "axis_label",
        "capital",
        "interval",
        "listing",
        "measured",
        "number",
        "perceived",
        "percent",
        "plural",
    ):
        environment.filters[name] = getattr(formatting, name)
    for name in ("probability", "quote", "reason", "shorten", "thousands"):
        environment.filters[name] = getattr(formatting, name)
    environment.filters["set_label"] = sentences.set_label
    environment.filters["difference_sentence"] = sentences.difference_sentence
    environment.filters["missing_pictures_sentence"] = sentences.missing_pictures_sentence
    environment.filters["domain_sentence"] = sentences.domain_sentence
    environment.globals["overview"] = figures.overview
    environment.globals["difference_figure"] = figures.differences
    environment.tests["estimate"] = is_estimate
    return environment
