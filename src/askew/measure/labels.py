"""Answer questions about images with the labels that people entered in a manifest.

askew maps each label that a person wrote to a value, based on the label's spelling or an alias.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from askew.errors import ManifestError, UnknownName, UsageError
from askew.measure.raters import majority
from askew.measure.spelling import MISSING, Spelling, aliases_of, key, ordered
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
from askew.types import Axis, Missing, Picture, Question, grouped

VERSION = 1
SIGNIFICANCE_LEVEL = 0.05
"""q-value below which askew warns that the share of missing files depends on the label."""

Answers = dict[str, str | Missing]
"""Answers about one image, keyed by axis."""

RaterLabels = dict[str, tuple[str | Missing, ...]]
"""Labels of one image from all raters, keyed by axis."""


class LabelVQA:
    """Instrument that answers with people's labels, or with `not_asked` if a label is missing.

    askew identifies an image by its `id` (the SHA-256 of its file), or by its `source` if the `id`
    is unknown. If several raters labeled an axis, the answer is the label given by a majority, or
    `no_majority` if no label has a majority.

    Parameters
    ----------
    collection
        Images with labels.
    aliases
        Value for each label. A label may begin with "AXIS:".
    values
        Values that the user specified for some axes. The values of other axes come from the catalog
        or from the labels.

    Attributes
    ----------
    values
        Values of each labeled axis.
    warnings
        Warnings for the user.

    Raises
    ------
    ManifestError
        If the collection has no labels, or if the meaning of a label is unknown.
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
        _check_labeled(collection)
        self.values, warnings = _values(pictures, aliases, values)
        spellings = {
            axis: Spelling(axis, known, aliases_of(axis, aliases))
            for axis, known in self.values.items()
        }
        self._raters = {axis: names for axis, names in collection.raters.items() if len(names) > 1}
        for label, target in aliases.items():
            _check_alias(label, target, spellings)
        labels = _read(pictures, spellings)
        self._ratings_by_id = _by_content(collection, labels)
        self._ratings_by_source = {str(path): by_axis for path, by_axis in labels.items()}
        answers = {path: _majorities(by_axis) for path, by_axis in labels.items()}
        self._by_id = {key: _majorities(each) for key, each in self._ratings_by_id.items()}
        self._by_source = {str(path): by_axis for path, by_axis in answers.items()}
        absent = answers.keys() - collection.digests.keys()
        self.warnings = (*warnings, *_unevenly_absent(self.values, answers, absent))
        self.fingerprint = f"labels/{VERSION}/{self._digest()[:16]}"

    def _digest(self) -> str:
        """Return a hash of all answers, including the details of missing answers."""
        answers = []
        for digest, by_axis in self._by_id.items():
            for axis, answer in by_axis.items():
                answers.append((digest, axis, _content_of(answer)))
        values = sorted((axis, list(known)) for axis, known in self.values.items())
        content: list[object] = [values, sorted(answers)]
        if self._raters:
            content.append(sorted(self._labels_of_raters()))
        return digest_of(content)

    def _labels_of_raters(self) -> Iterator[tuple[str, str, list[str]]]:
        """Yield image id, axis and raters' labels, for each image and axis with several raters."""
        for digest, by_axis in self._ratings_by_id.items():
            for axis in self._raters:
                yield digest, axis, [_content_of(label) for label in by_axis[axis]]

    def raters(self, axis: str) -> tuple[str, ...]:
        """Return the column names of an axis's raters. Empty if one person labeled the axis."""
        return self._raters.get(axis, ())

    def rater_labels(self, picture: Picture, axis: str) -> tuple[str | Missing, ...]:
        """Return each rater's label for an image on an axis. Empty for an unknown image."""
        labels = self._ratings_by_id.get(picture.id)
        if labels is None:
            labels = self._ratings_by_source.get(picture.source or "", {})
        return labels.get(axis, ())

    def axes(self) -> tuple[Axis, ...]:
        """Return the labeled axes, each with one question.

        The question comes from the catalog if the catalog has exactly one question for the axis and
        this question has the same values.
        """
        return tuple(_axis(name, values) for name, values in self.values.items())

    def answer(
        self, pictures: Sequence[Picture], questions: Sequence[Question]
    ) -> list[list[str | Missing]]:
        """Return one list per image, with the answer to each question according to people's labels.

        A question is answered if its axis is labeled. If the question has options, they must
        contain all values of the axis.
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
            return Missing("not_asked", f"the options do not contain all of: {', '.join(values)}")
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
    """Return the instrument `labels` for a collection.

    Parameters
    ----------
    name
        Must be empty.
    collection
        Images with labels.
    aliases
        Pairs LABEL=VALUE, or AXIS:LABEL=VALUE for one axis. The value `missing` marks the label as
        unparseable. `missing:REASON` specifies another reason from `askew.types.MissingReason`, as
        in both=missing:several_people.
    values
        Values of each axis, as a comma-separated text or a sequence. If the values have an order,
        the lowest value comes first. By default, the values come from the catalog. If an axis is
        not in the catalog, its sorted labels become its values, and askew warns about it.

    Raises
    ------
    ManifestError
        If labels are not values of their axis. The error lists each of these labels with its count,
        its first file and the nearest value.
    """
    if name:
        raise UsageError(
            f"--vqa labels/{name}: the instrument 'labels' does not take a name; write labels"
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


def _check_alias(label: str, target: str, spellings: Mapping[str, Spelling]) -> None:
    """Raise UsageError if an alias names an unknown axis or does not name a value."""
    axis, colon, _ = label.partition(":")
    if colon and axis not in spellings:
        unknown = UnknownName("labeled axis", axis, spellings)
        raise UsageError(f"--alias {label}={target}: {unknown}")
    allowed = [spellings[axis]] if colon else list(spellings.values())
    if all(spelling.target(target) is None for spelling in allowed):
        known = [value for spelling in allowed for value in spelling.values]
        unknown = UnknownName("value", target, [*known, MISSING])
        raise UsageError(f"--alias {label}={target}: {unknown}")


def _check_labeled(collection: FolderCollection) -> None:
    """Raise ManifestError, with the collection's warnings, if a collection has no labels."""
    if any(picture.all_labels for picture in collection.pictures()):
        return
    notes = "".join(f". {sentence}" for sentence in collection.warnings)
    raise ManifestError(
        "the collection has no labels; specify the column of each axis with --label AXIS=COLUMN"
        f"{notes}"
    )


