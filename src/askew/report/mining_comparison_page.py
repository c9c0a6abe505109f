"""The page of a comparison of searches: one HTML file that needs nothing else, in the look of the report."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup

from askew.methods.mining_comparison import GIVEN
from askew.report import formatting
from askew.report.figures import Matrix, PlotTable, Row
from askew.report.formatting import Record, measured, number, probability, shorten
from askew.report.html import page_environment
from askew.report.mining_comparison import MiningComparisonReading, headline, own_sentence, similarity_sentence
from askew.report.mining_sentences import score
from askew.report.plots import scale_axis, signed_scale, small_track, track
from askew.report.reading import exceeds_chance, is_estimate
from askew.report.score_strips import Strip, strip, strip_scale, strip_table
from askew.report.thumbnails import Grid, OpenPicture, grid

PICTURES = 8
"""Of each model for a prompt that is shown."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A prompt on whose score the models part most, with some pictures of each."""

    prompt: str
    mined_for: str
    rows: list[tuple[str, float, Grid]]


def write_mining_comparison(results: Record, open_picture: OpenPicture, path: Path) -> Path:
    """Writes the page to `path` and returns it. The same results and pictures give the same bytes."""
    unfinished = path.with_name(f"{path.name}.part")
    unfinished.write_text(render_mining_comparison(results, open_picture), encoding="utf-8")
    os.replace(unfinished, path)
    return path


def render_mining_comparison(results: Record, open_picture: OpenPicture) -> str:
    """The page as text."""
    reading, environment = MiningComparisonReading(results), page_environment()
    style = "\n".join(environment.get_template(name).render() for name in ("report.css", "mining.css"))
    similarity = reading.section["similarity"]
    page = environment.get_template("mining_comparison.html.j2").render(
        results=results,
        reading=reading,
        headline=headline(reading),
        own=own_sentence(reading),
        ranking=ranking(reading),
        matrix=matrix(reading) if len(reading.sets) > 1 else None,
        differences=[differences(reading, name) for name in (None, *(reading.sets if len(reading.sets) > 1 else ()))],
        similarity=similarities(similarity) if len({e["of"] for e in similarity}) > 1 else None,
        similarity_sentence=similarity_sentence(similarity, GIVEN),
        pictures=[one for name in reading.sets if (one := _shown(reading, name, open_picture))],
        style=Markup(style),
    )
    return formatting.clean(page)


def ranking(reading: MiningComparisonReading) -> PlotTable | None:
    """Every model's scores of all prompts."""
    strips = [Strip(e["model"], list(reading.scores(e["model"]).values()), e["score"]) for e in reading.ranking]
    return strip_table(strips, "Scores of all prompts. Further left is more one-sided", reading.vary or "Model")


def matrix(reading: MiningComparisonReading) -> Matrix:
    """The scores of every model on the prompts mined for every other."""
    entries = {(m, s): reading.cell(m, s) for m in reading.models for s in reading.sets}
    strips = {
        key: Strip(f"{key[0]} on prompts mined for {key[1]}", [v for _, v in e["prompts"] if v is not None], e["score"])
        for key, e in entries.items()
    }
    scale = strip_scale(strips.values())
    own = {(one["condition"], one["name"]) for one in reading.results["plan"]["sets"]}
    rows = [
        (
            shorten(m, 60),
            None,
            tuple(
                (strip(scale, strips[m, s]), score(entries[m, s]["score"].get("value")), (m, s) in own)
                for s in reading.sets
            ),
        )
        for m in reading.models
    ]
    note = f"Every cell runs from {scale.labels[0]} to {scale.labels[-1]}. Bold: prompts mined for this model."
    columns = tuple(f"mined for {shorten(s, 40)}" for s in reading.sets)
    return Matrix("Scores of each model on the prompts mined for each", "Model", columns, tuple(rows), note)


def differences(reading: MiningComparisonReading, mined_for: str | None) -> PlotTable:
    """Paired differences, over all prompts or over those of one set."""
    entries = reading.differences(mined_for)
    scale = signed_scale(entry["difference"] for entry in entries)
    rows = [
        Row(
            f"{shorten(e['models'][1], 40)} less {shorten(e['models'][0], 40)}",
            track(scale, e["difference"], f"{e['models'][1]} less {e['models'][0]}", measured(e["difference"], score)),
            (measured(e["difference"], score), probability(e["difference"].get("q"))),
            strong=exceeds_chance(e["difference"]) is True,
            note="" if is_estimate(e["difference"]) else formatting.reason(e["difference"]),
        )
        for e in entries
    ]
    where = "all prompts" if mined_for is None else f"the prompts mined for {shorten(mined_for, 60)}"
    caption = f"Differences of the mean score over {where}, prompt by prompt. Left of 0: the first named is lower"
    legend = (("dot", "difference"), ("line", "interval over prompts"))
    return PlotTable(caption, "Models", scale_axis(scale), ("difference", "q"), tuple(rows), legend)


def similarities(entries: list[Record]) -> Matrix:
    """How near the texts of the sets are."""
    names = list(dict.fromkeys(e["of"] for e in entries))
    cosines = {(e["of"], e["among"]): e["cosine"]["value"] for e in entries}
    rows = [
        (
            shorten(a, 60),
            None,
            tuple((small_track(cosines[a, b], None, f"{a} among {b}", hollow=a == b), number(cosines[a, b], 3), False)
                  for b in names),
        )
        for a in names
    ]  # fmt: skip
    note = (
        "Every cell runs from 0 to 1: the mean cosine of a prompt (row) to the nearest of equally many prompts of a "
        "set (column). Hollow: its own set, without itself."
    )
    columns = tuple(shorten(name, 40) for name in names)
    return Matrix("How near the prompts of the sets are to each other", "Prompts of", columns, tuple(rows), note)


def _shown(reading: MiningComparisonReading, mined_for: str, open_picture: OpenPicture) -> Shown | None:
    """The prompt of a set on which the models' scores differ most; None where no prompt has two scores."""
    scores: dict[str, dict[str, float]] = {}
    for model in reading.models:
        for text, value in reading.cell(model, mined_for)["prompts"]:
            if value is not None:
                scores.setdefault(text, {})[model] = value
    several = {text: found for text, found in scores.items() if len(found) > 1}
    if not several:
        return None
    prompt = max(several, key=lambda text: max(several[text].values()) - min(several[text].values()))
    sets: Mapping[tuple[str, str], Record] = {(e["model"], e["prompt"]): e for e in reading.results["sets"]}
    rows = [
        (model, value, shown)
        for model, value in several[prompt].items()
        if (shown := grid(sets.get((model, prompt)), open_picture, PICTURES))
    ]
    return Shown(prompt, mined_for, rows)
