"""Pages that list the jobs and show the progress of a job."""

import re
import shutil
from collections.abc import Sequence
from pathlib import Path

from markupsafe import Markup
from rich.filesize import decimal
from starlette.requests import Request as HTTPRequest
from starlette.responses import RedirectResponse, Response

from askew.errors import AskewError, UsageError
from askew.pages import words
from askew.pages.elements import bdi, tag
from askew.run.folder import plan_hash_in
from askew.run.progress import LABELS, Event
from askew.store.store import Store, default_store
from askew.web.command_form import command_line
from askew.web.index import run_id
from askew.web.jobs import ENDED, AppJob, new_identity
from askew.web.marks_page import SEE_OTHER
from askew.web.sent_form import SentForm
from askew.web.shell import form, page, sheet, table
from askew.web.site import Site

REFRESH = 2
"""Time in seconds after which the browser reloads the page of an active job."""

NEWEST = 8
"""Number of newest images shown on a job's page."""

BUDGET = "--budget"
BUDGET_TEXT = re.compile(r"\d+|[\d.]+ ?(s|min|h|usd)|\$[\d.]+", re.IGNORECASE)

MOST_JOBS = 100
"""Maximum number of jobs in the list."""


def jobs_page(site: Site, request: HTTPRequest) -> Response:
    """Return the page that lists the jobs."""
    jobs = site.jobs.all()[:MOST_JOBS]
    rows = []
    is_active = False
    for job in jobs:
        state = site.jobs.state(job)
        is_active |= state not in ENDED
        link = tag("a", bdi(Path(job.run).name), href=f"/jobs/{job.id}")
        command = tag("code", words.shorten(command_line(job.arguments), 160))
        shown_state = tag("span", state, class_=f"state {state}")
        if not site.is_read_only and state not in ENDED:
            shown_state = tag("div", shown_state, _stop_button(site, job))
        rows.append((link, command, shown_state, _time(job)))
    content: Markup = tag("p", "No run was started here. ", tag("a", "New run", href="/new"))
    if rows:
        content = table(("Run", "Command", "State", "Requested"), rows, "jobs")
    lead = (
        "One job runs at a time. Jobs continue when you close the browser or the app. “Stop” keeps "
        "the finished images. To continue a stopped job, open its run and press “Resume”."
    )
    refresh = REFRESH if is_active else None
    return page("Jobs", sheet("Jobs", content, lead=lead), area="jobs", refresh=refresh)


def _time(job: AppJob) -> str:
    return job.created.replace("T", " ").partition(".")[0] + " UTC"


def job_page(site: Site, request: HTTPRequest) -> Response:
    """Return the page that shows the progress of a job."""
    job = _job(site, request)
    state = site.jobs.state(job)
    progress = site.jobs.progress(job)
    parts = [
        tag("p", "State: ", tag("b", state, class_=f"state {state}"), _left_on_disk(site)),
        *(_stage(event) for event in progress.stages),
        *(tag("p", bdi(words.shorten(text, 400)), class_="note") for text in progress.messages),
        _images(site, job),
        _buttons(site, job, state),
    ]
    if state == "done" and not job.is_preview:
        site.indexer.refresh()
        parts.insert(
            1, tag("p", tag("a", "Open the report", href=f"/runs/{run_id(Path(job.run))}"))
        )
    output = site.jobs.output(job)
    parts.append(tag("section", tag("h2", "Command"), tag("pre", command_line(job.arguments))))
    if output and state in ENDED:
        log = tag("pre", output, class_="log", tabindex=0)
        parts.append(tag("section", tag("h2", "Output"), log))
    title = f"{'Preview' if job.is_preview else 'Run'} {Path(job.run).name}"
    refresh = None if state in ENDED else REFRESH
    return page(title, sheet(title, *parts), area="jobs", refresh=refresh)


def _job(site: Site, request: HTTPRequest) -> AppJob:
    job = site.jobs.find(request.path_params["job"])
    if job is None:
        raise LookupError("there is no such job")
    return job


def _left_on_disk(site: Site) -> str:
    try:
        return f" · {decimal(shutil.disk_usage(site.home).free)} free on disk"
    except OSError:
        return ""


