"""A page as data: its content and the order of the content, but not its appearance.

The `page.py` of a method makes a page, and renderers draw it. The answer in a sentence comes first,
then the block that shows it (for people always shares), images, and then the details.

Choose a block by its content:

- `Paragraph`: a sentence, or bullets
- `ValueChart`: shares of values, a row for each value
- `SortedImages`: images sorted by label, which show shares of up to 60 images
- `ScoreMatrix`: prompts or axes by axes, as shaded cells
- `ChangeChart`: scores before and after a change
- `IntervalChart`: scores with intervals and chance, in rows
- `LineChart`: a score over ordered steps
- `Scatter`: points in a plane
- `GraphDiagram`: arrows between names
- `PictureGrid`: images in equal cells
- `Table`: texts and numbers that need no plot, or shaded scores
- `DefinitionList`: terms with their meaning, or facts
- `Details`: blocks behind a summary
- `CodeBlock`: text in a fixed width

Blocks take scores as `Estimate` or `Missing`, not as text. Renderers format scores by the block's
`Scale`, draw interval and chance, print significant scores in bold (unless `strong` is set), and
give the reason why a score is missing. The mark of a plot is the estimate's `debiased` value, if it
has one. The numbers beside it are its `value`.

Text contains no markup. Pass names that users chose through `words.quote` and `words.shorten`. A
`link` leads to the block with the same `anchor`, and is plain text if there is none. A `series` is
the number of a color, from 0 to 5, that rows and blocks share. Sections and details leave out
blocks without content, and a page leaves out sections without blocks.
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
"""A score, or the reason why there is none."""

Scale = Literal["unit", "share", "signed", "fine", "points", "degrees", "range"]
"""Axis and format of scores.

- unit: from 0 to 1, or further if a score is larger
- share: in percent
- signed, fine (four digits), points (of percent), degrees: around zero, with a sign
- range: from the lowest to the highest score
"""

Column = Literal["value", "mark", "interval", "null", "corrected", "p", "q"]
"""A part of an estimate that is shown beside its plot. The column `null` has the head "chance"."""

SCORE: tuple[Column, ...] = ("value", "interval", "null", "corrected", "q")
TESTED: tuple[Column, ...] = ("value", "interval", "null", "q")
DIFFERENCE: tuple[Column, ...] = ("value", "interval", "q")
PLAIN: tuple[Column, ...] = ("value", "interval")

Effect = Literal["better", "worse", "changed"]
"""Direction of an effect: closer to the reference, further from it, or not determined."""

Swatch = Literal["heat", "only-a", "only-b", "both"]
"""Colors of attention overlays: the color map, and the masks of two words (`media`)."""


@dataclass(frozen=True, slots=True)
class TableCell:
    """A cell of a table with a note, boldness or shading.

    Attributes
    ----------
    value : str, int, Estimate, Missing or None
        Its value.
    note : str
        Small text below the value.
    strong : bool, optional
        Whether the cell is bold. By default significant scores are.
    level : float, optional
        Shading from -1 (blue) to 1 (orange) in a shaded table. By default it follows the value.
    """

    value: str | int | E | None
    note: str = ""
    strong: bool | None = None
    level: float | None = None


Content = str | int | E | TableCell | tuple[str, ...] | None
"""Content of a cell: a text, a count, a score (written with its interval), several short texts, or
nothing (a dash).
"""


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A paragraph.

    Attributes
    ----------
    text : str
        Its text.
    lead : str
        Text before it, in bold.
    items : tuple of str or Paragraph
        Bullets below it.
    muted : bool
        Whether the text is a remark, which a terminal dims.
    """

    text: str = ""
    lead: str = ""
    items: "tuple[str | Paragraph, ...]" = ()
    muted: bool = False


@dataclass(frozen=True, slots=True)
class CodeBlock:
    """Text in a fixed width, such as a plan or a command."""

    text: str


