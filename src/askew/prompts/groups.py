"""Prompts about social groups, and about what they are edited or classified into ("downstream", section 3)."""

from __future__ import annotations

from collections.abc import Sequence

from askew.errors import UsageError
from askew.prompts.grammar import article
from askew.prompts.statements import values_said

HEADSHOT = "A color photograph of {}, headshot, high-quality."
"""The template of source pictures and of edits."""

PORTRAIT = "A portrait of {}."
"""The template of the classes of a classification."""

PAPER_GROUPS: tuple[str, ...] = ("caucasian man", "caucasian woman", "african-american man", "african-american woman")
"""Those whose pictures the paper made, edited and classified."""

HIGH_PAID: tuple[str, ...] = ("doctor", "CEO")
LOW_PAID: tuple[str, ...] = ("dishwasher-worker", "fastfood-worker")
"""The targets of the paper's edits; "dishwasher-worker", as "dishwasher" would give the appliance."""


def prompt_of(words: str, template: str = HEADSHOT) -> str:
    """`words`, such as "caucasian man" or "doctor", with their article where {} stands in the template."""
    return template.replace("{}", f"{article(words)} {words}")


def group_names(text: str | Sequence[str]) -> tuple[str, ...]:
    """The groups in a comma-separated text, or in a sequence. Raises UsageError if one is empty or named twice."""
    parts = text.split(",") if isinstance(text, str) else list(text)
    names = tuple(" ".join(part.split()) for part in parts)
    if not names or not all(names):
        raise UsageError(
            'a group without a name; give one or more, as in: --groups "caucasian man, african-american woman"'
        )
    twice = [name for at, name in enumerate(names) if name.lower() in (other.lower() for other in names[:at])]
    if twice:
        raise UsageError(f"the group {twice[0]!r} is named twice")
    return names


def stated_value(words: str, axis: str) -> str | None:
    """The value of an axis of the catalogue that a group's name says: "caucasian man" is of gender "male".

    None where it says none, or more than one.
    """
    said = values_said(words, axis)
    return said.pop() if len(said) == 1 else None
