"""Find the majority and the distribution of the labels that several raters gave to an image."""

from collections import Counter
from collections.abc import Mapping, Sequence

from askew.types import Missing

Label = str | Missing
"""Value of an axis, or the reason why a rater gave no value."""


def majority(labels: Sequence[Label]) -> Label:
    """Return the label that more than half of the raters gave.

    Raters without a label (`not_asked`) do not count. The reason for a missing label, such as
    `several_people`, counts as a value. If only one rater gave a label, that label counts as the
    majority.

    Parameters
    ----------
    labels
        One label per rater.

    Returns
    -------
    str or Missing
        The majority label, or `Missing("no_majority")` with the votes if no label has a majority.
    """
    given = [label for label in labels if not is_absent(label)]
    if not given:
        return labels[0] if labels else Missing("not_asked")
    votes = Counter(map(vote_of, given))
    leading, count = max(votes.items(), key=lambda item: item[1])
    if 2 * count <= len(given):
        listed = ", ".join(f"{number} {vote}" for vote, number in sorted(votes.items()))
        return Missing("no_majority", listed)
    return next(label for label in given if vote_of(label) == leading)


def distribution(labels: Sequence[Label], values: Sequence[str]) -> Mapping[str, float]:
    """Return each value's share of the raters' labels.

    Labels that are not values of the axis do not count.

    Parameters
    ----------
    labels
        One label per rater.
    values
        Values of the axis.

    Returns
    -------
    mapping of value to float
        Share of each value. Empty if no label is a value of the axis.
    """
    votes = Counter(label for label in labels if not isinstance(label, Missing))
    total = sum(votes[value] for value in values)
    return {value: votes[value] / total for value in values} if total else {}


def is_absent(label: Label) -> bool:
    """Check whether a rater was not asked or left the label empty."""
    return isinstance(label, Missing) and label.reason == "not_asked"


def vote_of(label: Label) -> str:
    """Return a label as text: its value, or the reason why there is none."""
    return label.reason.replace("_", " ") if isinstance(label, Missing) else label
