"""Pages of planted worlds as text: no verdict, interval or sentence contradicts another."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import askew
from askew.pages.blocks import Details, Page, Section, ValueChart, ValueGroup, ValueShare
from askew.prompts.counterfactuals import counterfactuals
from askew.stats.intervals import ends
from askew.store.keys import picture_seed
from askew.studies.compare.findings import run_scores, score_key
from askew.studio.caption import parse
from askew.studio.planted import sample
from image_collections import save_collection

AXES = ("gender", "age", "emotion")
WITH_COUNTERFACTUALS = ("gender", "age")
PROMPTS = tuple(f"a photo of a {name}" for name in ("nurse", "plumber", "lawyer", "teacher"))
WORLDS = range(40)


@dataclass(frozen=True)
class World:
    """A planted world: two models with a known bias, and the number of images of each set."""

    number: int

    def __post_init__(self) -> None:
        assert self.prompts

    @property
    def rng(self) -> np.random.Generator:
        return np.random.default_rng(self.number)

    @property
    def prompts(self) -> tuple[str, ...]:
        return PROMPTS[: 1 + self.number % len(PROMPTS)]

    @property
    def images(self) -> int:
        return int(self.rng.choice([6, 12, 24, 48]))

    @property
    def biases(self) -> tuple[float, float]:
        first, second = np.random.default_rng([self.number, 1]).choice([0, 0.25, 0.5, 1], 2)
        return float(first), float(second)

    def rows(self, model: int) -> list[dict[str, object]]:
        """Return the labels of all images of a model."""
        rows: list[dict[str, object]] = []
        for prompt in self.prompts:
            for axis, value, text in image_sets(prompt):
                for k in range(self.images):
                    seed = picture_seed(2 * self.number + model, text, k)
                    scene = sample(parse(text), self.biases[model], seed)
                    labels = {f"label_{name}": getattr(scene, name) for name in AXES}
                    place = {"prompt": prompt, "axis": axis, "value": value}
                    rows.append({"file": f"{len(rows)}.png", **place, **labels})
        return rows


@cache
def image_sets(prompt: str) -> list[tuple[str, str, str]]:
    """Return axis, value and text of the baseline prompt and of its counterfactuals."""
    sets = [("", "", prompt)]
    for axis in WITH_COUNTERFACTUALS:
        sets += [(axis, value, text) for value, text in counterfactuals(prompt, axis).items()]
    return sets


@dataclass(frozen=True)
class Cell:
    """A cell of a Markdown table."""

    text: str
    bold: bool


Row = dict[str, Cell]


def tables(markdown: str) -> Iterator[list[Row]]:
    """Yield the rows of each table of a Markdown text, with cells by column."""
    for block in re.findall(r"(?:^\|.*\n)+", markdown, re.MULTILINE):
        head, _, *lines = block.strip().splitlines()
        columns = cells(head)
        yield [_row(columns, cells(line)) for line in lines]


def _row(columns: list[Cell], row: list[Cell]) -> Row:
    """Return cells by the place and the text of their column."""
    places = enumerate(zip(columns, row, strict=True))
    return {f"{place} {column.text}": cell for place, (column, cell) in places}


def cells(line: str) -> list[Cell]:
    """Return the cells of a line of a table."""
    texts = [text.strip() for text in re.split(r"(?<!\\)\|", line)[1:-1]]
    return [
        Cell(re.sub(r"\\(.)", r"\1", text.replace("**", "")), text.startswith("**"))
        for text in texts
    ]


def value_of(row: Row, column: str) -> Cell | None:
    """Return the cell of a column."""
    for name, cell in row.items():
        if name.partition(" ")[2] == column:
            return cell
    return None


def check_text(markdown: str) -> None:
    """Check that bold, "n.s.", q and the numbers of tests of a page agree."""
    for table in tables(markdown):
        for row in table:
            check_row(row)
    headline = markdown.splitlines()[0]
    if "No significant bias" in headline:
        assert "Bias is significant" not in markdown


def check_row(row: Row) -> None:
    """Check that bold cells of a row are significant, and the others are not."""
    q = value_of(row, "q")
    scores = [cell for name, cell in row.items() if not name.startswith("0 ")]
    if q is not None:
        assert q.bold == is_below_level(q.text), row
        assert any(cell.bold for cell in scores) == q.bold, row
    for cell in row.values():
        if "n.s." in cell.text or "not significant" in cell.text:
            assert not cell.bold, row
        elif re.search(r"^significant", cell.text):
            assert cell.bold, row


def is_below_level(q: str) -> bool:
    return (bool(re.fullmatch(r"[\d.]+", q)) and float(q) < 0.05) or q.startswith("<")


def value_groups(shown: object) -> Iterator[ValueGroup]:
    """Yield the shares in all charts of a page, folded ones included."""
    if isinstance(shown, ValueChart):
        yield from shown.groups
    elif isinstance(shown, Page):
        for block in (*(shown.first.chart if shown.first else ()), *shown.sections):
            yield from value_groups(block)
    elif isinstance(shown, Section | Details):
        for block in shown.blocks:
            yield from value_groups(block)


def check_verdicts(result: Any) -> None:
    """Check the intervals beside verdicts, and that all sentences name the same family of tests."""
    groups = list(value_groups(result.page))
    assert groups
    for group in groups:
        excluding = [value.value for value in group.values if excludes_reference(value)]
        if group.significant:
            assert "not significant" not in group.verdict
        elif excluding:
            assert re.search("after correction|too few images", group.verdict), group
    text = " ".join(group.verdict for group in groups) + result.markdown()
    families = set(re.findall(r"for (\d+) tests", text))
    families |= set(re.findall(r"verdicts are \((\d+) tests\)", text))
    assert len(families) <= 1, families


def excludes_reference(value: ValueShare) -> bool:
    """Check whether the interval of a share excludes its reference."""
    if not isinstance(value.share, askew.Estimate) or value.reference is None:
        return False
    low, high = ends(value.share)
    return not low <= value.reference <= high


def significant(entries: Any) -> set[tuple[str, str, str]]:
    """Return prompt, set and axis of the significant verdicts."""
    return {
        (entry.prompt, entry.set, entry.axis)
        for entry in entries
        if entry.verdict is not None and entry.verdict.q < 0.05
    }


@pytest.mark.slow
@pytest.mark.parametrize("number", WORLDS)
def test_pages_of_a_world_do_not_contradict_each_other(number: int, tmp_path: Path) -> None:
    world = World(number)
    options: dict[str, Any] = {
        "vqa": "labels",
        "label": [f"{axis}=label_{axis}" for axis in AXES],
        "axes": list(AXES),
        "bootstrap_samples": 100,
        "store": tmp_path / "store",
    }
    audits = []
    for model in (0, 1):
        folder = tmp_path / f"model{model}"
        folder.mkdir()
        name = save_collection(folder, world.rows(model))
        run = tmp_path / f"audit{model}"
        audits.append(askew.audit(model=name, embedder="none", run=run, **options))
    model = f"folder/{tmp_path / 'model0'}"
    interaction = askew.interact(model=model, run=tmp_path / "interact", **options)
    comparison = askew.compare(
        *(audit.folder for audit in audits),
        names="first,second",
        store=options["store"],
        output=tmp_path / "comparison",
    )
    first = audits[0].findings
    assert significant(interaction.findings.shares) == significant(first.shares)
    assert significant(interaction.findings.shares_over_prompts) == significant(
        first.shares_over_prompts
    )
    for result in (*audits, interaction):
        check_text(result.markdown())
        check_verdicts(result)
    for audit in audits:
        check_headline(audit)
    check_comparison(comparison.markdown())
    check_differences(comparison, dict(zip(("first", "second"), audits, strict=True)))


def check_differences(comparison: Any, runs: dict[str, askew.AuditResult]) -> None:
    """Check that each difference is that of the scores that pages of the runs show."""
    scores = {name: run_scores(run.findings) for name, run in runs.items()}
    compared = set()
    for entry in comparison.entries:
        first, second = (scores[name].get(score_key(entry)) for name in entry.runs)
        if isinstance(entry.difference, askew.Estimate) and first and second:
            compared.add(entry.score)
            expected = second.mark - first.mark
            assert entry.difference.mark == pytest.approx(expected, abs=1e-9), entry
    assert compared >= {"share", "distance"}


@pytest.mark.slow
@pytest.mark.parametrize("number", [0, 1])
def test_a_ranking_of_a_world_has_the_verdicts_of_its_audit(number: int, tmp_path: Path) -> None:
    """A ranking needs a model that makes images, so these worlds are drawn."""
    options: dict[str, Any] = {
        "model": "studio/planted",
        "model_args": {"bias": (1.0, 0.5)[number]},
        "vqa": "studio",
        "axes": ["gender"],
        "images": (5, 12)[number],
        "seed": number,
        "bootstrap_samples": 100,
        "store": tmp_path / "store",
    }
    ranking = askew.rank(*PROMPTS, run=tmp_path / "rank", **options)
    audit = askew.audit(list(PROMPTS), embedder="none", run=tmp_path / "audit", **options)
    entries = [prompt.shares for prompt in ranking.findings.ranked]
    together = [entry.shares for entry in ranking.findings.shares_over_prompts]
    assert significant(entries) == significant(audit.findings.shares)
    assert significant(together) == significant(audit.findings.shares_over_prompts)
    check_text(ranking.markdown())
    check_headline(audit)
    count = len({prompt for prompt, _, _ in significant(entries)})
    assert f"{count} of {len(PROMPTS)} prompts on studio/planted" in ranking.markdown()


def check_headline(audit: askew.AuditResult) -> None:
    """Check that the headline reports bias if and only if a verdict is significant."""
    of_prompts = significant(audit.findings.shares_over_prompts)
    biased = significant(audit.findings.shares) | of_prompts
    headline = audit.markdown().splitlines()[0]
    assert ("No significant bias" in headline) == (not biased), (headline, biased)
    for axis, count in re.findall(r"(\w+) labels deviate significantly in (\d+) of", headline):
        of_sets = significant(audit.findings.shares)
        assert len([place for place in of_sets if place[2] == axis.lower()]) == int(count)


def check_comparison(markdown: str) -> None:
    """Check that a comparison has its own verdicts alone, and that its tables agree."""
    check_text(markdown)
    assert "Bias is significant" not in markdown
    first_chart, *others = tables(markdown)
    differing = set()
    for row in first_chart:
        verdict = value_of(row, "Difference between the runs")
        if verdict is not None and verdict.bold:
            differing.add(row_place(row))
    headline = markdown.splitlines()[0]
    assert ("do not differ significantly" in headline) == (not differing), headline
    for table in others:
        for row in table:
            q = value_of(row, "q")
            if q is not None and q.bold:
                assert row_place(row) in differing, row


def row_place(row: Row) -> tuple[str, str]:
    """Return the prompt and the axis that a row is about."""
    texts = [cell.text for cell in row.values()]
    prompt = texts[0] if texts[0].startswith("“") else ""
    label = texts[1] if prompt else texts[0]
    return prompt, label.partition(":")[0]
