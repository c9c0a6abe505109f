"""Renderer that writes a page as a self-contained HTML file.

The file uses no scripts, no inline styles and no external files.
"""

import base64
import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from itertools import count

from markupsafe import Markup

from askew.pages import blocks, charts, panels, plots, value_rows, words
from askew.pages.blocks import (
    Block,
    Content,
    DefinitionList,
    Details,
    Page,
    Paragraph,
    PhraseLink,
    PictureGrid,
    PictureRow,
    Section,
    Table,
    TableCell,
    Thumbnail,
)
from askew.pages.elements import (
    NOTHING,
    LinearScale,
    axis,
    bdi,
    figure,
    joined,
    key,
    legend,
    note,
    reach,
    region,
    tag,
)
from askew.pages.media import ImageLink, PageLinks, QueryLink, data_uri
from askew.pages.plain import as_table
from askew.types import Estimate

ONE_LINE = 120
"""Number of characters above which warnings are collapsed, so that the chart stays near the top."""

LONG_HEADLINE = 110
"""Number of characters above which a headline is set in a smaller font."""

LONG = 26
"""Number of characters in a cell above which the cell's column wraps."""

TOP = "top"
RESULT = "Result"
"""Id of the header, and text of the link to it."""


def page(document: Page, link: ImageLink = data_uri, image_sources: str = "data:") -> str:
    """Return a page as a complete HTML file.

    The content security policy of the file allows only images and the file's own style sheet, which
    is identified by its hash.

    Parameters
    ----------
    document : Page
        The page.
    link : callable
        Function that returns the address of an image (by default, images are embedded).
    image_sources : str
        Sources from which the content security policy allows images.

    Returns
    -------
    str
        Content of the file.
    """
    digest = base64.b64encode(hashlib.sha256(style().encode()).digest()).decode()
    policy = f"default-src 'none'; img-src {image_sources}; style-src 'sha256-{digest}'"
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("meta", name="generator", content=f"askew {document.version}".strip()),
        tag("title", f"askew: {words.shorten(document.title, 100)}"),
        tag("style", Markup(style())),
    )
    content = _content(document, document.sections, PageLinks(link), "")
    skip = tag("a", "Skip to the result", class_="skip", href=f"#{TOP}")
    body = tag("body", skip, content, class_="askew whole")
    return words.clean(f"<!DOCTYPE html>\n{tag('html', head, body, lang='en')}\n")


def fragment(document: Page, link: ImageLink = data_uri) -> str:
    """Return a page as an HTML element for a notebook, with only the sections that screens show.

    Parameters
    ----------
    document : Page
        The page.
    link : callable
        Function that returns the address of an image (by default, images are embedded).

    Returns
    -------
    str
        Element with a style sheet that does not affect other elements.
    """
    identity = repr((document.title, document.answer, document.meta))
    prefix = hashlib.sha256(identity.encode()).hexdigest()[:8]
    shown = tuple(section for section in document.sections if section.screen)
    style_element = tag("style", Markup(style()))
    content = _content(document, shown, PageLinks(link), f"{prefix}-")
    return words.clean(tag("div", style_element, content, class_="askew part"))


def served(document: Page, links: PageLinks) -> Markup:
    """Return a page as an HTML element for a web app that has its own style sheet.

    Parameters
    ----------
    document : Page
        The page.
    links : PageLinks
        Addresses of images and image lists.

    Returns
    -------
    Markup
        The element, without a style sheet.
    """
    return _content(document, document.sections, links, "")


@cache
def style() -> str:
    """Return the style sheet that all pages use."""
    return resources.files("askew.pages").joinpath("style.css").read_text(encoding="utf-8")


def _content(document: Page, sections: Sequence[Section], links: PageLinks, prefix: str) -> Markup:
    """Return a page's header, links, first screen, sections and footer."""
    renderer = Renderer(ids=_ids(sections, prefix), links=links)
    top = f"{prefix}{TOP}"
    first = renderer.first_screen(document.first) if document.first else None
    main = tag("main", first, *(renderer.block(section) for section in sections))
    parts = (
        _header(document, top, links.images),
        _navigation(sections, renderer.ids, top),
        main,
        _footer(document),
    )
    return tag("div", tag("div", *parts, class_="page"), class_="frame")


def _navigation(sections: Sequence[Section], ids: Mapping[str, str], top: str) -> Markup | None:
    """Return links to the sections, shown beside the page or in a line below the first screen."""
    if not sections:
        return None
    links = [tag("li", tag("a", RESULT, href=f"#{top}"))]
    for section in sections:
        links.append(tag("li", tag("a", section.title, href=f"#{ids[section.name]}")))
    heading = tag("p", "On this page", class_="rail-head")
    return tag("nav", heading, tag("ul", *links), aria_label="Sections")


