"""Comparisons of searches, on scores and vectors that are known: what they find, and what their page says."""

from __future__ import annotations

from dataclasses import replace
from io import BytesIO, StringIO
from typing import Any

import html5lib
import numpy as np
import pytest
from PIL import Image
from rich.console import Console
from scipy import stats

from askew.findings import FORMAT, Environment, Head, Identity, Instruments, PictureSet
from askew.pages import html, terminal
from askew.studies.mine_compare import METHOD
from askew.studies.mine_compare.findings import ComparedModel, Difference, MiningComparisonFindings, Nearness
from askew.studies.mine_compare.plan import ConditionPlan, MinedPromptPlan, MinedSetPlan, MiningComparisonPlan
from askew.studies.mine_compare.score import Losses, mining_comparison, set_similarity
from askew.types import Estimate, Missing

BIASED = {"one": {"a": 1.0, "b": 1.1, "c": 1.05}, "other": {"d": 1.2, "e": 1.1}}
FAIR: dict[str, dict[str, float | Missing]] = {
    "one": {"a": 1.2, "b": 1.25, "c": Missing("refused")},
    "other": {"d": 1.2, "e": 1.3},
}


def test_scores_rank_models_and_differ_in_pairs() -> None:
    found = mining_comparison({"fair": FAIR, "biased": BIASED}, (), 0.95)
    assert [entry.model for entry in found.ranking] == ["biased", "fair"]
    assert found.ranking[0].score.value == pytest.approx(np.mean([1.0, 1.1, 1.05, 1.2, 1.1]))  # type: ignore[union-attr]
    whole = found.differences[0]
    assert (whole.models, whole.mined_for) == (("fair", "biased"), None)
    oracle = stats.ttest_rel([1.0, 1.1, 1.2, 1.1], [1.2, 1.25, 1.2, 1.3])
    assert isinstance(whole.difference, Estimate)
    assert whole.difference.value == pytest.approx(np.mean([-0.2, -0.15, 0.0, -0.2]))
    assert whole.difference.p == pytest.approx(oracle.pvalue)
    assert (whole.difference.n, whole.difference.missing) == (4, 1)
    assert [entry.mined_for for entry in found.differences] == [None, "one", "other"]
    assert all(e.difference.q >= e.difference.p for e in found.differences)  # type: ignore[union-attr, operator]


def test_a_prompt_of_two_runs_counts_once() -> None:
    twice = {"one": {"a": 1.0}, "other": {"a": 1.0, "b": 2.0}}
    found = mining_comparison({"first": twice, "second": twice}, (), 0.95)
    assert isinstance(found.ranking[0].score, Estimate)
    assert found.ranking[0].score.n == 2


def test_models_without_a_score_come_last_and_are_missing() -> None:
    found = mining_comparison({"none": {"one": {"a": Missing("refused")}}, "some": {"one": {"a": 1.0}}}, (), 0.95)
    assert [entry.model for entry in found.ranking] == ["some", "none"]
    assert isinstance(found.ranking[1].score, Missing)
    assert isinstance(found.differences[0].difference, Missing)


def test_sets_of_like_prompts_are_near() -> None:
    axes = np.eye(6, dtype=np.float32)
    near = np.asarray((axes[:3] + 0.1 * axes[[1, 2, 0]]) / np.sqrt(1.01), np.float32)
    found = {(e.of, e.among): e.cosine.value for e in  # type: ignore[union-attr]
             set_similarity({"a": axes[:3], "b": near, "c": axes[3:]}, 0.95)}  # fmt: skip
    assert found["a", "b"] > found["a", "a"]  # a set's prompts are no neighbours of themselves
    assert found["a", "c"] == pytest.approx(0.0)
    assert set_similarity({"a": axes[:1], "b": axes}, 0.95) == []


HOSTILE = "a <script>nurse</script>"
SCORES: Losses = {"one": {"one": {HOSTILE: 1.0, "b": 1.02}, "other": {"c": 1.1}},
                  "other": {"one": {HOSTILE: 1.2, "b": 1.1}, "other": {"c": 1.0}}}  # fmt: skip


def e(value: float, **fields: Any) -> Estimate:
    return Estimate(value, **{"low": value - 0.01, "high": value + 0.01, "level": 0.95, "n": 3, **fields})


