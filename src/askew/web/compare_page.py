"""Page that compares two to six runs. The page is computed on demand and not written to disk."""

from starlette.requests import Request as HTTPRequest
from starlette.responses import Response

from askew.pages import html, words
from askew.pages.blocks import ImageReference
from askew.pages.elements import tag
from askew.pages.media import PageLinks
from askew.web.run_page import small_or_large
from askew.web.shell import page
from askew.web.site import Site


def compare_page(site: Site, request: HTTPRequest) -> Response:
    """Return a page that compares the runs whose ids are in the query."""
    identities = list(dict.fromkeys(request.query_params.getlist("run")))
    runs = []
    for identity in identities:
        facts = site.index.run(identity)
        if facts is None:
            raise LookupError("one of the runs does not exist")
        runs.append(facts)
    shown = site.comparisons.page(runs)
    pages: dict[str, str] = {}
    for run in runs:
        for name in site.index.images_of_run(run.id):
            pages.setdefault(name, f"/runs/{run.id}/images/{name}")

    def image(reference: ImageReference) -> str | None:
        return small_or_large(reference) if reference.image_id in pages else None

    links = PageLinks(image=image, image_page=lambda reference: pages.get(reference.image_id))
    names = [tag("a", words.shorten(run.folder.name, 40), href=f"/runs/{run.id}") for run in runs]
    tools = tag("div", tag("a", "All runs", href="/"), *names, class_="tools")
    return page("Comparison", tools, html.served(shown, links), area="runs")
