"""Small runs and studies on planted truth, and the pages of the app and of a study that show them."""

import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from playwright.sync_api import Page, sync_playwright

from askew.cli import run
from askew.people.assignment import with_new_links
from askew.people.folder import StudyFolder
from askew.people.rating.server import Address, StudyServer
from askew.people.records import AnswerRecord, Item
from askew.web.server import WebServer

QUICK = ["--counterfactuals", "none", "--embedder", "none", "--bootstrap-samples", "200"]
JOBS = ("nurse", "chef", "pilot", "doctor", "farmer", "teacher")

RUNS = {
    "nurse": ["a photo of a nurse", "--images", "48", "--axes", "gender,age,emotion"],
    "nurse-bias-0.3": [
        "a photo of a nurse",
        "-M",
        "bias=0.3",
        "--images",
        "24",
        "--axes",
        "gender",
    ],
    "six-jobs": [*(f"a photo of a {job}" for job in JOBS), "--images", "15", "--axes", "gender"],
}
"""Arguments of the audits of `studio/planted`, by name of the run folder."""

STUDIES = {
    "label": ["--from", "nurse", "--axes", "gender", "--images", "30", "--raters", "4"],
    "choose": ["--from", "six-jobs", "--raters", "5"],
}
"""Arguments of the studies, by kind. `--from` names a run of RUNS."""

ERROR_RATE = 0.08
"""Probability that a simulated rater gives another label than the instrument."""

CONTENT_HEIGHT = "Math.ceil(document.querySelector('main').getBoundingClientRect().bottom)"
"""Height of a page without the empty space below its content, in pixels."""

LONG = 120_000
"""Milliseconds that a page may take on a slow machine."""

SECONDS = 2.4
"""Seconds that a simulated rater takes for each answer."""


@dataclass(frozen=True)
class Screen:
    """A browser window.

    Attributes
    ----------
    width, height
        Size of the window in pixels.
    scheme
        Color scheme, "light" or "dark".
    is_whole
        Whether a picture shows the whole page and not only its first screen.
    """

    width: int
    height: int
    scheme: str = "light"
    is_whole: bool = False


@dataclass(frozen=True)
class Sights:
    """Running servers, and addresses that the pages need.

    Attributes
    ----------
    app
        Address of the app.
    cookie
        Cookie of the app's owner.
    links
        Link of a rater, by kind of study.
    results
        Report of the label study.
    """

    app: str
    cookie: Mapping[str, str]
    links: Mapping[str, str]
    results: Path


@contextmanager
def sights() -> Iterator[Sights]:
    """Make runs and studies in a temporary folder, and serve them until the context ends."""
    with tempfile.TemporaryDirectory() as temporary:
        home = Path(temporary)
        runs = home / "runs"
        for name, arguments in RUNS.items():
            common = ["--model", "studio/planted", *QUICK, "--run", str(runs / name)]
            _askew(["audit", *arguments, *common])
        folders = {kind: _study(home, kind) for kind in STUDIES}
        _answer(folders["label"])
        _askew(["study", "results", str(folders["label"].path)])
        links = {kind: _tokens(folder)[-1] for kind, folder in folders.items()}
        web = WebServer([runs], port=0)
        raters = {kind: StudyServer(folder, Address(port=0)) for kind, folder in folders.items()}
        session = web.site.session
        with ExitStack() as stack:
            for server in (web, *raters.values()):
                stack.enter_context(_running(server.run, server.stop))
            yield Sights(
                app=f"http://127.0.0.1:{web.port}",
                cookie={
                    "name": session.cookie_name,
                    "value": session.exchange(session.token) or "",
                },
                links={kind: raters[kind].link(token) for kind, token in links.items()},
                results=folders["label"].path / "report.html",
            )


def _askew(arguments: list[str]) -> None:
    status = run(arguments)
    if status:
        sys.exit(status)