def _footer(document: Page) -> Markup:
    version = f"Made by askew {document.version}." if document.version else ""
    notes = " ".join(filter(None, (*document.notes, version)))
    limits = tag("p", document.limits, class_="printed") if document.limits else None
    return tag("footer", tag("p", notes), limits)


def _header(document: Page, top: str, images: QueryLink) -> Markup:
    is_long = len(document.answer) > LONG_HEADLINE
    answer = tag("bdi", linked(document.answer, document.links, images))
    detail = linked(document.detail, document.links, images)
    return tag(
        "header",
        tag("p", bdi(document.kicker), class_="kicker"),
        tag("h1", answer, class_="long" if is_long else None),
        tag("p", detail, class_="lead") if detail else None,
        tag("p", bdi(document.meta), class_="meta") if document.meta else None,
        _warnings(document.warnings) if document.warnings else None,
        id=top,
    )


def linked(text: str, links: Iterable[PhraseLink], images: QueryLink) -> Markup:
    """Return a text in which each phrase that states a number of images links to those images.

    Parameters
    ----------
    text : str
        The text.
    links : iterable of PhraseLink
        Phrases to link. Phrases that do not occur in the text are ignored.
    images : callable
        Function that returns the address of the image list for a query.

    Returns
    -------
    Markup
        The text. A phrase without an address is not a link.
    """
    parts: list[object] = []
    rest = text
    for link in links:
        before, phrase, after = rest.partition(link.phrase)
        address = panels.images_link(phrase, link.images, images) if phrase else None
        if address is not None:
            parts += [before, address]
            rest = after
    return joined([*parts, rest])


def _warnings(warnings: Sequence[str]) -> Markup:
    """Return a line with the first warning.

    If needed, readers can expand the line to show all warnings.
    """
    title = tag("strong", "Warning" if len(warnings) == 1 else f"{len(warnings)} warnings")
    line = (title, tag("span", f": {warnings[0]}"))
    if len(warnings) == 1 and len(warnings[0]) <= ONE_LINE:
        return tag("div", *line, class_="warnings", role="note")
    fold = tag("details", tag("summary", *line), _listed(warnings))
    return tag("div", fold, class_="warnings", role="note")


def _listed(warnings: Sequence[str]) -> Markup:
    return tag("ul", *(tag("li", warning) for warning in warnings))


def _anchors(shown: Iterable[Block]) -> Iterator[str]:
    """Yield the anchors of sections and details, in the order of the page."""
    for block in shown:
        if isinstance(block, Section | Details):
            name = block.name if isinstance(block, Section) else block.anchor
            if name:
                yield name
            yield from _anchors(block.blocks)


def _ids(sections: Sequence[Section], prefix: str) -> dict[str, str]:
    """Return a readable id for each anchor. No two anchors share an id."""
    ids: dict[str, str] = {}
    for anchor in _anchors(sections):
        slug = re.sub(r"[^a-z0-9]+", "-", anchor.lower()).strip("-")[:60]
        stem = prefix + (slug or "section")
        names = (f"{stem}-{number}" if number > 1 else stem for number in count(1))
        ids.setdefault(anchor, next(name for name in names if name not in ids.values()))
    return ids


