"""Page that shows the report of a run.

Each image count in the report links to a list of the counted images.
"""

from pathlib import Path
from urllib.parse import urlencode

from markupsafe import Markup
from starlette.requests import Request as HTTPRequest
from starlette.responses import Response

from askew.errors import UsageError
from askew.pages import html, media, words
from askew.pages.blocks import ImageQuery, ImageReference
from askew.pages.elements import bdi, tag
from askew.pages.media import PageLinks
from askew.plan import PLAN_FILE
from askew.store.store import working_process
from askew.web.command_form import command_line
from askew.web.filters import ImageFilter, selected, sets_named
from askew.web.gate import FORBIDDEN
from askew.web.images_page import marks_of
from askew.web.index import RunFacts, run_id
from askew.web.opened import OpenedRun
from askew.web.shell import message, page, sheet
from askew.web.site import Site

ORIGINAL = "original"
"""Value of the query parameter `labels` that makes a page show uncorrected shares."""

REFRESH = 5
"""Time in seconds after which the browser reloads the page of a run in progress."""

CAVEAT = (
    "Corrected labels replace the labels from all instruments in shares, deviations and verdicts, "
    "but not in MAD and CAS. Images that you chose to check are not a random sample, so corrections of a few "
    "images can bias a share."
)


def run_page(site: Site, request: HTTPRequest) -> Response:
    """Return the page with a run's report, or with the run's state if there is no report."""
    identity = request.path_params["run"]
    site.indexer.refresh()
    facts = site.index.run(identity)
    if facts is None:
        raise LookupError("there is no such run")
    if facts.state == "unread":
        facts = site.index.read(facts.folder)
    try:
        run = site.opened.run(identity)
    except UsageError as error:
        return _unfinished(site, facts, error)
    annotations = run.annotations
    is_original = request.query_params.get("labels") == ORIGINAL
    shown = run.page(annotations, with_corrections=not is_original)
    report = html.served(shown, links_of(site, run))
    remark = _hand_note(run, len(annotations.labels), is_original)
    return page(facts.folder.name, _tools(run), remark, report, area="runs")


def links_of(site: Site, run: OpenedRun) -> PageLinks:
    """Return the links from a run's report to images and to filtered lists of images."""
    known = set(site.index.images_of_run(run.facts.id))
    base = f"/runs/{run.facts.id}/images"

    def image(reference: ImageReference) -> str | None:
        if reference.overlay is not None:
            return _overlay(site, reference)
        if reference.image_id not in known:
            return None
        return small_or_large(reference)

    def image_page(reference: ImageReference) -> str | None:
        return f"{base}/{reference.image_id}" if reference.image_id in known else None

    return PageLinks(image=image, image_page=image_page, images=lambda query: _list(run, query))


def small_or_large(reference: ImageReference) -> str:
    """Return the address of a copy of an image at the size shown on the page."""
    return f"/images/{reference.image_id}/{'large' if reference.large else 'small'}"


def _list(run: OpenedRun, query: ImageQuery | None) -> str | None:
    """Return the address of the list of images to which a number in the report refers."""
    if query is None or FORBIDDEN.search(query.axis + query.value + query.instrument):
        return None
    if query.prompt:
        number = run.set_numbers.get((query.prompt, query.set))
        chosen_set = None if number is None else str(number)
    else:
        chosen_set = sets_named(run.sets).get(query.set)
    if chosen_set is None:
        return None
    filters = {"set": chosen_set, "axis": query.axis, "value": query.value, "by": query.instrument}
    given = {name: text for name, text in filters.items() if text}
    return f"/runs/{run.facts.id}/images?{urlencode(given)}"


def _overlay(site: Site, reference: ImageReference) -> str | None:
    """Draw an attention overlay, add it to the cache, and return its address."""
    image = reference.source.picture(reference.image_id)
    if image is None or reference.overlay is None:
        return None
    side = media.LARGE if reference.large else media.OVERLAY
    content = media.overlay_copy(image, reference.overlay, side)
    return f"/overlays/{site.overlays.put(content)}"


