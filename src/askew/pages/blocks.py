"""A page as data: what to show and in which order, never how. A method's `page.py` fills it;
renderers draw it.

The order of a page: the answer in a sentence, the block that shows it (of people always `Shares`),
pictures, then what the answer rests on, folded. An author chooses by what is to be said:

    Text      a sentence, or bullets                      Pictures  pictures in equal cells
    Shares    what was seen, as stacked bars              Table     texts and numbers that need no plot, or shaded
    Lanes     scores with interval and chance, in rows    Terms     words and what they mean; facts
    Lines     a score over ordered steps                  Fold      details behind a summary
    Scatter   points in a plane                           Code      text as it is
    Network   what moves what: arrows between names

Scores go in as `Estimate` or `Missing`, not as text: renderers write them by the block's `Scale`,
draw interval and chance, set in bold what is beyond chance (q below .05; `strong` overrides), and
say why something is missing. The mark of a plot is the estimate's `debiased` value where it has
one; numbers beside it are its `value`. Text is text, no markup; names of others are quoted and cut
by `words.quote`, `words.shorten`. A `link` leads to the block with the same `anchor`, any text, and
is plain text if there is none. `series` numbers what belongs together over rows and blocks: one
colour each, 0 to 5. What pages share is written once: `skeleton`, `media`, `words`. Sections and
folds leave out blocks without rows, bars or blocks, a page sections without blocks.
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
"""A score, or why there is none."""

Scale = Literal["unit", "share", "signed", "fine", "points", "degrees", "range"]
"""How scores lie on an axis and are written: unit from 0 to 1 (further if a score is); share in
percent; around zero with their sign signed, fine (of four digits), points (of percent) and degrees;
range from the lowest to the highest.
"""

Column = Literal["value", "mark", "interval", "null", "corrected", "p", "q"]
"""A part of an estimate that stands beside its plot. `null` is headed "chance"; `q` shows p, named,
where q is none.
"""

SCORE: tuple[Column, ...] = ("value", "interval", "null", "corrected", "q")
TESTED: tuple[Column, ...] = ("value", "interval", "null", "q")
DIFFERENCE: tuple[Column, ...] = ("value", "interval", "q")
PLAIN: tuple[Column, ...] = ("value", "interval")

Effect = Literal["better", "worse", "changed"]
"""Nearer to the ideal, further from it, or not settled."""

Swatch = Literal["heat", "only-a", "only-b", "both"]
"""Colours of attention overlays: the colour map, and the places of two words (`media`)."""


@dataclass(frozen=True, slots=True)
class TableCell:
    """A table's cell that says more than its value: a small `note` below it, `strong` (None: where
    beyond chance), and in a shaded table its shading, from -1 (orange) to 1 (blue; None: by the
    value).
    """

    value: str | int | E | None
    note: str = ""
    strong: bool | None = None
    level: float | None = None


Content = str | int | E | TableCell | tuple[str, ...] | None
"""What a cell holds: a text, a count, a score (written with its interval), some short texts, or
nothing (a dash).
"""


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A paragraph: `lead` in bold, then `text`, then `items` as bullets. `muted` for remarks, which
    a terminal dims.
    """

    text: str = ""
    lead: str = ""
    items: "tuple[str | Paragraph, ...]" = ()
    muted: bool = False


@dataclass(frozen=True, slots=True)
class CodeBlock:
    """Text as it is, in a fixed width: a plan, a command."""

    text: str


@dataclass(frozen=True, slots=True)
class ShareSegment:
    """One value of an axis in a bar: its share, how many pictures, and the share that would be
    ideal.
    """

    value: str
    share: E
    count: int | None = None
    reference: float | None = None


@dataclass(frozen=True, slots=True)
class Bar:
    """What one set of pictures shows on one axis, as its own `parts`, also those that were not
    seen: `n` pictures that were read, and by reason how many were not; a verdict in a few words,
    `strong` where a lean is shown. Bars of one `group` stand under its name; the interval drawn is
    of `leading`, by default what is furthest above its ideal.
    """

    label: str
    parts: tuple[ShareSegment, ...]
    n: int
    missing: Mapping[str, int] = field(default_factory=dict)
    verdict: str = ""
    strong: bool = False
    group: str = ""
    series: int | None = None
    link: str | None = None
    leading: str = ""


@dataclass(frozen=True, slots=True)
class ShareBars:
    """What was seen, as stacked bars: the lead of every page about people, before any score."""

    caption: str
    bars: tuple[Bar, ...]
    heading: str = "Axis"


@dataclass(frozen=True, slots=True)
class ReferenceMark:
    """Something to compare with, on one lane: a line at the ideal, a dashed line at a mean, a ring
    at an earlier score; the legend gives each `name` once.
    """

    at: float
    name: str
    shape: Literal["line", "dash", "ring"] = "line"


