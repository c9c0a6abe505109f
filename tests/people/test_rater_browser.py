"""Raters in a real browser, on a phone: with and without scripts, offline, and on a second device."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

import askew
from askew.cli import run
from askew.people.assignment import CHECK_QUESTION
from askew.people.folder import StudyFolder
from askew.people.results import study_results
from askew.types import Estimate
from study_folders import links_of, served, small_study

playwright = pytest.importorskip("playwright.sync_api", reason="needs the package playwright")

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium on the PATH"),
]

PHONE = {"width": 390, "height": 844}
LONG = 90_000
"""Milliseconds that a page may take on a slow machine."""


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    with playwright.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def audit(tmp_path_factory: pytest.TempPathFactory) -> Path:
    prompts = [
        f"a photo of a {job}" for job in ("nurse", "chef", "pilot", "doctor", "farmer", "teacher")
    ]
    options = {"images": 4, "axes": ["gender"], "bootstrap_samples": 100}
    quick = {"counterfactuals": "none", "embedder": "none"}
    folder = tmp_path_factory.mktemp("audits") / "jobs"
    return askew.audit(prompts, model="studio/planted", run=folder, **options, **quick).folder


def phone(chromium: Any, messages: list[str], **settings: Any) -> Any:
    """Return a page of a new device, whose console and faults are collected."""
    page = chromium.new_context(viewport=PHONE, **settings).new_page()
    page.set_default_timeout(LONG)
    page.on("console", lambda entry: messages.append(entry.text))
    page.on("pageerror", lambda error: messages.append(str(error)))
    return page


def answer(page: Any, text: str, scripts: bool) -> None:
    """Press the button of an answer, by its key if the page has scripts."""
    button = page.locator(f"button.option:has(span:text-is('{text}'))")
    key = button.locator("kbd").inner_text()
    with page.expect_navigation():
        if scripts:
            page.keyboard.press(key)
        else:
            button.click()


def heading(page: Any) -> str:
    return str(page.locator("h1").inner_text())


def expected(page: Any, usual: str) -> str:
    """Return the answer that an attention check asks for, or the usual answer."""
    before, after = CHECK_QUESTION.split("{}")
    text = heading(page)
    if not text.startswith(before):
        return usual
    return text.removeprefix(before).removesuffix(after)


def width_of(page: Any) -> int:
    return int(page.evaluate("document.documentElement.scrollWidth"))


@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no scripts"])
def test_a_rater_answers_a_list_of_images_on_a_phone(
    chromium: Any, tmp_path: Path, scripts: bool
) -> None:
    folder = small_study(tmp_path / "study")
    token = links_of(folder)["r001"]
    messages: list[str] = []
    with served(folder) as client:
        address = f"{client.server.url}/s/{token}"
        page = phone(chromium, messages, java_script_enabled=scripts)
        page.goto(address)
        page.click("text=I agree and start")
        first = page.url
        answer(page, expected(page, "Male"), scripts)
        page.go_back()
        assert page.url == first
        answer(page, expected(page, "Female"), scripts)
        second = page.url
        if scripts:
            page.context.set_offline(True)
            page.keyboard.press("1")
            page.wait_for_timeout(300)
            page.context.set_offline(False)
        device = phone(chromium, messages, java_script_enabled=scripts)
        device.goto(address)
        assert device.url == second
        while heading(device) != "Thank you":
            answer(device, expected(device, "Female"), scripts)
        page.goto(address)
        assert heading(page) == "Thank you"
    rater = folder.raters()[0]
    given = folder.answers()
    assert [given["r001", name].answer[0] for name in rater.items] == [
        folder.items[name].expected or "female" for name in rater.items
    ]
    assert [text for text in messages if "ERR_INTERNET_DISCONNECTED" not in text] == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_rater_pages_fit_a_phone_and_are_accessible(
    chromium: Any, audit: Path, tmp_path: Path, scheme: str
) -> None:
    axe_package = pytest.importorskip("axe_core_python")
    axe = resources.files(axe_package).joinpath("axe.min.js").read_text(encoding="utf-8")
    messages: list[str] = []
    for kind in ("axes", "choose", "rate"):
        study = tmp_path / kind
        arguments = ["study", "new", kind, "--from", str(audit), "--output", str(study)]
        assert run(arguments) == 0
        folder = StudyFolder.opened(study)
        with served(folder) as client:
            address = f"{client.server.url}/s/{links_of(folder)['r001']}"
            page = phone(chromium, messages, color_scheme=scheme)
            for place in ("", "", "/withdraw"):
                page.goto(address + place)
                assert width_of(page) <= PHONE["width"], (kind, page.url)
                page.evaluate(axe)
                report = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
                serious = [
                    fault["id"]
                    for fault in report["violations"]
                    if fault["impact"] in ("serious", "critical")
                ]
                assert serious == [], (kind, page.url)
                start = page.locator("text=I agree and start")
                if start.count():
                    start.click()
    assert messages == []


def test_three_raters_compare_image_sets_and_label_studio_returns_their_answers(
    chromium: Any, audit: Path, tmp_path: Path
) -> None:
    study = tmp_path / "study"
    options = ["--items", "12", "--from", str(audit), "--output", str(study)]
    assert run(["study", "new", "choose", *options]) == 0
    folder = StudyFolder.opened(study)
    messages: list[str] = []
    with served(folder) as client:
        for rater, token in links_of(folder).items():
            page = phone(chromium, messages)
            page.goto(f"{client.server.url}/s/{token}")
            page.click("text=I agree and start")
            while heading(page) != "Thank you":
                usual = page.locator("button.option").first.locator("span").inner_text()
                answer(page, usual if rater == "r003" else expected(page, "A"), scripts=True)
    assert messages == []
    result = study_results(folder).write()
    excluded = [each.id for each in result.findings.raters if "attention" in each.excluded]
    assert excluded == ["r003"]
    assert isinstance(result.findings.everyone.agreement[0].agreement, Estimate)
    assert result.findings.everyone.agreement[0].coefficient == "alpha"
    tasks = tmp_path / "tasks"
    assert (
        run(["study", "export", str(study), "--format", "label-studio", "--output", str(tasks)])
        == 0
    )
    before = folder.answers()
    (study / "answers.jsonl").unlink()
    assert run(["study", "import", str(study), str(tasks), "--format", "label-studio"]) == 0
    again = StudyFolder.opened(study)
    assert again.answers() == before
    assert study_results(again).findings == result.findings
