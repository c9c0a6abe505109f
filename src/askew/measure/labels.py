"""Answers from the labels that people gave to images in a manifest.

Spellings and aliases map each label, as it was written, to a value.
"""

import difflib
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import numpy as np

from askew.errors import ManifestError, UnknownName, UsageError
from askew.models.base import FiledPicture
from askew.models.folder import FolderCollection
from askew.models.manifest import (
    Names,
    Pairs,
    parse_pairs,
    shorten,
    single_values,
    split_names,
)
from askew.prompts.axes import AXES, table_question
from askew.stats.contingency import ChiSquare, chi_square
from askew.stats.intervals import benjamini_hochberg
from askew.store.files import digest_of
from askew.store.imagefile import read
from askew.types import MISSING_REASONS, Axis, Missing, MissingReason, Picture, Question

VERSION = 1
SIGNIFICANCE_LEVEL = 0.05
"""q below which a warning reports that absent files depend on the label."""

MISSING = "missing"
NO_LABEL = Missing("not_asked", "no label")

SPELLINGS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "gender": {"male": ("m", "man", "men", "boy"), "female": ("f", "w", "woman", "women", "girl")},
    "age": {"young": ("youth",), "middle-aged": ("middle age",), "old": ("elderly", "senior")},
    "ethnicity": {
        "white": ("caucasian",),
        "black": ("african american",),
        "hispanic": ("latino", "latina", "latinx", "latino hispanic", "hispanic or latino"),
    },
}
"""Other spellings of a value, by axis. Case, white space, hyphens and a plural s need no entry."""

Answers = dict[str, str | Missing]
"""Answers about an image, by axis."""


class LabelVQA:
    """Instrument that answers with people's labels, and with `not_asked` if there is no label.

    An image is found by its `id`, the SHA-256 of its file, else by its `source`.

    Parameters
    ----------
    collection
        Images with labels.
    aliases
        Values by label; a label may begin with "AXIS:".
    values
        Values by axis; other axes take the values of the catalogue, or their labels.

    Attributes
    ----------
    values
        Values of each labeled axis.
    warnings
        Warnings for the user.

    Raises
    ------
    ManifestError
        If the collection has no labels, or labels whose meaning is unknown.
    UsageError
        If an alias names an unknown axis, value or reason.
    """

    name = "labels"

    def __init__(
        self,
        collection: FolderCollection,
        aliases: Mapping[str, str],
        values: Mapping[str, Sequence[str]],
    ) -> None:
        pictures = collection.pictures()
        self.values, warnings = _values(pictures, aliases, values)
        spellings = {
            axis: Spelling(axis, known, aliases_of(axis, aliases))
            for axis, known in self.values.items()
        }
        for label, target in aliases.items():
            _check_alias(label, target, spellings)
        answers = _read(pictures, spellings)
        self._by_id = _by_content(collection, answers)
        self._by_source = {str(path): by_axis for path, by_axis in answers.items()}
        absent = answers.keys() - collection.digests.keys()
        self.warnings = (*warnings, *_unevenly_absent(self.values, answers, absent))
        self.fingerprint = f"labels/{VERSION}/{self._digest()[:16]}"

    def _digest(self) -> str:
        """Return the hash of all answers, including their details."""
        answers = []
        for digest, by_axis in self._by_id.items():
            for axis, answer in by_axis.items():
                answers.append((digest, axis, _content_of(answer)))
        values = sorted((axis, list(known)) for axis, known in self.values.items())
        return digest_of([values, sorted(answers)])

    def axes(self) -> tuple[Axis, ...]:
        """Return the labeled axes, each with one question.

        The question is the catalogue's where the catalogue has one question with the same values.
        """
        return tuple(_axis(name, values) for name, values in self.values.items())

    def answer(
        self, pictures: Sequence[Picture], questions: Sequence[Question]
    ) -> list[list[str | Missing]]:
        """Return people's labels by image, then by question, as values of the axis.

        A question is answered if its axis is labeled and its options, if any, contain all values of
        the axis.
        """
        answers = []
        for picture in pictures:
            answers.append([self._answer(picture, question) for question in questions])
        return answers

    def _answer(self, picture: Picture, question: Question) -> str | Missing:
        axis = question.axis
        if axis is None or axis not in self.values:
            return Missing("not_asked", "no label answers this question")
        values = self.values[axis]
        if question.options and not set(values) <= set(question.options):
            return Missing("not_asked", f"the options lack a value: {', '.join(values)}")
        answers = self._by_id.get(picture.id) or self._by_source.get(picture.source or "")
        if not answers:
            return Missing("not_asked", "the labeled collection does not contain this image")
        return answers[axis]


