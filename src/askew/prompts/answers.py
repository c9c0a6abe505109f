"""Answers of language models: parsed leniently, then checked strictly.

The parser accepts the papers' formats and common mistakes. A counterfactual prompt is accepted only
if it changes one concept, and a variation only if it keeps everything in the prompt.
"""

import ast
import json
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import islice
from typing import Any, NamedTuple

from askew.prompts.axes import catalogue
from askew.prompts.base import simplify
from askew.prompts.llm import Completion
from askew.prompts.open_details import kin, main_phrase, themes
from askew.prompts.statements import (
    FRAME,
    NounPhrase,
    find_statements,
    parse_prompt,
    stated_values,
    states,
)
from askew.prompts.vocabulary import nouns
from askew.store.foreign import MOST_LEVELS, check_limits

_SIGN = re.compile(r"""["'\\\[\]{}]""")
_SEPARATORS = re.compile(r"[, \n\r\t]*")
_MAX_STARTS = 40
"""Number of opening brackets that are tried before an answer is rejected."""

_LONGEST = 2**19
"""Largest number of characters of an answer."""

_COMPLETE_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"(?=\s*[,\]])')
_ITEM = re.compile(r"^\s*(?:\d+\s*[.):]|[-•*])\s+(\S.*)$", re.M)
_STRAY = re.compile('[,;"“”„«»()\\[\\]{}<>`*]')
_TAG = r"[<\[]{}(?:think|thinking|thought|reasoning)[>\]]"
_THOUGHTS = re.compile(_TAG.format("") + rf".*?(?:{_TAG.format('/')}|\Z)", re.S | re.I)
_END_OF_THOUGHTS = re.compile(_TAG.format("/"), re.I)
_START_OF_AXES = re.compile(r'(?:\{\s*"axes"\s*:\s*)?\[\s*(?=\{)')


class UnusableAnswer(Exception):
    """An answer that cannot be used; the message is the reason."""


@dataclass(frozen=True, slots=True)
class ParsedAxis:
    """An axis as a language model wrote it.

    Attributes
    ----------
    name
        Name in any spelling; "" for none.
    kind
        Kind in any wording, in lower case.
    counterfactuals
        Pairs of a value and a prompt; the value is "" if the model names none.
    """

    name: str
    kind: str
    counterfactuals: tuple[tuple[str, str], ...]


def text_schema(longest: int) -> dict[str, Any]:
    """Return the JSON schema of a text of 1 to `longest` characters."""
    return {"type": "string", "minLength": 1, "maxLength": longest}


def list_schema(item: Mapping[str, Any], least: int, most: int) -> dict[str, Any]:
    """Return the JSON schema of a list of `least` to `most` items."""
    return {"type": "array", "items": item, "minItems": least, "maxItems": most}