Deviation = Literal["over", "under", "none"]
"""Direction in which a value deviates significantly from its reference, or a score changes.

Over-represented values, and scores further from the reference, are orange. Under-represented
values, and scores closer to the reference, are blue. Everything else is gray.
"""


@dataclass(frozen=True, slots=True)
class ImageQuery:
    """The images that a number counts, which a web app can list.

    Attributes
    ----------
    prompt, set : str
        Prompt and name of the image set.
    axis, instrument : str
        Axis and instrument of the labels.
    value : str
        Label of the images. Empty for all images of the set.
    """

    prompt: str
    set: str
    axis: str
    instrument: str
    value: str = ""


@dataclass(frozen=True, slots=True)
class ValueShare:
    """The share of one value of an axis.

    Attributes
    ----------
    value : str
        The value.
    share : Estimate or Missing
        Its share of the labels, from 0 to 1.
    count : int, optional
        Number of labels.
    reference : float, optional
        Reference share.
    """

    value: str
    share: E
    count: int | None = None
    reference: float | None = None


@dataclass(frozen=True, slots=True)
class ValueGroup:
    """Shares of the values of an axis in one image set.

    Attributes
    ----------
    label : str
        Name of the group: the axis, or the prompt.
    values : tuple of ValueShare
        All values of the axis, also those without labels.
    n : int
        Number of labeled images, or of what the chart counts.
    missing : mapping of str to int
        Number of images without a label, by reason.
    verdict : str
        Result of the test in a few words.
    significant : bool
        Whether the bias is significant.
    group : str
        Name above all groups of a prompt or of an axis.
    link : str, optional
        Anchor of its details.
    leading : str
        The main value, by default the value furthest above its reference share.
    images : ImageQuery, optional
        The images of the group.
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
    """Shares of values: a row with a dot, an interval and the reference for each value.

    Attributes
    ----------
    caption : str
        Title of the chart.
    groups : tuple of ValueGroup
        The shares.
    heading : str
        Head of the names of the groups.
    note : str
        A sentence below the title.
    brief : bool
        Whether groups that are not significant show only their main value.
    value : str
        The only value that is shown, for groups with the same two values.
    counted : str
        Head of the numbers of images with a label, or name of what is counted.
    tested : str
        Head of the verdicts.
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
    """A mark on an interval row to compare its score with.

    Attributes
    ----------
    at : float
        Value.
    name : str
        Name in the legend.
    shape : {"line", "dash", "ring"}
        A line for a reference, a dashed line for a mean, a ring for an earlier score.
    """

    at: float
    name: str
    shape: Literal["line", "dash", "ring"] = "line"


@dataclass(frozen=True, slots=True)
class IntervalRow:
    """A row of an interval chart: one score.

    Attributes
    ----------
    label : str
        Name of the row.
    score : Estimate, Missing or None
        The score, or None if it was not requested.
    more : tuple of Content
        Cells under the further columns of the chart.
    group : str
        Name above all rows of a group.
    series : int, optional
        Number of the row's color.
    link : str, optional
        Anchor of its details.
    note : str
        Small text behind the label.
    strong : bool, optional
        Whether the row is bold. By default significant scores are.
    muted : bool
        Whether the row summarizes other rows.
    marks : tuple of ReferenceMark
        Values to compare the score with.
    chance : tuple of float, optional
        Range expected by chance. By default it runs from 0 to the estimate's `null`.
    points : tuple of float
        Single scores of which the score is the mean.
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
    """Scores on one scale: dots on their intervals, chance in gray, and numbers beside them.

    Attributes
    ----------
    caption : str
        Text above the chart.
    heading : str
        Head of the labels ("Axis").
    rows : tuple of IntervalRow
        The scores.
    name : str
        Name of the score ("MAD").
    scale : Scale
        Scale of all scores.
    columns : tuple of Column
        Parts of the estimates beside the plot.
    more : tuple of str
        Heads of further columns.
    chance : tuple of str
        Head of the column `null`, and meaning of the gray band.
    interval : str
        Meaning of the lines.
    points : str
        Meaning of the small dots.
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
    """A score over the steps of a line chart.

    Attributes
    ----------
    name : str
        Name in the legend.
    points : tuple of Estimate, Missing or None
        The score at each step.
    series : int
        Number of the line's color.
    thin : bool
        Whether the line is one of many lines that are averaged.
    """

    name: str
    points: tuple[E | None, ...]
    series: int = 0
    thin: bool = False