@dataclass(frozen=True, slots=True)
class IntervalRow:
    """A row of `Lanes`: one score, None where it was not asked for.

    `more` are further cells, under the columns `Lanes.more`; rows of one `group` stand under its
    name; `muted` is a row that sums others up; `chance` is from where to where it would fall, if
    not from 0 to the estimate's `null`; `points` are single scores behind a mean.
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
    """Scores on one scale: each a dot on its interval, chance a grey band behind it, the numbers
    beside it.

    `heading` names the labels ("Axis"), `name` the score ("MAD"); `chance` is the head of the
    column `null` and what its grey band means; `columns` are parts of the estimate beside the plot;
    `points` is what a small dot is.
    """

    caption: str
    heading: str
    rows: tuple[IntervalRow, ...]
    name: str
    scale: Scale = "unit"
    columns: tuple[Column, ...] = SCORE
    more: tuple[str, ...] = ()
    chance: tuple[str, str] = ("chance", "what chance alone would give")
    interval: str = "interval for the true value"
    points: str = ""


@dataclass(frozen=True, slots=True)
class LineSeries:
    """A score over the steps of `Lines`, None where there is no point. Thin: one of many behind a
    mean.
    """

    name: str
    points: tuple[E | None, ...]
    series: int = 0
    thin: bool = False


@dataclass(frozen=True, slots=True)
class LineChart:
    """Scores over ordered steps, such as blocks of a network; their numbers follow in a fold. The
    first line's `null` is the grey chance behind all, other lines' is dotted; `levels` are lines
    with names.
    """

    caption: str
    heading: str
    steps: tuple[str, ...]
    lines: tuple[LineSeries, ...]
    name: str
    scale: Scale = "unit"
    levels: tuple[tuple[str, float], ...] = ()
    chance: str = "what chance alone would give"


class ImageSource(Protocol):
    """A finished run, or whatever else opens images by their ids."""

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
    """

    image_id: str
    source: ImageSource
    overlay: HeatOverlay | MaskOverlay | None = None


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
    """Points in a plane, by (name, scale) of the axes; scales of pictures on a map are None, and no
    numbers are shown. `said` is what the plot shows, for terminals and who cannot see it; `keys`
    name the series; `square` has one length and range for both axes; `diagonal` is what x = y
    means, if it is drawn.
    """

    caption: str
    points: tuple[ScatterPoint, ...]
    x: tuple[str, Scale | None]
    y: tuple[str, Scale | None]
    said: str
    keys: tuple[str, ...] = ()
    square: bool = False
    diagonal: str = ""


@dataclass(frozen=True, slots=True)
class Arrow:
    """An arrow from a name to another, as wide as its score is large."""

    source: str
    target: str
    score: Estimate
    effect: Effect
    more: tuple[Content, ...] = ()


@dataclass(frozen=True, slots=True)
class GraphDiagram:
    """A directed graph; nodes (name, small note) stand on a circle in the order given. In a
    terminal its edges are a table, with the further columns `more`.
    """

    caption: str
    nodes: tuple[tuple[str, str], ...]
    edges: tuple[Arrow, ...]
    more: tuple[str, ...] = ()

    @property
    def strongest(self) -> list[Arrow]:
        """The edges, the strongest first."""
        return sorted(self.edges, key=lambda e: -abs(e.score.value))


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
class PictureRow:
    """Pictures that belong together: of a set, a model, a strength."""

    shots: tuple[Thumbnail, ...]
    label: str = ""
    note: str = ""
    series: int | None = None


@dataclass(frozen=True, slots=True)
class PictureGrid:
    """Pictures in equal cells (12, 6 or 4 in a row), captions below; `keys`: colours of overlays
    and their meaning. `aligned` rows stand under each other cell by cell, below their `heads`: one
    seed by several models, edits.
    """

    caption: str
    rows: tuple[PictureRow, ...]
    aligned: bool = False
    heads: tuple[str, ...] = ()
    size: Literal["small", "medium", "large"] = "small"
    keys: tuple[tuple[Swatch, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Table:
    """Texts and numbers in columns, of which the first `labels` name the row; repeated names are
    shown once. `shaded` are scores by value, or counts by their share of the row; `diagonal` frames
    cells of a name with itself.
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
    """Words and what they mean; as `facts`, short values under their names, beside each other."""

    terms: tuple[tuple[str, str], ...]
    facts: bool = False


class Container:
    """What holds blocks leaves out those that hold nothing themselves, and texts that say nothing."""

    __slots__ = ()
    blocks: "Iterable[Block]"

    def __post_init__(self) -> None:
        filled = (
            one
            for one in self.blocks
            if all(getattr(one, name, True) for name in ("rows", "bars", "blocks"))
        )
        object.__setattr__(self, "blocks", tuple(one for one in filled if one != Paragraph()))


@dataclass(frozen=True, slots=True)
class Details(Container):
    """Blocks behind a summary, which says what is in them. A terminal leaves them out unless
    `screen`.
    """

    summary: str
    blocks: "Iterable[Block]"
    anchor: str | None = None
    open: bool = False
    screen: bool = False


@dataclass(frozen=True, slots=True)
class Section(Container):
    """A heading (within another section a smaller one) and what stands below it; `anchor` is by
    default its title.
    """

    title: str
    blocks: "Iterable[Block]"
    screen: bool = True
    anchor: str | None = None

    @property
    def name(self) -> str:
        """What links lead to it by."""
        return self.anchor or self.title


Block = (
    Paragraph
    | CodeBlock
    | ShareBars
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
class Page:
    """The document: `kicker`, what this is ("askew audit · studio/planted, bias 0.5"); `title`, the
    prompt, or what was compared; `answer`, what was seen, in a sentence of numbers; `detail`, what
    follows from it, and what could not be seen; `facts` (name, value); `notes`, what one must know
    to read the page.
    """

    kicker: str
    title: str
    answer: str
    facts: tuple[tuple[str, str], ...]
    sections: tuple[Section, ...]
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    detail: str = ""
    version: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "sections", tuple(one for one in self.sections if one.blocks))