def object_schema(**fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON schema of an object with exactly these fields."""
    return {
        "type": "object",
        "properties": fields,
        "required": list(fields),
        "additionalProperties": False,
    }


def read_whole(answer: Completion) -> str:
    """Return the text of an answer, without the reasoning of a model before it.

    Raises
    ------
    UnusableAnswer
        For an answer that is refused, cut off or empty.
    """
    text = _answer_text(answer)
    if answer.truncated:
        raise UnusableAnswer("it was cut off because it is too long")
    if not text:
        raise UnusableAnswer("it was empty")
    return text


def parse(answer: Completion) -> Any:
    """Return the largest JSON or Python value in an answer, ignoring the text around it.

    Raises
    ------
    UnusableAnswer
        For an answer that is refused, or contains no complete value.
    """
    value = _largest_value(_answer_text(answer))
    if value is None:
        reason = "it is not valid JSON"
        if answer.truncated:
            reason = "it was cut off because it is too long"
        raise UnusableAnswer(reason)
    try:
        json.dumps(value, ensure_ascii=False, default=str).encode()
    except (UnicodeEncodeError, TypeError, ValueError) as error:  # an escape such as \ud83d alone
        raise UnusableAnswer("it contains an incomplete character") from error
    return value


def _answer_text(answer: Completion) -> str:
    if answer.refused:
        raise UnusableAnswer("it was refused")
    if len(answer.text) > _LONGEST:
        raise UnusableAnswer(f"it is longer than {_LONGEST} characters")
    text = _THOUGHTS.sub("", answer.text)
    return _END_OF_THOUGHTS.split(text)[-1].strip()  # a chat template may have written the opening


def axes_of(answer: Completion) -> tuple[list[ParsedAxis], int]:
    """Return the axes in an answer, and the number of axes that it lost because it was cut off.

    Raises
    ------
    UnusableAnswer
        For an answer without axes.
    """
    complete, is_cut = _complete_items(_answer_text(answer)) if answer.truncated else ([], False)
    axes = read_axes(complete or parse(answer))
    return axes, int(is_cut)


def _complete_items(text: str) -> tuple[list[Any], bool]:
    """Return the complete objects of the list of axes in a text, and whether another one begins."""
    items: list[Any] = []
    start = _START_OF_AXES.search(text)
    if start is None:
        return items, False
    position = start.end()
    while text[position : position + 1] == "{":
        parsed = _value_at(text, position)
        if parsed is None:
            return items, True
        position, item = parsed
        items.append(item)
        position = _end_of_separators(text, position)
    return items, False


def _end_of_separators(text: str, position: int) -> int:
    """Return the position of the first character that is neither a comma nor a space."""
    separators = _SEPARATORS.match(text, position)
    return separators.end() if separators else position


def _largest_value(text: str) -> Any:
    """Return the longest list or object in a text, or None; ties are resolved by order."""
    largest: Any = None
    largest_size = 0
    end = 0
    for match in islice(re.finditer(r"[\[{]", text), _MAX_STARTS):
        start = match.start()
        parsed = _value_at(text, start) if start >= end else None
        if parsed is None:
            continue
        end, value = parsed
        if end - start > largest_size:
            largest = value
            largest_size = end - start
    return largest


def _value_at(text: str, start: int) -> tuple[int, Any] | None:
    """Return the end of the value at `start`, and the value; None if there is no value.

    Trailing commas are accepted.
    """
    try:
        value, end = json.JSONDecoder(strict=False).raw_decode(text, start)
        check_limits(value)
    except (ValueError, RecursionError):
        end = _bracket_end(text, start)
    else:
        return end, value
    part = re.sub(r",(\s*[\]}])", r"\1", text[start:end])
    for read in (json.loads, ast.literal_eval):
        try:
            value = read(part)
            check_limits(value)
        except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
            continue
        return (end, value) if isinstance(value, list | dict) else None
    return None


def _bracket_end(text: str, start: int) -> int:
    """Return the position after the bracket that closes the bracket at `start`, ignoring quoted text.

    It is `start` if too many brackets are open.
    """
    depth = 0
    quote = ""
    escaped = -1
    for match in _SIGN.finditer(text, start):
        position = match.start()
        sign = match[0]
        if position == escaped:
            continue
        if quote:
            if sign == "\\":
                escaped = position + 1
            if sign == quote:
                quote = ""
        elif sign in "\"'" and not text[position - 1].isalnum():  # not an apostrophe
            quote = sign
        depth += 0 if quote else _depth_change(sign)
        if depth > MOST_LEVELS:
            return start
        if depth == 0:
            return position + 1
    return len(text)


def _depth_change(sign: str) -> int:
    if sign in "[{":
        return 1
    return -1 if sign in "]}" else 0


def read_texts(answer: Completion) -> list[str]:
    """Return the tidied texts in an answer.

    Parameters
    ----------
    answer
        A list, an object with a list, or numbered lines.

    Returns
    -------
    list[str]
        All texts; if the answer is cut off, only complete texts.

    Raises
    ------
    UnusableAnswer
        For an answer without texts.
    """
    items = _items(answer)
    texts = []
    for item in items:
        text = next(iter(item.values()), None) if isinstance(item, Mapping) else item
        if isinstance(text, str):
            texts.append(tidy(text))
    if items and not texts:
        raise UnusableAnswer("it contains no list of prompts")
    return texts


def _items(answer: Completion) -> Sequence[Any]:
    """Return the items of the list in an answer."""
    try:
        value = parse(answer)
    except UnusableAnswer:
        pattern = _COMPLETE_STRING if answer.truncated else _ITEM
        value = pattern.findall(_answer_text(answer) if not answer.refused else "")
        if answer.refused or not value:
            raise
    if not isinstance(value, Mapping):
        return list(value)
    lists = [part for part in value.values() if isinstance(part, list)]
    return lists[0] if lists else list(value.values())


def tidy(text: str) -> str:
    """Return a text without numbering, quotes, brackets, commas and a full stop at its end."""
    numbered = re.sub(r"^\s*(?:\d+\s*[.):]|[-•])\s*", "", text)
    return " ".join(_STRAY.sub(" ", numbered).split()).rstrip(".!:").strip()


def read_axes(value: Any) -> list[ParsedAxis]:
    """Return the axes in a parsed answer.

    Parameters
    ----------
    value
        {"axes": [...]}, a list, {axis: [prompts]} or {axis: {value: prompt}}.

    Returns
    -------
    list[ParsedAxis]
        The axes, in the order of the answer.

    Raises
    ------
    UnusableAnswer
        For a value in any other form.
    """
    value = _unwrapped(value)
    if isinstance(value, Mapping) and "name" in value:
        value = [value]
    elif isinstance(value, Mapping):
        value = [{"name": name, "counterfactuals": part} for name, part in value.items()]
    if not isinstance(value, list):
        raise UnusableAnswer("it contains no axes")
    return [_read_axis(item) for item in value if isinstance(item, Mapping)]


def _unwrapped(value: Any) -> Any:
    """Return the content of an object with a single field if it is a collection of axes."""
    if not isinstance(value, Mapping) or len(value) != 1:
        return value
    inner = next(iter(value.values()))
    if not isinstance(inner, list | dict):
        return value
    return inner if "axes" in value or _is_collection_of_axes(inner) else value


def _is_collection_of_axes(inner: list[Any] | dict[Any, Any]) -> bool:
    """Check whether a list contains named axes, or an object contains parts of axes."""
    if isinstance(inner, dict):
        return all(isinstance(part, dict | list) for part in inner.values())
    if not all(isinstance(part, dict) for part in inner):
        return False
    return any("name" in part or "axis" in part for part in inner)


def _read_axis(item: Mapping[Any, Any]) -> ParsedAxis:
    """Return the axis of an object."""
    names = [item.get(key) for key in ("name", "axis", "axis_name")]
    parts = [part for part in item.values() if isinstance(part, list | Mapping)]
    kind = item.get("kind", item.get("type", ""))
    return ParsedAxis(
        name=next((name for name in names if isinstance(name, str)), ""),
        kind=str(kind).lower(),
        counterfactuals=tuple(_read_pairs(parts[0])) if parts else (),
    )


def _read_pairs(part: Any) -> Iterator[tuple[str, str]]:
    """Yield (value, prompt) of counterfactual prompts in any of four forms.

    The forms are {value: prompt}, [{"value": …, "prompt": …}], [{value: prompt}] and [prompt].
    """
    for item in part.items() if isinstance(part, Mapping) else part:
        value, text = _read_pair(item)
        if isinstance(value, str | int | float) and isinstance(text, str):
            yield " ".join(str(value).lower().split()), " ".join(text.split())


def _read_pair(item: Any) -> tuple[Any, Any]:
    """Return the value and the prompt of an item, unchecked."""
    if not isinstance(item, Mapping):
        if isinstance(item, tuple | list) and len(item) == 2:
            return item[0], item[1]
        return "", item
    if isinstance(item.get("prompt"), str):
        return item.get("value", ""), item["prompt"]
    words = [word for word in item.values() if isinstance(word, str)]
    if len(words) > 1:
        return words[0], words[-1]
    return next(iter(item), ""), words[0] if words else ""


MAX_ADDED_WORDS = 5
"""Words that a counterfactual prompt may have in addition to its prompt and its value."""

_SMALL_WORDS = frozenset(
    "of in on at by for with to and or from into who which that is are was were has have his her "
    "their its this some while wearing working being as photo picture image portrait person people "
    "someone".split()
)
_CHATTER = re.compile(
    r"(?:i'?m |i am |i can|i cannot|sorry|as an ai|sure[,! ]|here (?:is|are) )"
    r"|.*(?:\?|\byours?\b|\byou\b)",
    re.I,
)


def prompt_fault(text: str) -> str | None:
    """Return the reason why a text is not a prompt; None if it can be one.

    Questions, texts that address the reader, and texts that repeat a word three times are not
    prompts.
    """
    words = simplify(text).split()
    if _CHATTER.match(text):
        return "a text was a remark or a question, not a prompt"
    counts = Counter(word for word in words if word not in _SMALL_WORDS)
    if max(counts.values(), default=0) >= 3:
        return "a text repeated a word three times"
    return None


def variation_fault(prompt: str, text: str) -> str | None:
    """Return the reason why a text is not a variation of a prompt; None if it is one.

    A variation keeps each word of the prompt, or replaces it by a related word in WordNet.
    """
    words = key_words(text)
    lost = [word for word in key_words(prompt) if not _is_kin_of_any(word, words)]
    fault = prompt_fault(text)
    if fault is None and lost:
        fault = f"a text lost {lost[0]!r}"
    return fault


def _is_kin_of_any(word: str, others: Collection[str]) -> bool:
    return any(_is_kin(word, other) for other in others)


def _is_kin(first: str, second: str) -> bool:
    """Check whether two words are alike, or closely related in WordNet."""
    table = nouns()
    return (
        _is_alike(first, second)
        or (first in table and second in kin(table[first]))
        or (second in table and first in kin(table[second]))
    )


class WordChanges(NamedTuple):
    """The key words that a text has lost and gained in comparison with its prompt."""

    lost: list[str]
    gained: list[str]

    @classmethod
    def between(cls, prompt: str, text: str) -> "WordChanges":
        """Return the changes from a prompt to a text."""
        before = Counter(key_words(prompt))
        after = Counter(key_words(text))
        return cls(lost=list((before - after).elements()), gained=list((after - before).elements()))


def counterfactual_fault(
    prompt: str,
    axis: str,
    value: str,
    text: str,
    values: Sequence[str],
    *,
    stated: bool = False,
) -> str | None:
    """Return the reason why a counterfactual prompt is not accepted; None if it is.

    It must state its value and no other value of its axis. It must keep the subject unless the axis
    changes it, change one thing, and stay short.

    Parameters
    ----------
    prompt
        Original prompt.
    axis
        Name of the axis, of the catalogue or any other.
    value
        Value that the text should state.
    text
        Counterfactual prompt.
    values
        All values of the axis.
    stated
        Whether the prompt may state a value of the axis, so that the value replaces other words.

    Returns
    -------
    str or None
        The reason, as a part of a sentence.
    """
    if simplify(text) == simplify(prompt):
        return "it repeats the prompt"
    changes = WordChanges.between(prompt, text)
    return (
        _value_fault(axis, value, text, values)
        or _lost_fault(prompt, text, axis, changes.lost, stated=stated)
        or _added_fault(prompt, axis, value, text, changes.gained)
        or prompt_fault(text)
    )


def _value_fault(axis: str, value: str, text: str, values: Sequence[str]) -> str | None:
    """Return the fault of a text that does not state its value, or that states another value."""
    stated = _values_in(axis, text, (value, *values))
    if value not in stated:
        return "it does not state its value"
    part_of_value = [other for other in stated if set(other.split()) < set(value.split())]
    if stated - {value, *part_of_value}:
        return "it states another value, too"
    return None


def _values_in(axis: str, text: str, values: Sequence[str]) -> set[str]:
    """Return the values that a text states, of the given values and the catalogue's axis."""
    entry = catalogue().get(axis)
    stated = set[str]()
    if entry:
        values = (*values, *entry.axis.values)
        stated = stated_values(text, axis)
    words = [_singular(word) for word in simplify(text).split()]
    return {value for value in values if value in stated or _contains_words(words, value)}


def _contains_words(words: Sequence[str], value: str) -> bool:
    """Check whether all words of a value are among the words of a text."""
    for needed in key_words(value) or [value]:
        if not any(_is_alike(needed, word) for word in words):
            return False
    return True


def _added_fault(
    prompt: str, axis: str, value: str, text: str, gained: Collection[str]
) -> str | None:
    """Return the fault of a text that adds more than its value."""
    value_words = [*key_words(f"{value} {axis.replace('_', ' ')}"), *_axis_words(text, axis)]
    extra = [word for word in gained if not _is_alike_any(word, value_words)]
    longest = len(prompt.split()) + len(value.split()) + MAX_ADDED_WORDS
    if len(extra) > 2 or len(text.split()) > longest:
        return "it adds more than its value"
    other_words = [word for word in text.split() if not _shares_word(word, value_words)]
    other_axis = _other_axis_stated(prompt, axis, " ".join(other_words))
    if other_axis:
        return f"it states something about {other_axis.replace('_', ' ')}, too"
    return None


def _shares_word(text: str, words: Collection[str]) -> bool:
    """Check whether a key word of a text is like any of these words."""
    return any(_is_alike_any(word, words) for word in key_words(text))


def _other_axis_stated(prompt: str, axis: str, text: str) -> str | None:
    """Return the name of another axis that a text states but the prompt does not."""
    subject = main_phrase(parse_prompt(prompt))
    kinds = {"any", subject.noun.kind if subject and subject.noun else "person"}
    for name, entry in catalogue().items():
        is_related = name == axis or not themes(name).isdisjoint(themes(axis))
        if is_related or entry.subject_kinds.isdisjoint(kinds):
            continue
        if states(text, name) and not states(prompt, name):
            return name
    return None


def _lost_fault(
    prompt: str, text: str, axis: str, lost: Collection[str], *, stated: bool
) -> str | None:
    """Return the fault of a text that lacks words of the prompt that are unrelated to the axis."""
    parsed = parse_prompt(prompt)
    subject = main_phrase(parsed)
    replaceable = {*_axis_words(prompt, axis), *_replaceable_noun(subject, axis)}
    missing = [word for word in lost if word not in replaceable]
    if subject and not set(key_words(parsed.words[subject.end - 1].text)).isdisjoint(missing):
        return "it loses the subject"
    if not missing:
        return None
    is_exchange = axis not in catalogue() and stated and _is_one_exchange(prompt, text, missing)
    return None if is_exchange else "it loses a word of the prompt"


def _replaceable_noun(subject: NounPhrase | None, axis: str) -> list[str]:
    """Return the last word of the subject's noun, if the axis changes the noun."""
    noun = subject.noun if subject else None
    if noun is None or not (axis in noun.implies or axis in noun.counterparts):
        return []
    return [noun.singular.split()[-1]]


def _is_one_exchange(prompt: str, text: str, missing: list[str]) -> bool:
    """Check whether a text differs from the prompt by a single replacement of at most two key words."""
    before = simplify(prompt).split()
    after = simplify(text).split()
    codes = SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    changes = [code for code in codes if code[0] != "equal"]
    if len(missing) > 2 or len(changes) != 1:
        return False
    operation, start, end, _, _ = changes[0]
    return operation == "replace" and key_words(" ".join(before[start:end])) == missing


def _axis_words(text: str, axis: str) -> list[str]:
    """Return the key words of a text that state a value of an axis of the catalogue."""
    entry = catalogue().get(axis)
    if entry is None:
        return []
    parsed = parse_prompt(text)
    subjects = parsed.subjects(entry.subject_kinds)
    statements = find_statements(parsed, entry, subjects)
    parts = [text[statement.start : statement.end] for statement in statements]
    parts += [
        parsed.words[phrase.end - 1].text
        for phrase in subjects
        if phrase.noun and axis in phrase.noun.implies
    ]
    return key_words(" ".join(parts))


def key_words(text: str) -> list[str]:
    """Return the words that carry meaning, in the singular, without the frame ("a photo of")."""
    frame = FRAME.match(text)
    words = simplify(text[frame.end() :] if frame else text).split()
    return [_singular(word) for word in words if word not in _SMALL_WORDS]


def _singular(word: str) -> str:
    if word in nouns():
        return nouns()[word].singular
    return re.sub(r"(?<=[^su]{3})s$", "", word)


def _is_alike_any(word: str, others: Collection[str]) -> bool:
    return any(_is_alike(word, other) for other in others)


def _is_alike(first: str, second: str) -> bool:
    """Check for words that are equal except for an ending: "Africa" and "African", "rain" and "rainy"."""
    short, long = sorted((first, second), key=len)
    if first == second:
        return True
    return len(short) >= 4 and long.startswith(short) and len(long) - len(short) <= 3