def found(losses: Losses = SCORES, vary: str = "", given: bool = False, **fields: Any) -> MiningComparisonFindings:
    """Findings of which some fields of the section are others."""
    sets = tuple(
        MinedSetPlan(name=name, condition=name, prompts=tuple(
            MinedPromptPlan(text=text, variations=("x", "y")) for text in of
        ))
        for name, of in losses["one"].items()
    )  # fmt: skip
    conditions = tuple(ConditionPlan(name=name, model="studio/planted") for name in losses)
    plan = MiningComparisonPlan(conditions=conditions, sets=sets, vary=vary, images=2, seed=1)
    names = [*losses, *(["given prompts"] if given else [])]
    near = tuple(Nearness(a, b, e(0.9 if a == b else 0.2 if "given prompts" in (a, b) else 0.5))
                 for a in names for b in names)  # fmt: skip
    pictures = tuple(PictureSet(text, None, None, text, 2, {}, ("i", "j"), (1, 2), model)
                     for model, of_sets in losses.items() for of in of_sets.values() for text in of)  # fmt: skip
    models = tuple(ComparedModel(name, "studio/planted", "r", {}) for name in losses)
    machine = Environment("3", "here", {}, None, 1, None, "now")
    head = Head(FORMAT, "0", 1, plan, "0" * 64, machine, (), Identity("studio/planted", "r", {}),
                Instruments(None, {"studio": "f"}), pictures)  # fmt: skip
    section = replace(mining_comparison(losses, near, 0.95), **fields)
    return head.into(MiningComparisonFindings, models=models, mining_comparison=section)


def settled(q: float) -> tuple[Difference, ...]:
    return (
        Difference(("one", "other"), None, e(0.06, null=0.0, p=q, q=q)),
        Difference(("one", "other"), "one", e(0.14, null=0.0, p=0.2, q=0.2)),
        Difference(("one", "other"), "other", Missing("error", "x")),
    )


class Grey:
    """Every picture is grey."""

    def picture(self, name: str) -> Image.Image:
        return Image.new("RGB", (8, 8))

    def rows(self, fingerprint: str, names: Any) -> dict[str, Any]:
        return {}


def page(one: MiningComparisonFindings) -> str:
    return html.page(METHOD.page(one, Grey()))


def screen(one: MiningComparisonFindings) -> str:
    console = Console(width=80, record=True, file=StringIO())
    console.print(terminal.screen(METHOD.page(one, Grey())))
    return console.export_text()


def test_the_answer_goes_as_far_as_the_difference() -> None:
    said = METHOD.page(found(differences=settled(0.02)), Grey()).answer
    assert "Over 3 mined prompts, one is the most one-sided of 2" in said
    assert "differ by 0.060, more than chance explains (q = 0.020)" in said
    assert "no more than chance explains" in METHOD.page(found(differences=settled(0.3)), Grey()).answer


def test_models_that_score_lowest_on_their_own_prompts_are_named() -> None:
    assert METHOD.page(found(), Grey()).detail.startswith("2 of 2 models score lowest on the prompts mined")
    other = {"one": {"one": {HOSTILE: 2.0, "b": 2.0}, "other": {"c": 1.1}}, "other": SCORES["other"]}
    assert METHOD.page(found(other), Grey()).detail.startswith("1 of 2 models")
    assert METHOD.page(found(vary="bias"), Grey()).detail == ""


def test_similarity_in_a_sentence() -> None:
    assert "at a cosine of 0.500." in page(found())
    assert "at a cosine of 0.500; between mined and given prompts the nearest are at 0.200." in page(found(given=True))
    assert "The prompts themselves" not in page(found(similarity=()))


def test_the_page_shows_every_score_and_no_foreign_markup() -> None:
    text = page(found())
    assert "<script>" not in text
    assert text.count('class="one"') == 2 * 6  # over all prompts, and by set
    assert text.count("data:image/webp") == 2 * 2 * 2  # two pictures of a prompt of each set, by either model
    assert text.count("<img") == text.count('alt="Picture ')
    assert "could be scored" not in text
    assert page(found()) == text
    html5lib.HTMLParser(strict=True).parse(BytesIO(text.encode()))


def test_a_varied_setting_keeps_the_order_of_its_values() -> None:
    reverse = {"one": SCORES["other"], "other": SCORES["one"]}
    lines = screen(found(reverse, vary="guidance_scale")).splitlines()
    first, second = (next(k for k, line in enumerate(lines) if line.startswith(f"{name} ")) for name in SCORES)
    assert first < second, "the second is more one-sided"
    assert "What guidance scale changes" in page(found(vary="guidance_scale"))


def test_a_comparison_in_which_nothing_could_be_scored() -> None:
    refused = Missing("refused")
    nothing = {m: {s: dict.fromkeys(of, refused) for s, of in sets.items()} for m, sets in SCORES.items()}
    text = page(found(nothing))
    assert "No prompt could be scored" in text
    assert "Fewer than two models could be scored" in text
    assert "Fewer than two models" in screen(found(nothing))


def test_the_table_fits_eighty_columns() -> None:
    text = screen(found(differences=settled(0.02)))
    assert max(map(len, text.splitlines())) <= 80
    assert "[0.050, 0.070]" in text
