"""Page of a comparison of classifications or edits: charts of the differences, and images."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from string import ascii_uppercase

from askew.findings import PictureSet
from askew.methods.edit.findings import EditSet
from askew.pages import blocks as b
from askew.pages import skeleton
from askew.pages import words as w
from askew.pages.media import picture_row
from askew.pages.phrases import format_phrase
from askew.pages.words import shorten
from askew.studies.compare_downstream.findings import RunPair, TaskDifference, TaskFindings
from askew.types import Estimate, Missing, grouped

IMAGES = 6
"""Maximum number of images shown for each group and run on the first screen."""

MOST_IMAGES = 24
"""Maximum number of images shown for each group and run in the section about images."""

SCALES: Mapping[str, b.Scale] = {"ita_change": "degrees"}
"""Scales of the scores whose differences are not expressed in percentage points."""

CHARTS = {
    "differential": "Difference between two groups in the share of decisions for the {first} class",
    "association": "Share of decisions for the {first} class",
    "accuracy": "Share of images classified correctly",
    "gender_contrast": "Difference between two groups in the share of edits that change perceived "
    "gender",
    "gender_change": "Share of edits that change perceived gender",
    "axis_change": "Share of edits that change another perceived attribute",
    "ita_change": "Change in skin tone (ITA) caused by edits",
}
"""Chart title of each score, in the order in which the page shows the scores."""


def page(comparison: TaskFindings) -> b.Page:
    """Return the page of a comparison."""
    view = TaskView(comparison)
    pairs = view.pairs
    first = pairs[0]
    claim, evidence = view.sentences(first)
    charts = view.charts(first)
    runs = comparison.runs
    method = next(iter(runs.values())).plan.method
    return b.Page(
        kicker=f"askew compare: {len(runs)} runs of askew {method}",
        title=" and ".join(shorten(name, 40) for name in runs),
        answer=claim,
        detail=" ".join(filter(None, (evidence, view.pairing(first)))),
        meta=skeleton.meta_line(view.fact(name) for name in runs),
        first=b.FirstScreen(tuple(charts[:1]), (view.images(first, IMAGES),), layout="even"),
        sections=(
            b.Section("Differences", charts[1:]),
            *(b.Section(view.title(pair), view.of_pair(pair)) for pair in pairs[1:]),
            b.Section("Images", (view.images(first, MOST_IMAGES),), screen=False),
            _reading(any(entry.pairs for entry in comparison.entries)),
            b.Section("Runs", view.provenance(), screen=False),
        ),
        warnings=tuple(comparison.warnings),
        notes=(
            "Bold: significant (q < 0.05). Attributes are perceived; instruments make errors.",
            "Intervals are not corrected for multiple testing; q-values are.",
        ),
        version=next(iter(runs.values())).findings.askew,
    )


@dataclass(frozen=True)
class TaskView:
    """Charts, images and sentences for a comparison.

    Attributes
    ----------
    comparison
        The findings.
    """

    comparison: TaskFindings

    @property
    def pairs(self) -> list[RunPair]:
        """All pairs of runs."""
        return list(dict.fromkeys(entry.runs for entry in self.comparison.entries))

    def entries(self, pair: RunPair) -> list[TaskDifference]:
        """Return the differences between two runs."""
        return [entry for entry in self.comparison.entries if entry.runs == pair]

    def letter(self, name: str) -> str:
        """Return the letter that represents a run on the page."""
        return ascii_uppercase[list(self.comparison.runs).index(name)]

    def title(self, pair: RunPair) -> str:
        """Return the title of the section about two runs, such as "B minus A"."""
        first, second = (f"{shorten(name, 60)} ({self.letter(name)})" for name in pair)
        return f"{second} minus {first}"

    def fact(self, name: str) -> str:
        """Return the legend entry for a run: its letter, name, model, input images and folder."""
        run = self.comparison.runs[name]
        inputs = run.plan.sources or run.findings.model.name
        text = f"{name}: {run.findings.model.name}, input images {inputs}, {run.folder}"
        return f"{self.letter(name)}: {shorten(text, 240)}"

    def sentences(self, pair: RunPair) -> tuple[str, str]:
        """Return two sentences: how many scores differ between two runs, and what differs most."""
        return pair_sentences(self.entries(pair), self._first_set)

    @property
    def _first_set(self) -> str:
        """Name of the first set of target classes; "" if the runs are edits."""
        plan = next(iter(self.comparison.runs.values())).plan
        return shorten(next(iter(getattr(plan, "targets", {"": ()}))), 40)

    def pairing(self, pair: RunPair) -> str:
        """Return a sentence that states whether two runs have the same input images."""
        pairs = [entry.pairs for entry in self.entries(pair) if entry.other_group is None]
        if any(pairs):
            return (
                "Both runs have the same input images, and askew compares them image by image. "
                f"The largest group has {w.plural(max(pairs), 'pair')}."
            )
        return "The runs have different input images, and askew compares them as independent sets."

    def of_pair(self, pair: RunPair) -> Iterator[b.Block]:
        """Yield the sentence and the charts about two runs."""
        yield b.Paragraph(pair_sentence(self.entries(pair), self._first_set))
        yield from self.charts(pair)

    def charts(self, pair: RunPair) -> list[b.Block]:
        """Return a chart for each score, with the scores of both runs and their difference."""
        by_score = grouped(self.entries(pair), lambda entry: entry.score)
        return [self._chart(pair, by_score[score]) for score in CHARTS if score in by_score]

    def _chart(self, pair: RunPair, entries: Sequence[TaskDifference]) -> b.Block:
        first, second = map(self.letter, pair)
        caption = CHARTS[entries[0].score].format(first=self._first_set)
        scale = _scale(entries[0])
        unit = "percentage points" if scale == "points" else "degrees"
        return b.IntervalChart(
            caption=f"{caption}: {second} minus {first}, in {unit}",
            heading="Groups" if entries[0].other_group else "Group",
            rows=tuple(self._row(entry) for entry in entries),
            name="difference",
            scale=scale,
            columns=b.DIFFERENCE if any(entry.is_tested for entry in entries) else b.PLAIN,
            more=(first, second),
        )

    def _row(self, entry: TaskDifference) -> b.IntervalRow:
        return b.IntervalRow(
            label=_groups(entry),
            score=entry.difference,
            more=tuple(_value(score, entry) for score in entry.of_runs),
            group=_condition(entry),
        )

    def images(self, pair: RunPair, most: int) -> b.PictureGrid:
        """Return the input images of each group in both runs, and edits of these images.

        Parameters
        ----------
        pair
            Names of the first and the second run.
        most
            Maximum number of images in a row of the grid.
        """
        rows: list[b.PictureRow] = []
        groups = dict.fromkeys(entry.group for entry in self.entries(pair))
        is_paired = any(entry.pairs for entry in self.entries(pair))
        for group in groups:
            order = self._common_order(pair, group) if is_paired else None
            for name in pair:
                for image_set in self._sets(name, group):
                    is_source = image_set.axis is None
                    if is_source and is_paired and name != pair[0]:
                        continue
                    letters = self.letter(name)
                    if is_source and is_paired:
                        letters = " and ".join(map(self.letter, pair))
                    rows.append(self._image_row(name, letters, image_set, order, most))
        of = "same input images" if is_paired else "different input images"
        return b.PictureGrid(f"Images of each group, {of}", tuple(rows), aligned=is_paired)

    def _sets(self, name: str, group: str) -> list[PictureSet]:
        """Return the input images of a group, and their strongest edits toward the first word."""
        sets = [
            entry for entry in self.comparison.runs[name].findings.sets if entry.prompt == group
        ]
        sources = [entry for entry in sets if entry.axis is None]
        edits = [entry for entry in sets if isinstance(entry, EditSet) and entry.target]
        strongest = max((edit.strength or 0.0 for edit in edits), default=0.0)
        return [*sources, *[edit for edit in edits if edit.strength == strongest][:1]]

    def _common_order(self, pair: RunPair, group: str) -> Mapping[str, Sequence[int]]:
        """Return, for each run, the positions of the input images that all runs share.

        All runs list the images in the order of the first run.
        """
        ids = {name: list(self._sets(name, group)[0].pictures) for name in pair}
        first, second = (ids[name] for name in pair)
        common = [image for image in first if image is not None and image in second]
        order = {}
        for name in pair:
            order[name] = [ids[name].index(image) for image in common]
        return order

    def _image_row(
        self,
        name: str,
        letters: str,
        image_set: PictureSet,
        order: Mapping[str, Sequence[int]] | None,
        most: int,
    ) -> b.PictureRow:
        pictures = image_set.pictures
        if order is not None:
            pictures = tuple(pictures[place] for place in order[name])
        label = f"{letters}: {shorten(image_set.prompt, 40)}"
        if isinstance(image_set, EditSet) and image_set.target:
            strength = f"strength {image_set.strength:g}"
            label += f", edited toward {w.quote(image_set.target, 30)}, {strength}"
        return picture_row(self.comparison.runs[name], pictures, label, most)

    def provenance(self) -> Iterator[b.Block]:
        """Yield the plan and the software versions of each run."""
        for name, run in self.comparison.runs.items():
            details = skeleton.provenance(run.findings)
            yield b.Details(f"{self.letter(name)}: {shorten(name, 80)}", details)


def pair_sentence(entries: Sequence[TaskDifference], first_set: str = "") -> str:
    """Return one text that states how many scores differ between two runs.

    See `pair_sentences`.
    """
    return " ".join(filter(None, pair_sentences(entries, first_set)))


def pair_sentences(entries: Sequence[TaskDifference], first_set: str = "") -> tuple[str, str]:
    """Return two sentences: how many scores differ between two runs, and what differs most.

    Parameters
    ----------
    entries
        Differences between the two runs.
    first_set
        Name of the first set of target classes; "" if the runs are edits.
    """
    tested = [entry for entry in entries if entry.is_tested]
    first, second = (shorten(name, 60) for name in entries[0].runs)
    if not tested:
        why = next(entry.difference for entry in entries if isinstance(entry.difference, Missing))
        return f"{second} and {first} could not be compared: {w.reason(why)}.", ""
    differing = [entry for entry in tested if entry.is_significant]
    largest = max(differing or tested, key=lambda entry: entry.size)
    difference = largest.difference
    before, after = (_value(score, largest) for score in largest.of_runs)
    name = CHARTS[largest.score].format(first=first_set)
    claim = format_phrase(
        "task_difference" if differing else "no_task_difference",
        a=first,
        b=second,
        count=len(differing),
        tests=w.plural(len(tested), "tested score"),
    )
    score = f"the {name[:1].lower()}{name[1:]} ({_label(largest)})"
    change = f"{w.measured(difference, _scale(largest))}{_unit(largest)}"
    q = w.probability(difference.q if isinstance(difference, Estimate) else None, "q")
    return (
        claim,
        f"The largest difference is in {score}: {after} in {second} and {before} in {first} "
        f"({change}, {q}).",
    )


def _scale(entry: TaskDifference) -> b.Scale:
    return SCALES.get(entry.score, "points")


def _unit(entry: TaskDifference) -> str:
    return " points" if _scale(entry) == "points" else "°"


def _value(score: b.E, entry: TaskDifference) -> str:
    """Format a score of a run. Differences between groups are shown with a plus or minus sign."""
    if _scale(entry) == "degrees":
        return w.part(score, "value", "degrees")
    if entry.other_group is None:
        return w.part(score, "value", "share")
    text = w.part(score, "value", "points")
    return text if isinstance(score, Missing) else f"{text} points"


def _groups(entry: TaskDifference) -> str:
    groups = [entry.group] if entry.other_group is None else [entry.group, entry.other_group]
    text = " minus ".join(shorten(group, 40) for group in groups)
    return text if entry.axis is None else f"{text}, {w.perceived(entry.axis)}"


def _condition(entry: TaskDifference) -> str:
    """Return a text with the edit prompts and the strength; "" for a classification."""
    if entry.targets is None:
        return ""
    return f"toward {shorten(entry.targets, 40)}, strength {entry.strength:g}"


def _label(entry: TaskDifference) -> str:
    return ", ".join(filter(None, (_groups(entry), _condition(entry))))


def _reading(is_paired: bool) -> b.Section:
    """Return the section that explains how the differences are defined and computed."""
    terms = (
        (
            "Difference",
            "The score of the second run minus the score of the first run. All tests of the "
            "comparison are corrected together. The reports of the runs contain their own verdicts.",
        ),
        (
            "Same input images",
            "If all input images of one run are also input images of the other run, identical "
            "images form pairs. Images are identical if their files have the same content. The "
            "tests and the bootstrap treat all decisions about an image, or all edits of an "
            "image, as a unit.",
        ),
    )
    exchange = "The permutation test randomly assigns the images of a group to the runs."
    if is_paired:
        exchange = (
            "The permutation test randomly flips the sign of each image's change between the "
            "runs. For the difference between two groups, the test randomly assigns these "
            "changes to the groups."
        )
    method = (
        (
            "Intervals",
            "askew computes Wilson intervals at the effective sample size, and combines "
            "the intervals of both runs (MOVER). If images form pairs, the combined interval "
            "accounts for the correlation between them. The intervals for skin tone come from a "
            "bootstrap over input images.",
        ),
        ("p", exchange),
        ("q", "The p-value after correction for all tests of the comparison (Benjamini-Hochberg)."),
    )
    return skeleton.reading(terms, limits=(), method=method, of="difference")
