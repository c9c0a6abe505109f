"""Page for removing a run. The page first shows what will be removed and what will be kept."""

from pathlib import Path

from rich.filesize import decimal
from starlette.requests import Request as HTTPRequest
from starlette.responses import RedirectResponse, Response

from askew.commands import runs_rm
from askew.errors import UsageError
from askew.pages import words
from askew.pages.elements import bdi, tag
from askew.web.command_form import command_line
from askew.web.index import RunFacts
from askew.web.jobs import active
from askew.web.marks_page import SEE_OTHER
from askew.web.sent_form import SentForm
from askew.web.shell import form, page, sheet
from askew.web.site import Site


def removal_page(site: Site, request: HTTPRequest) -> Response:
    """Return a page that shows what removing a run would delete, with a button that removes it."""
    facts = _facts(site, request)
    count = words.plural(facts.images, "image")
    shared = site.index.shared_images(facts.id)
    stays = (
        f"This removes the results for {count} ({decimal(facts.size)}). The images and their labels "
        "stay in the store until `askew store gc` deletes them."
    )
    if shared:
        stays += f" Other runs here also contain {shared} of these images."
    command = tag("pre", command_line(["runs", "rm", str(facts.folder), "--yes"]))
    parts: list[object] = [tag("p", stays), tag("pre", bdi(runs_rm(facts.folder))), command]
    if site.is_read_only:
        parts.append(tag("p", "The app was started with --read-only, so it removes no runs."))
    else:
        action = f"/runs/{facts.id}/remove"
        button = tag("button", "Remove this run")
        parts.append(form(action, site.session.form_token(action), button))
    back = tag("p", tag("a", "Back to the run", href=f"/runs/{facts.id}"))
    title = f"Remove {facts.folder.name}"
    return page(title, sheet(title, *parts, back), area="runs")


def remove_run(site: Site, request: HTTPRequest, sent: SentForm) -> Response:
    """Remove a run in the same way as `askew runs rm`, unless a job is writing to it."""
    facts = _facts(site, request)
    if any(Path(job.run) == facts.folder for job in active(site.jobs)):
        raise UsageError(f"a job writes to {facts.folder}. Stop the job first")
    runs_rm(facts.folder, yes=True)
    site.index.scan()
    return RedirectResponse("/", SEE_OTHER)


def _facts(site: Site, request: HTTPRequest) -> RunFacts:
    facts = site.index.run(request.path_params["run"])
    if facts is None:
        raise LookupError("there is no such run")
    return facts
