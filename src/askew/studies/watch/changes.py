"""Test whether shares have changed from the first checkpoint to a later checkpoint."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from askew.methods.audit.findings import AuditResult
from askew.methods.audit.stored import observed_sets
from askew.parts.survey.observed import Answer, ObservedSet
from askew.plan import AxisPlan, PromptPlan
from askew.stats.watching import exact_change_p
from askew.studies.compare.comparable import match_runs
from askew.types import Picture

ALL_PROMPTS = "all prompts"


@dataclass(frozen=True, slots=True)
class CheckpointChange:
    """The most significant change on an axis since the first checkpoint.

    Attributes
    ----------
    axis
        Name of the axis.
    p
        p-value of the change, corrected for all tests on this axis (Bonferroni).
    prompt
        The prompt on which the change has the smallest p-value, or `ALL_PROMPTS`.
    value
        The value whose change has the smallest p-value.
    first, now
        Share of paired images with this value at the first and at the later checkpoint.
    pairs
        Number of pairs in which both images are labeled.
    changed
        Number of pairs whose labels differ.
    """

    axis: str
    p: float
    prompt: str
    value: str
    first: float
    now: float
    pairs: int
    changed: int


def axis_changes(first: AuditResult, now: AuditResult) -> list[CheckpointChange]:
    """Compare the labels of images from two checkpoints, paired by seed.

    Each value is tested for each prompt separately, and over all prompts.

    Parameters
    ----------
    first, now
        Finished audits of the first checkpoint and of a later checkpoint.

    Raises
    ------
    UsageError
        If the audits cannot be compared.
    """
    prompts, _ = match_runs({"first": first, "now": now})
    before = observed_sets(first, prompts)
    after = observed_sets(now, prompts)
    instrument = first.plan.vqa[0]
    tables: dict[str, dict[str, np.ndarray]] = {}
    values: dict[str, tuple[str, ...]] = {}
    for prompt in prompts:
        for axis in _labeled_axes(prompt):
            labels = [_labels(sets[prompt.text][0], instrument, axis) for sets in (before, after)]
            values[axis.name] = axis.axis().values
            of_axis = tables.setdefault(axis.name, {})
            of_axis[prompt.text] = _table(values[axis.name], *labels)
    return [clearest_change(name, values[name], by_prompt) for name, by_prompt in tables.items()]


def _labeled_axes(prompt: PromptPlan) -> Iterator[AxisPlan]:
    """Yield a prompt's axes that have a list of values."""
    yield from (axis for axis in prompt.axes if axis.axis().values)


def _labels(observed: ObservedSet, instrument: str, axis: AxisPlan) -> dict[int, Answer]:
    """Return the labels of a set's images on an axis, keyed by seed."""
    labels = observed.values[instrument][axis.name]
    return {
        picture.seed: label
        for picture, label in zip(observed.pictures, labels, strict=True)
        if isinstance(picture, Picture) and picture.seed is not None
    }


def _table(
    values: Sequence[str], before: Mapping[int, Answer], after: Mapping[int, Answer]
) -> np.ndarray:
    """Count, for each pair of labels, the pairs of images that have the same seed.

    The shape is (values, values).
    """
    counted = Counter((before[seed], after[seed]) for seed in before.keys() & after.keys())
    counts = [counted[change] for change in product(values, values)]
    return np.reshape(counts, (len(values), len(values)))


def clearest_change(
    axis: str, values: Sequence[str], tables: Mapping[str, np.ndarray]
) -> CheckpointChange:
    """Return, for one axis, the change with the smallest p-value.

    Parameters
    ----------
    axis
        Name of the axis.
    values
        Values of the axis.
    tables
        For each prompt, an array of shape (values, values) that counts image pairs. Rows are
        labels at the first checkpoint; columns are labels at the later checkpoint.
    """
    tested = dict(tables)
    if len(tested) > 1:
        tested[ALL_PROMPTS] = np.sum(list(tables.values()), axis=0)
    p_values = {prompt: exact_change_p(table) for prompt, table in tested.items()}
    prompt = min(p_values, key=lambda name: p_values[name].min())
    number = int(np.argmin(p_values[prompt]))
    tests = len(tested) * (len(values) if len(values) > 2 else 1)
    table = tested[prompt]
    pairs = int(table.sum())
    return CheckpointChange(
        axis=axis,
        p=min(float(p_values[prompt][number]) * tests, 1.0),
        prompt=prompt,
        value=values[number],
        first=float(table[number].sum()) / max(pairs, 1),
        now=float(table[:, number].sum()) / max(pairs, 1),
        pairs=pairs,
        changed=pairs - int(np.trace(table)),
    )
