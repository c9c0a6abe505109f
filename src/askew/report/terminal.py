"""Small tables for the terminal: plan previews, providers, sensitivity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from askew.plan import Plan, PromptPlan


def plan_preview(plan: Plan) -> RenderableType:
    """The axes of each prompt with their questions and counterfactual prompts."""
    return Group(*(part for prompt in plan.prompts for part in (Text(prompt.text, style="bold"), _axes(prompt))))


def default_size(plan: Plan) -> str:
    """How much a plan makes whose size the user left open, and how to ask for another."""
    axes = dict.fromkeys(axis.axis().label for prompt in plan.prompts for axis in prompt.axes)
    return (
        f"{len(plan.texts())} prompts x {plan.images} pictures by {plan.model}, for {', '.join(axes)}: "
        "the default size for this model; --axes and --images ask for another"
    )


def providers_table(rows: Sequence[Mapping[str, Any]]) -> RenderableType:
    """What can be named on the command line, by option; presets in a table of their own, with their sizes."""
    providers = _table("option", "name", "what it is")
    presets = _table("--preset", "what it is", "download", "GPU memory")
    for row in rows:
        if "memory_gb" in row:
            sizes = (f"{row[size]:.0f} GB" for size in ("download_gb", "memory_gb"))
            presets.add_row(row["name"], row["summary"], *(Text(size, justify="right") for size in sizes))
        else:
            providers.add_row(row["option"], row["name"], row["summary"])
    return Group(providers, presets)


def sensitivity_table(rows: Sequence[Mapping[str, Any]]) -> RenderableType:
    """Change of the scores by error rate, in percent."""
    table = _table("answers replaced", "CAS", "MAD", "Wasserstein", "standard deviation")
    for row in rows:
        cells = (row[name] for name in ("cas", "mad", "wasserstein", "standard_deviation"))
        table.add_row(f"{row['rate']:.0%}", *("–" if cell is None else f"{cell:.1f} %" for cell in cells))
    return Group(Text("Mean absolute change of the scores when the VQA errs"), table)


def _axes(prompt: PromptPlan) -> Table:
    table = _table("axis", "question", "counterfactual prompts")
    for axis in prompt.axes:
        questions = "\n".join(question.text for question in axis.questions)
        table.add_row(axis.axis().label, Text(questions), Text("\n".join(axis.counterfactuals.values())))
        table.add_section()
    return table


def _table(*headers: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for header in headers:
        table.add_column(header, overflow="fold")
    return table
