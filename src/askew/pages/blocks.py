"""Classes that describe what a page contains and in which order, but not how the page looks.

The `page.py` of a method builds a page from blocks, and renderers draw the page. A page begins with
a sentence that states the result. Below this sentence, the page shows a chart of the result,
images, and details. If the result is about people, the chart shows shares.

Choose a block that suits the content:

- `Paragraph`: a sentence, or a bulleted list
- `ValueChart`: shares of values, with a row for each value
- `SortedImages`: up to 60 images, sorted by label to show the share of each label
- `ScoreMatrix`: shaded cells, with prompts or axes as rows and axes as columns
- `ChangeChart`: scores before and after a change
- `IntervalChart`: rows of scores, with their intervals and the values expected by chance
- `LineChart`: a score over ordered steps
- `Scatter`: points with two coordinates
- `GraphDiagram`: arrows between names
- `PictureGrid`: images in cells of equal size
- `Table`: text and numbers that need no plot, or shaded scores
- `DefinitionList`: terms with their meanings, or facts
- `Details`: blocks that are hidden behind a summary
- `CodeBlock`: text in a monospaced font

Blocks take scores as `Estimate` or `Missing`, not as text. Renderers format scores according to the
block's `Scale`, draw their intervals and the values expected by chance, print significant scores in
bold (unless `strong` is set), and state why a score is missing. In a plot, the dot is at the
estimate's `debiased` value, if the estimate has one. The number beside the plot is the `value`.

Text contains no markup. Apply `words.quote` and `words.shorten` to names that users chose. A `link`
leads to the block with the same `anchor`, and becomes plain text if the page has no such block. A
`series` is the index of a color in the palette, from 0 to 5. Rows and blocks that belong together
have the same index. Sections and details omit blocks without content, and a page omits sections
without blocks.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from askew.types import Estimate, Missing

if TYPE_CHECKING:
    from PIL import Image

E = Estimate | Missing
"""A score, or the reason why it is missing."""

Scale = Literal["unit", "share", "signed", "fine", "points", "degrees", "range"]
"""Scale of a chart: the range of its axis and the format of its numbers.

- unit: the axis runs from 0 to 1, or to the largest score if it exceeds 1
- share: the axis runs from 0 to 100 %
- signed, fine (four digits), points (percentage points) and degrees: the axis is symmetric around 0,
  and numbers have signs
- range: the axis runs from the lowest to the highest score
"""

Column = Literal["value", "mark", "interval", "null", "corrected", "p", "q"]
"""Part of an estimate to show in a column beside the plot. `null` has the heading "chance"."""

SCORE: tuple[Column, ...] = ("value", "interval", "null", "corrected", "q")
TESTED: tuple[Column, ...] = ("value", "interval", "null", "q")
DIFFERENCE: tuple[Column, ...] = ("value", "interval", "q")
PLAIN: tuple[Column, ...] = ("value", "interval")

Effect = Literal["better", "worse", "changed"]
"""Direction of an effect.

"better" means closer to the reference, "worse" means further from the reference, and "changed"
means that the direction is not determined.
"""

Swatch = Literal["heat", "only-a", "only-b", "both"]
"""Colors of attention overlays (see `media`).

"heat" is the color map. The other colors mark areas that are only in the mask of word a, only in
the mask of word b, or in both masks.
"""


@dataclass(frozen=True, slots=True)
class TableCell:
    """A table cell that can have a note, bold text or shading.

    Attributes
    ----------
    value : str, int, Estimate, Missing or None
        Value of the cell.
    note : str
        Small text below the value.
    strong : bool, optional
        Whether the cell is bold (by default, whether its score is significant).
    level : float, optional
        Shading in a shaded table, from -1 (blue) to 1 (orange); by default, the shading depends on
        the value.
    """

    value: str | int | E | None
    note: str = ""
    strong: bool | None = None
    level: float | None = None


Content = str | int | E | TableCell | tuple[str, ...] | None
"""Content of a cell: text, a count, a score, a tuple of short strings, or None.

