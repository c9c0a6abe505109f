"""Answers from the labels that a person gave to pictures in a manifest: what they wrote, and the
value they meant.
"""

import difflib
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import cast

import numpy as np

from askew.errors import ManifestError, UnknownName, UsageError
from askew.models.base import FiledPicture
from askew.models.folder import (
    FolderCollection,
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
CHANCE = 0.05
"""The q below which files are absent more often for some labels than chance would make it."""

Answers = dict[str, str | Missing]
"""Answers about one picture by axis."""


class LabelVQA:
    """Reads values from a person's labels; every other question is `Missing("not_asked")`.

    `values` holds the values of every labelled axis. `warnings` names what a user should know but
    need not stop for. A picture is found by its `id`, the SHA-256 of its file, else by its
    `source`.
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
            axis, colon, _ = label.partition(":")
            if colon and axis not in spellings:
                raise UsageError(
                    f"alias {label!r}: {UnknownName('labelled axis', axis, spellings)}"
                )
            allowed = [spellings[axis]] if colon else list(spellings.values())
            if all(spelling.target(target) is None for spelling in allowed):
                known = [*(value for spelling in allowed for value in spelling.values), MISSING]
                raise UsageError(f"alias {label!r}: {UnknownName('value', target, known)}")
        answers = _read(pictures, spellings)
        self._by_id = _by_content(collection, answers)
        self._by_source = {str(path): by_axis for path, by_axis in answers.items()}
        absent = answers.keys() - collection.digests.keys()
        self.warnings = (*warnings, *_unevenly_absent(self.values, answers, absent))
        read = sorted(
            (digest, axis, _content_of(a))
            for digest, by_axis in self._by_id.items()
            for axis, a in by_axis.items()
        )
        content = [sorted((axis, list(known)) for axis, known in self.values.items()), read]
        self.fingerprint = f"labels/{VERSION}/{digest_of(content)[:16]}"

    def axes(self) -> tuple[Axis, ...]:
        """The labelled axes, each with one question, in the catalogue's words where it asks one for
        the same values.
        """
        found = []
        for name, values in self.values.items():
            known = AXES.get(name, Axis(name, values))
            same = known.values == values and len(known.questions) == 1
            question = Question(
                known.questions[0].text if same else table_question(name), values, name
            )
            found.append(Axis(name, values, known.kind, known.scale, (question,)))
        return tuple(found)

    def answer(
        self, pictures: Sequence[Picture], questions: Sequence[Question]
    ) -> list[list[str | Missing]]:
        """A person's label per picture and question, as one of the axis's values. A question is
        answered if its axis is labelled and its options, if any, hold all of the axis's values.
        """
        return [[self._answer(picture, question) for question in questions] for picture in pictures]

    def _answer(self, picture: Picture, question: Question) -> str | Missing:
        axis = question.axis
        if axis is None or axis not in self.values:
            return Missing("not_asked", "labels hold no answer to this question")
        if question.options and not set(self.values[axis]) <= set(question.options):
            return Missing(
                "not_asked",
                f"the options lack a value of the labels: {', '.join(self.values[axis])}",
            )
        answers = self._by_id.get(picture.id) or self._by_source.get(picture.source or "")
        return (
            answers[axis]
            if answers
            else Missing("not_asked", "this picture is not in the labelled collection")
        )


def create(
    name: str = "",
    *,
    collection: FolderCollection,
    aliases: Pairs = "",
    values: Mapping[str, Names] | None = None,
) -> LabelVQA:
    """The instrument `labels` of a collection.

    aliases  LABEL=VALUE, or AXIS:LABEL=VALUE for one axis alone. The value `missing` sets a label aside as
             unparseable, `missing:REASON` for a reason of `askew.types.MissingReason`, as in
             both=missing:several_people
    values   the values of an axis, lowest first if they have an order: a comma-separated text or a sequence. By
             default those of the catalogue; an axis that it does not hold takes the labels found,
             sorted, and a warning says so

    Raises ManifestError listing every label that is no value, with its count, its first file and
    the nearest value.
    """
    if name:
        raise UsageError(f"labels/{name}: the instrument 'labels' takes no name")
    given = {axis: split_names(names) for axis, names in (values or {}).items()}
    return LabelVQA(collection, single_values(parse_pairs(aliases)), given)


def _values(
    pictures: Sequence[FiledPicture], aliases: Mapping[str, str], given: Mapping[str, Sequence[str]]
) -> tuple[dict[str, tuple[str, ...]], list[str]]:
    """The values of every labelled axis, in the order of the labels, and warnings."""
    labelled = list(dict.fromkeys(axis for picture in pictures for axis in picture.labels))
    if not labelled:
        raise ManifestError(
            "the collection has no labels: say which columns hold them with label=AXIS=COLUMN"
        )
    for axis in given:
        UnknownName.unless_known("labelled axis", axis, labelled)
    values = {
        axis: tuple(given.get(axis, AXES[axis].values if axis in AXES else ())) for axis in labelled
    }
    warnings = []
    for axis in (axis for axis in labelled if not values[axis]):
        own = aliases_of(axis, aliases)
        keys = (
            {key(picture.labels.get(axis, "")) for picture in pictures}
            - {key(label) for label in own}
            - {""}
        )
        keys |= {key(target) for target in own.values() if not key(target).startswith(MISSING)}
        values[axis] = tuple(
            sorted(one for one in keys if not (one.endswith("s") and one[:-1] in keys))
        )
        listed = ", ".join(values[axis])
        warnings.append(
            f"axis {axis!r} is not in the catalogue; its values are the labels found: {listed}"
        )
    few = [
        f"{axis!r} ({', '.join(values[axis]) or 'none'})"
        for axis in labelled
        if len(values[axis]) < 2
    ]
    if few:
        raise ManifestError(f"an axis needs two values or more, unlike {shorten(few)}")
    return values, warnings


def aliases_of(axis: str, aliases: Mapping[str, str]) -> dict[str, str]:
    """The aliases that hold on an axis, its own ("AXIS:LABEL") before those of every axis."""
    everywhere = {label: target for label, target in aliases.items() if ":" not in label}
    return everywhere | {
        label.partition(":")[2]: t for label, t in aliases.items() if label.startswith(f"{axis}:")
    }


def _read(
    pictures: Sequence[FiledPicture], spellings: "Mapping[str, Spelling]"
) -> dict[Path, Answers]:
    """The answers of every picture. Raises ManifestError with all labels that mean nothing known."""
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
    if not unknown:
        return answers
    lines = ["labels that are no value of their axis:"]
    for (axis, label), paths in sorted(unknown.items()):
        near = spellings[axis].nearest(label)
        hint = (
            f"nearest value: {near!r}" if near else f"values: {', '.join(spellings[axis].values)}"
        )
        lines.append(f"  {axis} {label!r}, {len(paths)} in all, first in {paths[0]} ({hint})")
    label = min(unknown)[1]
    lines.append(
        f"Say what they mean with an alias, such as {label}=VALUE or {label}=missing:several_people, "
        "name the values of the axis, or name only the columns of labels with label=AXIS=COLUMN."
    )
    raise ManifestError("\n".join(lines))


def _by_content(
    collection: FolderCollection, answers: Mapping[Path, Answers]
) -> dict[str, Answers]:
    """Answers by the file's SHA-256. Raises ManifestError if copies of one picture are labelled
    differently. Files that are no picture, alike or not, are missing, each.
    """
    first = {digest: path for path, digest in reversed(list(collection.digests.items()))}
    differing = [
        path
        for path, digest in collection.digests.items()
        if answers[path] != answers[first[digest]]
    ]
    no_picture = {
        path
        for path in differing
        if isinstance(one := read(path), Missing) and one.reason == "corrupt_file"
    }
    faults = [
        f"{first[collection.digests[path]]} and {path}"
        for path in differing
        if path not in no_picture
    ]
    if faults:
        raise ManifestError(f"identical pictures have different labels: {shorten(faults)}")
    return {digest: answers[path] for digest, path in first.items()}


def _unevenly_absent(
    values: Mapping[str, Sequence[str]], answers: Mapping[Path, Answers], absent: Collection[Path]
) -> list[str]:
    """A warning for every axis on which files are absent more often for some labels than for
    others.

    Pearson's chi-squared test of (labels) x (absent, there), by permutation where counts are small;
    q by Benjamini-Hochberg over the axes.
    """
    tested = []
    for axis, known in values.items():
        listed = Counter(by_axis[axis] for by_axis in answers.values())
        gone = Counter(answers[path][axis] for path in absent)
        told = {
            value: f"{value!r} ({gone[value]} of {listed[value]})"
            for value in known
            if listed[value]
        }
        table = [(gone[value], listed[value] - gone[value]) for value in told]
        if table and isinstance(
            test := chi_square(table, rng=np.random.default_rng(0), threshold=CHANCE), ChiSquare
        ):
            rates = {value: gone[value] / listed[value] for value in told}
            often, seldom = (
                told[pick(rates, key=lambda value: rates[value])] for pick in (max, min)
            )
            tested.append((test.p, f"the {axis} {often} than {seldom}"))
    return [
        f"files are absent more often where a person saw {what}, q = {q:.1g}: what is absent differs from what is "
        "left, and no score can correct that"
        for (_, what), q in zip(tested, benjamini_hochberg([p for p, _ in tested]), strict=True)
        if q < CHANCE
    ]


MISSING = "missing"

SPELLINGS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "gender": {"male": ("m", "man", "men", "boy"), "female": ("f", "w", "woman", "women", "girl")},
    "age": {"young": ("youth",), "middle-aged": ("middle age",), "old": ("elderly", "senior")},
    "ethnicity": {
        "white": ("caucasian",),
        "black": ("african american",),
        "hispanic": ("latino", "latina", "latinx", "latino hispanic", "hispanic or latino"),
    },
}
"""Other ways to write a value, by axis. Case, white space, hyphens and a plural s need no entry."""


def key(label: str) -> str:
    """A label without what spelling may vary: case, hyphens, underscores, the amount of white
    space.
    """
    return re.sub(r"[\s_-]+", " ", label).strip().casefold()


class Spelling:
    """The answers that labels of one axis mean: its values, their other spellings, and a user's
    aliases.

    Aliases go from a label to a value of the axis, to "missing" (unparseable) or to
    "missing:REASON". An alias to anything else is left out: with several axes, it may be meant for
    another.
    """

    def __init__(self, axis: str, values: Sequence[str], aliases: Mapping[str, str]) -> None:
        self.values = tuple(values)
        others = SPELLINGS.get(axis, {})
        self._known: dict[str, str | Missing] = {
            text: one for one in values for text in others.get(one, ())
        }
        self._known |= {key(value): value for value in values}
        targets = {key(label): self.target(target) for label, target in aliases.items()}
        self._known |= {label: answer for label, answer in targets.items() if answer is not None}

    def read(self, label: str) -> str | Missing | None:
        """The value that `label` means, why it means none, or None where that is not known."""
        plain = key(label)
        if not plain:
            return Missing("not_asked", "no label")
        answer = self._known.get(plain) or self._known.get(plain.removesuffix("s"))
        return (
            Missing(answer.reason, f"labelled {plain!r}") if isinstance(answer, Missing) else answer
        )

    def target(self, target: str) -> str | Missing | None:
        """The answer that an alias's target names, None for no value. UsageError for an unknown
        reason.
        """
        word, _, reason = target.partition(":")
        if key(word) != MISSING:
            return next((value for value in self.values if key(value) == key(target)), None)
        if reason and reason not in MISSING_REASONS:
            raise UsageError(
                f"alias target {target!r}: {UnknownName('reason', reason, MISSING_REASONS)}"
            )
        return Missing(cast(MissingReason, reason or "unparseable"))

    def nearest(self, label: str) -> str | None:
        """The value whose spelling resembles `label` most, None if none does."""
        spellings = {
            spelling: value for spelling, value in self._known.items() if isinstance(value, str)
        }
        near = difflib.get_close_matches(key(label), sorted(spellings), n=1)
        return spellings[near[0]] if near else None


def _content_of(answer: str | Missing) -> str:
    """Return an answer as the text that a fingerprint of labels contains."""
    if isinstance(answer, Missing):
        return f"Missing(reason={answer.reason!r}, detail={answer.detail!r})"
    return repr(answer)
