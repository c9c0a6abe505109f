"""What is accepted of a language model's prompts, strictly: counterfactuals one concept apart, true variations."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence
from difflib import SequenceMatcher

from askew.prompts.axes import catalogue
from askew.prompts.base import bare
from askew.prompts.noun_phrases import FRAME, parse_prompt
from askew.prompts.open_details import kin, main_phrase, topics
from askew.prompts.statements import statements, states, values_said
from askew.prompts.vocabulary import nouns

MOST_ADDED = 5
"""Words that a counterfactual prompt may have more than its prompt and its value."""

_SMALL = frozenset(
    "of in on at by for with to and or from into who which that is are was were has have his her their its this some "
    "while wearing working being as photo picture image portrait person people someone".split()
)
_CHATTER = re.compile(
    r"(?:i'?m |i am |i can|i cannot|sorry|as an ai|sure[,! ]|here (?:is|are) )|.*(?:\?|\byours?\b|\byou\b)", re.I
)


def prompt_fault(text: str) -> str | None:
    """What shows that a text is no prompt: a question, somebody addressed, a word said three times; None if nothing."""
    words = bare(text).split()
    if _CHATTER.match(text):
        return "a text was no prompt but a remark or a question"
    if max(Counter(word for word in words if word not in _SMALL).values(), default=0) >= 3:
        return "a text said a word three times"
    return None


def variation_fault(prompt: str, text: str) -> str | None:
    """What is wrong with a variation: no prompt, or a word of the prompt, or one near it in WordNet, is not in it."""

    def is_kin(one: str, other: str) -> bool:
        return _alike(one, other) or any(a in nouns() and b in kin(nouns()[a]) for a, b in ((one, other), (other, one)))

    lost = [word for word in content(prompt) if not any(is_kin(word, other) for other in content(text))]
    return prompt_fault(text) or (f"a text lost {lost[0]!r}" if lost else None)


def counterfactual_fault(
    prompt: str, axis: str, value: str, text: str, values: Sequence[str], stated: bool = False
) -> str | None:
    """What is wrong with a counterfactual prompt that should state one of `values`; None if nothing.

    It must say its value and no other of its axis, keep the subject unless the axis changes it, change one thing, and
    stay short. An axis or a value that the catalogue does not have is looked for by its words; where axes may be
    `stated` by the prompt, such a value may take the place of other words.
    """
    if bare(text) == bare(prompt):
        return "it repeats the prompt"
    words = [_singular(word) for word in bare(text).split()]
    entry, known = catalogue().get(axis), values_said(text, axis) if axis in catalogue() else set()
    said = {
        one
        for one in (value, *values, *(entry.axis.values if entry else ()))
        if one in known or all(any(_alike(a, b) for b in words) for a in content(one) or [one])
    }
    if value not in said:
        return "it does not say its value"
    if [other for other in said if other != value and not set(other.split()) < set(value.split())]:
        return "it says another value, too"
    before, after = Counter(content(prompt)), Counter(content(text))
    own = [*content(f"{value} {axis.replace('_', ' ')}"), *_spelled(text, axis)]
    extra = [word for word in (after - before).elements() if not any(_alike(word, other) for other in own)]
    if fault := _lost_fault(prompt, text, axis, list((before - after).elements()), stated):
        return fault
    if len(extra) > 2 or len(text.split()) > len(prompt.split()) + len(value.split()) + MOST_ADDED:
        return "it adds more than its value"
    rest = " ".join(word for word in text.split() if not any(_alike(a, b) for a in content(word) for b in own))
    subject = main_phrase(parse_prompt(prompt))
    kinds = {"any", subject.noun.kind if subject and subject.noun else "person"}
    for other, others in catalogue().items():
        may = not others.about & kinds or other == axis or topics(other) & topics(axis)
        if not may and states(rest, other) and not states(prompt, other):
            return f"it says something of {other.replace('_', ' ')}, too"
    return prompt_fault(text)


def _lost_fault(prompt: str, text: str, axis: str, lost: Collection[str], stated: bool) -> str | None:
    """What is wrong with the words that a counterfactual prompt has no more: only what the axis is about may go."""
    parsed = parse_prompt(prompt)
    subject = main_phrase(parsed)
    noun = subject.noun if subject else None
    may_go = {*_spelled(prompt, axis)}
    if noun and (axis in noun.says or axis in noun.swap):
        may_go.add(noun.singular.split()[-1])
    gone = [word for word in lost if word not in may_go]
    if subject and set(content(parsed.words[subject.end - 1].text)) & set(gone):
        return "it loses the subject"
    a, b = bare(prompt).split(), bare(text).split()
    blocks = [code for code in SequenceMatcher(None, a, b, autojunk=False).get_opcodes() if code[0] != "equal"]
    replaced = [content(" ".join(a[i:j])) for kind, i, j, _, _ in blocks if kind == "replace"]
    if gone and (axis in catalogue() or not stated or len(gone) > 2 or len(blocks) > 1 or gone not in replaced):
        return "it loses a word of the prompt"
    return None


def _spelled(text: str, axis: str) -> list[str]:
    """The words in which a text states a value of an axis of the catalogue."""
    entry = catalogue().get(axis)
    if entry is None:
        return []
    parsed = parse_prompt(text)
    subjects = parsed.subjects(entry.about)
    found = [text[one.start : one.end] for one in statements(parsed, entry, subjects)]
    found += [parsed.words[one.end - 1].text for one in subjects if one.noun and axis in one.noun.says]
    return content(" ".join(found))


def content(text: str) -> list[str]:
    """The words of a text that say something, in the singular, without its frame ("a photo of")."""
    frame = FRAME.match(text)
    words = bare(text[frame.end() :] if frame else text).split()
    return [_singular(word) for word in words if word not in _SMALL]


def _singular(word: str) -> str:
    noun = nouns().get(word)
    return noun.singular if noun else re.sub(r"(?<=[^su]{3})s$", "", word)


def _alike(one: str, other: str) -> bool:
    """Whether two words are the same but for an ending: "Africa" and "African", "rain" and "rainy"."""
    short, long = sorted((one, other), key=len)
    return one == other or (len(short) >= 4 and long.startswith(short) and len(long) - len(short) <= 3)
