"""Functions that create a study folder with its plan, items, raters, sampling frame and images."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import ceil
from pathlib import Path

import numpy as np
from PIL import Image

from askew.errors import UsageError
from askew.pages.words import plural
from askew.people.assignment import ExtraItems, assign
from askew.people.folder import IMAGES, StudyFolder
from askew.people.records import (
    ExclusionRules,
    FrameEntry,
    Item,
    RaterRecord,
    SourcePaths,
    StudyAxis,
    StudyKind,
    StudyPlan,
)
from askew.people.sources import SourceRun
from askew.store.files import write_whole
from askew.store.imagefile import EncodedPicture, encode
from askew.types import slices

LARGEST_SIDE = 1024
"""Maximum width and height in pixels of the images that raters see."""

ITEMS_PER_RATER = 100
"""Maximum number of items per rater if askew chooses the number of raters."""

IMAGES_AT_ONCE = 64


@dataclass(frozen=True)
class StudyDesign:
    """Settings that apply to all kinds of studies.

    Attributes
    ----------
    title, contact, retention
        Texts for the first page that raters see; None for the default texts.
    raters
        Number of raters; None to choose the number so that no rater has more than 100 items.
    raters_per_item
        Number of raters who judge each item.
    seed
        Seed for samples and for the order of items and options.
    rules
        Rules for excluding raters.
    confidence
        Confidence level of all intervals.
    precision
        Target half-width of the confidence intervals; None for no planned precision.
    pilot
        Number of images in the pilot for each instrument label; None for a study without a second
        stage.
    """

    title: str | None = None
    contact: str | None = None
    retention: str | None = None
    raters: int | None = None
    raters_per_item: int = 3
    seed: int = 0
    rules: ExclusionRules = field(default_factory=ExclusionRules)
    confidence: float = 0.95
    precision: float | None = None
    pilot: int | None = None


@dataclass(frozen=True)
class StudyContent:
    """Items of a study, and the texts that depend on the kind of study.

    Attributes
    ----------
    kind
        Kind of the study.
    title, purpose, instruction
        Default texts for the first page that raters see.
    axes
        Axes of the study.
    items
        Items, excluding attention checks and repeated items.
    frame
        Sampling frame, which contains information that raters must not see.
    """

    kind: StudyKind
    title: str
    purpose: str
    instruction: str
    axes: tuple[StudyAxis, ...]
    items: Sequence[Item]
    frame: Sequence[FrameEntry]


def study_lines(folder: StudyFolder, *content: str) -> list[str]:
    """Return lines that describe a new study and state the command to run next.

    Parameters
    ----------
    folder
        The study.
    *content
        Lines that describe the content of the study.
    """
    return [
        f"study in {folder.path} (kind: {folder.plan.kind})",
        *content,
        f"next: askew study serve {folder.path}",
    ]


def raters_line(folder: StudyFolder) -> str:
    """Return a line that states the number of raters and the maximum questions per rater."""
    raters = folder.raters()
    return f"{plural(len(raters), 'rater')}, at most {most_questions(raters)}"


def most_questions(raters: Sequence[RaterRecord]) -> str:
    """Return a phrase that states the maximum number of questions per rater."""
    most = max(len(rater.items) for rater in raters)
    return f"{plural(most, 'question')} per rater, including checks"


def drawn_places(rng: np.random.Generator, total: int, count: int) -> list[int]:
    """Draw random positions without replacement. Return them in ascending order.

    Parameters
    ----------
    rng
        Random generator for the draw.
    total
        Number of positions to choose from.
    count
        Number of positions to draw, at most `total`.
    """
    return sorted(rng.choice(total, size=count, replace=False).tolist())


def write_study(
    path: Path, content: StudyContent, design: StudyDesign, sources: Sequence[SourceRun]
) -> StudyFolder:
    """Write a new study folder.

    Raises
    ------
    UsageError
        If the folder is not empty, the study has no items, or there are fewer raters than an item
        needs.
    """
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise UsageError(f"{path} exists and is not empty. Choose another folder with --output")
    if not content.items:
        raise UsageError("the study has no items")
    raters = _number_of_raters(len(content.items), design)
    extra = ExtraItems.of(content.items)
    records = assign(content.items, extra.checks, raters, design.raters_per_item, design.seed)
    folder = StudyFolder(path)
    path.mkdir(parents=True, exist_ok=True)
    write_images(folder, content.items, sources)
    all_items = extra.with_used(content.items, (record.items for record in records))
    folder.write_items(all_items, content.frame)
    folder.write_plan(_plan(content, design, sources, raters))
    if design.pilot is not None:
        folder.write_source_paths(_paths(sources))
    folder.write_raters(records)
    return folder


def _number_of_raters(items: int, design: StudyDesign) -> int:
    per_item = design.raters_per_item
    usual = max(per_item, ceil(items * per_item / ITEMS_PER_RATER))
    raters = usual if design.raters is None else design.raters
    if raters < per_item:
        raise UsageError(
            f"--raters {raters} is less than --raters-per-item {per_item}. Each item needs "
            f"{per_item} different raters"
        )
    return raters


def _paths(sources: Iterable[SourceRun]) -> SourcePaths:
    results = [source.result for source in sources]
    return SourcePaths(
        runs=tuple(str(result.folder.resolve()) for result in results),
        stores=tuple(str(result.store.resolve()) for result in results),
    )


def _plan(
    content: StudyContent, design: StudyDesign, sources: Sequence[SourceRun], raters: int
) -> StudyPlan:
    return StudyPlan(
        kind=content.kind,
        version=1,
        title=design.title or content.title,
        purpose=content.purpose,
        contact=design.contact or "the person who sent you the link",
        retention=design.retention or "until the study is published, and at most 12 months",
        instruction=content.instruction,
        seed=design.seed,
        raters=raters,
        raters_per_item=design.raters_per_item,
        axes=content.axes,
        rules=design.rules,
        sources=tuple(source.record for source in sources),
        confidence=design.confidence,
        precision=design.precision,
        pilot=design.pilot,
    )


def write_images(folder: StudyFolder, items: Iterable[Item], sources: Sequence[SourceRun]) -> None:
    """Write the images of all items without metadata, because metadata could reveal the prompt."""
    digests = list(dict.fromkeys(digest for item in items for digest in item.images))
    (folder.path / IMAGES).mkdir(exist_ok=True)
    for part in slices(digests, IMAGES_AT_ONCE):
        files: dict[Path, bytes] = {}
        for digest in part:
            files[folder.image(digest)] = _encoded(digest, sources).data
        write_whole(files)
    for file in (folder.path / IMAGES).iterdir():
        os.chmod(file, 0o600)


def _encoded(digest: str, sources: Sequence[SourceRun]) -> EncodedPicture:
    """Return an image from the runs, scaled down and encoded as PNG."""
    for source in sources:
        image = source.result.picture(digest)
        if image is not None:
            image.thumbnail((LARGEST_SIDE, LARGEST_SIDE), Image.Resampling.LANCZOS)
            encoded = encode(image)
            if isinstance(encoded, EncodedPicture):
                return encoded
    folders = ", ".join(str(source.result.folder) for source in sources)
    raise UsageError(
        f"the image {digest} of {folders} cannot be read. Check the run with askew check"
    )
