"""What language models answer: read generously (the papers' own formats, and slips), then accepted
strictly.

Of counterfactual prompts only those one concept apart are taken, of variations only those that are
true to the prompt.
"""

import ast
import json
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

from askew.prompts.axes import catalogue
from askew.prompts.base import simplify
from askew.prompts.llm import Completion
from askew.prompts.open_details import kin, main_phrase, themes
from askew.prompts.statements import FRAME, find_statements, parse_prompt, stated_values, states
from askew.prompts.vocabulary import nouns

_STARTS = 40
"""Brackets at which a value may begin, before an answer is given up."""

_COMPLETE_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"(?=\s*[,\]])')
_ITEM = re.compile(r"^\s*(?:\d+\s*[.):]|[-•*])\s+(\S.*)$", re.M)
_STRAY = re.compile('[,;"“”„«»()\\[\\]{}<>`*]')


class UnusableAnswer(Exception):
    """An answer cannot be used; the message says why."""


@dataclass(frozen=True, slots=True)
class ParsedAxis:
    """An axis as a model wrote it: name, kind in any words, counterfactuals as (value, prompt), ""
    for no value.
    """

    name: str
    kind: str
    counterfactuals: tuple[tuple[str, str], ...]


def a_text(longest: int) -> dict[str, Any]:
    """The JSON schema of a text that is not empty and not endless."""
    return {"type": "string", "minLength": 1, "maxLength": longest}


def a_list(item: Mapping[str, Any], least: int, most: int) -> dict[str, Any]:
    """That of a list."""
    return {"type": "array", "items": item, "minItems": least, "maxItems": most}


def an_object(**fields: Mapping[str, Any]) -> dict[str, Any]:
    """That of an object with all of these fields and no other."""
    return {
        "type": "object",
        "properties": fields,
        "required": list(fields),
        "additionalProperties": False,
    }


def whole(answer: Completion) -> str:
    """The words of an answer, without what a model thought before. Raises Unusable if refused, cut
    off or empty.
    """
    text = _said(answer)
    if answer.truncated:
        raise UnusableAnswer("it was cut off because it is too long")
    if not text:
        raise UnusableAnswer("it was empty")
    return text


def parse(answer: Completion) -> Any:
    """The largest JSON or Python value in an answer, whatever stands around it. Raises Unusable."""
    text = _said(answer)
    best: tuple[int, Any] = (0, None)
    end = 0
    for start in [found.start() for found in re.finditer(r"[\[{]", text)][:_STARTS]:
        if start >= end and (found := _value_at(text, start)):
            end = found[0]
            best = max(best, (end - start, found[1]), key=lambda one: one[0])
    if not best[0]:
        raise UnusableAnswer(
            "it was cut off because it is too long" if answer.truncated else "it is not valid JSON"
        )
    try:
        json.dumps(best[1], ensure_ascii=False, default=str).encode()
    except (UnicodeEncodeError, TypeError, ValueError) as error:  # an escape such as \ud83d alone
        raise UnusableAnswer("it holds half of a character") from error
    return best[1]


def _said(answer: Completion) -> str:
    if answer.refused:
        raise UnusableAnswer("it was refused")
    return re.sub(r"<think>.*?(</think>|\Z)", "", answer.text, flags=re.S).strip()


def _value_at(text: str, start: int) -> tuple[int, Any] | None:
    """Where the value that begins at `start` ends, and the value; None if it is none. Trailing
    commas are forgiven.
    """
    try:
        value, end = json.JSONDecoder(strict=False).raw_decode(text, start)
        return end, value
    except (ValueError, RecursionError):
        depth = 0
        quote = ""
        end = start
    while end < len(text):  # to its own closing bracket, outside of quotation marks
        sign = text[end]
        if quote:
            end += sign == "\\"
            quote = "" if sign == quote else quote
        elif sign in "\"'" and not text[end - 1].isalnum():  # no apostrophe
            quote = sign
        depth += 0 if quote else (sign in "[{") - (sign in "]}")
        end += 1
        if depth == 0:
            break
    part = re.sub(r",(\s*[\]}])", r"\1", text[start:end])
    for read in (json.loads, ast.literal_eval):
        try:
            value = read(part)
            return (end, value) if isinstance(value, list | dict) else None
        except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
            continue
    return None


