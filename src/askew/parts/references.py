"""Shares that pictures are held against: published tables, such as a census of occupations, or
shares as given.
"""

import csv
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from askew.errors import UsageError
from askew.findings import RESULTS_FILE
from askew.parts.survey.shares import SetShares, recorded_shares
from askew.plan import AxisPlan, PromptPlan
from askew.types import Axis

SHIPPED: Mapping[str, str] = {"bls-2022": "bls-2022.csv"}
"""Tables that come with askew. bls-2022: shares of women and men in 65 occupations, U.S. Bureau of
Labor Statistics, Current Population Survey, table 11, annual averages of 2022 (public domain).
"""

SUBJECTS = ("prompt", "occupation")
TOLERANCE = 0.005
"""How far published shares may be from a sum of 1, since they are rounded."""

Shares = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Reference:
    """Shares of an axis's values by subject (a prompt, or an occupation) and axis; subject "" holds
    for all. `counted` says that they are counts of pictures, and as uncertain as these are few.
    """

    name: str
    shares: Mapping[str, Mapping[str, Shares]]
    counted: bool = False

    def reference(self, prompt: str, axis: Axis) -> tuple[dict[str, float], int | None] | None:
        """The shares of an axis, summing to 1, by the longest subject that a prompt names; None if
        there are none. Beside them in how many pictures they were counted; None if they are exact.
        Raises UsageError where the shares are not about the axis's values.
        """
        named = (
            one
            for one, by_axis in self.shares.items()
            if axis.name in by_axis
            and (not one or re.search(rf"(?<!\w){re.escape(one)}(?!\w)", prompt, re.I))
        )
        subject = max(named, key=len, default=None)
        if subject is None:
            return None
        shares = self.shares[subject][axis.name]
        if not axis.values or not set(shares) <= set(axis.values):
            raise UsageError(
                f"{self.name} has shares of {axis.label} for: {', '.join(shares)}; "
                f"the axis has the values: {', '.join(axis.values) or 'none'}"
            )
        total = sum(shares.values())
        return {value: shares.get(value, 0.0) / total for value in axis.values}, int(
            total
        ) if self.counted else None


def read_reference(name: str) -> Reference:
    """A table of `SHIPPED`, or a CSV file: columns axis, value, share and, if it is about some
    prompts, prompt or occupation. Raises UsageError that names the line.
    """
    path: Traversable = files("askew") / "data" / SHIPPED[name] if name in SHIPPED else Path(name)
    try:
        table = csv.DictReader(path.read_text(encoding="utf-8-sig").splitlines())
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", error)
        known = ", ".join(SHIPPED)
        raise UsageError(
            f"cannot read the reference table {name!r} ({why}); there are: {known}"
        ) from error
    columns = list(table.fieldnames or ())
    subject = next((column for column in SUBJECTS if column in columns), "")
    if not {"axis", "value", "share"} <= set(columns):
        raise UsageError(f"{name} needs the columns axis, value and share")
    shares: dict[str, dict[str, dict[str, float]]] = {}
    for number, row in enumerate(table, start=2):
        cells = {column: (row[column] or "").strip() for column in columns}
        by_value = shares.setdefault(cells.get(subject, ""), {}).setdefault(cells["axis"], {})
        by_value[cells["value"]] = _share(cells["share"], f"{name}, line {number}")
    for about, by_axis in shares.items():
        for axis, by_value in by_axis.items():
            _check_sum(f"{name}: shares of {axis}{about and f' of {about}'}", by_value)
    return Reference(name, shares)


def given_shares(text: str) -> Reference:
    """AXIS=VALUE:SHARE,VALUE:SHARE as shares for every prompt. Raises UsageError."""
    axis, _, listed = text.partition("=")
    pairs = [part.rpartition(":") for part in listed.split(",")]
    if not axis.strip() or not all(value.strip() for value, _, _ in pairs):
        raise UsageError(
            f"{text!r} is not of the form AXIS=VALUE:SHARE,VALUE:SHARE: gender=male:0.5,female:0.5"
        )
    shares = {value.strip(): _share(share, text) for value, _, share in pairs}
    _check_sum(f"{text}: shares of {axis.strip()}", shares)
    return Reference(text, {"": {axis.strip(): shares}})


def observed_shares(name: str, seen: Iterable[SetShares]) -> Reference:
    """The shares of a finished run's initial pictures, by its first instrument, as a reference.
    Raises UsageError.
    """
    found: dict[str, dict[str, Shares]] = {}
    for one in seen:
        if one.set == "initial" and any(one.counts.values()):
            found.setdefault(one.prompt, {}).setdefault(one.axis, dict(one.counts))
    if not found:
        raise UsageError(f"the run {name} has no shares of initial pictures to hold others against")
    return Reference(name, found, counted=True)


def is_run(name: str) -> bool:
    """Whether this is the folder of a finished run, and not the name of a model or a table."""
    return (Path(name) / RESULTS_FILE).exists()


def reference(name: str) -> Reference:
    """What an ideal is named by: a table of `SHIPPED`, a CSV file, the folder of a finished run
    whose initial pictures give it, or AXIS=VALUE:SHARE,VALUE:SHARE. Raises UsageError.
    """
    if is_run(name):
        return observed_shares(name, recorded_shares(Path(name)))
    if "=" in name:
        return given_shares(name)
    if Path(name).is_dir():
        raise UsageError(
            f"{name} holds no {RESULTS_FILE}: name the folder of a finished run, or a CSV file of shares"
        )
    return read_reference(name)


def with_references(prompts: Sequence[PromptPlan], names: Iterable[str]) -> list[PromptPlan]:
    """Prompts with the ideals that are named, later ones before earlier ones; without any, or by
    "uniform", equal ones. Raises UsageError for one that is about none of these prompts and axes.
    """
    references = [reference(name) for name in names if name != "uniform"]
    for one in references:
        if not any(
            one.reference(prompt.text, axis.axis()) for prompt in prompts for axis in prompt.closed
        ):
            axes = (
                ", ".join(dict.fromkeys(axis.name for prompt in prompts for axis in prompt.closed))
                or "none"
            )
            raise UsageError(
                f"--reference {one.name} says nothing about any axis of these prompts: {axes}"
            )

    def held(axis: AxisPlan, prompt: str) -> AxisPlan:
        found = (
            one.reference(prompt, axis.axis())
            for one in reversed(references)
            if len(axis.values) > 1
        )
        reference = next(filter(None, found), None)
        return (
            axis.model_copy(update={"reference": reference[0], "reference_images": reference[1]})
            if reference
            else axis
        )

    return [
        one.model_copy(update={"axes": tuple(held(axis, one.text) for axis in one.axes)})
        for one in prompts
    ]


def _check_sum(what: str, shares: Shares) -> None:
    if abs(sum(shares.values()) - 1) > TOLERANCE:
        raise UsageError(f"{what} sum to {sum(shares.values()):g}, not 1")


def _share(text: str, where: str) -> float:
    try:
        share = float(text)
    except (TypeError, ValueError):
        share = -1.0
    if not 0 <= share <= 1:
        raise UsageError(f"{where}: the share {text!r} is no number from 0 to 1")
    return share
