"""The journey of an owner in a real browser: start a run, look, correct, compare. No page has a script."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from web_app import Browser, served

playwright = pytest.importorskip("playwright.sync_api", reason="needs the package playwright")

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium on the PATH"),
]

LONG = 90_000
"""Milliseconds that a page may take on a slow machine."""

MOST_TABS = 400
IN_PLACE = ("summary",)
"""Elements that open nothing but themselves."""

FOCUSED = """selector => {
    const element = document.activeElement;
    return element.matches(selector) ? element.innerText.trim() : null;
}"""
"""Returns the text of the element that has the focus; null if it is another element."""

OUTLINE = "getComputedStyle(document.activeElement).outlineStyle"


@pytest.fixture
def chromium() -> Iterator[Any]:
    with playwright.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield opened
        opened.close()


def opened_page(chromium: Any, browser: Browser, **settings: Any) -> tuple[Any, list[str]]:
    """Return a page with the owner's cookie, and the list of messages of its console."""
    context = chromium.new_context(**settings)
    name, _, value = browser.cookie.partition("=")
    context.add_cookies([{"name": name, "value": value, "url": browser.origin}])
    page = context.new_page()
    page.set_default_timeout(LONG)
    messages: list[str] = []
    page.on("console", lambda entry: messages.append(entry.text))
    page.on("request", lambda request: messages.extend(foreign(request.url, browser)))
    return page, messages


def foreign(address: str, browser: Browser) -> list[str]:
    return [] if address.startswith(browser.origin) else [f"outside request: {address}"]


@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no scripts"])
def test_an_owner_starts_looks_corrects_and_compares(
    chromium: Any, runs: Path, scripts: bool
) -> None:
    with served([runs]) as browser:
        page, messages = opened_page(chromium, browser, java_script_enabled=scripts)
        page.goto(f"{browser.origin}/")
        page.click("text=New run")
        page.fill("textarea[name=prompts]", "a photo of a nurse")
        page.fill("input[name=model]", "studio/planted")
        page.click("text=Next: how")
        fields = {"images": "12", "axes": "gender,age", "bootstrap_samples": "100", "folder": "own"}
        folded = page.locator("details:not([open]) > summary")
        while folded.count():
            folded.first.click()
        for name, value in fields.items():
            page.fill(f"input[name={name}]", value)
        page.fill("input[name=embedder]", "none")
        page.select_option("select[name=counterfactuals]", "none")
        page.click("text=Next: cost")
        assert "images      12" in page.locator("section", has_text="Work").inner_text()
        page.click("button:text-is('Start')")
        page.click("text=Open the report")
        share = page.locator(".first .values a[title='Images labeled female']").first
        before = share.inner_text()
        share.click()
        page.locator(".gallery a").first.click()
        page.select_option("select[name='label:gender']", "male")
        page.click("text=Save")
        page.click("text=Report of the run")
        assert "With 1 correction by hand" in page.locator(".hand-note").inner_text()
        after = page.locator(".first .values a[title='Images labeled female']").first.inner_text()
        assert int(re.sub(r"\D", "", after)) < int(re.sub(r"\D", "", before))
        page.click("text=All runs")
        for name in ("own", "nurse-again"):
            page.locator("tr", has=page.locator(f"bdi:text-is('{name}')")).locator("input").check()
        page.click("text=Compare the selected runs")
        assert "askew compare" in page.locator(".kicker").inner_text()
        assert messages == []