def create(
    name: str = "",
    *,
    collection: FolderCollection,
    aliases: Pairs = "",
    values: Mapping[str, Names] | None = None,
) -> LabelVQA:
    """Return the instrument `labels` of a collection.

    Parameters
    ----------
    name
        Must be empty.
    collection
        Images with labels.
    aliases
        LABEL=VALUE, or AXIS:LABEL=VALUE for one axis. The value `missing` makes the label
        unparseable, `missing:REASON` gives a reason of `askew.types.MissingReason`, as in
        both=missing:several_people.
    values
        Values of an axis, lowest first if they have an order: a comma-separated text or a
        sequence. By default the catalogue's; an axis that is not in the catalogue takes its sorted
        labels, with a warning.

    Raises
    ------
    ManifestError
        If labels are not a value: the error lists each with its count, first file and nearest
        value.
    """
    if name:
        raise UsageError(
            f"--vqa labels/{name}: the instrument 'labels' takes no name; write labels"
        )
    given = {axis: split_names(names) for axis, names in (values or {}).items()}
    return LabelVQA(collection, single_values(parse_pairs(aliases)), given)


def _axis(name: str, values: tuple[str, ...]) -> Axis:
    catalogued = AXES.get(name, Axis(name, values))
    if catalogued.values == values and len(catalogued.questions) == 1:
        text = catalogued.questions[0].text
    else:
        text = table_question(name)
    return Axis(name, values, catalogued.kind, catalogued.scale, (Question(text, values, name),))


def _check_alias(label: str, target: str, spellings: "Mapping[str, Spelling]") -> None:
    """Raise UsageError for an alias of an unknown axis, or an alias without a value."""
    axis, colon, _ = label.partition(":")
    if colon and axis not in spellings:
        unknown = UnknownName("labeled axis", axis, spellings)
        raise UsageError(f"--alias {label}={target}: {unknown}")
    allowed = [spellings[axis]] if colon else list(spellings.values())
    if all(spelling.target(target) is None for spelling in allowed):
        known = [value for spelling in allowed for value in spelling.values]
        unknown = UnknownName("value", target, [*known, MISSING])
        raise UsageError(f"--alias {label}={target}: {unknown}")


def _values(
    pictures: Sequence[FiledPicture], aliases: Mapping[str, str], given: Mapping[str, Sequence[str]]
) -> tuple[dict[str, tuple[str, ...]], list[str]]:
    """Return the values of each labeled axis, in the order of the labels, and warnings."""
    labeled = list(dict.fromkeys(axis for picture in pictures for axis in picture.labels))
    if not labeled:
        raise ManifestError(
            "the collection has no labels; name the column of each axis with --label AXIS=COLUMN"
        )
    for axis in given:
        UnknownName.unless_known("labeled axis", axis, labeled)
    values: dict[str, tuple[str, ...]] = {}
    warnings = []
    for axis in labeled:
        catalogued = AXES[axis].values if axis in AXES else ()
        values[axis] = tuple(given.get(axis, catalogued))
        if not values[axis]:
            values[axis] = _values_from_labels(axis, pictures, aliases)
            warnings.append(
                f"axis {axis!r} is not in the catalogue; its values are the labels: "
                f"{', '.join(values[axis])}"
            )
    _check_number_of_values(values)
    return values, warnings


def _check_number_of_values(values: Mapping[str, Sequence[str]]) -> None:
    few = [
        f"{axis!r} ({', '.join(known) or 'none'})"
        for axis, known in values.items()
        if len(known) < 2
    ]
    if few:
        raise ManifestError(
            f"an axis needs two or more values, but there are fewer for {shorten(few)}; "
            f"name them with --values AXIS=VALUE,VALUE, or label other axes with "
            f"--label AXIS=COLUMN"
        )


