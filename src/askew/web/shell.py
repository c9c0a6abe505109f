"""Elements that the pages of the app share: head, navigation bar, forms, lists and tables."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from hashlib import sha256
from importlib import resources

from markupsafe import Markup
from starlette.responses import HTMLResponse

from askew.pages import html, words
from askew.pages.elements import bdi, tag

AREAS = {"runs": ("/", "Runs"), "new": ("/new", "New run"), "jobs": ("/jobs", "Jobs")}
"""Address and name of each area of the app."""


def style_sheet() -> str:
    """Return the style sheet for all pages. It extends the style sheet of reports."""
    additions = resources.files("askew.web").joinpath("app.css").read_text(encoding="utf-8")
    return f"{html.style()}\n{additions}"


STYLE_ADDRESS = f"/style-{sha256(style_sheet().encode()).hexdigest()[:16]}.css"
"""Address of the style sheet. The address changes whenever the style sheet changes."""


def page(
    title: str,
    *content: object,
    area: str = "",
    status: int = 200,
    refresh: int | None = None,
) -> HTMLResponse:
    """Return a page of the app.

    Parameters
    ----------
    title
        Title of the page.
    *content
        Elements of the page.
    area
        Area that the navigation bar highlights as current; empty for none.
    status
        HTTP status of the response.
    refresh
        Time in seconds after which the browser reloads the page; None if it is not reloaded.
    """
    again = None
    if refresh is not None:
        again = tag("meta", http_equiv="refresh", content=str(refresh))
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        again,
        tag("title", f"{words.shorten(title, 80)} – askew"),
        tag("link", rel="stylesheet", href=STYLE_ADDRESS),
        tag("link", rel="icon", href="/icon.svg"),
    )
    body = tag(
        "body",
        tag("a", "Skip to the content", class_="skip", href="#top"),
        _bar(area),
        *content,
        class_="askew whole app",
    )
    text = words.clean(f"<!DOCTYPE html>\n{tag('html', head, body, lang='en')}\n")
    return HTMLResponse(text, status)


def _bar(area: str) -> Markup:
    links = []
    for name, (address, text) in AREAS.items():
        current = "page" if name == area else None
        links.append(tag("li", tag("a", text, href=address, aria_current=current)))
    return tag("div", tag("b", "askew"), tag("ul", *links), class_="bar", role="navigation")


def sheet(title: str, *content: object, lead: str = "") -> Markup:
    """Return the headline and main content of a page that is not a report."""
    head = tag("h1", bdi(title), id="top")
    first = tag("p", lead, class_="lead") if lead else None
    return tag("main", head, first, *content, class_="sheet")


def message(title: str, text: str, status: int, area: str = "", *more: object) -> HTMLResponse:
    """Return a page with a single message, such as an error."""
    return page(
        title, sheet(title, tag("p", bdi(text), role="alert"), *more), area=area, status=status
    )


def form(
    action: str, token: str, *content: object, hidden: Iterable[tuple[str, str]] = ()
) -> Markup:
    """Return a form that is sent as a POST request.

    Parameters
    ----------
    action
        Path to which the browser sends the form.
    token
        Token of the form.
    *content
        Elements of the form.
    hidden
        Names and values of hidden fields.
    """
    fields = [_hidden(name, value) for name, value in (("token", token), *hidden)]
    return tag("form", *fields, *content, method="post", action=action)


def _hidden(name: str, value: str) -> Markup:
    return tag("input", type="hidden", name=name, value=value)


def choice(
    name: str,
    options: Mapping[str, str],
    chosen: str,
    label: str,
    note: Markup | None = None,
) -> Markup:
    """Return a drop-down list with a label.

    Parameters
    ----------
    name
        Name of the form field.
    options
        Text of each option, keyed by option value.
    chosen
        Value of the selected option.
    label
        Label before the list.
    note
        Element shown after the list; None for no element.
    """
    items = [_option(value, text, value == chosen) for value, text in options.items()]
    return tag("label", tag("span", label), tag("select", *items, name=name), note)


def _option(value: str, text: str, is_chosen: bool) -> Markup:
    if value:
        return tag("option", text, value=value, selected=is_chosen)
    start = '<option value="" selected>' if is_chosen else '<option value="">'
    return Markup(start) + text + Markup("</option>")


def table(heads: Sequence[str], rows: Iterable[Sequence[object]], kind: str) -> Markup:
    """Return a table. On narrow screens, its rows are displayed as cards.

    Parameters
    ----------
    heads
        Column headings. The first column contains the heading of each row.
    rows
        Cells of each row.
    kind
        CSS class of the table.
    """
    head = tag("tr", *(tag("th", text, scope="col") for text in heads))
    body = []
    for first, *others in rows:
        cells = [
            tag("td", cell, data_name=name) for name, cell in zip(heads[1:], others, strict=True)
        ]
        body.append(tag("tr", tag("th", first, scope="row"), *cells))
    return tag("table", tag("thead", head), tag("tbody", *body), class_=f"records {kind}")


def page_number(text: str, count: int, on_a_page: int) -> int:
    """Return the page number from a query, or the nearest page that exists.

    Parameters
    ----------
    text
        Text from the query. If the text is not a number, the first page is returned.
    count
        Number of entries in the list.
    on_a_page
        Maximum number of entries per page.
    """
    last = max(1, -(-count // on_a_page))
    is_number = text.isascii() and text.isdigit() and len(text) < 7
    return min(max(int(text), 1), last) if is_number else 1


def pager(number: int, last: int, address: Callable[[int], str]) -> Markup | None:
    """Return links to a list's previous and next pages; None if the list has only one page."""
    if last < 2:
        return None
    links = []
    for text, target in (("Previous page", number - 1), ("Next page", number + 1)):
        if 1 <= target <= last:
            links.append(tag("a", text, href=address(target)))
    return tag("p", f"Page {number} of {last}", *links, class_="pages")


def date_of(seconds: float) -> str:
    """Return a Unix timestamp as a date and time in the local time zone of the machine."""
    return datetime.fromtimestamp(seconds).strftime("%Y-%m-%d %H:%M")
