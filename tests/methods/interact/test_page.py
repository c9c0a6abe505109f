"""The page of interactions: graph, matrix, sentences, what a terminal shows, exports, and
conditions on its scores.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from io import StringIO
from pathlib import Path

import html5lib
import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image
from rich.console import Console

from askew import findings as findings_of
from askew.errors import UsageError
from askew.methods.interact import METHOD
from askew.methods.interact.charts import axes_of, matrix, network, summary
from askew.methods.interact.findings import (
    Graph,
    InteractionFindings,
    ValidatedEdge,
    ValidatedPrompt,
    Validation,
)
from askew.methods.interact.page import page
from askew.methods.interact.sentences import answer, edge_sentence, effects_of
from askew.pages import html, terminal
from askew.studies.robustness import GraphChange, Robustness
from askew.types import Estimate, Missing
from planted_graphs import AXES, PROMPT, edge, estimate, findings, graph

ABSENT = Missing("no_person")


class EmptyMedia:
    """A store without images."""

    def picture(self, name: str) -> Image.Image | None:
        return None

    def rows(self, fingerprint: str, names: Sequence[str]) -> Mapping[str, NDArray[np.float32]]:
        return {}


def rendered(shown: InteractionFindings) -> str:
    text = html.page(page(shown, EmptyMedia()))
    html5lib.HTMLParser(strict=True).parse(text)
    return text


def printed(shown: InteractionFindings) -> list[str]:
    console = Console(width=80, file=StringIO(), record=True)
    console.print(terminal.screen(page(shown, EmptyMedia())))
    return console.export_text().splitlines()


def test_only_significant_edges_between_different_axes_are_drawn() -> None:
    drawn = {(e.source, e.target): e.effect for e in network(graph(), AXES, "").edges}
    assert drawn == {
        ("gender", "age"): "worse",
        ("age", "gender"): "better",
        ("gender", "clothing"): "changed",
    }


def test_every_model_has_the_same_layout() -> None:
    other = replace(graph(), edges=graph().edges[::-1])
    for shown in (graph(), other):
        assert [name for name, _ in network(shown, AXES, "").nodes] == list(AXES)
    assert axes_of([graph()]) == list(AXES)


@pytest.mark.parametrize(
    ("value", "reach", "kind"),
    [(0.1, 0.09, "better"), (-0.1, 0.09, "worse"), (0.0, 0.1, "changed")],
)
def test_the_effect_follows_the_interval(value: float, reach: float, kind: str) -> None:
    assert edge("gender", "age", value, reach, True).effect == kind
    unsure = replace(edge("gender", "age", value, reach, True), simultaneous=(value - 1, value + 1))
    assert unsure.effect == "changed"


def test_sentences_state_direction_and_size_of_effects() -> None:
    sentences = [edge_sentence(graph(), shown) for shown in graph().edges]
    decrease = "equalizing age decreases the deviation of perceived gender from uniform"
    assert f"{decrease}: IS +0.20 [0.15, 0.25]" in sentences
    increase = "equalizing gender increases the deviation of perceived age from uniform"
    assert f"{increase}: IS −0.11 [−0.17, −0.05]" in sentences
    undetermined = (
        "clothing is associated with gender, but equalizing gender does not significantly change "
        "its deviation"
    )
    assert any(undetermined in sentence for sentence in sentences)
    assert "3 of 6 pairs of axes are associated (χ²)" in answer(graph())
    directions = "in 3 pairs (increased in 1, decreased in 2)"
    assert f"significantly changes the deviation of the second axis {directions}" in answer(graph())
    assert effects_of(graph(), "gender") == (
        "associated with age and clothing; "
        "equalizing it significantly increases the deviation of age"
    )


def test_association_and_change_of_the_deviation_are_reported_separately() -> None:
    """The sentence "no significant effect" needs an interval that includes 0.

    A change is not denied where only its direction is undetermined.
    """
    decrease = "equalizing it significantly decreases the deviation of"
    assert effects_of(graph(), "clothing") == f"{decrease} age"
    assert not next(
        e for e in graph().edges if (e.source, e.target) == ("clothing", "age")
    ).significant
    assert effects_of(graph(), "age") == f"associated with gender; {decrease} gender"
    still = replace(
        graph(),
        edges=tuple(replace(e, significant=False, simultaneous=(-1.0, 1.0)) for e in graph().edges),
    )
    assert effects_of(still, "clothing") == "no significant effect on another axis"
    assert "none of 6 pairs of axes shows an association (χ²)" in answer(still)
    assert "does not significantly change" in edge_sentence(still, still.edges[0])


def test_edges_are_explained_by_the_thresholds_of_their_graph() -> None:
    pooled_graph = replace(graph(None), alpha=5e-5, least_sensitivity=0.03)
    text = " ".join(" ".join(printed(findings(pooled_graph, graph()))).split())
    assert (
        "Edges: χ² test with p < 0.00005 and |IS| > 0.03; in the graph of a single prompt, χ² test"
        in text
    )
    assert "χ² test with p < 0.0001. Bold" in text
    opened = " ".join(" ".join(printed(findings(replace(graph(), alpha=0.05)))).split())
    assert "χ² test with p < 0.05. Bold" in opened
    by_q = replace(graph(), edge_rule="q", alpha=0.05)
    text = " ".join(" ".join(printed(findings(by_q, by_q))).split())
    assert "Edges: χ² test with q < 0.05. Bold" in text


def test_sentences_name_a_reference_that_is_not_uniform() -> None:
    axes = [
        replace(axis, reference=(0.2, 0.5, 0.3)) if axis.name == "age" else axis
        for axis in graph().axes
    ]
    other = replace(graph(), axes=tuple(axes))
    sentences = " ".join(edge_sentence(other, axis) for axis in other.edges)
    assert "increases the deviation of perceived age from its reference" in sentences


def test_the_matrix_has_all_pairs_and_marks_edges() -> None:
    table = matrix(graph(), AXES)
    assert len(table.rows) == len(table.columns) - 1 == 3
    assert sum(cell.strong for _, *cells in table.rows for cell in cells) == 6  # type: ignore[union-attr, misc]
    assert table.diagonal


def test_the_page_is_valid_html_without_external_files() -> None:
    text = rendered(findings())
    assert "<script" not in text
    assert not re.search(r'(?:src|href)="(?!#|data:)', text)
    assert "perceived" in text


def test_an_amplification_that_is_not_significant_is_reported_as_such() -> None:
    unsure = replace(graph(), amplification=replace(estimate(0.89, 0.06, 3.2), p=0.08))
    (sum_text,) = [text for name, text in summary(unsure).terms if name.startswith("Amplification")]
    assert sum_text == "0.89 [0.06, 3.20], not significantly above chance (p = 0.080)"


def test_robustness_states_the_number_of_simulations_and_leaves_absent_scores_out() -> None:
    absent = Missing("not_asked", "no edge")
    moved = replace(estimate(0.1, 0.0, 0.2, 3), interval="t over simulations")
    console = Console(width=200, file=StringIO(), record=True)
    console.print(
        Robustness((GraphChange("errors", 0.05, 0, "simulation", absent, moved, moved, absent),))
    )
    text = " ".join(console.export_text().split())
    assert "mean of 3 simulations, with interval" in text
    assert "The graph has no edge that could be lost." in text
    assert "–" not in text


def test_a_share_of_kept_edges_states_the_number_of_edges() -> None:
    moved = estimate(0.1, 0.0, 0.2)
    text = StringIO()
    Console(width=80, file=text).print(
        Robustness((GraphChange("pictures", 8, 6, "prompt", Estimate(1 / 6), moved, moved, moved),))
    )
    assert "17 % of 6 edges" in " ".join(text.getvalue().split())


def test_means_without_an_interval_state_their_number_of_prompts() -> None:
    alike = Estimate(0.1, n=4)
    text = StringIO()
    Console(width=200, file=text).print(
        Robustness((GraphChange("pictures", 8, 6, "prompt", alike, alike, alike, alike),))
    )
    assert "mean of 4 prompts" in " ".join(text.getvalue().split())


def test_the_page_of_several_prompts_begins_with_the_pooled_graph() -> None:
    text = rendered(findings(graph(None), graph()))
    assert text.index("All prompts together") < text.index("Each prompt")


def test_a_graph_without_answers_has_a_reason() -> None:
    edges = [
        replace(
            e,
            chi2=None,
            dof=None,
            p=None,
            q=None,
            cramers_v=None,
            untested=ABSENT,
            sensitivity=ABSENT,
            significant=False,
        )
        for e in graph().edges
    ]
    none = replace(
        graph(),
        edges=tuple(edges),
        amplification=ABSENT,
        negative_share=ABSENT,
        most_influenced=None,
    )
    text = rendered(findings(none))
    assert "no pair of axes could be tested" in text
    assert "no person detected" in text


def test_a_pair_that_could_not_be_tested_has_a_reason() -> None:
    first, *others = (edge for edge in graph().edges if not edge.direct)
    missing = Missing("error", "all pictures show the same value")
    first = replace(first, chi2=None, dof=None, p=None, q=None, untested=missing, significant=False)
    text = rendered(findings(replace(graph(), edges=(first, *others))))
    assert "Not tested: " in text
    assert "all pictures show the same value" in text
    assert "Not tested: " not in rendered(findings())


def test_the_terminal_fits_80_columns() -> None:
    lines = printed(findings(graph(None), graph()))
    assert max(map(len, lines)) <= 80
    assert not re.search("[\u00a0\u202f]", "".join(lines))
    assert any("−0.11" in line and "larger deviation" in line for line in lines)


def test_a_correction_for_labeling_errors_is_reported() -> None:
    assert "Correction for labeling errors" not in rendered(findings())
    axes = [
        replace(axis, known_errors=((90, 10, 0), (5, 95, 0), (0, 0, 100)))
        if axis.name == "age"
        else axis
        for axis in graph().axes
    ]
    text = rendered(findings(replace(graph(), axes=tuple(axes))))
    assert "age 90\u00a0% to 100\u00a0%" in text


def test_the_page_shows_mitigations() -> None:
    missing = Missing("not_asked", "a correlation needs at least three pairs")
    validated = ValidatedEdge("gender", "age", estimate(-0.1, -0.2, 0), estimate(0, -1, 1))
    prompt = ValidatedPrompt(PROMPT, (validated,), missing)
    fair = {"gender": "runs/fair", "age": "runs/fair"}
    paper = Estimate(0.8, n=5, null=0.61, p=0.2)
    validation = Validation((prompt,), missing, missing, paper, missing)
    shown = findings(validation=validation)
    text = rendered(replace(shown, plan=shown.plan.model_copy(update={"mitigated": fair})))
    assert "Mitigation significantly" not in text  # no pair has a measured sensitivity
    assert "gender and age in runs/fair" in text
    assert (
        "as in the paper, r = 0.80 (0.61 expected if the mitigation had no effect, p = 0.20)"
        in text
    )


def test_findings_survive_a_round_trip_through_their_file(tmp_path: Path) -> None:
    shown = findings(graph(None), graph())
    path = findings_of.write(shown, tmp_path / "results.json")
    assert findings_of.read(InteractionFindings, path) == shown


def violations(text: str, *graphs: Graph) -> list[str]:
    (condition,) = METHOD.conditions(text)
    return condition.violations(findings(*graphs))


def test_conditions_check_edges_between_axes() -> None:
    assert violations("sensitivity.high < 0", graph(None)) == [
        "all prompts together, gender, age: sensitivity.high is -0.05"
    ]
    assert violations("sensitivity.high < 0") == [
        f"{PROMPT!r}, gender, age: sensitivity.high is -0.05"
    ]
    assert len(violations("age: sensitivity > 0.1")) == 1
    assert violations("clothing: sensitivity > 0.1") == []
    assert len(violations("amplification > 0.5")) == 1
    with pytest.raises(UsageError, match="sensitivity, amplification, negative_share, distance"):
        violations("mad > 0.3")


def test_an_estimate_is_named_by_its_prompt_axes_and_instrument() -> None:
    names = next(
        entry.names for entry in findings_of.scored(findings()) if entry.score == "sensitivity"
    )
    assert names == {
        "prompt": PROMPT,
        "instrument": "studio",
        "source": "gender",
        "target": "gender",
    }
