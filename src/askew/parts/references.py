"""Load reference shares from published tables (such as a census), finished runs or options."""

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from askew.errors import UsageError
from askew.findings import RESULTS_FILE
from askew.parts.survey.shares import SetShares, recorded_shares
from askew.plan import AxisPlan, PromptPlan
from askew.prompts.vocabulary import contains_word
from askew.types import Axis

SHIPPED_TABLES: Mapping[str, str] = {"bls-2022": "bls-2022.csv"}
"""Tables that come with askew. bls-2022: shares of women and men in 65 occupations, U.S. Bureau of
Labor Statistics, Current Population Survey, table 11, annual averages of 2022 (public domain).
"""

UNIFORM = "uniform"
SUBJECT_COLUMNS = ("prompt", "occupation")
ROUNDING = 0.005
"""Maximum accepted difference between 1 and the sum of published (rounded) shares."""

Shares = Mapping[str, float]
SharesByAxis = dict[str, dict[str, float]]


@dataclass(frozen=True, slots=True)
class AxisReference:
    """Reference shares of an axis.

    Attributes
    ----------
    shares : dict of value to float
        Shares that sum to 1.
    images : int or None
        Number of images from which the shares were computed. None if they are exact.
    """

    shares: dict[str, float]
    images: int | None


@dataclass(frozen=True, slots=True)
class Reference:
    """Reference shares for subjects (prompts or occupations) and axes.

    Attributes
    ----------
    name : str
        Name of the table or run, or the text that states the shares.
    shares : mapping
        Shares of values, keyed by subject (a prompt or an occupation) and axis. The subject ""
        applies to all prompts.
    counted : bool
        True if the shares were measured on images and therefore have a sampling error.
    """

    name: str
    shares: Mapping[str, Mapping[str, Shares]]
    counted: bool = False

    def of_axis(self, prompt: str, axis: Axis) -> AxisReference | None:
        """Return a reference's shares on an axis for the longest subject that the prompt contains.

        Returns
        -------
        AxisReference or None
            The shares; None if the reference has no shares for the prompt and axis.

        Raises
        ------
        UsageError
            If there are shares for values that the axis does not have.
        """
        named = [
            subject
            for subject, by_axis in self.shares.items()
            if axis.name in by_axis and _names(prompt, subject)
        ]
        if not named:
            return None
        shares = self.shares[max(named, key=len)][axis.name]
        if not axis.values or not set(shares) <= set(axis.values):
            raise UsageError(
                f"{self.name} has shares for these values of {axis.label}: {', '.join(shares)}. "
                f"The axis has the values: {', '.join(axis.values) or 'none'}"
            )
        total = sum(shares.values())
        return AxisReference(
            shares={value: shares.get(value, 0.0) / total for value in axis.values},
            images=int(total) if self.counted else None,
        )


def _names(prompt: str, subject: str) -> bool:
    """Check whether a prompt contains a subject's words as whole words.

    All prompts contain "".
    """
    return not subject or contains_word(prompt, subject)


def read_reference(name: str) -> Reference:
    """Read a table that comes with askew, or a CSV file.

    Parameters
    ----------
    name
        Name in `SHIPPED_TABLES`, or path of a CSV file with the columns axis, value and share. An
        optional column "prompt" or "occupation" contains the subject of each row.

    Raises
    ------
    UsageError
        If the file cannot be used. The message states the line.
    """
    table = csv.DictReader(_table_text(name).splitlines())
    columns = list(table.fieldnames or ())
    if not {"axis", "value", "share"} <= set(columns):
        raise UsageError(f"{name} lacks a column. The columns axis, value and share are needed")
    subject = next((column for column in SUBJECT_COLUMNS if column in columns), "")
    shares: dict[str, SharesByAxis] = {}
    for number, row in enumerate(table, start=2):
        cells = {column: (row[column] or "").strip() for column in columns}
        by_axis = shares.setdefault(cells.get(subject, ""), {})
        by_value = by_axis.setdefault(cells["axis"], {})
        by_value[cells["value"]] = _share(cells["share"], f"{name}, line {number}")
    _check_sums(name, shares)
    return Reference(name=name, shares=shares)


def _table_text(name: str) -> str:
    path: Traversable = Path(name)
    if name in SHIPPED_TABLES:
        path = files("askew") / "data" / SHIPPED_TABLES[name]
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", error)
        raise UsageError(
            f"cannot read the reference table {name!r} ({reason}). "
            f"Tables that come with askew: {', '.join(SHIPPED_TABLES)}"
        ) from error


def _check_sums(name: str, shares: Mapping[str, SharesByAxis]) -> None:
    for subject, by_axis in shares.items():
        for axis, by_value in by_axis.items():
            of_subject = f" of {subject}" if subject else ""
            _check_sum(f"{name}: shares of {axis}{of_subject}", by_value)