A score is shown with its interval, and None is shown as a dash.
"""


@dataclass(frozen=True, slots=True)
class ImageQuery:
    """A query for the images to which a number on a page refers. The web app lists these images.

    Attributes
    ----------
    prompt, set : str
        Prompt and name of the image set. The prompt "" stands for all prompts.
    axis, instrument : str
        Axis of the labels, and instrument that assigned them.
    value : str
        Label of the images; "" for all images in the set.
    """

    prompt: str
    set: str
    axis: str
    instrument: str
    value: str = ""


@dataclass(frozen=True, slots=True)
class PhraseLink:
    """A phrase that states a number of images in a sentence, such as "31 of 48 images".

    The web app links the phrase to these images.

    Attributes
    ----------
    phrase : str
        The phrase, as it occurs in the sentence.
    images : ImageQuery
        Query for the images to which the phrase refers.
    """

    phrase: str
    images: ImageQuery


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A paragraph.

    Attributes
    ----------
    text : str
        Text of the paragraph.
    lead : str
        Bold text before `text`.
    items : tuple of str or Paragraph
        Items of a bulleted list below the text.
    muted : bool
        Whether the text is only a remark. Terminals show remarks in a dim color.
    links : tuple of PhraseLink
        Phrases in the text that state a number of images.
    """

    text: str = ""
    lead: str = ""
    items: "tuple[str | Paragraph, ...]" = ()
    muted: bool = False
    links: tuple[PhraseLink, ...] = ()


@dataclass(frozen=True, slots=True)
class CodeBlock:
    """Text in a monospaced font, such as a plan or a command."""

    text: str


Deviation = Literal["over", "under", "none"]
"""Direction of a significant deviation from a reference, or of a significant change in a score.

Over-represented values, and scores further from the reference, are orange. Under-represented
values, and scores closer to the reference, are blue. Everything else is gray.
"""


@dataclass(frozen=True, slots=True)
class ValueShare:
    """The share of one value of an axis.

    Attributes
    ----------
    value : str
        The value.
    share : Estimate or Missing
        Share of the labels that have this value, from 0 to 1.
    count : int, optional
        Number of labels that have this value.
    reference : float, optional
        Reference share of the value, from 0 to 1.
    """

    value: str
    share: E
    count: int | None = None
    reference: float | None = None


@dataclass(frozen=True, slots=True)
class ValueGroup:
    """Shares of an axis's values in one image set.

    Attributes
    ----------
    label : str
        Name of the group: an axis or a prompt.
    values : tuple of ValueShare
        All values of the axis, including values that no image was labeled with.
    n : int
        Number of labeled images, or of other items if the chart counts other items.
    missing : mapping of str to int
        Number of images without a label, keyed by reason.
    verdict : str
        Result of the test, in a few words.
    significant : bool
        Whether the bias is significant.
    group : str
        Heading above all groups that belong to the same prompt or axis.
    link : str, optional
        Anchor of the group's details.
    leading : str
        Main value of the group (by default, the value whose share exceeds its reference share the
        most).
    images : ImageQuery, optional
        Query for the group's images.
    """

    label: str
    values: tuple[ValueShare, ...]
    n: int
    missing: Mapping[str, int] = field(default_factory=dict)
    verdict: str = ""
    significant: bool = False
    group: str = ""
    link: str | None = None
    leading: str = ""
    images: ImageQuery | None = None


@dataclass(frozen=True, slots=True)
class ValueChart:
    """A chart of shares, in which each value has a row with a dot, an interval and the reference.

    Attributes
    ----------
    caption : str
        Title of the chart.
    groups : tuple of ValueGroup
        One group of shares for each axis or prompt.
    heading : str
        Heading of the column that contains the group names.
    note : str
        A sentence below the title.
    brief : bool
        Whether groups without significant bias show only their main value.
    value : str
        The only value to show, if all groups have the same two values; "" to show all values.
    counted : str
        Heading of the count column, such as "labeled".
    tested : str
        Heading of the verdict column.
    """

    caption: str
    groups: tuple[ValueGroup, ...]
    heading: str = "Axis"
    note: str = ""
    brief: bool = False
    value: str = ""
    counted: str = "labeled"
    tested: str = "Test against the reference"


