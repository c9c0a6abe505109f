"""The parts that all pages share: facts, missing images, plan, machine."""

from __future__ import annotations

from io import StringIO
from typing import Any

import pytest
from rich.console import Console

from askew.findings import FORMAT, Environment, Head, Identity, Instruments, PictureSet
from askew.pages import html, skeleton, terminal
from askew.pages.blocks import CodeBlock, DefinitionList, Details, Paragraph, Section, Table
from askew.plan import RunPlan


class NursePlan(RunPlan):
    model: str = "studio"
    images: int = 4
    seed: int = 7
    confidence: float = 0.9
    note: str | None = None


def head(*sets: PictureSet, **more: Any) -> Head:
    plan = NursePlan()
    environment = Environment(
        "3.11", "Linux", {"numpy": "2.0"}, None, 1, None, "2026-11-24T00:00:00Z"
    )
    known: dict[str, Any] = {
        "format": FORMAT,
        "askew": "0.1.0",
        "version": 1,
        "plan": plan,
        "plan_hash": plan.hash,
        "environment": environment,
        "warnings": (),
        "model": Identity("studio", "abc", {"bias": 0.5}),
        "instruments": Instruments(vqa={"studio": "f1"}),
        "sets": sets,
        **more,
    }
    return Head(**known)


def pictures(n: int = 4, axis: str | None = None, **missing: int) -> PictureSet:
    ids = tuple(f"id {k}" for k in range(n - sum(missing.values())))
    names = (*ids, *(None for _ in range(n - len(ids))))
    return PictureSet("a nurse", axis, axis and "male", "a nurse", n, missing, names, (None,) * n)


def test_unknown_facts_are_left_out() -> None:
    run = head(pictures(), pictures(6, "gender", refused=1))
    assert skeleton.meta_line(skeleton.meta(run)) == (
        "studio, bias 0.5 · 9 images in 2 sets of 4 to 6 · labeled by studio · 1 image missing · "
        "seed 7"
    )
    several = (Identity("a", "", {}), Identity("b", "", {}))
    unlabeled = head(pictures(), instruments=Instruments())
    assert skeleton.meta(unlabeled, several, images="4 each") == (
        "a; b",
        "4 each",
        "no missing images",
        "seed 7",
    )


def missing(
    run: Head, gaps: tuple[skeleton.MissingNote, ...] = (), sentences: tuple[str, ...] = ()
) -> Section:
    return skeleton.missing_section([*skeleton.picture_gaps(run.sets), *gaps], sentences)


def test_nothing_missing_needs_no_section() -> None:
    assert missing(head(pictures())).blocks == ()


def test_missing_images_have_their_set_and_reasons() -> None:
    gaps = (
        skeleton.MissingNote("perceived gender by studio", "a nurse", 4, {"no_person": 1}),
        skeleton.MissingNote("age", "x", 4, {}),
    )
    section = missing(head(pictures(4, "gender", refused=2)), gaps, ("Uneven.",))
    text, table = section.blocks
    assert isinstance(text, Paragraph)
    assert isinstance(table, Table)
    assert text.items == ("Uneven.",)
    assert table.rows == (
        (
            "Images",
            "a nurse – gender: male",
            "2 of 4 (50 %)",
            "the model or instrument refused 2",
        ),
        ("Perceived gender by studio", "a nurse", "1 of 4 (25 %)", "no person detected 1"),
    )
    assert not section.screen


def test_many_missing_images_are_collapsed() -> None:
    section = missing(head(*(pictures(4, f"axis {k}", error=1) for k in range(13))))
    assert isinstance(section.blocks[1], Details)
    assert section.blocks[1].summary == "13 places with missing data"


def test_a_run_can_be_repeated_from_its_page() -> None:
    section = skeleton.reproduce(head(pictures()))
    (details,) = section.blocks
    assert isinstance(details, Details)
    _, command, plan, facts = details.blocks
    assert isinstance(command, CodeBlock)
    assert command.text.endswith("--plan plan.toml")
    assert isinstance(plan, Details)
    code = plan.blocks[0]
    assert isinstance(code, CodeBlock)
    assert 'model = "studio"' in code.text
    assert "images = 4" in code.text
    assert isinstance(facts, DefinitionList)
    terms = dict(facts.terms)
    assert terms["plan hash"] == NursePlan().hash
    assert terms["python"] == "3.11"
    assert terms["finished"] == "2026-11-24T00:00:00Z"
    assert (terms["vqa studio"], terms["numpy"], terms["model revision"]) == ("f1", "2.0", "abc")


@pytest.mark.parametrize(("lost", "lines"), [({}, 1), ({"error": 2}, 2)])
def test_notes_count_missing_images(lost: dict[str, int], lines: int) -> None:
    assert len(skeleton.notes(head(pictures(4, **lost)))) == lines


def test_sentences_about_missing_data_are_on_the_page_once_and_in_the_terminal() -> None:
    page = skeleton.page(
        head(pictures(4, "gender", refused=2)),
        skeleton.Heading("askew audit", "title", "answer"),
        (),
        reading=Section("How to read this", ()),
        notes=("A note.",),
        uneven=("Uneven.",),
    )
    assert html.page(page).count("Uneven.") == 1
    screen = StringIO()
    Console(file=screen, width=80).print(terminal.screen(page, 80))
    assert screen.getvalue().count("Uneven.") == 1
