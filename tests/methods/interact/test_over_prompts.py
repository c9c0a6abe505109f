"""Pairs of axes over several prompts: number of associations and agreement of prompts."""

from __future__ import annotations

from dataclasses import replace
from io import StringIO

import numpy as np
import pytest
from rich.console import Console
from scipy import stats

from askew.methods.interact.findings import Graph
from askew.methods.interact.graph import over_prompts
from askew.methods.interact.page import page
from askew.methods.interact.sentences import (
    associated_pairs,
    edge_sentence,
    pooled_disagreements,
)
from askew.pages import terminal
from askew.stats.interaction_graph import heterogeneity
from askew.stats.intervals import simultaneous
from askew.types import Estimate
from planted_graphs import edge, estimate, findings, graph


def with_age(prompt: str, value: float) -> Graph:
    """A graph in which equalizing gender changes the deviation of age by `value`."""
    unchanged = graph(prompt)
    moved = edge("gender", "age", value, 0.06, True)
    return replace(
        unchanged,
        edges=tuple(
            moved if (e.source, e.target) == ("gender", "age") else e for e in unchanged.edges
        ),
    )


NURSE = with_age("a photo of a nurse", -0.3)
CHEF = with_age("a photo of a chef", 0.3)


def test_opposite_effects_do_not_cancel_out() -> None:
    """The pooled graph may have no edge where each prompt has an edge in the opposite direction."""
    entries = {
        (entry.source, entry.target): entry
        for entry in over_prompts([graph(None), NURSE, CHEF], 0.95)
    }
    assert ("gender", "gender") not in entries
    age = entries["gender", "age"]
    assert (age.prompts, age.edges, age.better, age.worse) == (2, 2, 1, 1)
    assert isinstance(age.mean, Estimate)
    assert age.mean.value == pytest.approx(0)
    assert age.p == pytest.approx(stats.combine_pvalues([1e-6, 1e-6]).pvalue)
    assert age.differ_q is not None
    assert age.differ_q < 1e-6
    still = entries["age", "gender"]
    assert (still.better, still.differ_p) == (2, pytest.approx(1))
    assert over_prompts([NURSE], 0.95) == ()


def test_the_page_of_several_prompts_begins_with_the_results_by_prompt() -> None:
    all_graphs = [graph(None), NURSE, CHEF]
    shown = findings(*all_graphs, over_prompts=over_prompts(all_graphs, 0.95))
    console = Console(width=100, file=StringIO(), record=True)
    console.print(terminal.screen(page(shown, None)))  # type: ignore[arg-type]
    text = " ".join(console.export_text().split())
    assert (
        "Over 2 prompts, 3 of 6 pairs of axes are significantly associated in at least one prompt"
        in text
    )
    assert (
        "prompt; the effects differ significantly between prompts for 1 of them. Most often" in text
    )
    age = next(
        entry for entry in shown.over_prompts if (entry.source, entry.target) == ("gender", "age")
    )
    low, high = simultaneous(
        age.mean, len(shown.over_prompts)
    )  # as the page states for its intervals
    assert f"0.00 [−{-low:.2f}, {high:.2f}]" in text
    assert text.index("Pairs of axes that are associated") < text.index(
        "Change of each axis if another axis were uniform"
    )
    assert (
        "The effects of Gender → age differ significantly between prompts. In pooled counts, "
        "opposite effects may cancel out." in text
    )


def test_heterogeneity_is_cochrans_q() -> None:
    effects = [estimate(value, value - 0.1, value + 0.1) for value in (0.0, 0.1, 0.3)]
    error = 0.1 / stats.norm.isf(0.025)
    q = sum(((v - 0.4 / 3) / error) ** 2 for v in (0.0, 0.1, 0.3))
    assert heterogeneity(effects) == pytest.approx(stats.chi2.sf(q, 2))
    assert heterogeneity(effects[:1]) is None


def test_equal_prompts_differ_significantly_in_5_percent_of_cases() -> None:
    rng = np.random.default_rng(0)
    reach = 0.05 * float(stats.norm.isf(0.025))
    p = []
    for _ in range(400):
        effects = [estimate(v, v - reach, v + reach) for v in rng.normal(0.2, 0.05, 6)]
        p.append(heterogeneity(effects) or 0)
    assert np.mean(np.array(p) < 0.05) == pytest.approx(0.05, abs=0.03)


def test_associated_pairs_are_sorted_by_number_of_prompts() -> None:
    associated = associated_pairs(over_prompts([NURSE, CHEF], 0.95))
    assert {(entry.source, entry.target) for entry in associated} == {
        ("gender", "age"),
        ("age", "gender"),
        ("gender", "clothing"),
    }
    assert [entry.edges for entry in associated] == [2, 2, 2]


def test_a_pooled_effect_opposite_to_single_prompts_is_named() -> None:
    """Women in one prompt and men in the other are even in pooled images: equalizing gender
    decreases the deviation of each prompt, and not the deviation of pooled shares.
    """
    prompts = [with_age("a photo of a nurse", 0.3), with_age("a photo of a chef", 0.25)]
    pooled = with_age("pooled", -0.2)
    pooled = replace(pooled, prompt=None, scope="global")
    entries = over_prompts([pooled, *prompts], 0.95)
    assert pooled_disagreements(pooled, entries) == ["Gender → age"]
    shown = findings(pooled, *prompts, over_prompts=entries)
    console = Console(width=100, file=StringIO(), record=True)
    console.print(terminal.screen(page(shown, None)))  # type: ignore[arg-type]
    text = " ".join(console.export_text().split())
    assert "pooled effects of Gender → age are opposite to the effects in some prompts" in text
    moved = pooled.edge("gender", "age")
    assert moved is not None
    assert "perceived age, pooled over all prompts, from uniform" in edge_sentence(pooled, moved)
    assert pooled_disagreements(graph(None), over_prompts([graph(None), NURSE, CHEF], 0.95)) == [
        "Gender → age"
    ]