def _stage(event: Event) -> Markup:
    """Return a stage's progress bar, with the number of finished tasks and the total."""
    name = LABELS[event.stage] if event.stage in LABELS else str(event.stage)
    text = f"{name}: {words.shorten(event.name, 60)}, {event.done:,} of {event.total:,}"
    if event.kind == "batch" and event.eta is not None:
        text += f", {_duration(event.eta)} left"
    bar = tag("progress", value=event.done, max=max(event.total, 1), aria_label=name)
    return tag("p", tag("span", text), tag("br"), bar)


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"


def _images(site: Site, job: AppJob) -> Markup | None:
    """Return a gallery of a job's newest images. The images' addresses work until the app ends."""
    names = newest_images(Path(job.run), _store(job))
    site.opened.allow(names, _store(job))
    if not names:
        return None
    tiles = []
    for number, name in enumerate(names, start=1):
        alt = f"New image {number}"
        image = tag("img", src=f"/images/{name}/small", alt=alt)
        tiles.append(tag("li", tag("a", image, href=f"/images/{name}")))
    return tag("section", tag("h2", "Newest images"), tag("ul", *tiles, class_="gallery"))


def _store(job: AppJob) -> Path:
    """Return the path of the store that a job uses."""
    arguments = list(job.arguments)
    if "--store" in arguments:
        return Path(arguments[arguments.index("--store") + 1])
    return default_store(Path(job.run))


def newest_images(run: Path, store: Path) -> Sequence[str]:
    """Return the ids of the images that a run has stored most recently.

    Parameters
    ----------
    run
        Folder of the run.
    store
        Path of the run's store.
    """
    try:
        plan = plan_hash_in(run) if run.is_dir() else None
        if plan is None:
            return ()
        with Store(store, create=False) as opened:
            return opened.newest(plan, NEWEST)
    except AskewError:  # the run is about to create its folder or its store
        return ()


def _buttons(site: Site, job: AppJob, state: str) -> Markup | None:
    if site.is_read_only:
        return None
    if state not in ENDED:
        return _stop_button(site, job)
    if state == "done":
        return None
    action = f"/jobs/{job.id}/continue"
    budget = tag(
        "label",
        tag("span", "Budget: images (500), time (90min) or cost (5usd); empty for no limit"),
        tag("input", type="text", name="budget", value=budget_of(job), maxlength=40),
    )
    fields = tag("div", budget, tag("button", "Resume"), class_="fields")
    return form(action, site.session.form_token(action), fields)


def _stop_button(site: Site, job: AppJob) -> Markup:
    action = f"/jobs/{job.id}/stop"
    return form(action, site.session.form_token(action), tag("button", "Stop", class_="plain"))


def budget_of(job: AppJob) -> str:
    """Return the value of --budget in a job's command; empty if the option is not given."""
    arguments = list(job.arguments)
    for place, text in enumerate(arguments):
        if text == BUDGET:
            return "".join(arguments[place + 1 : place + 2])
        if text.startswith(f"{BUDGET}="):
            return text.partition("=")[2]
    return ""


def with_budget(arguments: Sequence[str], budget: str) -> list[str]:
    """Return a command's arguments with a new value for --budget.

    Parameters
    ----------
    arguments
        Arguments for `askew`, which end with the run folder.
    budget
        New value of --budget; empty to remove the option.

    Raises
    ------
    UsageError
        If the value is not a valid budget.
    """
    if budget and not BUDGET_TEXT.fullmatch(budget):
        raise UsageError(
            f"{budget!r} is not a budget. Give a budget such as 500 (images), 90min, or 5usd"
        )
    changed: list[str] = []
    is_value = False
    for text in arguments:
        if is_value or text.startswith(f"{BUDGET}="):
            is_value = False
        elif text == BUDGET:
            is_value = True
        else:
            changed.append(text)
    if budget:
        changed[-2:-2] = [BUDGET, budget]
    return changed


def stop_job(site: Site, request: HTTPRequest, sent: object) -> Response:
    """Stop a job in the same way as Ctrl-C. Finished work is kept."""
    job = _job(site, request)
    site.jobs.interrupt(job)
    return RedirectResponse(f"/jobs/{job.id}", SEE_OTHER)


def continue_job(site: Site, request: HTTPRequest, sent: SentForm) -> Response:
    """Add an ended job's command to the queue again, with the budget from the form."""
    job = _job(site, request)
    arguments: Sequence[str] = job.arguments
    if "budget" in sent.fields:
        arguments = with_budget(arguments, sent.text("budget"))
    again = site.jobs.add(new_identity(), arguments, Path(job.run), is_preview=job.is_preview)
    return RedirectResponse(f"/jobs/{again.id}", SEE_OTHER)