@dataclass(frozen=True, slots=True)
class Renderer:
    """Renderer of blocks as HTML.

    Attributes
    ----------
    ids : mapping of str to str
        Ids of elements, keyed by anchor, for links within the page.
    links : PageLinks
        Addresses of images and image lists.
    """

    ids: Mapping[str, str]
    links: PageLinks

    def block(self, block: Block, level: int = 2) -> Markup:
        """Return a block as HTML.

        Parameters
        ----------
        block : Block
            The block.
        level : int
            Level of the block's headings.

        Returns
        -------
        Markup
            Elements of the block.
        """
        match block:
            case Section():
                return self._section(block, level)
            case Details():
                return self._details(block, level)
            case blocks.LineChart():
                numbers = Details("The numbers", tuple(filter(None, [as_table(block)])))
                return charts.lines(block) + self._details(numbers, level, class_="numbers")
            case PictureGrid() | blocks.Scatter() | blocks.SortedImages() | blocks.ScoreMatrix():
                return self._with_images(block)
            case blocks.ValueChart():
                return value_rows.values(block, self.ids, self.links.images)
            case blocks.ChangeChart():
                return value_rows.changes(block, self.ids)
            case blocks.IntervalChart():
                return plots.lanes(block, self.ids)
            case Paragraph():
                return _paragraph(block, self.links.images)
            case _:
                return _text(block)

    def _with_images(
        self, block: PictureGrid | blocks.Scatter | blocks.SortedImages | blocks.ScoreMatrix
    ) -> Markup:
        match block:
            case blocks.Scatter():
                return charts.scatter(block, self.links.image)
            case blocks.SortedImages():
                return panels.sorted_images(block, self._shot, self.links.images)
            case blocks.ScoreMatrix():
                return panels.matrix(block, self.ids, self._shot, self.links.images)
            case PictureGrid():
                return self._pictures(block)

    def first_screen(self, first: blocks.FirstScreen) -> Markup:
        """Return the first screen of a page, with its chart and images."""
        chart = tag("div", *(self.block(block, 3) for block in first.chart), class_="chart-side")
        images = None
        if first.images:
            shown = (self.block(block, 3) for block in first.images)
            images = tag("div", *shown, class_="image-side")
        kind = f"first {first.layout}-first" if images else "first"
        return tag("div", chart, images, class_=kind)

    def _section(self, section: Section, level: int) -> Markup:
        name = self.ids[section.name]
        link = tag("a", "#", class_="anchor", href=f"#{name}", aria_label="Link to this section")
        heading = tag(f"h{min(level, 6)}", bdi(section.title), link, id=name)
        inner = (self.block(block, level + 1) for block in section.blocks)
        return tag("section", heading, *inner)

    def _details(self, details: Details, level: int, class_: str | None = None) -> Markup:
        return tag(
            "details",
            tag("summary", bdi(details.summary), " "),
            *(self.block(block, level + 1) for block in details.blocks),
            id=self.ids.get(details.anchor or ""),
            class_=class_,
        )

    def _pictures(self, grid: PictureGrid) -> Markup:
        """Return rows of images, as a table if the rows are aligned, or as a grid for each row."""
        keys = legend([(f"swatch {kind}", text) for kind, text in grid.keys])
        if not grid.aligned:
            return figure(grid.caption, keys, *(self._row(row, grid.size) for row in grid.rows))
        names = (tag("th", bdi(name), scope="col") for name in grid.heads)
        head = tag("thead", tag("tr", tag("td"), *names)) if grid.heads else None
        rows = (self._aligned_row(row) for row in grid.rows)
        table = tag("table", head, tag("tbody", *rows), class_=f"aligned {grid.size}")
        return figure(grid.caption, keys, region(grid.caption or "Images", table))

    def _aligned_row(self, row: PictureRow) -> Markup:
        label = tag("th", key(row.series), bdi(row.label), " ", note(row.note), scope="row")
        return tag("tr", label, *(tag("td", self._shot(shot)) for shot in row.shots))

    def _row(self, row: PictureRow, size: str) -> Markup:
        name = tag("strong", bdi(row.label))
        label = tag("p", key(row.series), name, " ", note(row.note), class_="label")
        shots = tag(
            "div",
            *map(self._shot, row.shots),
            class_=f"cells {size}",
            role="group",
            aria_label=row.label,
        )
        return tag("div", label if row.label or row.note else None, shots, class_="row")

    def _shot(self, shot: Thumbnail) -> Markup:
        address = self.links.image(shot.image) if shot.image else None
        if shot.image and address:
            image = tag("img", src=address, alt=shot.alt, loading="lazy", decoding="async")
            target = self.links.image_page(shot.image)
            cell = tag("a", image, href=target) if target else image
        else:
            cell = tag("span", class_="empty", role="img", aria_label=f"{shot.alt} is missing")
        if not shot.caption:
            return cell
        return tag("figure", cell, tag("figcaption", bdi(shot.caption)))


TextBlock = blocks.CodeBlock | DefinitionList | blocks.GraphDiagram | Table
"""Blocks without links and images."""


def _text(block: TextBlock) -> Markup:
    """Return the HTML of a block that contains neither links nor images."""
    match block:
        case blocks.CodeBlock():
            return tag("pre", block.text, tabindex=0)
        case DefinitionList(facts=True):
            return _facts(block.terms)
        case DefinitionList():
            terms = (tag("dt", name) + tag("dd", meaning) for name, meaning in block.terms)
            return tag("dl", *terms, class_="terms")
        case blocks.GraphDiagram():
            return charts.network(block)
        case Table():
            return table(block)


def _paragraph(paragraph: Paragraph, images: QueryLink) -> Markup:
    text = None
    if paragraph.lead or paragraph.text:
        text = tag("p", _led(paragraph, images), class_="note" if paragraph.muted else None)
    items = []
    for item in paragraph.items:
        items.append(tag("li", item if isinstance(item, str) else _led(item, images)))
    return tag("div", text, tag("ul", *items) if paragraph.items else None, class_="prose")


