"""Rating studies: people rate how biased a grid of images is (TIBET, appendix 13.2)."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from askew.errors import UsageError
from askew.methods.audit.findings import AuditFindings
from askew.pages.words import perceived, plural
from askew.people.folder import StudyFolder
from askew.people.new import (
    StudyContent,
    StudyDesign,
    drawn_places,
    raters_line,
    study_lines,
    write_study,
)
from askew.people.records import (
    CANNOT_TELL,
    NOT_RELEVANT,
    PREFER_NOT,
    FrameEntry,
    Item,
    StudyAxis,
)
from askew.people.sources import SourceRun, audits_only, baseline_images
from askew.stats.association import mad
from askew.stats.ratings import correlation_half_width, detectable_correlation
from askew.store.keys import derived_seed
from askew.types import Estimate

IMAGES_PER_GRID = 10
"""Maximum number of images in a grid, as in the paper."""

RATINGS = ("1", "2", "3", "4", "5")
TEXTS = {"1": "1 (low bias)", "5": "5 (high bias)"}

SOCIETAL_WORDS = frozenset("gender age race racial geographic ethnicity cultural".split())
"""Words that mark an axis as societal if its name contains one of them, as in the paper."""

LEAST_AXES = 2
"""Minimum number of societal axes per prompt, as in the paper."""

ASSUMED_CORRELATION = 0.5
"""Rank correlation that askew assumes when it plans a study. The paper reports .51."""

PURPOSE = "We study whether people see the same bias in images as automatic scores do."
INSTRUCTION = (
    "You will see computer-generated images that were made from the text above them. Rate how strong "
    "the bias on one attribute is. There is a bias if the images show some kinds of people or things "
    "more often than the text asks for, or in a stereotypical way."
)


@dataclass(frozen=True)
class RateStudy:
    """A new rating study."""

    folder: StudyFolder
    grids: int

    def lines(self) -> list[str]:
        """Return lines that state the study's size, expected precision and power."""
        plan = self.folder.plan
        images = max(len(item.images) for item in self.folder.items.values())
        width = correlation_half_width(self.grids, ASSUMED_CORRELATION, plan.confidence)
        lines = [
            f"{plural(self.grids, 'question')} with {images} images each, "
            f"{plan.raters_per_item} raters per question",
            raters_line(self.folder),
            f"expected half-width of a rank correlation of {ASSUMED_CORRELATION}: {width:.2f}",
        ]
        detectable = detectable_correlation(self.grids, plan.confidence)
        if detectable is not None:
            lines.append(f"90 % power to detect a rank correlation of {detectable:.2f}")
        return study_lines(self.folder, *lines)


def is_societal(axis: str) -> bool:
    """Check whether the name of an axis contains a societal word (TIBET, appendix 13.2)."""
    return not SOCIETAL_WORDS.isdisjoint(re.findall("[a-z]+", axis.lower()))


def new_rate_study(
    path: Path,
    sources: Sequence[SourceRun],
    design: StudyDesign,
    *,
    axes: Sequence[str] = (),
    questions: int | None = None,
    societal_only: bool = False,
) -> RateStudy:
    """Make a study in which people rate how biased the images of a prompt are on an axis.

    Parameters
    ----------
    path
        Folder to create.
    sources
        Finished audits.
    design
        Settings of the study.
    axes
        Names of the axes to rate. [default: all axes that have a score]
    questions
        Number of questions to draw at random. [default: enough for the precision in `design`; all
        questions if `design` has no precision]
    societal_only
        Whether to use only societal axes, and only prompts with at least two societal axes, as in
        the paper.
    """
    audits_only(sources, "rate")
    grids = [grid for number, source in enumerate(sources) for grid in _grids(source, number)]
    if axes:
        grids = [grid for grid in grids if grid.names["axis"] in axes]
    if societal_only:
        grids = societal_grids(grids)
    if not grids:
        raise UsageError(
            "no axis in the runs has both a score and images to rate. Use --from RUN to name audits "
            "that have such axes"
            + (". tibet-2 needs prompts with two or more societal axes" * societal_only)
        )
    count = min(questions or _questions_for(design), len(grids))
    rng = np.random.default_rng(derived_seed(design.seed, "rated grids"))
    frame = []
    items = []
    for number, place in enumerate(drawn_places(rng, len(grids), count), 1):
        entry = replace(grids[place], id=f"i{number:05d}")
        frame.append(entry)
        items.append(_item(entry, sources[entry.source], rng))
    content = StudyContent(
        kind="rate",
        title="How biased are these images?",
        purpose=PURPOSE,
        instruction=INSTRUCTION,
        axes=tuple(_axes(frame)),
        items=items,
        frame=frame,
    )
    return RateStudy(folder=write_study(path, content, design, sources), grids=count)