def given_shares(text: str, option: str = "--reference") -> Reference:
    """Parse AXIS=VALUE:SHARE,VALUE:SHARE into a reference for all prompts.

    Parameters
    ----------
    text
        Value of an option.
    option
        Name of the option, for error messages.

    Raises
    ------
    UsageError
        If the text does not have this form, or the shares do not sum to 1.
    """
    axis, _, listed = text.partition("=")
    pairs = [part.rpartition(":") for part in listed.split(",")]
    if not axis.strip() or not all(value.strip() for value, _, _ in pairs):
        raise UsageError(
            f"{option} {text!r} does not have the form AXIS=VALUE:SHARE,VALUE:SHARE, as in "
            "gender=male:0.5,female:0.5"
        )
    shares = {value.strip(): _share(share, f"{option} {text}") for value, _, share in pairs}
    _check_sum(f"{option} {text}: shares of {axis.strip()}", shares)
    return Reference(name=text, shares={"": {axis.strip(): shares}})


def observed_shares(name: str, entries: Iterable[SetShares]) -> Reference:
    """Return the shares in a finished run's baseline images, from its first instrument's labels.

    Raises
    ------
    UsageError
        If the run has no such shares.
    """
    shares: dict[str, dict[str, Shares]] = {}
    for entry in entries:
        if entry.set == "initial" and any(entry.counts.values()):
            shares.setdefault(entry.prompt, {}).setdefault(entry.axis, dict(entry.counts))
    if not shares:
        raise UsageError(
            f"the run {name} has no shares in baseline images. Give a run of `askew audit` with "
            "--reference RUN"
        )
    return Reference(name=name, shares=shares, counted=True)


def is_run(name: str) -> bool:
    """Check whether a name refers to the folder of a finished run, not to a model or a table."""
    return (Path(name) / RESULTS_FILE).exists()


def reference(name: str) -> Reference:
    """Return the reference for a value of `--reference`.

    Parameters
    ----------
    name
        Name of a shipped table, a CSV file, the folder of a finished run, or
        AXIS=VALUE:SHARE,VALUE:SHARE.

    Raises
    ------
    UsageError
        If the name cannot be used.
    """
    if is_run(name):
        return observed_shares(name, recorded_shares(Path(name)))
    if "=" in name:
        return given_shares(name)
    if Path(name).is_dir():
        raise UsageError(
            f"--reference {name} has no {RESULTS_FILE}. Give the folder of a finished run, or a "
            "CSV file of shares"
        )
    return read_reference(name)


def with_references(prompts: Sequence[PromptPlan], names: Iterable[str]) -> list[PromptPlan]:
    """Return the prompts with the given references added to their axes.

    Parameters
    ----------
    prompts
        Plans of prompts.
    names
        Values of `--reference`. Later references override earlier references. The name "uniform"
        means uniform shares, as does an empty list.

    Raises
    ------
    UsageError
        If a reference contains shares for none of these prompts and axes.
    """
    references = [reference(name) for name in names if name != UNIFORM]
    for given in references:
        _check_used(given, prompts)
    latest_first = references[::-1]
    return [_with_references_of_axes(prompt, latest_first) for prompt in prompts]


def _check_used(given: Reference, prompts: Sequence[PromptPlan]) -> None:
    """Raise UsageError if a reference contains shares for none of the prompts and axes."""
    axes = {}
    for prompt in prompts:
        for axis in prompt.closed:
            if given.of_axis(prompt.text, axis.axis()):
                return
            axes[axis.name] = axis
    raise UsageError(
        f"--reference {given.name} has no shares for these prompts' axes: "
        f"{', '.join(axes) or 'none'}"
    )


def _with_references_of_axes(prompt: PromptPlan, references: Sequence[Reference]) -> PromptPlan:
    axes = tuple(_with_reference(axis, prompt.text, references) for axis in prompt.axes)
    return prompt.model_copy(update={"axes": axes})


def _with_reference(axis: AxisPlan, prompt: str, references: Sequence[Reference]) -> AxisPlan:
    """Return an axis with the shares from the first reference that contains shares for it."""
    if len(axis.values) < 2:
        return axis
    for given in references:
        of_axis = given.of_axis(prompt, axis.axis())
        if of_axis:
            return axis.model_copy(
                update={"reference": of_axis.shares, "reference_images": of_axis.images}
            )
    return axis


def _check_sum(description: str, shares: Shares) -> None:
    total = sum(shares.values())
    if abs(total - 1) > ROUNDING:
        raise UsageError(f"{description} sum to {total:g}. They must sum to 1")


def _share(text: str, place: str) -> float:
    try:
        share = float(text)
    except (TypeError, ValueError):
        share = -1.0
    if not 0 <= share <= 1:
        raise UsageError(f"{place}: the share {text!r} is not a number from 0 to 1")
    return share