def _led(paragraph: Paragraph, images: QueryLink) -> Markup:
    text = linked(paragraph.text, paragraph.links, images)
    if not paragraph.lead:
        return text
    return joined([tag("strong", paragraph.lead), " ", text])


def _facts(facts: Sequence[tuple[str, str]]) -> Markup:
    pairs = (tag("div", tag("dt", name), tag("dd", bdi(value))) for name, value in facts)
    return tag("dl", *pairs, class_="facts")


def table(block: Table) -> Markup:
    """Return a table as HTML.

    Numbers are right-aligned. Text cells are left-aligned, and text columns are at least a few
    words wide. In a shaded table, all cells except labels are shaded.

    Parameters
    ----------
    block : Table
        The table.

    Returns
    -------
    Markup
        The table, in a region that can scroll, and the note below it.
    """
    texts = []
    for row in block.rows:
        texts.append([words.content(cell, block.scale) for cell in row])
    kinds = [_column_kind(block, texts, column) for column in range(len(block.columns))]
    names = (
        tag("th", bdi(name), scope="col", class_=kind)
        for name, kind in zip(block.columns, kinds, strict=True)
    )
    element = tag(
        "table",
        tag("caption", block.caption) if block.caption else None,
        tag("thead", tag("tr", *names)),
        tag("tbody", *_table_rows(block, texts, kinds)),
        class_="matrix" if block.shaded else "lists",
    )
    small = tag("p", block.note, class_="note") if block.note else NOTHING
    return region(block.caption or "Table", element) + small


def _column_kind(block: Table, texts: Sequence[Sequence[str]], column: int) -> str | None:
    """Return the CSS class for the cells of a column; None for label columns and shaded tables."""
    if column < block.labels or block.shaded:
        return None
    cells = [row[column] for row in texts]
    if all(map(words.is_number, cells)):
        return "num"
    return "texts" if max(map(len, cells)) > LONG else "short"


def _table_rows(
    block: Table, texts: Sequence[Sequence[str]], kinds: Sequence[str | None]
) -> Iterator[Markup]:
    """Yield the rows of a table.

    If rows have more than one label, hide repetitions of the first label.
    """
    values = []
    for row in block.rows:
        for cell in row:
            values += reach(words.score_in(cell))
    scale = axis(block.scale, values)
    before = None
    for row, row_texts in zip(block.rows, texts, strict=True):
        cells = []
        for column, parts in enumerate(zip(row, row_texts, kinds, strict=True)):
            shaded = block.shaded and column > 0
            cells.append(_shaded(scale, block, column, row) if shaded else _cell(*parts))
        if block.labels > 1 and row_texts[0] == before:
            hidden = tag("span", bdi(row_texts[0]), class_="hidden")
            cells[0] = tag("th", hidden, scope="row")
        yield tag("tr", *cells)
        before = row_texts[0]


def _cell(content: Content, text: str, kind: str | None) -> Markup:
    """Return a table cell. If `kind` is None, the cell is a row label."""
    shown = bdi(text)
    if isinstance(content, tuple) and len(content) > 1:
        shown = joined(tag("span", bdi(str(item)), class_="item") for item in content)
    small = note(words.notes(content))
    bold = "strong" if words.is_bold(content) else ""
    if kind is None:
        return tag("th", shown, small, scope="row", class_=bold or None)
    return tag("td", shown, small, class_=f"{kind} {bold}".strip())


def _shaded(scale: LinearScale, block: Table, column: int, row: Sequence[Content]) -> Markup:
    """Return a cell shaded by its score or count, with the interval or note below it."""
    content = row[column]
    score = content.value if isinstance(content, TableCell) else content
    text = words.content(score, block.scale)
    small = ""
    if isinstance(score, Estimate):
        text = words.format_value(score.value, block.scale)
        small = words.interval(score, block.scale)
    if isinstance(content, TableCell):
        small = content.note or small
    diagonal = block.diagonal and words.content(row[0]) == block.columns[column]
    classes = (
        "strong" if words.is_bold(content) else "",
        "own" if diagonal else "",
        panels.shade(_level(scale, content, row)),
    )
    kind = " ".join(filter(None, classes))
    return tag("td", tag("span", text, class_="value"), note(small), class_=kind)


def _level(scale: LinearScale, content: Content, row: Sequence[Content]) -> float:
    """Return the shading of a cell, from -1 to 1, based on its score or its share of the row."""
    if isinstance(content, TableCell) and content.level is not None:
        return content.level
    value = content.value if isinstance(content, TableCell) else content
    if isinstance(value, Estimate):
        return value.mark / scale.high
    if isinstance(value, int):
        cells = (cell.value if isinstance(cell, TableCell) else cell for cell in row)
        return value / (sum(cell for cell in cells if isinstance(cell, int)) or 1)
    return 0.0