def _values(
    pictures: Sequence[FiledPicture], aliases: Mapping[str, str], given: Mapping[str, Sequence[str]]
) -> tuple[dict[str, tuple[str, ...]], list[str]]:
    """Return the values of each labeled axis, in the manifest's order of axes, and any warnings."""
    labeled = list(dict.fromkeys(axis for picture in pictures for axis in picture.all_labels))
    for axis in given:
        UnknownName.unless_known("labeled axis", axis, labeled)
    known = _known_values(labeled, given)
    values = dict(known)
    warnings = []
    for axis in labeled:
        if axis not in known:
            of_axis = _aliases_of_new_axis(axis, aliases, known)
            values[axis] = _values_from_labels(axis, pictures, of_axis)
            warnings.append(
                f"axis {axis!r} is not in the catalog; its values are the labels: "
                f"{', '.join(values[axis])}"
            )
    values = {axis: values[axis] for axis in labeled}
    _check_number_of_values(values)
    return values, warnings


def _known_values(
    labeled: Sequence[str], given: Mapping[str, Sequence[str]]
) -> dict[str, tuple[str, ...]]:
    """Return, for each labeled axis, the values that the user or the catalog specifies, if any."""
    catalogued = {axis: AXES[axis].values for axis in labeled if axis in AXES}
    named = catalogued | {axis: tuple(values) for axis, values in given.items()}
    return {axis: values for axis, values in named.items() if values}


def _check_number_of_values(values: Mapping[str, Sequence[str]]) -> None:
    few = [
        f"{axis!r} ({', '.join(known) or 'none'})"
        for axis, known in values.items()
        if len(known) < 2
    ]
    if few:
        raise ManifestError(
            f"each axis needs two or more values, but these axes have fewer: {shorten(few)}. List "
            "their values with --values AXIS=VALUE,VALUE, or label other axes with "
            "--label AXIS=COLUMN"
        )


def _aliases_of_new_axis(
    axis: str, aliases: Mapping[str, str], known: Mapping[str, Sequence[str]]
) -> dict[str, str]:
    """Return the aliases that apply to an axis whose values are unknown, keyed by spelling.

    If an alias does not name an axis, and its target is a known value of another axis, the alias
    belongs to that axis.
    """
    values_elsewhere = {key(value) for values in known.values() for value in values}
    of_this_axis = {
        label: target
        for label, target in aliases.items()
        if ":" in label or key(target) not in values_elsewhere
    }
    return aliases_of(axis, of_this_axis)


def _values_from_labels(
    axis: str, pictures: Sequence[FiledPicture], aliases_by_key: Mapping[str, str]
) -> tuple[str, ...]:
    """Return the values of an axis: its labels in the singular, and the targets of its aliases."""
    values = {
        plain: label
        for plain, label in _labels_by_key(axis, pictures).items()
        if plain not in aliases_by_key
    }
    for target in aliases_by_key.values():
        if not key(target).startswith(MISSING):
            values.setdefault(key(target), target)
    plurals = {plain for plain in values if plain.endswith("s") and plain[:-1] in values}
    return ordered(value for plain, value in values.items() if plain not in plurals)