@dataclass(frozen=True, slots=True)
class ReferenceMark:
    """A mark on an interval row, at a value to compare with the row's score.

    Attributes
    ----------
    at : float
        Value at which the mark is drawn.
    name : str
        Name in the legend.
    shape : {"line", "dash", "ring"}
        Shape of the mark: a line for a reference, a dashed line for a mean, or a ring for an
        earlier score.
    """

    at: float
    name: str
    shape: Literal["line", "dash", "ring"] = "line"


@dataclass(frozen=True, slots=True)
class IntervalRow:
    """A row of an interval chart, which shows one score.

    Attributes
    ----------
    label : str
        Name of the row.
    score : Estimate, Missing or None
        The score, or None if it was not requested.
    more : tuple of Content
        Cells for the chart's additional columns.
    group : str
        Heading above all rows of the group.
    series : int, optional
        Index of the row's color in the palette.
    link : str, optional
        Anchor of the row's details.
    note : str
        Small text after the label.
    strong : bool, optional
        Whether the row is bold (by default, whether its score is significant).
    muted : bool
        Whether the row summarizes other rows.
    marks : tuple of ReferenceMark
        Marks at values to compare with the score.
    chance : tuple of float, optional
        Range expected by chance (by default, from 0 to the estimate's `null`).
    points : tuple of float
        Individual scores; the row's score is their mean.
    """

    label: str
    score: E | None
    more: tuple[Content, ...] = ()
    group: str = ""
    series: int | None = None
    link: str | None = None
    note: str = ""
    strong: bool | None = None
    muted: bool = False
    marks: tuple[ReferenceMark, ...] = ()
    chance: tuple[float, float] | None = None
    points: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class IntervalChart:
    """A chart of scores on one scale: dots on interval lines, with numbers beside the plot.

    Gray bands show the ranges expected by chance.

    Attributes
    ----------
    caption : str
        Text above the chart.
    heading : str
        Heading of the label column, such as "Axis".
    rows : tuple of IntervalRow
        Rows of the chart.
    name : str
        Name of the score, such as "MAD".
    scale : Scale
        Scale of all scores.
    columns : tuple of Column
        Parts of the estimates to show in columns beside the plot.
    more : tuple of str
        Headings of additional columns.
    chance : tuple of str
        Heading of the `null` column, and meaning of the gray bands.
    interval : str
        Explanation of the interval lines, for the legend.
    points : str
        Explanation of the small dots, for the legend.
    """

    caption: str
    heading: str
    rows: tuple[IntervalRow, ...]
    name: str
    scale: Scale = "unit"
    columns: tuple[Column, ...] = SCORE
    more: tuple[str, ...] = ()
    chance: tuple[str, str] = ("chance", "expected by chance")
    interval: str = "confidence interval"
    points: str = ""


@dataclass(frozen=True, slots=True)
class LineSeries:
    """A line in a line chart. The line shows a score at every step.

    Attributes
    ----------
    name : str
        Name in the legend.
    points : tuple of Estimate, Missing or None
        Score at each step.
    series : int
        Index of the line's color in the palette.
    thin : bool
        Whether to draw a thin line, for example for individual scores that are drawn behind their
        average.
    """

    name: str
    points: tuple[E | None, ...]
    series: int = 0
    thin: bool = False


@dataclass(frozen=True, slots=True)
class LineChart:
    """A chart of scores over ordered steps, such as a network's blocks.

    A collapsed table below the chart contains the numbers.

    Attributes
    ----------
    caption : str
        Text above the chart.
    heading : str
        Name of the steps.
    steps : tuple of str
        Names of the steps, in order.
    lines : tuple of LineSeries
        Lines of the chart; the value expected by chance is shown as a gray band for the first line,
        and as a dotted line for the other lines.
    name : str
        Name of the score.
    scale : Scale
        Scale of all scores.
    levels : tuple of (str, float)
        Names and values of horizontal lines.
    chance : str
        Meaning of the gray band.
    """

    caption: str
    heading: str
    steps: tuple[str, ...]
    lines: tuple[LineSeries, ...]
    name: str
    scale: Scale = "unit"
    levels: tuple[tuple[str, float], ...] = ()
    chance: str = "expected by chance"


