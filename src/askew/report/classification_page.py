"""The report of a classification: one HTML file that needs nothing else, made from results.json and the pictures."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup

from askew.plans.classification import ClassificationPlan
from askew.report import classification_figures as figures
from askew.report import classification_sentences as sentences
from askew.report import formatting
from askew.report.classification_reading import ClassificationReading
from askew.report.formatting import Record
from askew.report.html import missing_rows, page_environment
from askew.report.thumbnails import Grid, OpenPicture, grid

SHOWN = 36
"""Pictures of one side of a comparison, at most."""


@dataclass(frozen=True, slots=True)
class Side:
    """The pictures of one group that were taken for one class."""

    group: str
    word: str
    count: int
    of: int
    grid: Grid | None


def write_classification(results: Record, open_picture: OpenPicture, path: Path) -> Path:
    """Writes the report to `path` and returns it. The same results and pictures give the same bytes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f"{path.name}.part")
    unfinished.write_text(render_classification(results, open_picture), encoding="utf-8")
    os.replace(unfinished, path)
    return path


def render_classification(results: Record, open_picture: OpenPicture) -> str:
    """The report's page as text."""
    reading = ClassificationReading(results)
    environment = page_environment()
    style = "\n".join(
        environment.get_template(name).render() for name in ("report.css", "compare.css", "classification.css")
    )
    pairs = [(group, figures.skewed_pairs(reading, group)) for group in reading.groups]
    page = environment.get_template("classification.html.j2").render(
        results=results,
        reading=reading,
        section=reading.section,
        answer=sentences.headline(reading),
        effect=sentences.effect_sentence(reading),
        curve=figures.samples_curve(reading, "association"),
        right_curve=figures.samples_curve(reading, "accuracy"),
        legend=figures.curve_legend(reading, "association"),
        right_legend=figures.curve_legend(reading, "accuracy"),
        left_out=figures.left_out(reading),
        association=figures.rates(reading, "association", _association_caption(reading)),
        accuracy=figures.rates(reading, "accuracy", "Pictures given to the right class, and chance as a line"),
        differentials=figures.differentials(reading),
        other_differentials=figures.differentials(reading, by_error=False),
        effects=figures.effects(reading),
        pairs=[(group, figure) for group, figure in pairs if figure is not None],
        sides=_sides(reading, open_picture),
        truths=_truths(reading),
        recovered=figures.recovered(reading),
        agreements=[sentences.agreement_sentence(entry) for entry in reading.section["agreement"]],
        pruning=sentences.pruning_sentence(reading.section["pruning"]) if reading.section["pruning"] else None,
        missing=missing_rows(reading),
        plan_text=ClassificationPlan.checked(dict(reading.plan)).to_toml(),
        style=Markup(style),
    )
    return formatting.clean(page)


def _association_caption(reading: ClassificationReading) -> str:
    return f"Decisions for the {reading.sets[0]} class of a pair; the line in the middle is no preference"


def _truths(reading: ClassificationReading) -> list[tuple[str, Markup]]:
    """Sentence and figure by pair of groups."""
    return [(sentences.truth_sentence(entry), figures.planted(entry)) for entry in reading.truths()]


def _sides(reading: ClassificationReading, open_picture: OpenPicture) -> list[tuple[Side, Side]]:
    """By group the pictures on both sides of the comparison in which the groups differ most (figures 16 to 19)."""
    comparison = reading.section["comparison"]
    if comparison is None:
        return []
    sets = {s["prompt"]: [one for one in s["pictures"] if one is not None] for s in reading.part("sets")}
    rows = []
    for group, decided in comparison["to_a"].items():
        both = []
        for word, wanted in ((comparison["a"], True), (comparison["b"], False)):
            chosen = [one for one, to_a in zip(sets[group], decided, strict=True) if to_a is wanted]
            both.append(Side(group, word, len(chosen), len(decided), grid({"pictures": chosen}, open_picture, SHOWN)))
        rows.append((both[0], both[1]))
    return rows