def _questions_for(design: StudyDesign) -> int:
    """Return the minimum number of questions that reaches the planned precision.

    If no precision is planned, return a large number, so that the study uses all questions.
    """
    most = 100_000
    if design.precision is None:
        return most
    numbers = range(4, most)
    precision = design.precision
    widths = (
        count
        for count in numbers
        if correlation_half_width(count, ASSUMED_CORRELATION, design.confidence) <= precision
    )
    return next(widths, most)


def societal_grids(grids: Sequence[FrameEntry]) -> list[FrameEntry]:
    """Return the grids about societal axes, for prompts that have at least two societal axes."""
    societal = [grid for grid in grids if is_societal(grid.names["axis"])]
    counts: dict[tuple[int, str], int] = {}
    for grid in societal:
        key = (grid.source, grid.prompt)
        counts[key] = counts.get(key, 0) + 1
    return [grid for grid in societal if counts[grid.source, grid.prompt] >= LEAST_AXES]


def _grids(source: SourceRun, number: int) -> Iterator[FrameEntry]:
    """Yield an entry for each grid: each prompt that has images, with each axis that has scores."""
    findings = source.result.findings
    for prompt in source.result.plan.prompts:
        if not baseline_images(source, prompt.text):
            continue
        for axis in prompt.axes:
            scores = axis_scores(findings, prompt.text, axis.name)
            if scores:
                yield FrameEntry(
                    id="",
                    source=number,
                    prompt=prompt.text,
                    set="initial",
                    facts=scores,
                    names={"axis": axis.name, "run": source.result.folder.name},
                )


def axis_scores(findings: AuditFindings, prompt: str, axis: str) -> dict[str, float]:
    """Return a prompt's bias scores on an axis, keyed by score name.

    Three scores are variants of TIBET's mean absolute deviation (MAD), computed from concepts, from
    CLIP image embeddings, or from concepts matched one to one. The fourth score is the deviation of
    the shares from their reference. Missing scores are left out.
    """
    scores: dict[str, float] = {}
    for entry in findings.tibet:
        if entry.prompt == prompt and axis in entry.axes:
            of_axis = entry.axes[axis]
            if isinstance(of_axis.mad, Estimate):
                scores["MAD"] = of_axis.mad.value
            if isinstance(of_axis.mad_clip, Estimate):
                scores["MAD by CLIP"] = of_axis.mad_clip.value
            if of_axis.bipartite:
                scores["MAD by bipartite matching"] = float(mad(list(of_axis.bipartite.values())))
    for share in findings.shares:
        is_axis = (share.prompt, share.set, share.axis) == (prompt, "initial", axis)
        if is_axis and isinstance(share.distance, Estimate):
            scores.setdefault("deviation of shares", share.distance.value)
    return scores


def _axes(frame: Sequence[FrameEntry]) -> Iterator[StudyAxis]:
    for name in dict.fromkeys(entry.names["axis"] for entry in frame):
        yield StudyAxis(name=name, values=RATINGS, scale="ordinal", question=_question(name))


def _question(axis: str) -> str:
    return f"How strong is the bias in {perceived(axis)} in these images?"


def _item(entry: FrameEntry, source: SourceRun, rng: np.random.Generator) -> Item:
    images = baseline_images(source, entry.prompt)
    count = min(IMAGES_PER_GRID, len(images))
    places = drawn_places(rng, len(images), count)
    axis = entry.names["axis"]
    return Item(
        id=entry.id,
        role="item",
        question=_question(axis),
        options=RATINGS,
        special=(NOT_RELEVANT, CANNOT_TELL, PREFER_NOT),
        groups=(tuple(images[place] for place in places),),
        axis=axis,
        prompt=entry.prompt,
        scale="ordinal",
        texts=TEXTS,
    )
