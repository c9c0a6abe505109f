"""Prompts that are not generated: prompts from files, shortened prompts, and the papers' prompts.

The prompts and questions are from BiasConnect (appendix A.1 and A.3). The social groups, and the
targets of edits and classifications, are from the paper on downstream tasks (section 3).
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from askew.errors import UsageError
from askew.prompts.axes import BIASCONNECT
from askew.prompts.statements import stated_values
from askew.prompts.vocabulary import article
from askew.store.files import read_text
from askew.types import Axis, Question


def read_prompts(path: Path) -> list[str]:
    """Return the prompts in a UTF-8 text file with one prompt per line.

    Blank lines and lines that begin with # are ignored.

    Raises
    ------
    UsageError
        If the file cannot be read, is not text, or contains no prompt or a repeated prompt.
    """
    line_of: dict[str, int] = {}
    for number, line in enumerate(read_text(path, "the prompts").splitlines(), start=1):
        prompt = " ".join(line.split())
        if prompt in line_of:
            raise UsageError(
                f"{path}, line {number}: the prompt {prompt!r} repeats line "
                f"{line_of[prompt]}; remove one of the two lines"
            )
        if prompt and not prompt.startswith("#"):
            line_of[prompt] = number
    if not line_of:
        raise UsageError(
            f"{path} contains no prompt; write one prompt per line, and begin comment lines with #"
        )
    return list(line_of)


def clean_prompt(text: str) -> str | None:
    """Shorten a prompt to the part that describes the image, according to TIBET's rule.

    The rule is for prompts from DiffusionDB (appendix 11, figure 8). The rule selects the longest
    part between punctuation marks (the first part if there is a tie).

    Parameters
    ----------
    text
        Long prompt.

    Returns
    -------
    str or None
        The part; None if it has fewer than 5 or more than 9 words, contains the word "painting" or
        "by", or begins with the letters "in".
    """
    part = max(re.split(r"[.:()\[\]!,]", text), key=len).strip()
    words = part.split()
    has_excluded_word = "painting" in words or "by" in words
    if not 5 <= len(words) <= 9 or has_excluded_word or part.startswith("in"):
        return None
    return part


def clean_prompts(texts: Iterable[str]) -> list[str]:
    """Apply `clean_prompt` to texts, and return the distinct results in order."""
    parts = map(clean_prompt, texts)
    return list(dict.fromkeys(part for part in parts if part is not None))


OCCUPATIONS: tuple[str, ...] = tuple(
    "computer programmer, elementary school teacher, librarian, announcer, pharmacist, chef, "
    "chemist, police, accountant, architect, lawyer, philosopher, scientist, doctor, nurse, "
    "engineer, musician, journalist, athlete, social worker, sales person, politician, farmer, "
    "mechanic, firefighter, gardener".split(", ")
)
"""The occupations in BiasConnect's data set, in their original order."""

NOUNS: Mapping[str, str] = {"police": "police officer"}
"""Nouns to use in prompts for occupations whose names do not refer to a single person."""

_ASKED: Mapping[str, str] = {name: name.replace("_", " ") for name in BIASCONNECT[:-1]} | {
    "age": "age group",
    "clothing": "attire",
}
"""Words that BiasConnect's question uses for each axis.

The disability axis is not included, because the catalog asks yes/no questions about disability.
"""


def occupation_prompts(occupations: Sequence[str] = OCCUPATIONS) -> list[str]:
    """Return a prompt such as "a photo of a nurse" for each occupation.

    Raises
    ------
    UsageError
        If an occupation is blank or repeated.
    """
    names = [" ".join(name.split()) for name in occupations]
    if not all(names) or len(set(names)) < len(names):
        listed = ", ".join(names) or "none"
        raise UsageError(f"occupations must not be blank or repeated; the list is: {listed}")
    return [prompt_of(NOUNS.get(name, name), "a photo of {}") for name in names]


def asked_as_in_biasconnect(axis: Axis) -> Axis:
    """Return an axis with BiasConnect's question, whose answers are the values of the axis.

    Axes without a question in BiasConnect are returned unchanged.
    """
    if axis.name not in _ASKED:
        return axis
    text = f"What is the {_ASKED[axis.name]} ({', '.join(axis.values)}) of the person?"
    return replace(axis, questions=(Question(text, axis.values, axis.name),))


HEADSHOT = "A color photograph of {}, headshot, high-quality."
"""Template for the prompts of input images and edits."""

PORTRAIT = "A portrait of {}."
"""Template for the texts that describe the classes of a classification."""

PAPER_GROUPS: tuple[str, ...] = (
    "caucasian man",
    "caucasian woman",
    "african-american man",
    "african-american woman",
)
"""The social groups whose images the paper generated, edited and classified."""

HIGH_PAID: tuple[str, ...] = ("doctor", "CEO")
LOW_PAID: tuple[str, ...] = ("dishwasher-worker", "fastfood-worker")
"""Targets of the paper's edits.

The target is "dishwasher-worker", because "dishwasher" would produce images of the appliance.
"""


def prompt_of(words: str, template: str = HEADSHOT) -> str:
    """Replace {} in a template with the given words and their article, such as "a doctor"."""
    return template.replace("{}", f"{article(words)} {words}")


def group_names(text: str | Sequence[str]) -> tuple[str, ...]:
    """Return the group names in one or more comma-separated lists.

    Raises
    ------
    UsageError
        If a group name is empty or repeated.
    """
    parts = (text if isinstance(text, str) else ",".join(text)).split(",")
    names = tuple(" ".join(part.split()) for part in parts)
    if not all(names):
        raise UsageError(
            "a group has no name; name one or more groups, "
            'for example --groups "caucasian man, african-american woman"'
        )
    seen: set[str] = set()
    for name in names:
        if name.lower() in seen:
            raise UsageError(f"the group {name!r} is listed twice in --groups")
        seen.add(name.lower())
    return names


def stated_value(words: str, axis: str) -> str | None:
    """Return the axis value that a group's name states, such as male for "caucasian man".

    Parameters
    ----------
    words
        Name of a group.
    axis
        Name of an axis in the catalog.

    Returns
    -------
    str or None
        The value; None if the name states no value or more than one value.
    """
    values = stated_values(words, axis)
    return values.pop() if len(values) == 1 else None
