"""What askew asks of a writer, a language model or the built-in lexicon.

Axes and counterfactual prompts (TIBET, section 3.1 and appendix 9.1); for the search, new prompts,
mutations of one and variations of one (MineTheGap, sections 3 and 4.1, appendix C.1). A count of
words is that of the parts between spaces.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

from askew.errors import UsageError
from askew.types import Axis


@dataclass(frozen=True, slots=True)
class AxisProposal:
    """An axis of bias that a prompt leaves open, and one counterfactual text per value."""

    axis: Axis
    counterfactuals: Mapping[str, str]


AxesOn = Literal["unstated", "stated", "all"]
"""Whether axes are wanted on what a prompt leaves open, on what it states ("Indian" astronauts), or
on both.
"""

Words = tuple[int, int]
"""The least and the greatest number of words of a prompt."""

Kind = Literal["random prompts", "mutations", "variations"]
"""What is written.

random prompts  about anything: things, people, animals and nature
mutations       keep some connection to a prompt, but ask for a visibly different picture
variations      readings of a prompt: each says something that it leaves open, and none contradicts it
"""

LENGTHS: Mapping[Kind, Words] = {
    "random prompts": (3, 8),
    "mutations": (3, 8),
    "variations": (3, 20),
}
"""Unless told otherwise. A variation says more than its prompt."""


@runtime_checkable
class Writer(Protocol):
    """Proposes axes and counterfactuals for a prompt, and writes prompts. The same arguments give
    the same texts.

    `concurrency` is how many prompts it can work on at once.
    """

    name: str
    fingerprint: str
    concurrency: int

    def propose(self, prompt: str, axes: Sequence[str] | None, seed: int) -> list[AxisProposal]:
        """Axes with counterfactuals one concept apart from `prompt`.

        `axes` None lets the writer choose; otherwise exactly these, in this order. Raises
        UnknownName for an axis that the writer does not know, UsageError for an empty prompt.
        """

    def write(
        self,
        kind: Kind,
        prompt: str,
        count: int,
        *,
        seed: int,
        topic: str | None = None,
        words: Words | None = None,
    ) -> list[str]:
        """At most `count` texts, all different, each of `words` words; `prompt` is "" for random
        prompts.

        `topic` (people, clothing, style, food, or any words) steers them. Fewer texts come back
        where the writer finds no more. Raises LanguageModelError where a language model gives none,
        and UsageError for an empty prompt and for counts or lengths that are impossible.
        """


def normalize_prompt(text: str) -> str:
    """A prompt with single spaces. Raises UsageError for an empty one."""
    if not text.strip():
        raise UsageError(
            "the prompt is empty; it should describe a picture, such as 'a photo of a doctor'"
        )
    return " ".join(text.split())


def simplify(text: str) -> str:
    """A prompt as it is compared with others: small letters, no punctuation, no articles."""
    found = re.findall(r"[^\W_]+(?:[-'’][^\W_]+)*", text.lower())
    return " ".join(word for word in found if word not in ("a", "an", "the"))


def has_length(text: str, words: Words) -> bool:
    """Whether the text has as many words as it may have."""
    return words[0] <= len(text.split()) <= words[1]


def length_of(kind: Kind, prompt: str, count: int, words: Words | None) -> Words:
    """How many words are asked for. Raises UsageError for a request that no writer can meet."""
    words = words or LENGTHS[kind]
    if count < 1:
        raise UsageError(f"{count} prompts were asked for; the number must be at least 1")
    if not 1 <= words[0] <= words[1]:
        raise UsageError(
            f"prompts of {words[0]} to {words[1]} words were asked for; write it as 3 to 8, for instance"
        )
    if kind != "random prompts":
        normalize_prompt(prompt)
    return words
