"""Label studies whose true values, labels and raters' errors are planted."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from askew.people.assignment import displayed_options
from askew.people.folder import StudyFolder
from askew.people.pilot import sample_pilot
from askew.people.records import AnswerRecord, FrameEntry, Item
from askew.people.sampling import sample_axis, with_strata
from study_folders import GENDER, label_items, write_folder

ERRORS = np.array([[0.92, 0.08], [0.15, 0.85]])
"""P(label | true value) of the planted instrument."""

INSTRUMENT = "planted"


def planted_frame(
    rng: np.random.Generator, images: int, share: float
) -> tuple[list[FrameEntry], dict[str, str]]:
    """Return images with labels by an instrument that errs, and their true values."""
    entries = []
    truth = {}
    for number in range(images):
        digest = f"{number:064x}"
        value = int(rng.random() < share)
        label = int(rng.random() < ERRORS[value, 1])
        truth[digest] = GENDER.values[value]
        labels = {"gender": {INSTRUMENT: GENDER.values[label]}}
        entries.append(FrameEntry(id=digest, prompt="p", set="initial", labels=labels))
    return with_strata(entries, ["gender"]), truth


def planted_study(
    path: Path,
    rng: np.random.Generator,
    *,
    images: int = 600,
    labeled: int = 200,
    raters: int = 30,
    share: float = 0.4,
    per_item: int = 3,
) -> tuple[StudyFolder, dict[str, str]]:
    """Write a study without images, and return it with the true values."""
    frame, truth = planted_frame(rng, images, share)
    sample = sample_axis(GENDER, frame, rng, images=labeled)
    items = label_items(sample.chosen)
    folder = write_folder(path, items, frame, raters, per_item, seed=int(rng.integers(2**31)))
    return folder, truth


def planted_pilot(
    path: Path,
    rng: np.random.Generator,
    *,
    images: int = 600,
    raters: int = 3,
    share: float = 0.4,
    pilot: int = 50,
    precision: float = 0.05,
) -> tuple[StudyFolder, dict[str, str]]:
    """Write the first stage of a study in two stages, and return it with the true values."""
    frame, truth = planted_frame(rng, images, share)
    sample = sample_pilot(GENDER, frame, rng, pilot=pilot, precision=precision)
    items = label_items(sample.chosen)
    seed = int(rng.integers(2**31))
    changes: dict[str, object] = {"pilot": pilot, "precision": precision}
    return write_folder(path, items, frame, raters, seed=seed, **changes), truth


def answers(
    folder: StudyFolder,
    truth: dict[str, str],
    rng: np.random.Generator,
    error: float = 0.1,
    bias: float = 0.05,
    always_first: tuple[str, ...] = (),
) -> list[AnswerRecord]:
    """Return the answers of all raters.

    Parameters
    ----------
    folder, truth, rng
        The study, its true values, and the generator of errors.
    error
        Probability of a wrong label.
    bias
        Further probability of labeling a female image as male.
    always_first
        Raters who always choose the first option.
    """
    records = []
    for rater in folder.raters():
        for name in rater.items:
            item = folder.items[name]
            given = _label(item, truth, rng, error, bias)
            if rater.id in always_first:
                given = displayed_options(item, rater.number)[0]
            records.append(AnswerRecord(rater.id, name, 1, (given,), seconds=2.0))
    return records


def _label(
    item: Item, truth: dict[str, str], rng: np.random.Generator, error: float, bias: float
) -> str:
    if item.expected is not None:
        return item.expected
    true = truth[item.images[0]]
    wrong = rng.random() < (error + bias if true == "female" else error)
    return next(value for value in item.options if (value == true) != wrong)