@dataclass(frozen=True, slots=True)
class LineChart:
    """Scores over ordered steps, such as blocks of a network. Their numbers follow as details.

    Attributes
    ----------
    caption : str
        Text above the chart.
    heading : str
        Name of the steps.
    steps : tuple of str
        The steps.
    lines : tuple of LineSeries
        The scores. The value expected by chance is a gray band for the first line, and a dotted
        line for other lines.
    name : str
        Name of the score.
    scale : Scale
        Scale of all scores.
    levels : tuple of (str, float)
        Horizontal lines with their names.
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
    """A finished run, or another object that opens images by their ids."""

    def picture(self, name: str) -> "Image.Image | None":
        """Return an image by its id, or None if its file is gone."""


@dataclass(frozen=True, slots=True, eq=False)
class HeatOverlay:
    """An attention map over an image.

    Attributes
    ----------
    map : ndarray of float, shape (height, width)
        Attention to a word. It has its own resolution.
    """

    map: NDArray[np.floating[Any]]


@dataclass(frozen=True, slots=True, eq=False)
class MaskOverlay:
    """The attention masks of two words over an image.

    Attributes
    ----------
    first, second : ndarray of bool, shape (height, width)
        Masks of both words. They have their own resolution.
    """

    first: NDArray[np.bool_]
    second: NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class ImageReference:
    """An image of a page. A renderer turns it into a data URI or into a URL.

    Attributes
    ----------
    image_id : str
        Id of the image.
    source : ImageSource
        Run that holds the image.
    overlay : HeatOverlay or MaskOverlay, optional
        Attention over the image.
    large : bool
        Whether the copy in the page is large.
    """

    image_id: str
    source: ImageSource
    overlay: HeatOverlay | MaskOverlay | None = None
    large: bool = False


@dataclass(frozen=True, slots=True)
class ScatterPoint:
    """A point in a plane.

    Attributes
    ----------
    x, y : float
        Position.
    name : str
        Text that a pointer shows.
    series : int
        Number of its color.
    image : ImageReference, optional
        Image to draw in place of a dot.
    """

    x: float
    y: float
    name: str
    series: int = 0
    image: ImageReference | None = None


@dataclass(frozen=True, slots=True)
class Scatter:
    """Points in a plane.

    Attributes
    ----------
    caption : str
        Text above the plot.
    points : tuple of ScatterPoint
        The points.
    x, y : tuple of (str, Scale or None)
        Name and scale of the axes. Without a scale no numbers are shown.
    description : str
        Description of the plot, for terminals and for readers who cannot see it.
    keys : tuple of str
        Names of the series.
    square : bool
        Whether both axes have the same length and range.
    diagonal : str
        Meaning of the line x = y, if it is drawn.
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
    """An arrow between two names. Its width is proportional to its score."""

    source: str
    target: str
    score: Estimate
    effect: Effect
    more: tuple[Content, ...] = ()


@dataclass(frozen=True, slots=True)
class GraphDiagram:
    """A directed graph. In a terminal its edges are a table.

    Attributes
    ----------
    caption : str
        Text above the graph.
    nodes : tuple of (str, str)
        Name and small note of each node, in their order on a circle.
    edges : tuple of Arrow
        The edges.
    more : tuple of str
        Heads of the further columns of the table.
    """

    caption: str
    nodes: tuple[tuple[str, str], ...]
    edges: tuple[Arrow, ...]
    more: tuple[str, ...] = ()

    @property
    def strongest(self) -> list[Arrow]:
        """Return the edges, the strongest first."""
        return sorted(self.edges, key=lambda edge: -abs(edge.score.value))


