"""Functions that draw sorted images and matrices as HTML."""

from collections.abc import Callable, Iterator

from markupsafe import Markup

from askew.pages import words
from askew.pages.blocks import (
    ImageColumn,
    ImageQuery,
    LabelGroup,
    MatrixCell,
    MatrixRow,
    ScoreMatrix,
    SortedImages,
    Thumbnail,
)
from askew.pages.elements import Ids, bdi, captioned, link, region, tag
from askew.pages.media import QueryLink, no_list

SHADES = 4
"""Number of shades for positive levels; negative levels have the same number."""

FEW = 3
"""Maximum number of columns for which a matrix is narrower than the page."""

Draw = Callable[[Thumbnail], Markup]
"""Function that draws a thumbnail and returns it as an element."""


def sorted_images(block: SortedImages, draw: Draw, images: QueryLink = no_list) -> Markup:
    """Return images grouped by label, with the number of images in each group.

    Parameters
    ----------
    block : SortedImages
        The images.
    draw : callable
        Function that draws a thumbnail and returns it as an element.
    images : callable
        Function that returns the address of the image list for a query.

    Returns
    -------
    Markup
        The title, and a column for each set.
    """
    columns = [_column(column, draw, images) for column in block.columns]
    kind = "pair" if len(columns) > 1 else "single"
    return captioned(block.caption, block.note) + tag("div", *columns, class_=kind)


def _column(column: ImageColumn, draw: Draw, images: QueryLink) -> Markup:
    heading = None
    if column.label:
        small = tag("br") + tag("span", column.note) if column.note else None
        heading = tag("p", tag("b", bdi(column.label)), small, class_="iso-head")
    groups = (_label_group(group, column, draw, images) for group in column.groups)
    return tag("div", heading, *groups)


def _label_group(group: LabelGroup, column: ImageColumn, draw: Draw, images: QueryLink) -> Markup:
    """Return images with the same label, below the label's name and counts."""
    reference = ""
    if group.reference is not None and not column.label:
        expected = words.number(group.reference, 0 if group.reference >= 10 else 1)
        reference = f"; reference {expected.removesuffix('.0')}"
    name = tag("b", bdi(words.shorten(group.label, 40)), f" {group.count:,}")
    address = images(group.images)
    if address:
        name = tag("a", name, href=address)
    n = column.n if group.n is None else group.n
    small = tag("span", f" of {n:,}{reference}")
    shots = (tag("li", draw(shot)) for shot in group.shots)
    tiles = tag("ul", *shots, class_="tiles") if group.shots else None
    kind = "iso" if group.deviation == "none" else f"iso {group.deviation}"
    return tag("div", tag("p", name, small, class_="iso-head"), tiles, class_=kind)


def matrix(block: ScoreMatrix, ids: Ids, draw: Draw, images: QueryLink = no_list) -> Markup:
    """Return a matrix as a table. On a narrow screen, each row of a text matrix becomes a card.

    Parameters
    ----------
    block : ScoreMatrix
        The matrix.
    ids : mapping of str to str
        Ids of elements, keyed by anchor.
    draw : callable
        Function that draws a thumbnail and returns it as an element.
    images : callable
        Function that returns the address of the image list for a query.

    Returns
    -------
    Markup
        The table and its legend.
    """
    names = (tag("th", bdi(name), scope="col") for name in block.columns)
    head = tag("thead", tag("tr", tag("th", block.heading, scope="col"), *names))
    rows = (_matrix_row(block, row, ids, draw, images) for row in block.rows)
    kind = "grid square" if block.square else "grid cards"
    if len(block.columns) <= FEW and not block.square:
        kind += " few"
    table = tag("table", head, tag("tbody", *rows), class_=kind)
    keys = tag("ul", *_matrix_keys(block), class_="legend") if block.keys else None
    parts = captioned(block.caption, block.note) + region(block.caption or "Matrix", table)
    return tag("div", parts, keys, class_="matrices")


def _matrix_row(
    block: ScoreMatrix, row: MatrixRow, ids: Ids, draw: Draw, images: QueryLink
) -> Markup:
    name = link(row.label, row.link, ids)
    strip = None
    if row.shots:
        strip = tag("ul", *(tag("li", draw(shot)) for shot in row.shots), class_="strip")
    head = tag("th", name if block.square else tag("b", name), strip, scope="row")
    cells = []
    for column, cell in zip(block.columns, row.cells, strict=True):
        cells.append(_matrix_cell(cell, column, ids, images))
    return tag("tr", head, *cells)


def _matrix_cell(cell: MatrixCell | None, column: str, ids: Ids, images: QueryLink) -> Markup:
    """Return a cell. In a card, the cell repeats the heading of its column."""
    if cell is None:
        return tag("td", tag("span", column, class_="lab", aria_hidden="true"), words.ABSENT)
    if not cell.text:
        return tag("td", words.ABSENT, class_="self")
    name = tag("span", column, class_="lab", aria_hidden="true")
    text = images_link(cell.text, cell.images, images) or link(cell.text, cell.link, ids)
    value = tag("b" if cell.significant else "span", text, class_="value")
    small = tag("span", cell.small, class_="small") if cell.small else None
    kinds = (
        "sig" if cell.significant else "",
        "framed" if cell.framed else "",
        shade(cell.level),
    )
    return tag("td", name, value, small, class_=" ".join(filter(None, kinds)))


def images_link(text: str, query: ImageQuery | None, images: QueryLink) -> Markup | None:
    """Return a link from a text to the images it describes; None if the page has no image list."""
    address = images(query)
    if address is None or query is None:
        return None
    title = f"Images labeled {query.value}" if query.value else "Images of the set"
    return tag("a", bdi(text), href=address, title=title)


def shade(level: float) -> str:
    """Return the CSS class for a shade from -1 (blue) to 1 (orange), or "" for no shade."""
    if abs(level) < 1e-9:
        return ""
    step = min(int(SHADES * min(abs(level), 1.0)) + 1, SHADES)
    return f"over-{step}" if level > 0 else f"under-{step}"


def _matrix_keys(block: ScoreMatrix) -> Iterator[Markup]:
    """Yield the legend's entries for shades and frames."""
    for kind, text in block.keys:
        if kind in ("over", "under"):
            shades = (tag("i", class_=f"{kind}-{step}") for step in range(1, SHADES + 1))
            sample = tag("span", *shades, class_="ramp")
        else:
            sample = tag("span", tag("i", class_=kind), class_="ramp")
        yield tag("li", sample, text)
