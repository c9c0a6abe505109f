"""Page that lists the runs. Users can search and sort the list."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import urlencode

from markupsafe import Markup
from rich.filesize import decimal
from starlette.requests import Request as HTTPRequest
from starlette.responses import Response

from askew.pages import words
from askew.pages.elements import bdi, tag
from askew.store.store import working_process
from askew.web.index import ORDERS, RunFacts, run_id
from askew.web.jobs import AppJob, active
from askew.web.shell import choice, date_of, page, page_number, pager, sheet, table
from askew.web.site import Site

ON_A_PAGE = 100
"""Maximum number of runs per page of the list."""

SHOWN_PROMPTS = 2
"""Number of prompts shown in a run's row."""

ORDER_NAMES = {
    "changed": "last change",
    "name": "folder",
    "method": "command",
    "model": "model",
    "images": "images",
    "size": "size",
    "state": "state",
}

REFRESH = 2
"""Time in seconds after which the browser reloads the list while askew is still reading runs."""


def runs_page(site: Site, request: HTTPRequest) -> Response:
    """Return the page that lists the runs."""
    unread = site.indexer.refresh()
    query = request.query_params.get("q", "")
    order = request.query_params.get("sort", "changed")
    if order not in ORDERS:
        order = "changed"
    runs = site.index.runs(query, order)
    number = page_number(request.query_params.get("page", ""), len(runs), ON_A_PAGE)
    start = (number - 1) * ON_A_PAGE
    jobs = {run_id(Path(job.run)): job for job in active(site.jobs)}

    def address(target: int) -> str:
        return f"/?{urlencode({'q': query, 'sort': order, 'page': target})}"

    content = (
        _search(query, order),
        tag("p", _count(len(runs), unread, query), class_="note"),
        _list(runs[start : start + ON_A_PAGE], jobs) if runs else _nothing(site, query),
        pager(number, -(-len(runs) // ON_A_PAGE), address),
    )
    refresh = REFRESH if unread else None
    return page("Runs", sheet("Runs", *content), area="runs", refresh=refresh)


def _search(query: str, order: str) -> Markup:
    field = tag(
        "label",
        tag("span", "Search"),
        tag("input", type="search", name="q", value=query, size=30, maxlength=200),
    )
    sort = choice("sort", ORDER_NAMES, order, "Order")
    return tag(
        "form",
        tag("div", field, sort, tag("button", "Show", class_="plain"), class_="fields"),
        method="get",
        action="/",
        role="search",
    )


def _count(count: int, unread: int, query: str) -> str:
    text = words.plural(count, "run")
    if query:
        text += f" with “{words.shorten(query, 60)}”"
    if unread:
        text += f". askew is reading {words.plural(unread, 'run')}"
    return f"{text}."


def _nothing(site: Site, query: str) -> Markup:
    if query:
        return tag("p", "No run contains all words of the search.")
    folders = words.listing([str(root) for root in site.index.roots])
    text = f"There are no runs in {folders}. "
    return tag("p", bdi(text), tag("a", "Start a run", href="/new"), ".")


def _list(runs: Sequence[RunFacts], jobs: Mapping[str, AppJob]) -> Markup:
    """Return the list of runs as a form for selecting runs to compare."""
    heads = ("Run", "Result", "Model", "Command", "State", "Images", "Size", "Changed")
    rows = [_row(run, jobs.get(run.id)) for run in runs]
    button = tag("p", tag("button", "Compare the selected runs", class_="plain"))
    return tag("form", button, table(heads, rows, "runs"), method="get", action="/compare")


def _row(run: RunFacts, job: AppJob | None) -> tuple[object, ...]:
    """Return a run's row in the list.

    If the run has no results yet and a job is working on it, the row links to the job. A command in
    a terminal may also be working on the run.
    """
    state: str = run.state
    address = f"/runs/{run.id}"
    if run.state == "unfinished" and job is not None:
        state = "running"
        address = f"/jobs/{job.id}"
    elif run.state == "unfinished" and working_process(run.folder) is not None:
        state = "running"
    name = tag("a", bdi(words.shorten(run.folder.name, 80)), href=address)
    box = tag("input", type="checkbox", name="run", value=run.id)
    first: Markup = name
    if run.state == "done":
        first = tag("label", box, tag("span", name), class_="inline")
    result = tag("span", bdi(words.shorten(run.headline, 220)), class_="headline")
    if run.fault:
        result = tag("span", bdi(words.shorten(run.fault, 220)))
    prompts = tag("span", bdi(_prompts(run.prompts)), class_="small")
    return (
        first,
        tag("div", result, prompts if run.prompts else None),
        bdi(words.shorten(run.model, 80)),
        run.method,
        tag("span", state, class_=f"state {state}"),
        f"{run.images:,}" if run.images else "",
        decimal(run.size),
        date_of(run.changed),
    )


def _prompts(text: str) -> str:
    prompts = text.split("\n")
    shown = ", ".join(words.quote(prompt, 60) for prompt in prompts[:SHOWN_PROMPTS])
    more = len(prompts) - SHOWN_PROMPTS
    return f"{shown} and {more} more" if more > 0 else shown
