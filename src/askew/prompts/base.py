"""Interface of prompt generators: language models and the built-in lexicon.

A prompt generator proposes axes and counterfactual prompts (TIBET, section 3.1 and appendix 9.1).
For a search it writes new prompts, mutations of a prompt and variations of a prompt (MineTheGap,
sections 3 and 4.1, appendix C.1). Words of a prompt are counted by splitting it at spaces.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

from askew.errors import UsageError
from askew.types import Axis


@dataclass(frozen=True, slots=True)
class AxisProposal:
    """An axis of bias for a prompt, with its counterfactual prompts.

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
"""Axes about details that a prompt leaves open, that it states ("Indian" astronauts), or both."""

Words = tuple[int, int]
"""The least and the greatest number of words of a prompt."""

Kind = Literal["random prompts", "mutations", "variations"]
"""Kind of texts to write.

random prompts  about anything: things, people, animals and nature
mutations       related to a prompt, but asking for a visibly different image
variations      readings of a prompt: each adds something that it leaves open, without contradiction
"""

LENGTHS: Mapping[Kind, Words] = {
    "random prompts": (3, 8),
    "mutations": (3, 8),
    "variations": (3, 20),
}
"""Default numbers of words. A variation is longer than its prompt."""


@runtime_checkable
class Writer(Protocol):
    """A prompt generator: the same arguments give the same texts.

    Attributes
    ----------
    name
        Name in results and messages.
    fingerprint
        Text that changes whenever the generator's texts could change.
    concurrency
        Number of prompts that it can work on at once.
    """

    name: str
    fingerprint: str
    concurrency: int

    def propose(self, prompt: str, axes: Sequence[str] | None, seed: int) -> list[AxisProposal]:
        """Propose axes with counterfactual prompts that change one concept.

        Parameters
        ----------
        prompt
            Prompt to audit.
        axes
            Names of the axes, in the order of the proposals; None lets the generator choose.
        seed
            Seed of everything random.

        Returns
        -------
        list[AxisProposal]
            One proposal per axis.

        Raises
        ------
        UnknownName
            For an axis that the generator does not know.
        UsageError
            For an empty prompt.
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
        """Write different texts, fewer than `count` if the generator finds no more.

        Parameters
        ----------
        kind
            Kind of texts.
        prompt
            Prompt that mutations and variations start from; "" for random prompts.
        count
            Greatest number of texts, at least 1.
        seed
            Seed of everything random.
        topic
            Topic of the texts: people, clothing, style, food, or any words.
        words
            Numbers of words of each text; None for the numbers in `LENGTHS`.

        Returns
        -------
        list[str]
            The texts.

        Raises
        ------
        LanguageModelError
            If a language model gives no usable text.
        UsageError
            For an empty prompt, and for impossible counts and lengths.
        """


def normalize_prompt(text: str) -> str:
    """Return a prompt with single spaces.

    Raises
    ------
    UsageError
        For an empty prompt.
    """
    if not text.strip():
        raise UsageError(
            "the prompt is empty; describe an image, for example 'a photo of a doctor'"
        )
    return " ".join(text.split())


def simplify(text: str) -> str:
    """Return a prompt for comparison: in lower case, without punctuation and articles."""
    words = re.findall(r"[^\W_]+(?:[-'’][^\W_]+)*", text.lower())
    return " ".join(word for word in words if word not in ("a", "an", "the"))


def has_length(text: str, words: Words) -> bool:
    """Check whether the number of words of a text is in a range, ends included."""
    return words[0] <= len(text.split()) <= words[1]


def checked_length(kind: Kind, prompt: str, count: int, words: Words | None) -> Words:
    """Return the numbers of words of a request, after checking the request.

    Parameters
    ----------
    kind, prompt, count, words
        As `Writer.write` takes them.

    Returns
    -------
    The numbers `words`, or the default of the kind.

    Raises
    ------
    UsageError
        For a request that no prompt generator can fulfill.
    """
    words = words or LENGTHS[kind]
    if count < 1:
        raise UsageError(f"the number of prompts is {count}; it must be at least 1")
    if not 1 <= words[0] <= words[1]:
        raise UsageError(
            f"the numbers of words are {words[0]} to {words[1]}; "
            "the first must be at least 1 and at most the second, for example 3 to 8"
        )
    if kind != "random prompts":
        normalize_prompt(prompt)
    return words