def _values_from_labels(
    axis: str, pictures: Sequence[FiledPicture], aliases: Mapping[str, str]
) -> tuple[str, ...]:
    """Return the labels of an axis and the targets of its aliases as values, in the singular."""
    axis_aliases = aliases_of(axis, aliases)
    labels = {key(picture.labels.get(axis, "")) for picture in pictures}
    labels -= {key(label) for label in axis_aliases}
    labels -= {""}
    targets = {key(target) for target in axis_aliases.values()}
    labels |= {target for target in targets if not target.startswith(MISSING)}
    plurals = {label for label in labels if label.endswith("s") and label[:-1] in labels}
    return tuple(sorted(labels - plurals))


def _content_of(answer: str | Missing) -> str:
    """Return the text of an answer in a fingerprint of labels."""
    if isinstance(answer, Missing):
        return f"Missing(reason={answer.reason!r}, detail={answer.detail!r})"
    return repr(answer)


def aliases_of(axis: str, aliases: Mapping[str, str]) -> dict[str, str]:
    """Return the aliases of an axis: "AXIS:LABEL" before aliases of all axes."""
    of_all_axes = {label: target for label, target in aliases.items() if ":" not in label}
    of_this_axis = {
        label.partition(":")[2]: target
        for label, target in aliases.items()
        if label.startswith(f"{axis}:")
    }
    return of_all_axes | of_this_axis


def _read(
    pictures: Sequence[FiledPicture], spellings: "Mapping[str, Spelling]"
) -> dict[Path, Answers]:
    """Return the answers of each image. Raise a ManifestError that lists all labels of unknown meaning."""
    answers: dict[Path, Answers] = {picture.path: {} for picture in pictures}
    unknown: dict[tuple[str, str], list[Path]] = defaultdict(list)
    for picture in pictures:
        for axis, spelling in spellings.items():
            label = picture.labels.get(axis, "")
            answer = spelling.read(label)
            if answer is None:
                unknown[axis, label].append(picture.path)
            else:
                answers[picture.path][axis] = answer
    if unknown:
        raise ManifestError(_describe_unknown(unknown, spellings))
    return answers


def _describe_unknown(
    unknown: Mapping[tuple[str, str], Sequence[Path]], spellings: "Mapping[str, Spelling]"
) -> str:
    lines = ["some labels are not a value of their axis:"]
    for (axis, label), paths in sorted(unknown.items()):
        nearest = spellings[axis].nearest(label)
        if nearest:
            hint = f"nearest value: {nearest!r}"
        else:
            hint = f"values: {', '.join(spellings[axis].values)}"
        lines.append(f"  {axis} {label!r}, {len(paths)} in all, first in {paths[0]} ({hint})")
    label = min(unknown)[1]
    lines.append(
        f"Map a label to a value with --alias {label}=VALUE, or set it aside with "
        f"--alias {label}=missing:several_people. Name the values of an axis with "
        f"--values AXIS=VALUE,VALUE. To read other columns, use --label AXIS=COLUMN."
    )
    return "\n".join(lines)


def _by_content(
    collection: FolderCollection, answers: Mapping[Path, Answers]
) -> dict[str, Answers]:
    """Return answers by the file's SHA-256.

    Raises ManifestError if copies of one image have different labels. Equal files that are not
    images are allowed.
    """
    first = {digest: path for path, digest in reversed(list(collection.digests.items()))}
    faults = []
    for path, digest in collection.digests.items():
        if answers[path] != answers[first[digest]] and not _is_corrupt(path):
            faults.append(f"{first[digest]} and {path}")
    if faults:
        raise ManifestError(
            f"identical images have different labels: {shorten(faults)}; "
            f"correct the manifest or remove the copies"
        )
    return {digest: answers[path] for digest, path in first.items()}


def _is_corrupt(path: Path) -> bool:
    image = read(path)
    return isinstance(image, Missing) and image.reason == "corrupt_file"


@dataclass(frozen=True, slots=True)
class _LabelCount:
    """Number of files with a label in the manifest, and number of them that are absent."""

    label: str
    listed: int
    absent: int

    @property
    def rate(self) -> float:
        return self.absent / self.listed

    def __str__(self) -> str:
        return f"{self.label!r} ({self.absent} of {self.listed})"


