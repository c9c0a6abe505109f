"""The report of edits: one HTML file that needs nothing else, made from results.json and the pictures."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup

from askew.plans.reading import make_plan
from askew.report import editing_figures as figures
from askew.report import formatting
from askew.report.editing_sentences import answer, gender_sentence, neutrality_sentence, skin_sentence
from askew.report.figures import PlotTable
from askew.report.formatting import Record
from askew.report.html import missing_rows, page_environment
from askew.report.reading import Reading, exceeds_chance, grouped
from askew.report.thumbnails import TOTAL, OpenPicture, Thumbnail, data_uri, grid

CONTRASTS = 12
"""Rows of a figure of differences before the rest is folded away."""


@dataclass(frozen=True, slots=True)
class Faces:
    """Average faces of the groups: one row a group, (caption, data URI or None) in every cell."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[tuple[str, str | None], ...]], ...]


@dataclass(frozen=True, slots=True)
class Strips:
    """Sources of a group, and below each of them its edits: rows are (label, pictures)."""

    group: str
    word: str
    shown: int
    of: int
    rows: tuple[tuple[str, tuple[Thumbnail, ...]], ...]


@dataclass(frozen=True, slots=True)
class TargetSection:
    """All that the page shows of one set of targets."""

    name: str
    words: tuple[str, ...]
    sentences: list[str]
    gender: PlotTable
    skin: PlotTable
    identity: PlotTable


def write_editing(results: Record, open_picture: OpenPicture, path: Path) -> Path:
    """Writes the report to `path` and returns it. The same results and pictures give the same bytes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f"{path.name}.part")
    unfinished.write_text(render_editing(results, open_picture), encoding="utf-8")
    os.replace(unfinished, path)
    return path


def render_editing(results: Record, open_picture: OpenPicture) -> str:
    """The report's page as text."""
    reading, environment = Reading(results), page_environment()
    style = "\n".join(environment.get_template(name).render() for name in ("report.css", "editing.css"))
    strengths = sorted({entry["strength"] for entry in results["editing"]})
    page = environment.get_template("editing.html.j2").render(
        results=results,
        reading=reading,
        answer=answer(results),
        faces=_faces(results, open_picture),
        sections=[_section(found, results) for found in grouped(results["editing"], ["targets"]).values()],
        by_gender=figures.pooled_figure(results, "gender", "gender_change"),
        by_ethnicity=figures.pooled_figure(results, "ethnicity", "ita_change"),
        paper=figures.paper_table(results),
        words=figures.words_table(results),
        scheme=results["editing"][0]["tone_scheme"],
        tones=figures.tone_tables(results),
        exposure=figures.exposure_table(results["editing"]),
        axes=[figures.axes_table([e for e in results["editing"] if e["strength"] == s]) for s in reversed(strengths)],
        contrasts=[figure for score in ("gender_change", "ita_change") for figure in _contrasts(results, score)],
        neutrality=[neutrality_sentence(entry) for entry in results["neutrality"]],
        strips=_strips(reading, open_picture),
        missing=missing_rows(reading),
        plan_text=make_plan(dict(results["plan"])).to_toml(),
        style=Markup(style),
    )
    return formatting.clean(page)


def _section(entries: Sequence[Record], results: Record) -> TargetSection:
    name, strengths = entries[0]["targets"], sorted({entry["strength"] for entry in entries})
    said = [make(results, name, s) for s in strengths for make in (gender_sentence, skin_sentence)]
    return TargetSection(
        name,
        tuple(entries[0]["words"]),
        [sentence for sentence in said if sentence],
        figures.gender_figure(entries),
        figures.skin_figure(entries),
        figures.identity_figure(entries),
    )


def _contrasts(results: Record, score: str) -> list[tuple[str, list[PlotTable]]]:
    """By kind of contrast, one figure of the first rows and one of the rest, those beyond chance first."""
    titles = {"group": "groups", "targets": "sets of targets", "strength": "strengths"}
    found = []
    for (kind,), entries in grouped(results["editing_contrasts"], ["contrast"]).items():
        ordered = sorted(entries, key=lambda e: (not exceeds_chance(e[score]), -abs(e[score].get("value") or 0.0)))
        parts = [ordered[:CONTRASTS], ordered[CONTRASTS:]]
        what = "perceived gender" if score == "gender_change" else "skin tone"
        found.append(
            (f"Between {titles[kind]}: {what}", [figures.contrasts_figure(part, score) for part in parts if part])
        )
    return found


def _faces(results: Record, open_picture: OpenPicture) -> Faces | None:
    """The paper's figures 1, 14 and 15: a row per group; the sources first, then each set of targets by strength."""
    found = results["average_faces"]
    if not found:
        return None
    columns = list(dict.fromkeys((entry["targets"], entry["strength"]) for entry in found))
    titles = tuple("sources" if name is None else f"{name} {strength:g}" for name, strength in columns)
    tones = _tones(results)
    rows = []
    for (group,), entries in grouped(found, ["group"]).items():
        by_column = {(entry["targets"], entry["strength"]): entry for entry in entries}
        cells = [
            (tones.get((group, *column), ""), _large(by_column[column]["picture"], open_picture)) for column in columns
        ]
        rows.append((group, tuple(cells)))
    return Faces(titles, tuple(rows))


def _tones(results: Record) -> dict[tuple[str, str | None, float | None], str]:
    """ITA of every average face, in words."""
    found: dict[tuple[str, str | None, float | None], str] = {}
    for entry in results["editing"]:
        face = entry["average_face"]
        if face is None:
            continue
        for name, place in (("ita_before", (None, None)), ("ita_after", (entry["targets"], entry["strength"]))):
            value = face[name].get("value")
            found[entry["group"], *place] = "no skin found" if value is None else f"{formatting.number(value, 1)}°"
    return found


def _large(picture: str | None, open_picture: OpenPicture) -> str | None:
    image = None if picture is None else open_picture(picture)
    return None if image is None else data_uri(image)


def _strips(reading: Reading, open_picture: OpenPicture) -> list[Strips]:
    """For every group and target its first pictures, above their edits at every strength."""
    sets = {(s["prompt"], s["axis"], s["value"]): s for s in reading.part("sets")}
    plan = reading.plan
    words = list(dict.fromkeys(word for some in plan["targets"].values() for word in some))
    strengths = sorted(plan["strengths"])
    most = max(4, min(12, TOTAL // (len(plan["groups"]) * len(words) * (len(strengths) + 1))))
    found = []
    for group in plan["groups"]:
        for word in words:
            chosen = [("source", sets.get((group, None, None)))]
            chosen += [(f"{s:g}", sets.get((group, "edit", f"{word} {s:g}"))) for s in strengths]
            grids = [(label, grid(one, open_picture, most)) for label, one in chosen]
            rows = tuple((label, g.cells) for label, g in grids if g is not None)
            of = next((g.planned for _, g in grids if g is not None), 0)
            found.append(Strips(group, word, min(most, of), of, rows))
    return found