def read_texts(answer: Completion) -> list[str]:
    """The texts in an answer, tidied: of a list, of an object with one, of numbered lines; of a cut
    one the complete.

    Raises Unusable.
    """
    try:
        value = parse(answer)
    except UnusableAnswer:
        value = (_COMPLETE_STRING if answer.truncated else _ITEM).findall(answer.text)
        if answer.refused or not value:
            raise
    if isinstance(value, Mapping):
        lists = [part for part in value.values() if isinstance(part, list)]
        value = lists[0] if lists else list(value.values())
    value = [next(iter(one.values()), None) if isinstance(one, Mapping) else one for one in value]
    texts = [tidy(text) for text in value if isinstance(text, str)]
    if not texts and value:
        raise UnusableAnswer("it holds no list of prompts")
    return texts


def tidy(text: str) -> str:
    """A text without numbering, quotation marks, brackets, commas and a full stop at its end."""
    numbered = re.sub(r"^\s*(?:\d+\s*[.):]|[-•])\s*", "", text)
    return " ".join(_STRAY.sub(" ", numbered).split()).rstrip(".!:").strip()


def read_axes(value: Any) -> list[ParsedAxis]:
    """The axes in an answer: {"axes": [...]}, a list, {axis: [prompts]} or {axis: {value: prompt}}.
    Raises Unusable.
    """
    if (
        isinstance(value, Mapping)
        and len(value) == 1
        and isinstance(next(iter(value.values())), list | dict)
    ):
        inner = next(iter(value.values()))
        parts = inner.values() if isinstance(inner, dict) else inner
        nested = all(
            isinstance(one, dict if isinstance(inner, list) else dict | list) for one in parts
        )
        named = isinstance(inner, dict) or any(
            "name" in one or "axis" in one for one in inner if isinstance(one, dict)
        )
        value = inner if "axes" in value or (nested and named) else value
    if isinstance(value, Mapping):
        each = [{"name": name, "counterfactuals": part} for name, part in value.items()]
        value = [value] if "name" in value else each
    if not isinstance(value, list):
        raise UnusableAnswer("it holds no axes")
    axes = []
    for one in [one for one in value if isinstance(one, Mapping)]:
        name = next(
            (one[key] for key in ("name", "axis", "axis_name") if isinstance(one.get(key), str)), ""
        )
        listed = [part for key, part in one.items() if isinstance(part, list | Mapping)]
        kind = one.get("kind", one.get("type", ""))
        axes.append(ParsedAxis(name, str(kind).lower(), tuple(_pairs(listed[0])) if listed else ()))
    return axes


def _pairs(part: Any) -> Iterator[tuple[str, str]]:
    """(value, prompt) of {value: prompt}, of [{"value": …, "prompt": …}], of [{value: prompt}], of
    [prompt].
    """
    for one in part.items() if isinstance(part, Mapping) else part:
        if isinstance(one, Mapping):
            words = [word for word in one.values() if isinstance(word, str)]
            named = isinstance(one.get("prompt"), str)
            text = one["prompt"] if named else words[-1] if words else ""
            value = (
                one.get("value", "")
                if named
                else words[0]
                if len(words) > 1
                else next(iter(one), "")
            )
        else:
            value, text = one if isinstance(one, tuple | list) and len(one) == 2 else ("", one)
        if isinstance(value, str | int | float) and isinstance(text, str):
            yield " ".join(str(value).lower().split()), " ".join(text.split())


MOST_ADDED = 5
"""Words that a counterfactual prompt may have more than its prompt and its value."""

_SMALL = frozenset(
    "of in on at by for with to and or from into who which that is are was were has have his her their its this some "
    "while wearing working being as photo picture image portrait person people someone".split()
)
_CHATTER = re.compile(
    r"(?:i'?m |i am |i can|i cannot|sorry|as an ai|sure[,! ]|here (?:is|are) )|.*(?:\?|\byours?\b|\byou\b)",
    re.I,
)


def prompt_fault(text: str) -> str | None:
    """What shows that a text is no prompt: a question, somebody addressed, a word said three times;
    None if nothing.
    """
    words = simplify(text).split()
    if _CHATTER.match(text):
        return "a text was no prompt but a remark or a question"
    if max(Counter(word for word in words if word not in _SMALL).values(), default=0) >= 3:
        return "a text said a word three times"
    return None


def variation_fault(prompt: str, text: str) -> str | None:
    """What is wrong with a variation: no prompt, or a word of the prompt, or one near it in
    WordNet, is not in it.
    """

    def is_kin(one: str, other: str) -> bool:
        return _alike(one, other) or any(
            a in nouns() and b in kin(nouns()[a]) for a, b in ((one, other), (other, one))
        )

    said = content(text)
    lost = [word for word in content(prompt) if not any(is_kin(word, other) for other in said)]
    return prompt_fault(text) or (f"a text lost {lost[0]!r}" if lost else None)


