"""Interface for prompt generators: language models and the built-in lexicon.

A prompt generator proposes axes and counterfactual prompts (TIBET, section 3.1 and appendix 9.1).
For a search, a prompt generator writes random prompts, mutations of a prompt and variations of a
prompt (MineTheGap, sections 3 and 4.1, appendix C.1). In all word counts, words are the parts of a
prompt that are separated by spaces.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

from askew.errors import UsageError
from askew.types import Axis


@dataclass(frozen=True, slots=True)
class AxisProposal:
    """A bias axis for a prompt, with its counterfactual prompts.

    Attributes
    ----------
    axis
        The proposed axis.
    counterfactuals
        A counterfactual text for each value of the axis.
    """

    axis: Axis
    counterfactuals: Mapping[str, str]


AxesOn = Literal["unstated", "stated", "all"]
"""Axes to propose: axes that the prompt leaves open, axes whose value it states, or both.

For example, "Indian astronauts" states nationality and leaves gender open.
"""

Words = tuple[int, int]
"""Minimum and maximum number of words in a prompt."""

Kind = Literal["random prompts", "mutations", "variations"]
"""Kind of texts to write.

- random prompts are about anything: objects, people, animals or nature
- mutations are related to a prompt, but describe a visibly different image
- variations add details that a prompt leaves open, and contradict nothing in the prompt
"""

LENGTHS: Mapping[Kind, Words] = {
    "random prompts": (3, 8),
    "mutations": (3, 8),
    "variations": (3, 20),
}
"""Default minimum and maximum number of words. A variation is longer than its prompt."""


@runtime_checkable
class Writer(Protocol):
    """A prompt generator, which always returns the same texts for the same arguments.

    Attributes
    ----------
    name
        Name of the generator in results and messages.
    fingerprint
        Text that identifies the generator and its settings. The fingerprint changes whenever the
        generator might write different prompts.
    concurrency
        Number of prompts that the generator can process at the same time.
    """

    name: str
    fingerprint: str
    concurrency: int

    def propose(self, prompt: str, axes: Sequence[str] | None, seed: int) -> list[AxisProposal]:
        """Propose axes, with counterfactual prompts that each change one concept of the prompt.

        Parameters
        ----------
        prompt
            Prompt to audit.
        axes
            Names of the axes to propose, in order; None lets the generator choose.
        seed
            Seed for all random choices.

        Returns
        -------
        list[AxisProposal]
            One proposal per axis.

        Raises
        ------
        UnknownName
            If the generator does not know an axis.
        UsageError
            If the prompt is empty.
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
        """Write `count` different texts, or fewer if the generator runs out of texts.

        Parameters
        ----------
        kind
            Kind of texts.
        prompt
            Prompt to mutate or vary; "" for random prompts.
        count
            Maximum number of texts, at least 1.
        seed
            Seed for all random choices.
        topic
            Topic of the texts: people, clothing, style, food, or other words.
        words
            Minimum and maximum number of words in each text; None for the default in `LENGTHS`.

        Returns
        -------
        list[str]
            The texts.

        Raises
        ------
        LanguageModelError
            If a language model returns no usable text.
        UsageError
            If the prompt is empty, or the count or the range of words is invalid.
        """


def normalize_prompt(text: str) -> str:
    """Return a prompt with single spaces between its words.

    Raises
    ------
    UsageError
        If the prompt is empty.
    """
    if not text.strip():
        raise UsageError(
            "the prompt is empty; describe an image, for example 'a photo of a doctor'"
        )
    return " ".join(text.split())


def simplify(text: str) -> str:
    """Return a prompt in lower case and stripped of punctuation and articles, for comparisons."""
    words = re.findall(r"[^\W_]+(?:[-'’][^\W_]+)*", text.lower())
    return " ".join(word for word in words if word not in ("a", "an", "the"))


def has_length(text: str, words: Words) -> bool:
    """Check whether a text has at least `words[0]` and at most `words[1]` words."""
    return words[0] <= len(text.split()) <= words[1]


def checked_length(kind: Kind, prompt: str, count: int, words: Words | None) -> Words:
    """Check a request for texts, and return the minimum and maximum number of words in each text.

    Parameters
    ----------
    kind, prompt, count, words
        The same parameters as in `Writer.write`.

    Returns
    -------
    Words
        The two numbers in `words` if given, otherwise the defaults for the kind of text.

    Raises
    ------
    UsageError
        If no prompt generator can fulfill the request.
    """
    words = words or LENGTHS[kind]
    if count < 1:
        raise UsageError(f"the number of prompts is {count}; it must be at least 1")
    if not 1 <= words[0] <= words[1]:
        raise UsageError(
            f"the range of words is {words[0]} to {words[1]}; the minimum must be at least 1 and "
            "at most the maximum, for example 3 to 8"
        )
    if kind != "random prompts":
        normalize_prompt(prompt)
    return words
