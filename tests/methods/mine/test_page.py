"""The page of a search: sentences that follow the numbers, charts, and escaped text."""

from __future__ import annotations

from dataclasses import replace
from io import BytesIO, StringIO
from typing import Any

import html5lib
import pytest
from PIL import Image
from rich.console import Console

from askew.findings import FORMAT, Environment, Head, Identity, Instruments, PictureSet
from askew.methods.mine import METHOD
from askew.methods.mine.findings import (
    BestPrompt,
    Evaluation,
    ExplainedPrompt,
    Iteration,
    MineFindings,
    MineTheGap,
    MissedTerms,
    RandomSearch,
)
from askew.methods.mine.plan import MinePlan
from askew.pages import html, terminal
from askew.types import Estimate, Missing

HOSTILE = "a <script>nurse</script>"
REFUSED = Missing("refused")


def e(value: float, **fields: Any) -> Estimate:
    return Estimate(
        value, **{"low": value - 0.01, "high": value + 0.01, "level": 0.95, "n": 15, **fields}
    )


def best(prompt: str, held_out: float, q: float) -> BestPrompt:
    explained = ExplainedPrompt(
        prompt,
        None,
        ("a male one", "a female one"),
        ("a male one",),
        True,
        ("v1",),
        ("i1",),
        (1.04, 1.06),
    )
    return explained.into(
        BestPrompt,
        run=0,
        score=e(held_out - 0.02),
        held_out_score=e(held_out, null=1.05, p=q, q=q),
        iteration=1,
        parent="a doctor",
    )


def point(prompt: str, score: float | None, parent: str | None = None) -> Evaluation:
    return Evaluation(prompt, score, "mutation" if parent else "random", parent)


COURSE = (
    Iteration(
        0,
        0,
        1.04,
        1.05,
        1.04,
        (point("a doctor", 1.04), point("a tree", 1.06), point("a rock", None)),
    ),
    Iteration(0, 1, 1.0, 1.03, 1.0, (point(HOSTILE, 1.0, "a doctor"), point("a quiet room", 1.07))),
)
SECTION = MineTheGap(
    "eq1",
    (best("a tree", 1.06, 0.7), best(HOSTILE, 1.01, 0.001)),
    COURSE,
    RandomSearch((), (Iteration(0, 0, None, None, 1.05),), e(-0.02, low=-0.03, high=-0.01)),
    MissedTerms(2, (("male", 2),), (("Perceived gender", 2),)),
)


def mine_findings(plan: MinePlan | None = None, **fields: Any) -> MineFindings:
    """Findings with these fields of the section replaced."""
    plan = plan or MinePlan(
        objective="eq1", iterations=2, population=3, selected=1, images=2, variations=2, top=2
    )
    image_set = PictureSet(HOSTILE, None, None, HOSTILE, 2, {"refused": 1}, ("i1", None), (1, None))
    machine = Environment("3", "here", {}, None, 1, None, "now")
    head = Head(
        FORMAT,
        "0",
        1,
        plan,
        "0" * 64,
        machine,
        ("a warning",),
        Identity("studio/planted", "r", {"bias": 1.0}),
        Instruments(None, {"studio": "f"}, {"lexicon": "g"}),
        (image_set,),
    )
    return head.into(MineFindings, minethegap=replace(SECTION, **fields))


class Media:
    """A store of black images."""

    def picture(self, name: str) -> Image.Image:
        return Image.new("RGB", (8, 8))

    def rows(self, fingerprint: str, names: Any) -> dict[str, Any]:
        return {}


def page(findings: MineFindings) -> str:
    return html.page(METHOD.page(findings, Media()))


def answer(findings: MineFindings) -> str:
    shown = METHOD.page(findings, Media())
    return f"{shown.answer} {shown.detail}".strip()


def screen(findings: MineFindings) -> str:
    console = Console(width=80, record=True, file=StringIO())
    console.print(terminal.screen(METHOD.page(findings, Media())))
    return console.export_text()


def test_the_answer_names_the_prompt_of_the_lowest_held_out_score() -> None:
    text = answer(mine_findings())
    assert text.startswith("“a <script>nurse")
    assert "shows the largest bias among 5 prompts" in text
    assert "leave out “a male one”" in text
    assert "bias is significant for 1 of the 2 best prompts." in text


def test_no_bias_is_reported_without_significance() -> None:
    findings = mine_findings(best=(best("a tree", 1.06, 0.7), best(HOSTILE, 1.01, 0.2)))
    assert "None of 5 prompts shows significant bias" in answer(findings)
    assert "Bias is not significant (q = 0.20). The held-out score is" in page(findings)


def test_missing_scores_of_all_prompts_are_reported() -> None:
    findings = mine_findings(
        best=tuple(replace(entry, held_out_score=REFUSED) for entry in SECTION.best)
    )
    assert answer(findings) == "None of 5 prompts could be scored on studio/planted."
    assert "The held-out images could not be scored" in page(findings)
    assert "No prompt could be scored" in screen(findings)