def counterfactual_fault(
    prompt: str, axis: str, value: str, text: str, values: Sequence[str], stated: bool = False
) -> str | None:
    """What is wrong with a counterfactual prompt that should state one of `values`; None if
    nothing.

    It must say its value and no other of its axis, keep the subject unless the axis changes it,
    change one thing, and stay short. A value of an axis that may be `stated` by the prompt may take
    the place of other words.
    """
    if simplify(text) == simplify(prompt):
        return "it repeats the prompt"
    words = [_singular(word) for word in simplify(text).split()]
    entry = catalogue().get(axis)
    known = stated_values(text, axis) if axis in catalogue() else set()
    said = {
        one
        for one in (value, *values, *(entry.axis.values if entry else ()))
        if one in known or all(any(_alike(a, b) for b in words) for a in content(one) or [one])
    }
    if value not in said:
        return "it does not say its value"
    if [other for other in said if other != value and not set(other.split()) < set(value.split())]:
        return "it says another value, too"
    before = Counter(content(prompt))
    after = Counter(content(text))
    own = [*content(f"{value} {axis.replace('_', ' ')}"), *_spelled(text, axis)]
    extra = [
        word
        for word in (after - before).elements()
        if not any(_alike(word, other) for other in own)
    ]
    fault = _lost_fault(prompt, text, axis, list((before - after).elements()), stated)
    if fault:
        return fault
    if len(extra) > 2 or len(text.split()) > len(prompt.split()) + len(value.split()) + MOST_ADDED:
        return "it adds more than its value"
    rest = " ".join(
        word for word in text.split() if not any(_alike(a, b) for a in content(word) for b in own)
    )
    subject = main_phrase(parse_prompt(prompt))
    kinds = {"any", subject.noun.kind if subject and subject.noun else "person"}
    for other, others in catalogue().items():
        may = not others.subject_kinds & kinds or other == axis or themes(other) & themes(axis)
        if not may and states(rest, other) and not states(prompt, other):
            return f"it says something of {other.replace('_', ' ')}, too"
    return prompt_fault(text)


def _lost_fault(
    prompt: str, text: str, axis: str, lost: Collection[str], stated: bool
) -> str | None:
    """What is wrong with the words that a counterfactual prompt has no more: only what the axis is
    about may go.
    """
    parsed = parse_prompt(prompt)
    subject = main_phrase(parsed)
    may_go = {*_spelled(prompt, axis)}
    if (
        subject
        and subject.noun
        and (axis in subject.noun.implies or axis in subject.noun.counterparts)
    ):
        may_go.add(subject.noun.singular.split()[-1])
    gone = [word for word in lost if word not in may_go]
    if subject and set(content(parsed.words[subject.end - 1].text)) & set(gone):
        return "it loses the subject"
    a = simplify(prompt).split()
    b = simplify(text).split()
    blocks = [
        code
        for code in SequenceMatcher(None, a, b, autojunk=False).get_opcodes()
        if code[0] != "equal"
    ]
    replaced = [content(" ".join(a[i:j])) for kind, i, j, _, _ in blocks if kind == "replace"]
    if gone and (
        axis in catalogue()
        or not stated
        or len(gone) > 2
        or len(blocks) > 1
        or gone not in replaced
    ):
        return "it loses a word of the prompt"
    return None


def _spelled(text: str, axis: str) -> list[str]:
    """The words in which a text states a value of an axis of the catalogue."""
    entry = catalogue().get(axis)
    if entry is None:
        return []
    parsed = parse_prompt(text)
    subjects = parsed.subjects(entry.subject_kinds)
    found = [text[one.start : one.end] for one in find_statements(parsed, entry, subjects)]
    found += [
        parsed.words[one.end - 1].text for one in subjects if one.noun and axis in one.noun.implies
    ]
    return content(" ".join(found))


def content(text: str) -> list[str]:
    """The words of a text that say something, in the singular, without its frame ("a photo of")."""
    frame = FRAME.match(text)
    words = simplify(text[frame.end() :] if frame else text).split()
    return [_singular(word) for word in words if word not in _SMALL]


def _singular(word: str) -> str:
    return nouns()[word].singular if word in nouns() else re.sub(r"(?<=[^su]{3})s$", "", word)


def _alike(one: str, other: str) -> bool:
    """Whether two words are the same but for an ending: "Africa" and "African", "rain" and "rainy"."""
    short, long = sorted((one, other), key=len)
    return one == other or (
        len(short) >= 4 and long.startswith(short) and len(long) - len(short) <= 3
    )
