"""Replace the questions about axes with open-ended questions, as in TIBET (appendix 9.2)."""

from collections.abc import Sequence
from dataclasses import replace

from askew.errors import UsageError
from askew.prompts.axes import table_question
from askew.types import Axis, Question


def with_open_question(axis: Axis) -> Axis:
    """Return the axis without values, and with TIBET's question as its only question."""
    question = Question(table_question(axis.name), (), axis.name)
    return replace(axis, values=(), questions=(question,))


def check_open_answers(reference: Sequence[str]) -> None:
    """Raise UsageError if references are given for axes with open answers.

    Parameters
    ----------
    reference
        Values of `--reference`.

    Raises
    ------
    UsageError
        If there is a reference.
    """
    if reference:
        raise UsageError(
            "--reference sets shares of values, but open answers have no fixed values. Leave out "
            "--reference or --open-answers"
        )