class ImageSource(Protocol):
    """A finished run, or any other object that can open an image by its id."""

    def picture(self, name: str) -> "Image.Image | None":
        """Return the image that has this id; None if its file is missing."""


@dataclass(frozen=True, slots=True, eq=False)
class HeatOverlay:
    """An attention map over an image.

    Attributes
    ----------
    map : ndarray of float, shape (height, width)
        Attention to a word, at any resolution.
    """

    map: NDArray[np.floating[Any]]


@dataclass(frozen=True, slots=True, eq=False)
class MaskOverlay:
    """The attention masks of two words over an image.

    Attributes
    ----------
    first, second : ndarray of bool, shape (height, width)
        Masks of the two words, at any resolution.
    """

    first: NDArray[np.bool_]
    second: NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class ImageReference:
    """An image on a page. A renderer converts the reference to a data URI or a URL.

    Attributes
    ----------
    image_id : str
        Id of the image.
    source : ImageSource
        Run that contains the image.
    overlay : HeatOverlay or MaskOverlay, optional
        Attention overlay to draw over the image.
    large : bool
        Whether to embed a large copy in the page.
    """

    image_id: str
    source: ImageSource
    overlay: HeatOverlay | MaskOverlay | None = None
    large: bool = False


@dataclass(frozen=True, slots=True)
class ScatterPoint:
    """A point in a scatter plot.

    Attributes
    ----------
    x, y : float
        Coordinates.
    name : str
        Text that appears when the mouse pointer is over the point.
    series : int
        Index of the point's color in the palette.
    image : ImageReference, optional
        Image to draw instead of a dot.
    """

    x: float
    y: float
    name: str
    series: int = 0
    image: ImageReference | None = None


@dataclass(frozen=True, slots=True)
class Scatter:
    """A scatter plot.

    Attributes
    ----------
    caption : str
        Text above the plot.
    points : tuple of ScatterPoint
        All points in the plot.
    x, y : tuple of (str, Scale or None)
        Name and scale of each axis; the scale is None for an axis without numbers.
    description : str
        Description of the plot, for terminals and for readers who cannot see the plot.
    keys : tuple of str
        Names of the series.
    square : bool
        Whether both axes have the same length and range.
    diagonal : str
        Meaning of the line x = y; "" to omit the line.
    """

    caption: str
    points: tuple[ScatterPoint, ...]
    x: tuple[str, Scale | None]
    y: tuple[str, Scale | None]
    description: str
    keys: tuple[str, ...] = ()
    square: bool = False
    diagonal: str = ""


@dataclass(frozen=True, slots=True)
class Arrow:
    """An arrow between two names. A larger score makes the arrow wider."""

    source: str
    target: str
    score: Estimate
    effect: Effect
    more: tuple[Content, ...] = ()


@dataclass(frozen=True, slots=True)
class GraphDiagram:
    """A directed graph. A terminal shows the graph's edges as a table.

    Attributes
    ----------
    caption : str
        Text above the graph.
    nodes : tuple of (str, str)
        Name and small note of each node, in the order in which the nodes are placed on a circle.
    edges : tuple of Arrow
        Arrows between the nodes.
    more : tuple of str
        Headings of additional columns in the table.
    """

    caption: str
    nodes: tuple[tuple[str, str], ...]
    edges: tuple[Arrow, ...]
    more: tuple[str, ...] = ()

    @property
    def strongest(self) -> list[Arrow]:
        """Return the edges, sorted from the strongest to the weakest."""
        return sorted(self.edges, key=lambda edge: -abs(edge.score.value))


@dataclass(frozen=True, slots=True)
class Thumbnail:
    """A small image with its caption.

    Attributes
    ----------
    image : ImageReference or None
        The image; None to leave the cell empty.
    alt : str
        Description of the image in words, such as "Image 3 of ceo".
    caption : str
        Text below the image.
    """

    image: ImageReference | None
    alt: str
    caption: str = ""

    def __post_init__(self) -> None:
        if not self.alt.strip():
            raise ValueError("an image needs an `alt` text that describes it in words")