@contextmanager
def _running(start: Callable[[], None], stop: Callable[[], None]) -> Iterator[None]:
    thread = threading.Thread(target=start, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop()
        thread.join(10)


def _study(home: Path, kind: str) -> StudyFolder:
    option, source, *others = STUDIES[kind]
    output = home / kind
    places = [option, str(home / "runs" / source), "--output", str(output)]
    _askew(["study", "new", kind, *places, *others, "--contact", "ann@example.org"])
    return StudyFolder.opened(output)


def _tokens(folder: StudyFolder) -> list[str]:
    """Give all raters new links, and return their secrets."""
    raters, tokens = with_new_links(folder.raters(), [rater.id for rater in folder.raters()])
    folder.write_raters(raters)
    return list(tokens.values())


def _answer(folder: StudyFolder) -> None:
    """Answer all questions as simulated raters, except half of the questions of the last rater."""
    rng = np.random.default_rng(0)
    labels = {entry.id: next(iter(entry.labels["gender"].values())) for entry in folder.frame}
    answers = []
    raters = folder.raters()
    for rater in raters:
        count = len(rater.items) // 2 if rater is raters[-1] else len(rater.items)
        for name in rater.items[:count]:
            item = folder.items[name]
            given = item.expected or _label(item, labels[item.images[0]], rng)
            answers.append(AnswerRecord(rater.id, name, 1, (given,), seconds=SECONDS))
    folder.write_answers(answers)
    for rater in raters:
        folder.consent(rater.id)


def _label(item: Item, label: str, rng: np.random.Generator) -> str:
    others = [value for value in item.options if value != label]
    return str(rng.choice(others)) if rng.random() < ERROR_RATE else label


def photograph_app(
    places: Sights, screen: Screen, names: Sequence[str]
) -> Iterator[tuple[str, bytes]]:
    """Yield the name and the PNG file of pages.

    Parameters
    ----------
    places
        Running servers.
    screen
        The browser window.
    names
        Names of the pages in VISITS.
    """
    with sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path="/usr/bin/chromium", args=["--no-sandbox", "--hide-scrollbars"]
        )
        context = browser.new_context(
            viewport={"width": screen.width, "height": screen.height},
            color_scheme=screen.scheme,  # type: ignore[arg-type]
        )
        context.add_cookies([{**places.cookie, "url": places.app}])  # type: ignore[list-item]
        page = context.new_page()
        page.set_default_timeout(LONG)
        for name in names:
            VISITS[name](page, places)
            page.wait_for_load_state("networkidle")
            if screen.is_whole:
                yield name, page.screenshot(full_page=True)
            else:
                height = min(page.evaluate(CONTENT_HEIGHT), screen.height)
                size = {"x": 0, "y": 0, "width": screen.width, "height": height}
                yield name, page.screenshot(clip=size)  # type: ignore[arg-type]
        browser.close()


def _runs(page: Page, places: Sights) -> None:
    page.goto(places.app)
    page.reload()  # the app has read all runs by now


def _images(page: Page, places: Sights) -> None:
    page.goto(places.app)
    page.click("a:has(bdi:text-is('nurse'))")
    page.locator(".first .values a[title='Images labeled female']").first.click()


def _image(page: Page, places: Sights) -> None:
    _images(page, places)
    page.locator(".gallery a").nth(1).click()


def _new_run(page: Page, places: Sights) -> None:
    page.goto(f"{places.app}/new")
    page.fill("textarea[name=prompts]", "a photo of a nurse")
    page.fill("input[name=model]", "studio/planted")
    page.click("text=Next: how")
    page.fill("input[name=images]", "48")
    page.click("text=Next: cost")


def _label_question(page: Page, places: Sights) -> None:
    page.goto(places.links["label"])


def _choose_question(page: Page, places: Sights) -> None:
    page.goto(places.links["choose"])
    start = page.locator("text=I agree and start")
    if start.count():
        start.click()


def _results(page: Page, places: Sights) -> None:
    page.goto(places.results.as_uri())


VISITS: Mapping[str, Callable[[Any, Sights], None]] = {
    "app-runs": _runs,
    "app-images": _images,
    "app-image": _image,
    "app-new-run": _new_run,
    "study-label": _label_question,
    "study-choose": _choose_question,
    "study-results": _results,
}
"""Functions that open each page, by the name of its picture."""