@pytest.mark.parametrize(
    ("value", "low", "high", "sentence"),
    [
        (-0.02, -0.03, -0.01, "Mining found significantly more biased prompts than random search"),
        (-0.02, -0.05, 0.01, "Mining did not find significantly more biased prompts"),
        (0.02, 0.01, 0.03, "Mining found significantly less biased prompts than random search"),
        (-0.02, None, None, "Mining did not find significantly"),
    ],
)
def test_the_comparison_with_random_search_follows_its_interval(
    value: float, low: float | None, high: float | None, sentence: str
) -> None:
    compared = mine_findings(random=RandomSearch((), (), e(value, low=low, high=high)))
    assert sentence in " ".join(screen(compared).split())
    gone = mine_findings(random=RandomSearch((), (), REFUSED))
    assert "could not be compared with random search" in " ".join(screen(gone).split())


def test_a_difference_of_skew_has_the_opposite_sign() -> None:
    difference = e(-0.52, low=-0.9, high=-0.14, debiased=-0.52)
    findings = mine_findings(MinePlan(topic="people"), random=RandomSearch((), (), difference))
    text = " ".join(screen(findings).split())
    assert (
        "held-out skew (maximum 1) between the best 5 prompts of the two searches is 0.520 [0.140, 0.900]"
        in text
    )


def test_the_chart_shows_the_search_of_the_best_prompt() -> None:
    plan = MinePlan(objective="eq1", runs=2, iterations=2, population=3, selected=1, images=2)
    second = tuple(replace(entry, run=1) for entry in COURSE)
    iterations = tuple(replace(entry, prompts=()) for entry in (*COURSE, *second))
    random = RandomSearch((), iterations, e(-0.02))
    text = page(mine_findings(plan, history=(*COURSE, *second), random=random))
    assert "Best loss up to each iteration, search 1 of 2" in text
    assert "random search" in text


def test_other_objectives_are_not_called_bias() -> None:
    nothing = {
        "variations": (),
        "missed_visual_concepts": (),
        "missed_pictures": (),
        "is_read": False,
    }
    plain = tuple(
        replace(entry, held_out_score=e(1.0), null_range=None, **nothing) for entry in SECTION.best
    )
    findings = mine_findings(
        MinePlan(objective="color:red"), objective="color:red", best=plain, missed=None
    )
    assert "come closest to color:red" in answer(findings)
    assert "biased" not in answer(findings)
    assert "more biased" not in page(findings)


def test_only_labeled_details_are_called_left_out() -> None:
    guessed = tuple(replace(entry, is_read=False) for entry in SECTION.best)
    assert "Details that the images above leave out" in page(mine_findings())
    assert "leave out" not in page(mine_findings(best=guessed)) + answer(
        mine_findings(best=guessed)
    )
    assert "Variations that are least similar to the images above" in page(
        mine_findings(best=guessed)
    )


@pytest.mark.parametrize("null", [None, 1.05])
def test_the_text_and_the_table_report_the_same_held_out_score(null: float | None) -> None:
    prompt = replace(
        best(HOSTILE, 1.01, 0.001),
        held_out_score=e(1.01, null=null, debiased=1.004, p=0.001, q=0.001),
    )
    tree = html5lib.HTMLParser(strict=True).parse(page(mine_findings(best=(prompt,))))
    shown = " ".join("".join(tree.itertext()).split())
    assert "score is 1.010 [1.000, 1.020]" in shown
    table = shown[shown.index("Best prompts of all searches") :]
    assert "1.010 [1.000, 1.020]" in table
    described = "bias-corrected estimate 1.004"
    assert shown.count("1.004") == shown.count(described)


def test_the_page_has_all_parts_and_escapes_text() -> None:
    findings = mine_findings()
    text = page(findings)
    assert "<script>" not in text
    for part in (
        "Course of the search",
        "Comparison with random search",
        "Images",
        "Missing details",
        "How to read this",
        "Reproduce this run",
    ):
        assert f"<bdi>{part}</bdi>" in text
    assert "refused" in text  # the reason of the missing image
    assert page(findings) == text
    html5lib.HTMLParser(strict=True).parse(BytesIO(text.encode()))


def test_every_image_has_a_text_alternative() -> None:
    text = page(mine_findings())
    assert text.count("<img") == text.count('alt="Image ') + text.count(
        'alt="An image of “a male one”"'
    )
    assert text.count("<img") >= 3


def test_a_page_can_lack_optional_parts() -> None:
    text = page(mine_findings(random=None, missed=None, best=(), history=()))
    assert "No prompt could be scored" in text


def test_the_terminal_fits_80_columns() -> None:
    lines = screen(mine_findings()).splitlines()
    assert max(map(len, lines)) <= 80
    assert any("1.010" in line for line in lines)