@dataclass(frozen=True, slots=True)
class LabelGroup:
    """The images in a set that have the same label.

    Attributes
    ----------
    label : str
        The label.
    count : int
        Number of images in the set that have this label.
    shots : tuple of Thumbnail
        Some or all of the images that have this label.
    reference : float, optional
        Expected number of images with this label according to the reference.
    deviation : Deviation
        Whether the label is over- or under-represented.
    n : int, optional
        Total number of images, `count` of which have this label (by default, the number of labeled
        images in the set).
    images : ImageQuery, optional
        Query for all images with this label.
    """

    label: str
    count: int
    shots: tuple[Thumbnail, ...]
    reference: float | None = None
    deviation: Deviation = "none"
    n: int | None = None
    images: ImageQuery | None = None


@dataclass(frozen=True, slots=True)
class ImageColumn:
    """The images of one set, sorted by label.

    Attributes
    ----------
    groups : tuple of LabelGroup
        Groups of images with the same label.
    n : int
        Number of labeled images in the set.
    label : str
        Name of the set, if there is more than one set.
    note : str
        Small text after the name.
    """

    groups: tuple[LabelGroup, ...]
    n: int
    label: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class SortedImages:
    """A chart of images sorted by label, so that readers can check each label.

    Attributes
    ----------
    caption : str
        Title of the chart.
    columns : tuple of ImageColumn
        A column for each set: one set, or two sets to compare.
    note : str
        A sentence below the title.
    """

    caption: str
    columns: tuple[ImageColumn, ...]
    note: str = ""


@dataclass(frozen=True, slots=True)
class MatrixCell:
    """A cell of a matrix.

    Attributes
    ----------
    text : str
        Main text, such as the most over-represented value; "" for a cell on the diagonal.
    small : str
        Small text below the main text.
    level : float
        Deviation from -1 to 1, shown as orange (positive) or blue (negative) shading.
    significant : bool
        Whether the cell is bold and shaded.
    framed : bool
        Whether the cell has a frame.
    link : str, optional
        Anchor of the cell's details.
    images : ImageQuery, optional
        Query for the images to which the cell refers. If the renderer has an address for this
        query, the cell links to the images instead of to the details.
    """

    text: str
    small: str = ""
    level: float = 0.0
    significant: bool = False
    framed: bool = False
    link: str | None = None
    images: ImageQuery | None = None


@dataclass(frozen=True, slots=True)
class MatrixRow:
    """A row of a matrix.

    Attributes
    ----------
    label : str
        Name of the row.
    cells : tuple of MatrixCell or None
        A cell for each column; None for a column that was not measured.
    shots : tuple of Thumbnail
        Example images to show below the name.
    link : str, optional
        Anchor of the row's details.
    """

    label: str
    cells: tuple[MatrixCell | None, ...]
    shots: tuple[Thumbnail, ...] = ()
    link: str | None = None


@dataclass(frozen=True, slots=True)
class ScoreMatrix:
    """A matrix of shaded cells, with prompts or axes as rows and axes as columns.

    Attributes
    ----------
    caption : str
        Title of the matrix.
    heading : str
        Heading of the column that contains the row names.
    columns : tuple of str
        Headings of the columns.
    rows : tuple of MatrixRow
        Rows of the matrix, from top to bottom.
    note : str
        A sentence below the title.
    keys : tuple of (str, str)
        Entries of the legend, each with a kind of cell ("over" or "under" for a ramp of shades,
        "framed" or "none") and its meaning.
    square : bool
        Whether rows and columns stand for the same axes. If True, the cells are small.
    """

    caption: str
    heading: str
    columns: tuple[str, ...]
    rows: tuple[MatrixRow, ...]
    note: str = ""
    keys: tuple[tuple[str, str], ...] = ()
    square: bool = False