def _unevenly_absent(
    values: Mapping[str, Sequence[str]], answers: Mapping[Path, Answers], absent: Collection[Path]
) -> list[str]:
    """Return a warning for each axis on which absent files depend on the label.

    Pearson's chi-squared test of (labels) x (absent, present), by permutation where counts are
    small; q by Benjamini-Hochberg over the axes.
    """
    contrasts = []
    p_values = []
    for axis, known in values.items():
        counts = _label_counts(axis, known, answers, absent)
        table = [(count.absent, count.listed - count.absent) for count in counts]
        if not table:
            continue
        rng = np.random.default_rng(0)
        test = chi_square(table, rng=rng, threshold=SIGNIFICANCE_LEVEL)
        if isinstance(test, ChiSquare):
            most = max(counts, key=lambda count: count.rate)
            least = min(counts, key=lambda count: count.rate)
            contrasts.append(f"{axis} {most} than {least}")
            p_values.append(test.p)
    return [
        f"files are absent significantly more often for the label {contrast}, q = {q:.1g}: "
        f"the absent images differ from the other images, and no score can correct for this"
        for contrast, q in zip(contrasts, benjamini_hochberg(p_values), strict=True)
        if q < SIGNIFICANCE_LEVEL
    ]


def _label_counts(
    axis: str,
    values: Sequence[str],
    answers: Mapping[Path, Answers],
    absent: Collection[Path],
) -> list[_LabelCount]:
    listed = Counter(by_axis[axis] for by_axis in answers.values())
    missing = Counter(answers[path][axis] for path in absent)
    return [
        _LabelCount(label=value, listed=listed[value], absent=missing[value])
        for value in values
        if listed[value]
    ]


def key(label: str) -> str:
    """Return a label without case, hyphens, underscores and repeated white space."""
    return re.sub(r"[\s_-]+", " ", label).strip().casefold()


class Spelling:
    """Answers for the labels of an axis, by values, their other spellings, and aliases.

    Parameters
    ----------
    axis
        Name of the axis.
    values
        Its values.
    aliases
        By label, a value of the axis, "missing" (unparseable) or "missing:REASON". Aliases with
        other targets are ignored, since they may belong to other axes.
    """

    def __init__(self, axis: str, values: Sequence[str], aliases: Mapping[str, str]) -> None:
        self.values = tuple(values)
        self._known: dict[str, str | Missing] = {}
        spellings = SPELLINGS.get(axis, {})
        for value in values:
            self._known |= dict.fromkeys(spellings.get(value, ()), value)
        self._known |= {key(value): value for value in values}
        targets = {key(label): self.target(target) for label, target in aliases.items()}
        self._known |= {label: answer for label, answer in targets.items() if answer is not None}

    def read(self, label: str) -> str | Missing | None:
        """Return the answer for a label, or None if its meaning is unknown."""
        plain = key(label)
        if not plain:
            return NO_LABEL
        answer = self._known.get(plain) or self._known.get(plain.removesuffix("s"))
        if isinstance(answer, Missing):
            # The detail is part of the instrument's fingerprint, so its spelling stays.
            return Missing(answer.reason, f"labelled {plain!r}")
        return answer

    def target(self, target: str) -> str | Missing | None:
        """Return the answer for the target of an alias, None for an unknown value.

        Raises
        ------
        UsageError
            If the target names an unknown reason.
        """
        word, _, reason = target.partition(":")
        if key(word) != MISSING:
            return next((value for value in self.values if key(value) == key(target)), None)
        if reason and reason not in MISSING_REASONS:
            unknown = UnknownName("reason", reason, MISSING_REASONS)
            raise UsageError(f"--alias LABEL={target}: {unknown}")
        return Missing(cast("MissingReason", reason or "unparseable"))

    def nearest(self, label: str) -> str | None:
        """Return the value with the most similar spelling; None if no spelling is similar."""
        spellings = {
            spelling: value for spelling, value in self._known.items() if isinstance(value, str)
        }
        near = difflib.get_close_matches(key(label), sorted(spellings), n=1)
        return spellings[near[0]] if near else None
