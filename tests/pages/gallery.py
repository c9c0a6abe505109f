"""A page with all blocks and their worst contents: long texts, markup, gaps, two scripts."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

from PIL import Image, ImageDraw

from askew.pages.blocks import (
    DIFFERENCE,
    Arrow,
    ChangeChart,
    ChangeRow,
    CodeBlock,
    DefinitionList,
    Details,
    FirstScreen,
    GraphDiagram,
    ImageColumn,
    ImageReference,
    IntervalChart,
    IntervalRow,
    LabelGroup,
    LineChart,
    LineSeries,
    MatrixCell,
    MatrixRow,
    Page,
    Paragraph,
    PictureGrid,
    PictureRow,
    ReferenceMark,
    Scatter,
    ScatterPoint,
    ScoreMatrix,
    Section,
    SortedImages,
    Table,
    TableCell,
    Thumbnail,
    ValueChart,
    ValueGroup,
    ValueShare,
)
from askew.types import Estimate, Missing

LONG_PROMPT = (
    "a photo of a nurse who works nights in a small hospital near the sea, taken from the side, "
    "natural light, 35 mm"
)
LONG_WORD = "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft"
HOSTILE = '<script>alert("x")</script> & <img src=x onerror=alert(1)>'
HEBREW = "צילום של אחות ליד החלון"
MODELS = ("studio", "studio/balanced", LONG_PROMPT)
AXES = {
    "gender": ("male", "female"),
    "age": ("young", "middle-aged", "old"),
    "ethnicity": ("white", "black", "asian", "south asian", "middle eastern", "hispanic"),
    "emotion": ("happy", "sad", "serious", "tired"),
    "clothing": ("formal", "informal"),
    "disability": ("fit", "blind", "hearing aid", "wheelchair"),
}
GONE = Missing("no_person", "nobody is seen in 48 of 48 pictures")


def estimate(value: float, half: float | None = 0.06, **more: float | None) -> Estimate:
    bounds = {} if half is None else {"low": value - half, "high": value + half}
    return Estimate(value, **{"level": 0.95, "n": 48, **bounds, **more})  # type: ignore[arg-type]


def share(count: int, of: int) -> Estimate:
    value = count / of
    return estimate(value, None, low=max(0.0, value - 0.12), high=min(1.0, value + 0.1))


def group(
    label: str, axis: str, counts: Sequence[int], verdict: str = "", **more: object
) -> ValueGroup:
    n = sum(counts)
    values = AXES[axis]
    parts = tuple(
        ValueShare(value, share(count, n), count, 1 / len(values)) if n else ValueShare(value, GONE)
        for value, count in zip(values, counts, strict=True)
    )
    return ValueGroup(label, parts, n, verdict=verdict, **more)  # type: ignore[arg-type]


def one_prompt(brief: bool = False) -> ValueChart:
    lost = {"no_person": 2, "refused": 1}
    groups = (
        group(
            "Gender", "gender", (6, 42), "more female than even", significant=True, link="gender"
        ),
        group("Disability", "disability", (25, 4, 10, 9), "more fit than even", significant=True),
        group(
            "Emotion",
            "emotion",
            (17, 7, 18, 6),
            "more serious than even",
            significant=True,
            leading="serious",
        ),
        group("Ethnicity", "ethnicity", (3, 4, 10, 9, 11, 11), "not significant"),
        group("Age", "age", (21, 14, 13), "not significant"),
        group("Clothing", "clothing", (45, 0), "formal alone", significant=True, missing=lost),
        group("Body type", "clothing", (0, 0), missing={"no_person": 48}),
    )
    caption = "Share of the 48 images with each label"
    return ValueChart(caption, groups, note="All values.", brief=brief)


def many_prompts(value: str = "") -> ValueChart:
    rng = random.Random(0)
    groups = []
    for prompt in (LONG_PROMPT, "ceo", HEBREW, HOSTILE, LONG_WORD):
        for condition in ("as asked", "asked for diversity"):
            men = rng.randrange(11)
            verdict = "men alone" if men > 8 else "not significant"
            groups.append(
                group(
                    condition, "gender", (men, 10 - men), verdict, significant=men > 8, group=prompt
                )
            )
    return ValueChart("Perceived gender", tuple(groups), heading="Prompt", value=value)


def two_runs() -> ValueChart:
    groups = []
    for axis in ("gender", "age", "ethnicity"):
        for k, run in enumerate(MODELS[:2]):
            counts = [16 if j == k else 4 for j in range(len(AXES[axis]))]
            verdict = "biased (q < 0.001)" if k else ""
            groups.append(group(run, axis, counts, verdict, group=axis.capitalize()))
    return ValueChart("What two models show", tuple(groups))


def changed() -> ChangeChart:
    rows = [
        ChangeRow(
            axis.capitalize(),
            estimate(0.3),
            estimate(0.3 - 0.05 * k),
            "closer (q < 0.001)"
            if k > 3
            else "change not significant after correction for 6 tests",
            significant=k > 3,
            deviation="under" if k > 3 else "none",
            group="Target axes" if k > 3 else "Monitored axes",
            reference=0.1 if k == 5 else None,
        )
        for k, axis in enumerate(AXES)
    ]
    rows.append(ChangeRow(LONG_WORD, estimate(0.1), GONE, "not measured", group=HOSTILE))
    rows.append(
        ChangeRow("further", estimate(0.1), estimate(0.4), "further (q = 0.01)", True, "over")
    )
    return ChangeChart(
        "Deviation before and after", "Axis", tuple(rows), "Deviation", note="0: even"
    )


def prompt_matrix() -> ScoreMatrix:
    rows = []
    for k, prompt in enumerate((LONG_PROMPT, HEBREW, HOSTILE, LONG_WORD)):
        cells = [
            MatrixCell(f"{values[0]} {60 + 5 * j} %", level=0.1 + 0.15 * j, significant=True)
            if (k + j) % 2
            else MatrixCell(f"{values[-1]} 40 %", "n.s., q = 0.12", link="gender")
            for j, values in enumerate(AXES.values())
        ]
        rows.append(MatrixRow(prompt, (None, *cells[1:]), shots(4)[:4] if k else ()))
    keys = (("over", "deviation"), ("none", "not significant"))
    columns = tuple(axis.capitalize() for axis in AXES)
    return ScoreMatrix("Most over-represented", "Prompt", columns, tuple(rows), "A note.", keys)


def effect_matrix() -> ScoreMatrix:
    rows = []
    for k, axis in enumerate(AXES):
        cells = [
            MatrixCell("" if k == j else f"+0.{k}{j}", level=-0.8 * (k < j), framed=k < j)
            for j in range(len(AXES))
        ]
        rows.append(MatrixRow(axis, tuple(cells)))
    keys = (("under-4 framed", "closer"), ("none", "not determined"))
    columns = tuple(AXES)
    return ScoreMatrix("Effects", "Made even", columns, tuple(rows), keys=keys, square=True)


def sorted_pictures(columns: int = 1) -> SortedImages:
    groups = (
        LabelGroup("female", 44, shots(44), 24, "over"),
        LabelGroup(LONG_WORD, 4, shots(4), 24.5, "under"),
        LabelGroup("no label", 2, ()),
    )
    named = [ImageColumn(groups, 48, f"Column {k}", LONG_PROMPT) for k in range(columns)]
    if columns == 1:
        named = [ImageColumn(groups, 48)]
    return SortedImages("All 50, sorted by gender label", tuple(named), "Labeled by studio.")


def ranking() -> IntervalChart:
    rows = [
        IntervalRow(
            axis.capitalize(),
            estimate(0.15 + 0.12 * k, null=0.14, corrected=0.1 * k, q=0.2 / (k + 1) ** 3),
            link=axis,
        )
        for k, axis in enumerate(reversed(AXES))
    ]
    rows += [
        IntervalRow(LONG_WORD, estimate(0.4, None, null=0.2, p=0.04)),
        IntervalRow(LONG_PROMPT, GONE),
        IntervalRow("Not asked", None),
    ]
    rows += [IntervalRow("mean", estimate(0.41, 0.02), muted=True)]
    return IntervalChart(
        "How unequally near the pictures are to the counterfactuals of each axis",
        "Axis",
        tuple(rows),
        "MAD",
    )


def by_model() -> IntervalChart:
    rows = []
    for k, word in enumerate(("nurse", "person", LONG_WORD)):
        for j, model in enumerate(MODELS):
            score = estimate(0.3 + 0.1 * k + 0.05 * j, null=0.176, corrected=0.2, q=0.001)
            rows.append(IntervalRow(model, score, (estimate(0.2),), group=word, series=j))
    return IntervalChart(
        "Overlap of “woman” with the word beside it", "With", tuple(rows), "mIoU", more=("mBIoU",)
    )


def changes() -> IntervalChart:
    scores = [estimate(0.1 * (k - 5), 0.08, q=0.01 if k > 6 else 0.4) for k in range(40)]
    rows = tuple(IntervalRow(f"effect {k}", score) for k, score in enumerate(scores))
    return IntervalChart("What making gender equal does", "Axis", rows, "IS", "signed", DIFFERENCE)


def mined() -> IntervalChart:
    rows = tuple(
        IntervalRow(
            f"prompt {k}: {LONG_PROMPT}",
            estimate(0.61 + 0.02 * k, 0.015, null=0.7, q=0.003),
            chance=(0.66, 0.72),
            marks=(ReferenceMark(0.58 + 0.02 * k, "score when it was found", "ring"),),
            points=(0.6, 0.63, 0.66),
        )
        for k in range(4)
    )
    chance = ("chance", "95 % of scores of pictures of the variations")
    return IntervalChart(
        "The best prompts",
        "Prompt",
        rows,
        "fresh seeds",
        "range",
        ("value", "interval", "null", "q"),
        chance=chance,
        points="score of one prompt",
    )


def profile() -> LineChart:
    steps = tuple(f"{part} {k}" for part in ("down", "middle", "up") for k in range(1, 6))
    first = [estimate(0.25 + 0.15 * math.sin(k / 2), 0.05, null=0.18) for k in range(15)]
    second = [estimate(0.3 + 0.1 * math.cos(k / 2), 0.04, null=0.2) for k in range(15)]
    lines = (
        LineSeries("studio", (*first[:6], GONE, *first[7:])),
        LineSeries("studio/balanced", (*second[:6], GONE, *second[7:]), 1),
        LineSeries(
            "a photo of a nurse", tuple(estimate(0.2 + 0.02 * k) for k in range(15)), thin=True
        ),
    )
    level = ("chance: masks of these areas", 0.12)
    return LineChart(
        "Overlap by block, from input to output", "block", steps, lines, "mIoU", levels=(level,)
    )


def race() -> LineChart:
    mined = [estimate(0.7 - 0.006 * k, 0.01) for k in range(40)]
    random = [estimate(0.7 - 0.003 * k, 0.01) for k in range(40)]
    best = [estimate(0.7 - 0.01 * (k // 5), None) for k in range(40)]
    lines = (
        LineSeries("mined", tuple(mined)),
        LineSeries("random", tuple(random), 1),
        LineSeries("best so far", tuple(best), 2),
    )
    steps = tuple(str(k + 1) for k in range(40))
    return LineChart("Best loss so far, mean over runs", "iteration", steps, lines, "loss", "range")


def course() -> Scatter:
    rng = random.Random(1)
    points = tuple(
        ScatterPoint(k // 6 + rng.uniform(0.7, 1.3), rng.uniform(0.6, 0.7), f"{HOSTILE} {k}", k % 2)
        for k in range(60)
    )
    return Scatter(
        "Every point is a prompt",
        points,
        ("iteration", "range"),
        ("loss", "range"),
        "60 prompts.",
        ("mutation", "random prompt"),
    )


def planted(title: str) -> Scatter:
    xs = [k / 10 - 1 for k in range(21)]
    points = tuple(ScatterPoint(x, 0.8 * x, f"pair {k}") for k, x in enumerate(xs))
    x = ("planted, points", "points")
    y = ("measured, points", "points")
    return Scatter(
        title, points, x, y, "Measured is .8 of planted.", square=True, diagonal="as planted"
    )


class Drawings:
    """Images by their numbers."""

    def picture(self, name: str) -> Image.Image:
        k = int(name)
        image = Image.new("RGB", (112, 112), ((37 * k) % 256, (91 * k) % 256, 150))
        ImageDraw.Draw(image).ellipse((20, 10, 90, 100), fill=((60 * k) % 256, 180, (25 * k) % 256))
        return image


def picture(k: int) -> ImageReference:
    return ImageReference(image_id=str(k), source=Drawings())


def shots(n: int, caption: str = "") -> tuple[Thumbnail, ...]:
    return tuple(
        Thumbnail(None if k % 7 == 5 else picture(k), f"Picture {k + 1} of {HOSTILE}", caption)
        for k in range(n)
    )


def picture_map() -> Scatter:
    rng = random.Random(2)
    points = tuple(
        ScatterPoint(rng.random(), rng.random(), f"picture {k}", k % 2, image=picture(k))
        for k in range(24)
    )
    keys = ("picture of the prompt", "picture of a variation")
    return Scatter(
        "Pictures among those of variations", points, ("", None), ("", None), "24 pictures.", keys
    )


def network() -> GraphDiagram:
    names = [*AXES, "environment", "body type"]
    pairs = zip(names, names[3:] + names[:3], strict=True)
    edges = tuple(
        Arrow(
            a,
            b,
            estimate(0.3 - 0.09 * k, 0.05),
            ("better", "worse", "changed")[k % 3],
            (f"0.{k}", "< 0.001"),
        )  # type: ignore[arg-type]
        for k, (a, b) in enumerate(pairs)
    )
    nodes = tuple((name, "itself +0.12" if k % 3 == 0 else "") for k, name in enumerate(names))
    return GraphDiagram("Which axis moves which", nodes, edges, more=("V", "q"))


def effects() -> Table:
    def score(k: int, j: int) -> Estimate:
        return estimate(0.08 * (j - k), 0.05, q=0.001 if j > k else 0.5)

    def cells(k: int) -> tuple[Estimate, ...]:
        return tuple(score(k, j) for j in range(len(AXES)))

    rows = tuple((axis, *cells(k)) for k, axis in enumerate(AXES))
    caption = "Making the axis of the row equal moves that of the column"
    return Table(caption, ("Made equal", *AXES), rows, scale="signed", shaded=True, diagonal=True)


def overview() -> Table:
    def cells(k: int) -> tuple[Estimate | None, ...]:
        return tuple(
            estimate(0.1 * (k + j), null=0.14, q=0.01) if j != 2 else None for j in range(6)
        )

    rows = tuple((prompt, *cells(k)) for k, prompt in enumerate((LONG_PROMPT, HEBREW, "ceo")))
    return Table("MAD of every prompt and axis", ("Prompt", *AXES), rows, shaded=True)


def concepts() -> Table:
    def cells(k: int) -> tuple[Estimate, ...]:
        return tuple(estimate((0.1 * k + 0.2 * j) % 1, None) for j in range(4))

    rows = tuple((word, *cells(k)) for k, word in enumerate(("woman", "scrubs", LONG_WORD)))
    columns = ("Concept", "initial", "male", "female", "old")
    return Table("Concepts seen, in % of the pictures", columns, rows, scale="share", shaded=True)


def confusion() -> Table:
    columns = ("people", "male", "female", "not read", "read alike")
    rows = (
        ("male", 20, 3, TableCell(1, level=0), TableCell("87 %", level=0)),
        ("female", 1, 24, TableCell(0, level=0), TableCell("96 %", level=0)),
    )
    caption = "Rows as people say, columns as read"
    return Table(caption, columns, rows, note="counts", shaded=True, diagonal=True)


def paper_table() -> Table:
    last = TableCell("↑ 4.20", "[1.0, 7.4]", strong=True)
    scores = [estimate(0.1 * k) for k in range(6)]
    rows = tuple(
        (group, target, *scores, last)
        for group in ("white woman", LONG_WORD)
        for target in ("CEO", "nurse")
    )
    columns = (
        f"{score} {strength}"
        for score in ("Δ gender", "Δ ITA")
        for strength in ("0.2", "0.5", "0.8")
    )
    return Table("As the paper's table 1", ("Group", "Targets", *columns, "ITA"), rows, 2)


def lists() -> Table:
    rows = (
        ("Words", ("one", "two", LONG_WORD), LONG_PROMPT, 3, GONE),
        (HEBREW, ("x",), HOSTILE, 12000, estimate(0.4)),
        ("empty", (), "", None, None),
    )
    return Table(
        "Three at once", ("Words", "Items", "Paragraph", "n", "score"), rows, note="A note below."
    )


def pictures() -> Section:
    rows = (
        PictureRow(shots(24), "Initial pictures", "pictures 1 to 24 of 48"),
        PictureRow(shots(5, LONG_WORD), HEBREW),
    )
    runs = tuple(PictureRow(shots(12), name[:40], series=k) for k, name in enumerate(MODELS))
    overlays = tuple(PictureRow(shots(4, "IoU 0.31"), "picture 1") for _ in range(2))
    keys = (
        ("heat", "attention: lowest to highest"),
        ("only-a", "woman"),
        ("only-b", "nurse"),
        ("both", "both"),
    )
    blocks = (
        PictureGrid("", rows),
        PictureGrid(
            "One seed by three models",
            runs,
            aligned=True,
            heads=tuple(str(k + 1) for k in range(12)),
        ),
        PictureGrid(
            "Maps",
            overlays,
            aligned=True,
            heads=("picture", "woman", "nurse", "both"),
            size="large",
            keys=keys,
        ),
        PictureGrid("Missed", (PictureRow(shots(6, LONG_PROMPT)),), size="medium"),
    )
    return Section("The pictures", blocks)


def gallery() -> Page:
    """Return a page with all blocks."""
    graph = (network(), network(), network(), effects(), overview(), concepts(), confusion())
    paragraph = Paragraph(
        "A sentence.",
        "Bold lead.",
        ("an item", Paragraph("and what it means", "Led item:"), HOSTILE),
    )
    terms = (
        DefinitionList((("Score", LONG_PROMPT), (LONG_WORD, HOSTILE))),
        DefinitionList((("Model", LONG_WORD), ("Moved", "age")), facts=True),
    )
    sections = (
        Section("Who and what was seen", (one_prompt(), changed())),
        Section("Several prompts", (many_prompts(), many_prompts("male"), two_runs())),
        Section("Matrices", (prompt_matrix(), effect_matrix(), sorted_pictures(2))),
        pictures(),
        Section(
            "Scores",
            (ranking(), Section("gender", (by_model(), mined())), Details("Effects", (changes(),))),
        ),
        Section(
            "Curves",
            (profile(), race(), course(), planted("Men"), planted(LONG_PROMPT), picture_map()),
        ),
        Section("Graph", graph, screen=False),
        Section(
            "Words",
            (
                paragraph,
                Paragraph(LONG_PROMPT, muted=True),
                paper_table(),
                lists(),
                *terms,
                CodeBlock(f'name = "{LONG_PROMPT}"'),
            ),
        ),
    )
    meta = f"studio/planted, bias 0.5 · 432 images in 9 sets · {LONG_WORD}{LONG_PROMPT}"
    detail = (
        "The images show significant bias on 4 of 8 axes. On the other axes, the test has 90 % "
        "power to detect a deviation of 0.24 or more."
    )
    return Page(
        "askew audit · studio/planted",
        f"“{LONG_PROMPT}”",
        "42 of 48 pictures show a person perceived as female.",
        meta,
        sections,
        FirstScreen((one_prompt(brief=True),), (sorted_pictures(),)),
        (HOSTILE, LONG_PROMPT),
        ("Bold: beyond chance.",),
        detail,
        "0.1.0",
    )