def _tools(run: OpenedRun) -> Markup:
    base = f"/runs/{run.facts.id}"
    count = words.plural(run.facts.images, "image")
    links = (
        tag("a", "All runs", href="/"),
        tag("a", f"Filter the {count}", href=f"{base}/images"),
        _disagreement(run),
        tag("a", "Notes", href=f"{base}/notes"),
        tag("a", "Not examined yet", href=f"{base}/gaps"),
        tag("a", "Remove", href=f"{base}/remove"),
    )
    return tag("div", *links, class_="tools")


def _disagreement(run: OpenedRun) -> Markup | None:
    """Return a link to images on which instruments disagree; None if there are none."""
    chosen = ImageFilter(show="disagreement")
    count = sum(1 for _ in selected(run.sets, chosen, marks_of(run)))
    if not count:
        return None
    text = f"{words.plural(count, 'image')} on which instruments disagree"
    return tag("a", text, href=chosen.address(f"/runs/{run.facts.id}/images"))


def _hand_note(run: OpenedRun, count: int, is_original: bool) -> Markup | None:
    """Return a note that states whether the page uses corrected labels; None if there are none."""
    if not count:
        return None
    base = f"/runs/{run.facts.id}"
    corrections = tag(
        "a", words.plural(count, "correction"), " by hand", href=f"{base}/images?show=corrected"
    )
    if not run.has_shares:
        text = f". Results of `askew {run.result.method.name}` do not use corrected labels."
        return tag("div", tag("p", corrections, text, class_="hand-note"), class_="tools")
    if is_original:
        switch = tag("a", "Show the shares with them", href=base)
        parts = ("Without ", corrections, ". ", switch, ".")
    else:
        switch = tag("a", "Show the shares without them", href=f"{base}?labels={ORIGINAL}")
        parts = ("With ", corrections, f". {CAVEAT} ", switch, ".")
    return tag("div", tag("p", *parts, class_="hand-note"), class_="tools")


def _unfinished(site: Site, facts: RunFacts, error: UsageError) -> Response:
    """Return a page that shows the state of a run that has no report."""
    remove = tag("p", tag("a", "Remove this run", href=f"/runs/{facts.id}/remove"))
    if facts.state == "damaged":
        return message("This run is damaged", str(error), 409, "runs", remove)
    job = _latest_job(site, facts)
    process = working_process(facts.folder)
    if process is not None:
        text = (
            f"Process {process} is working on the run in {facts.folder}. "
            "When the process has finished, this page shows the results."
        )
        main = sheet("This run is in progress", job, tag("p", bdi(text)))
        return page(facts.folder.name, main, area="runs", refresh=REFRESH)
    text = (
        f"The run in {facts.folder} has a plan, but no results. askew does not generate finished "
        "images again. To continue the run, repeat its command in a terminal, or use its plan:"
    )
    plan = str(facts.folder / PLAN_FILE)
    resume = command_line((facts.method, "--plan", plan, "--run", str(facts.folder)))
    check = command_line(("check", str(facts.folder)))
    main = sheet(
        "This run has no results yet",
        job,
        tag("p", bdi(text)),
        tag("pre", resume),
        tag("p", "This command reports what is missing:"),
        tag("pre", check),
        remove,
    )
    return page(facts.folder.name, main, area="runs")


def _latest_job(site: Site, facts: RunFacts) -> Markup | None:
    """Return a link to a run's latest job; None if the app has not started the run."""
    for job in site.jobs.all():
        if run_id(Path(job.run)) == facts.id and not job.is_preview:
            link = tag("a", "Open its job", href=f"/jobs/{job.id}")
            return tag("p", "This app started the run. ", link, " to stop or resume it.")
    return None