def _labels_by_key(axis: str, pictures: Sequence[FiledPicture]) -> dict[str, str]:
    """Return the labels of a new axis, keyed by their normalized spelling.

    Raise ManifestError if two labels have the same key.
    """
    counts: Counter[str] = Counter()
    for picture in pictures:
        counts.update(picture.all_labels.get(axis, ("",)))
    labels = {plain: written for plain, written in grouped(counts, key).items() if plain}
    for spellings in labels.values():
        if len(spellings) > 1:
            raise ManifestError(_describe_spellings(axis, spellings, counts))
    return {plain: written[0] for plain, written in labels.items()}


def _describe_spellings(axis: str, spellings: Sequence[str], counts: Mapping[str, int]) -> str:
    """Return the message for a new axis whose labels differ only in spelling."""
    labels = " and ".join(f"{label!r} ({counts[label]})" for label in spellings)
    return (
        f"the labels {labels} of axis {axis!r} differ only in spelling, so askew would treat "
        "them as one value. If they are the same value, list all values of the axis with --values "
        f"{axis}=VALUE,VALUE. If they are different values, change their spelling in the manifest"
    )


def _content_of(answer: str | Missing) -> str:
    """Return the text that represents an answer when the fingerprint is computed."""
    if isinstance(answer, Missing):
        return f"Missing(reason={answer.reason!r}, detail={answer.detail!r})"
    return repr(answer)


def _read(
    pictures: Sequence[FiledPicture], spellings: Mapping[str, Spelling]
) -> dict[Path, RaterLabels]:
    """Return the labels of each image. Raise ManifestError if the meaning of a label is unknown."""
    labels: dict[Path, RaterLabels] = {picture.path: {} for picture in pictures}
    unknown: dict[tuple[str, str], list[Path]] = defaultdict(list)
    for picture in pictures:
        for axis, spelling in spellings.items():
            written = picture.all_labels.get(axis, ("",))
            for label in written:
                if spelling.read(label) is None:
                    unknown[axis, label].append(picture.path)
            answers = [spelling.read(label) for label in written]
            labels[picture.path][axis] = tuple(filter(None, answers))
    if unknown:
        raise ManifestError(_describe_unknown(unknown, spellings))
    return labels


def _majorities(labels: RaterLabels) -> Answers:
    """Return, for each axis, the label that the majority of raters gave."""
    return {axis: majority(of_axis) for axis, of_axis in labels.items()}


def _describe_unknown(
    unknown: Mapping[tuple[str, str], Sequence[Path]], spellings: Mapping[str, Spelling]
) -> str:
    lines = ["some labels are not a value of their axis:"]
    for (axis, label), paths in sorted(unknown.items()):
        nearest = spellings[axis].nearest(label)
        hint = f"nearest value: {nearest!r}"
        if not nearest:
            hint = f"values: {', '.join(spellings[axis].values)}"
        lines.append(f"  {axis} {label!r}, {len(paths)} in all, first in {paths[0]} ({hint})")
    label = min(unknown)[1]
    lines.append(
        f"Map a label to a value with --alias {label}=VALUE, or mark it as missing with "
        f"--alias {label}=missing:several_people. List the values of an axis with "
        f"--values AXIS=VALUE,VALUE. To read other columns, use --label AXIS=COLUMN."
    )
    return "\n".join(lines)


def _by_content(
    collection: FolderCollection, labels: Mapping[Path, RaterLabels]
) -> dict[str, RaterLabels]:
    """Return the labels of each image, keyed by the SHA-256 of its file.

    Raises ManifestError if copies of one image have different labels. Identical files may have
    different labels if they are not images.
    """
    first = {digest: path for path, digest in reversed(list(collection.digests.items()))}
    faults = []
    for path, digest in collection.digests.items():
        if labels[path] != labels[first[digest]] and not _is_corrupt(path):
            faults.append(f"{first[digest]} and {path}")
    if faults:
        raise ManifestError(
            f"identical images have different labels: {shorten(faults)}; "
            f"correct the manifest or remove the copies"
        )
    return {digest: labels[path] for digest, path in first.items()}


def _is_corrupt(path: Path) -> bool:
    image = read(path)
    return isinstance(image, Missing) and image.reason == "corrupt_file"


@dataclass(frozen=True, slots=True)
class _LabelCount:
    """Number of files with a label in the manifest, and how many of these files are missing."""

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
    """Return a warning for each axis on which the share of missing files depends on the label.

    askew applies Pearson's chi-squared test to a table that counts missing and existing files per
    label. The test uses permutations if counts are small. The q-values come from the
    Benjamini-Hochberg procedure over the axes.
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
        f"files are missing significantly more often for the label {contrast}, q = {q:.1g}: the "
        "missing images differ from the other images, and no score can correct for this difference"
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