@dataclass(frozen=True, slots=True)
class ChangeRow:
    """A score before and after a change.

    Attributes
    ----------
    label : str
        Name of the row.
    before, after : Estimate or Missing
        Scores before and after the change. Only the score after the change is drawn with its
        interval.
    verdict : str
        Result of the test for a change.
    brief : str
        The same result in fewer words, for narrow tables (by default, the verdict).
    significant : bool
        Whether the change is significant.
    deviation : Deviation
        "under" if the score moved significantly closer to the reference, "over" if it moved
        significantly away, and "none" if the change is not significant or its direction is not
        determined.
    group : str
        Heading above all rows of the group.
    reference : float, optional
        Reference value, which is drawn as a line.
    link : str, optional
        Anchor of the row's details.
    """

    label: str
    before: E
    after: E
    verdict: str = ""
    significant: bool = False
    deviation: Deviation = "none"
    group: str = ""
    reference: float | None = None
    link: str | None = None
    brief: str = ""


@dataclass(frozen=True, slots=True)
class ChangeChart:
    """A chart of scores before and after a change.

    Each row has a ring (before), a dot with its interval (after), and a line between them.

    Attributes
    ----------
    caption : str
        Title of the chart.
    heading : str
        Heading of the column that contains the row names.
    rows : tuple of ChangeRow
        Rows of the chart.
    name : str
        Heading of the column that contains the numbers, such as "Deviation".
    scale : Scale
        Scale of the scores.
    before, after : str
        Names in the legend for the scores before and after the change.
    note : str
        A sentence below the title.
    tested : str
        Heading of the verdict column.
    """

    caption: str
    heading: str
    rows: tuple[ChangeRow, ...]
    name: str
    scale: Scale = "unit"
    before: str = "before"
    after: str = "after"
    note: str = ""
    tested: str = "Change"


@dataclass(frozen=True, slots=True)
class PictureRow:
    """A row of images that belong together, such as images from the same model."""

    shots: tuple[Thumbnail, ...]
    label: str = ""
    note: str = ""
    series: int | None = None


@dataclass(frozen=True, slots=True)
class PictureGrid:
    """A grid of images in cells of equal size, with captions below the images.

    Attributes
    ----------
    caption : str
        Text above the images.
    rows : tuple of PictureRow
        Rows of images, from top to bottom.
    aligned : bool
        Whether the images in a column belong together, such as images that several models generated
        with the same seed.
    heads : tuple of str
        Headings above the columns of aligned rows.
    size : {"small", "medium", "large", "overlay"}
        Size of the images: small, medium and large images are shown 12, 6 and 4 side by side, and
        images with overlays are at least 320 pixels wide.
    keys : tuple of (Swatch, str)
        Colors of overlays and their meaning.
    """

    caption: str
    rows: tuple[PictureRow, ...]
    aligned: bool = False
    heads: tuple[str, ...] = ()
    size: Literal["small", "medium", "large", "overlay"] = "small"
    keys: tuple[tuple[Swatch, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Table:
    """A table of text and numbers.

    Attributes
    ----------
    caption : str
        Text above the table.
    columns : tuple of str
        Headings of the columns.
    rows : tuple of tuple of Content
        Cells of each row.
    labels : int
        Number of leading columns that contain row labels. If a table has more than one label
        column, repeated labels in the first column are hidden.
    scale : Scale
        Scale of all scores.
    note : str
        Text below the table.
    shaded : bool
        Whether to shade scores by their value, and counts by their share of the row's total.
    diagonal : bool
        Whether to frame cells whose row and column have the same name.
    """

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Content, ...], ...]
    labels: int = 1
    scale: Scale = "unit"
    note: str = ""
    shaded: bool = False
    diagonal: bool = False


@dataclass(frozen=True, slots=True)
class DefinitionList:
    """A list of terms with their meanings, or of facts that each have a name and a short value."""

    terms: tuple[tuple[str, str], ...]
    facts: bool = False


class Container:
    """A block that contains other blocks. It omits blocks without content."""

    __slots__ = ()
    blocks: "Iterable[Block]"

    def __post_init__(self) -> None:
        filled = tuple(block for block in self.blocks if _has_content(block))
        object.__setattr__(self, "blocks", filled)