def test_an_owner_needs_only_the_keyboard(chromium: Any, runs: Path) -> None:
    with served([runs]) as browser:
        page, messages = opened_page(chromium, browser)
        page.goto(f"{browser.origin}/")
        press(page, "a", "New run")
        type_into(page, "textarea[name=prompts]", "a photo of a chef")
        type_into(page, "input[name=model]", "studio/planted")
        press(page, "button", "Next: how")
        type_into(page, "input[name=images]", "12")
        type_into(page, "input[name=folder]", "chef")
        for summary in page.locator("details:not([open]) > summary").all_inner_texts():
            press(page, "summary", summary)
        type_into(page, "input[name=axes]", "gender")
        type_into(page, "input[name=embedder]", "none")
        type_into(page, "input[name=bootstrap_samples]", "100")
        type_into(page, "select[name=counterfactuals]", "none")
        press(page, "button", "Next: cost")
        press(page, "button", "Start")
        page.wait_for_selector("text=Open the report")  # the page of a job reloads itself
        press(page, "a", "Open the report")
        press(page, ".values a", "")
        press(page, ".gallery a", "")
        value = page.locator("select[name='label:gender'] option").nth(1).inner_text()
        type_into(page, "select[name='label:gender']", value)
        type_into(page, "input[name=flag]", "odd")
        press(page, "button", "Save")
        press(page, "a", "Report of the run")
        page.wait_for_selector(".hand-note")
        press(page, "a", "Notes")
        type_into(page, "textarea[name=text]", "Checked by hand.")
        press(page, "button", "Save")
        page.wait_for_selector("text=Checked by hand.")
        press(page, "a", "Runs")
        for name in ("nurse", "nurse-again"):
            box = page.locator("tr", has=page.locator(f"bdi:text-is('{name}')")).locator("input")
            press(page, f"input[value='{box.get_attribute('value')}']", "", key="Space")
        press(page, "button", "Compare the selected runs")
        assert "askew compare" in page.locator(".kicker").inner_text()
        assert messages == []


def press(page: Any, selector: str, text: str, key: str = "Enter") -> None:
    """Move the focus with Tab to an element with a text, and press a key."""
    for _ in range(MOST_TABS):
        page.keyboard.press("Tab")
        focused = page.evaluate(FOCUSED, selector)
        if focused is not None and focused.startswith(text):
            outline = page.evaluate(OUTLINE)
            assert outline != "none", f"nobody sees that {selector} {text} has the focus"
            if selector in IN_PLACE or key == "Space":
                page.keyboard.press(key)
            else:
                with page.expect_navigation():
                    page.keyboard.press(key)
            return
    raise AssertionError(f"Tab does not reach {selector} {text}")


def type_into(page: Any, selector: str, text: str) -> None:
    """Move the focus with Tab to a field, and type over its content."""
    for _ in range(MOST_TABS):
        page.keyboard.press("Tab")
        if page.evaluate(FOCUSED, selector) is not None:
            page.keyboard.press("Control+A")
            page.keyboard.type(text)
            return
    raise AssertionError(f"Tab does not reach {selector}")


def addresses(browser: Browser) -> list[str]:
    run = next(run for run in browser.server.site.index.runs() if run.folder.name == "nurse")
    image = browser.server.site.index.images_of_run(run.id)[0]
    base = f"/runs/{run.id}"
    tails = ("", "/images?show=all", f"/images/{image}", "/notes", "/gaps")
    return ["/", "/new", "/jobs", *(base + tail for tail in tails)]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_page_fits_and_is_accessible(chromium: Any, runs: Path, scheme: str) -> None:
    axe_package = pytest.importorskip("axe_core_python")
    axe = resources.files(axe_package).joinpath("axe.min.js").read_text(encoding="utf-8")
    with served([runs]) as browser:
        for width in (390, 1280, 1920):
            settings = {"viewport": {"width": width, "height": 900}, "color_scheme": scheme}
            page, messages = opened_page(chromium, browser, **settings)
            for address in addresses(browser):
                page.goto(browser.origin + address)
                wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
                assert wide <= 0, (address, width)
                if width != 1920:
                    page.evaluate(axe)
                    assert faults(page) == [], (address, width)
            assert messages == []


def faults(page: Any) -> list[str]:
    """Return the serious faults that axe-core finds."""
    result = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{fault['id']}: {fault['nodes'][0]['html'][:120]}"
        for fault in result["violations"]
        if fault["impact"] in ("serious", "critical")
    ]