@dataclass(frozen=True, slots=True)
class Thumbnail:
    """A small image with its caption.

    Attributes
    ----------
    image : ImageReference or None
        The image, or None for a cell that stays empty.
    alt : str
        Description of the image in words: "Image 3 of ceo".
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
    """The images of a set with the same label.

    Attributes
    ----------
    label : str
        The label.
    count : int
        Number of images of the set with this label.
    shots : tuple of Thumbnail
        Some or all of these images.
    reference : float, optional
        Expected number of images by the reference.
    deviation : Deviation
        Whether the label is over- or under-represented.
    n : int, optional
        Number of images of which `count` have this label, if it is not the number of labeled images
        of the set.
    images : ImageQuery, optional
        All images with this label.
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
        Images by label.
    n : int
        Number of labeled images of the set.
    label : str
        Name of the set, if there are several.
    note : str
        Small text after the name.
    """

    groups: tuple[LabelGroup, ...]
    n: int
    label: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class SortedImages:
    """Images sorted by label: a chart for people who want to check each label.

    Attributes
    ----------
    caption : str
        Title of the images.
    columns : tuple of ImageColumn
        One set, or two sets to compare.
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
        Main text, such as the most over-represented value. An empty text stands for a diagonal cell.
    small : str
        Text below it.
    level : float
        Deviation from -1 to 1: shading in orange (positive) or blue (negative).
    significant : bool
        Whether the cell is bold and shaded.
    framed : bool
        Whether the cell has a frame.
    link : str, optional
        Anchor of its details.
    """

    text: str
    small: str = ""
    level: float = 0.0
    significant: bool = False
    framed: bool = False
    link: str | None = None


@dataclass(frozen=True, slots=True)
class MatrixRow:
    """A row of a matrix.

    Attributes
    ----------
    label : str
        Name of the row.
    cells : tuple of MatrixCell or None
        A cell for each column; None where nothing was measured.
    shots : tuple of Thumbnail
        Some images, below the name.
    link : str, optional
        Anchor of its details.
    """

    label: str
    cells: tuple[MatrixCell | None, ...]
    shots: tuple[Thumbnail, ...] = ()
    link: str | None = None


@dataclass(frozen=True, slots=True)
class ScoreMatrix:
    """A matrix with shaded cells: prompts by axes, or axes by axes.

    Attributes
    ----------
    caption : str
        Title of the matrix.
    heading : str
        Head of the names of the rows.
    columns : tuple of str
        Heads of the columns.
    rows : tuple of MatrixRow
        The rows.
    note : str
        A sentence below the title.
    keys : tuple of (str, str)
        Kind and meaning of cells. Kinds are "over", "under" (ramps of shades), "framed" and
        "none".
    square : bool
        Whether rows and columns are the same axes, and cells are small.
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
        The scores. The interval of the second score is drawn.
    verdict : str
        Result of the test of the change.
    brief : str
        The result in few words, for narrow tables. By default the verdict.
    significant : bool
        Whether the change is significant.
    deviation : Deviation
        "under" if the score is significantly closer to the reference, "over" if further from it.
        "none" if the change is not significant, or its direction is not determined.
    group : str
        Name above all rows of a group.
    reference : float, optional
        Reference value.
    link : str, optional
        Anchor of its details.
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
    """Scores before and after a change: a ring, a dot with its interval, and a line between them.

    Attributes
    ----------
    caption : str
        Title of the chart.
    heading : str
        Head of the names of the rows.
    rows : tuple of ChangeRow
        The scores.
    name : str
        Head of the numbers, such as "Deviation".
    scale : Scale
        Scale of the scores.
    before, after : str
        Names of both states in the legend.
    note : str
        A sentence below the title.
    tested : str
        Head of the verdicts.
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
    """Images that belong together, for example to a set, a model or a strength."""

    shots: tuple[Thumbnail, ...]
    label: str = ""
    note: str = ""
    series: int | None = None


@dataclass(frozen=True, slots=True)
class PictureGrid:
    """Images in equal cells with captions below them.

    Attributes
    ----------
    caption : str
        Text above the images.
    rows : tuple of PictureRow
        The images.
    aligned : bool
        Whether cells of different rows belong together, such as images of the same seed by several
        models.
    heads : tuple of str
        Heads above the cells of aligned rows.
    size : {"small", "medium", "large", "overlay"}
        12, 6 or 4 images side by side, or images of at least 320 pixels.
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
    """Texts and numbers in columns.

    Attributes
    ----------
    caption : str
        Text above the table.
    columns : tuple of str
        Heads.
    rows : tuple of tuple of Content
        Cells.
    labels : int
        Number of columns that name the row. A repeated name is shown once.
    scale : Scale
        Scale of all scores.
    note : str
        Text below the table.
    shaded : bool
        Whether scores are shaded by value, and counts by their share of the row.
    diagonal : bool
        Whether cells of a name with itself are framed.
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
    """Terms with their meanings, or facts, which are short values below their names."""

    terms: tuple[tuple[str, str], ...]
    facts: bool = False


class Container:
    """A block that holds blocks. Blocks without content are left out."""

    __slots__ = ()
    blocks: "Iterable[Block]"

    def __post_init__(self) -> None:
        filled = tuple(block for block in self.blocks if _has_content(block))
        object.__setattr__(self, "blocks", filled)


def _has_content(block: "Block") -> bool:
    """Check whether a block has rows, groups, columns, blocks or text."""
    if isinstance(block, Paragraph):
        return block != Paragraph()
    return all(getattr(block, name, True) for name in ("rows", "groups", "columns", "blocks"))


@dataclass(frozen=True, slots=True)
class Details(Container):
    """Blocks behind a summary.

    Attributes
    ----------
    summary : str
        Text that remains when the details are closed.
    blocks : iterable of Block
        The details.
    anchor : str, optional
        Name by which links lead here.
    screen : bool
        Whether a terminal shows the details, too.
    """

    summary: str
    blocks: "Iterable[Block]"
    anchor: str | None = None
    screen: bool = False


@dataclass(frozen=True, slots=True)
class Section(Container):
    """A heading and the blocks below it. Headings of inner sections are smaller.

    Attributes
    ----------
    title : str
        The heading.
    blocks : iterable of Block
        The content.
    screen : bool
        Whether a terminal and a notebook show the section, too.
    anchor : str, optional
        Name by which links lead here. By default the title.
    """

    title: str
    blocks: "Iterable[Block]"
    screen: bool = True
    anchor: str | None = None

    @property
    def name(self) -> str:
        """Return the name by which links lead here."""
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
    """The chart that shows the answer, and the images by which a person can check it.

    Attributes
    ----------
    chart : tuple of Block
        The chart, with at most one more small block.
    images : tuple of Block
        Images beside the chart.
    layout : {"chart", "even", "images"}
        What takes more of the width: the chart, neither, or the images.
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
    """A document.

    Attributes
    ----------
    kicker : str
        The command: "askew audit".
    title : str
        Title of the document: the prompt, or what was compared.
    answer : str
        The headline: the main result in a sentence with numbers.
    meta : str
        Model, images, instruments, missing data, seed and date in one line.
    sections : tuple of Section
        The content. Sections without blocks are left out.
    first : FirstScreen, optional
        Chart and images of the first screen.
    warnings : tuple of str
        Warnings of the run.
    notes : tuple of str
        Remarks that a reader needs.
    screen_notes : tuple of str
        Remarks for a terminal, which does not show the section that contains them.
    detail : str
        One sentence below the headline: certainty and power, or the second result.
    version : str
        Version of askew.
    limits : str
        Limits of the results, which only a printed page shows on its first page.
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

    def __post_init__(self) -> None:
        filled = tuple(section for section in self.sections if section.blocks)
        object.__setattr__(self, "sections", filled)