def _has_content(block: "Block") -> bool:
    """Check whether a block has any rows, groups, columns, blocks or text."""
    if isinstance(block, Paragraph):
        return block != Paragraph()
    return all(getattr(block, name, True) for name in ("rows", "groups", "columns", "blocks"))


@dataclass(frozen=True, slots=True)
class Details(Container):
    """Blocks that are hidden behind a summary until a reader opens them.

    Attributes
    ----------
    summary : str
        Text that is always visible.
    blocks : iterable of Block
        Blocks below the summary, hidden until a reader opens them.
    anchor : str, optional
        Name that links use to refer to this block.
    screen : bool
        Whether a terminal also shows the details.
    """

    summary: str
    blocks: "Iterable[Block]"
    anchor: str | None = None
    screen: bool = False


@dataclass(frozen=True, slots=True)
class Section(Container):
    """A heading and the blocks below it, with a smaller heading if the section is nested.

    Attributes
    ----------
    title : str
        The heading.
    blocks : iterable of Block
        Blocks in the section.
    screen : bool
        Whether terminals and notebooks also show the section.
    anchor : str, optional
        Name that links use to refer to this block (by default, the title).
    """

    title: str
    blocks: "Iterable[Block]"
    screen: bool = True
    anchor: str | None = None

    @property
    def name(self) -> str:
        """Return the name that links use to refer to this section."""
        return self.anchor or self.title


Block = (
    Paragraph
    | CodeBlock
    | ValueChart
    | SortedImages
    | ScoreMatrix
    | ChangeChart
    | IntervalChart
    | LineChart
    | Scatter
    | GraphDiagram
    | PictureGrid
    | Table
    | DefinitionList
    | Details
    | Section
)


@dataclass(frozen=True, slots=True)
class FirstScreen:
    """The first screen of a page: a chart of the main result, and images for checking the result.

    Attributes
    ----------
    chart : tuple of Block
        The chart, and at most one other small block.
    images : tuple of Block
        Images beside the chart.
    layout : {"chart", "even", "images"}
        Part of the first screen that is wider: the chart, neither part, or the images.
    """

    chart: "tuple[Block, ...]"
    images: "tuple[Block, ...]" = ()
    layout: Literal["chart", "even", "images"] = "chart"

    def __post_init__(self) -> None:
        for name in ("chart", "images"):
            filled = tuple(block for block in getattr(self, name) if _has_content(block))
            object.__setattr__(self, name, filled)


@dataclass(frozen=True, slots=True)
class Page:
    """A report page.

    Attributes
    ----------
    kicker : str
        The command, such as "askew audit".
    title : str
        Title of the page: the prompt, or the items that were compared.
    answer : str
        The headline, which states the main result in a sentence with numbers.
    meta : str
        A line with model, images, instruments, missing data, seed and date.
    sections : tuple of Section
        Sections of the page. The page omits sections without blocks.
    first : FirstScreen, optional
        Chart and images of the first screen.
    warnings : tuple of str
        Warnings from the run.
    notes : tuple of str
        Remarks to show at the end of the page, and below the tables in a terminal.
    screen_notes : tuple of str
        Remarks to show only in terminals, which omit the section that contains these remarks.
    detail : str
        A sentence below the headline. The sentence states the certainty and power, or a second
        result.
    version : str
        Version of askew that computed the results.
    limits : str
        Limitations of the results; a printed report shows them on its first page.
    links : tuple of PhraseLink
        Phrases that state a number of images, in the headline or in the sentence below the
        headline.
    """

    kicker: str
    title: str
    answer: str
    meta: str
    sections: tuple[Section, ...]
    first: FirstScreen | None = None
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    screen_notes: tuple[str, ...] = ()
    detail: str = ""
    version: str = ""
    limits: str = ""
    links: tuple[PhraseLink, ...] = ()

    def __post_init__(self) -> None:
        filled = tuple(section for section in self.sections if section.blocks)
        object.__setattr__(self, "sections", filled)
