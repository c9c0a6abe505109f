"""Sections of the reports on concept and axis studies."""

from collections.abc import Iterator

from askew.pages import blocks as b
from askew.pages.words import capital, describe_score, measured, set_label, shorten
from askew.people.agreement import ALL
from askew.people.findings import SelectionFindings, SelectionScores
from askew.people.records import StudyKind
from askew.types import Estimate


def selection_headline(kind: StudyKind, selections: SelectionFindings) -> str:
    """Return a sentence that states what share of the run's proposals people confirm."""
    for entry in selections.scores:
        if isinstance(entry.precision, Estimate):
            share = describe_score(entry.precision, scale="share")
            thing = "concepts of the instrument" if kind == "concepts" else "axes of the run"
            return f"People confirm {share} of the {thing} that they saw in lists."
    return "There are not enough answers for a result."


def selection_sections(kind: StudyKind, selections: SelectionFindings) -> Iterator[b.Section]:
    """Yield the sections that show precision and recall, counts per option, and raters' texts."""
    yield b.Section(capital(kind), [_scores_table(kind, selections)])
    rows: list[tuple[b.Content, ...]] = []
    for option in selections.options:
        proposed = "yes" if option.proposed else "no"
        rows.append((shorten(option.option, 60), proposed, option.answers, option.chosen))
    heads = (kind.removesuffix("s").replace("axe", "axis"), "proposed", "answers", "chosen")
    yield b.Section(
        "Options",
        [
            b.Table(
                "Options. Proposals that people chose least often come first", heads, tuple(rows)
            )
        ],
        screen=False,
    )
    if selections.free_text:
        texts = tuple((shorten(text, 80), count) for text, count in selections.free_text)
        table = b.Table("Answers that raters added", ("text", "answers"), texts)
        yield b.Section("Further answers", [table], screen=False)


def _scores_table(kind: StudyKind, selections: SelectionFindings) -> b.Table:
    rows: list[tuple[b.Content, ...]] = []
    for entry in selections.scores:
        rows.append(
            (
                shorten(entry.run, 40),
                _group(entry),
                measured(entry.precision, "share"),
                measured(entry.recall, "share"),
                measured(entry.others, "share"),
                measured(entry.precision_by_majority, "share"),
                measured(entry.recall_by_majority, "share"),
            )
        )
    heads = (
        "run",
        "lists",
        "precision",
        "recall",
        "others chosen",
        "precision by majority",
        "recall by majority",
    )
    caption = (
        "Axes that the run proposes, compared with axes that people choose (TIBET, table 2)"
        if kind == "axes"
        else "Concepts from the instrument, compared with concepts that people see (TIBET, user study 3)"
    )
    return b.Table(caption, heads, tuple(rows), labels=2)


def _group(entry: SelectionScores) -> str:
    if entry.group in (ALL, "societal"):
        return f"{entry.group} axes" if entry.group == "societal" else ALL
    return set_label(entry.group)
