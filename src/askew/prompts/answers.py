"""Lenient parsers for answers from language models.

The parsers accept the papers' formats and tolerate common mistakes. `askew.prompts.acceptance`
checks the texts in the answers.
"""

import ast
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from askew.prompts.llm import Completion
from askew.store.foreign import MOST_LEVELS, check_limits

_SIGN = re.compile(r"""["'\\\[\]{}]""")
_SEPARATORS = re.compile(r"[, \n\r\t]*")
_MAX_STARTS = 40
"""Maximum number of opening brackets at which askew tries to start parsing an answer."""

_LONGEST = 2**19
"""Maximum length of an answer, in characters."""

_MAX_QUOTED = 60
"""Maximum number of characters that an error message quotes from an answer."""

REMARK = re.compile(
    r"(?:i'?m |i’m |i am |i can|i cannot|sorry|as an ai|sure[,! ]|here (?:is|are) |please |"
    r"as requested|certainly[,!]|of course[,!]|okay[,!])",
    re.I,
)
"""Opening words of answers that refuse the task or begin with a remark."""

_COMPLETE_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"(?=\s*[,\]])')
_ITEM = re.compile(r"^\s*(?:\d+\s*[.):]|[-•*])\s+(\S.*)$", re.M)
_STRAY = re.compile('[,;"“”„«»()\\[\\]{}<>`*]')
_TAG = r"[<\[]{}(?:think|thinking|thought|reasoning)[>\]]"
_THOUGHTS = re.compile(_TAG.format("") + rf".*?(?:{_TAG.format('/')}|\Z)", re.S | re.I)
_END_OF_THOUGHTS = re.compile(_TAG.format("/"), re.I)
_START_OF_AXES = re.compile(r'(?:\{\s*"axes"\s*:\s*)?\[\s*(?=\{)')


class UnusableAnswer(Exception):
    """Error for an answer that cannot be used. The message is the reason."""


@dataclass(frozen=True, slots=True)
class ParsedAxis:
    """An axis as a language model describes it.

    Attributes
    ----------
    name
        Name of the axis, in any spelling; "" if the model gives no name.
    kind
        Kind of axis as the model describes it, in lower case.
    counterfactuals
        Pairs (value, prompt). The value is "" if the model gives no value.
    unreadable
        Number of entries that askew cannot read.
    """

    name: str
    kind: str
    counterfactuals: tuple[tuple[str, str], ...]
    unreadable: int = 0


def text_schema(longest: int) -> dict[str, Any]:
    """Return the JSON schema for a text that has 1 to `longest` characters."""
    return {"type": "string", "minLength": 1, "maxLength": longest}


def list_schema(item: Mapping[str, Any], least: int, most: int) -> dict[str, Any]:
    """Return the JSON schema for a list that has `least` to `most` items."""
    return {"type": "array", "items": item, "minItems": least, "maxItems": most}


def object_schema(**fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON schema for an object that has exactly these fields."""
    return {
        "type": "object",
        "properties": fields,
        "required": list(fields),
        "additionalProperties": False,
    }


def read_whole(answer: Completion) -> str:
    """Return the text of an answer, without the reasoning that precedes it.

    Raises
    ------
    UnusableAnswer
        If the answer is empty, incomplete or a refusal.
    """
    text = _answer_text(answer)
    if answer.truncated:
        raise UnusableAnswer("the answer was cut off because it is too long")
    if not text:
        raise UnusableAnswer("the answer was empty")
    return text


def parse(answer: Completion) -> Any:
    """Return the longest list or object (JSON or Python) in an answer, ignoring all other text.

    Raises
    ------
    UnusableAnswer
        If the answer is a refusal or contains no complete list or object.
    """
    text = _answer_text(answer)
    value = _largest_value(text)
    if value is None:
        raise UnusableAnswer(_reason_without_value(text, answer))
    try:
        json.dumps(value, ensure_ascii=False, default=str).encode()
    except (UnicodeEncodeError, TypeError, ValueError) as error:  # an escape such as \ud83d alone
        raise UnusableAnswer("the answer contains an incomplete character") from error
    return value


def _reason_without_value(text: str, answer: Completion) -> str:
    """Return the reason why an answer contains no readable list or object."""
    if answer.truncated:
        return "the answer was cut off because it is too long"
    if not text:
        return (
            "the answer contains only reasoning" if answer.text.strip() else "the answer was empty"
        )
    if REMARK.match(text):
        return f"the answer is a remark, not JSON: {_quote(text)}"
    if max(map(text.rfind, "[{")) > max(map(text.rfind, "]}")):
        return "the JSON ends before its last bracket"
    return f"the answer is not valid JSON: {_quote(text)}"


def _quote(text: str) -> str:
    """Return the beginning of a text, in quotation marks."""
    words = " ".join(text.split())
    shortened = words if len(words) <= _MAX_QUOTED else f"{words[: _MAX_QUOTED - 1].rstrip()}…"
    return f'"{shortened}"'


def _answer_text(answer: Completion) -> str:
    if answer.refused:
        raise UnusableAnswer("the model refused to answer")
    if len(answer.text) > _LONGEST:
        raise UnusableAnswer(f"the answer is longer than {_LONGEST} characters")
    text = _THOUGHTS.sub("", answer.text)
    return _END_OF_THOUGHTS.split(text)[-1].strip()  # a chat template may have written the opening


def axes_of(answer: Completion) -> tuple[list[ParsedAxis], int]:
    """Return the axes in an answer, and the number of axes lost because the answer was cut off.

    Raises
    ------
    UnusableAnswer
        If the answer contains no axes.
    """
    complete, is_cut = _complete_items(_answer_text(answer)) if answer.truncated else ([], False)
    axes = read_axes(complete or parse(answer))
    return axes, int(is_cut)


def _complete_items(text: str) -> tuple[list[Any], bool]:
    """Return the complete objects in the list of axes, and whether an incomplete object follows."""
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
    """Return the position of the first character that is neither a comma nor whitespace."""
    separators = _SEPARATORS.match(text, position)
    return separators.end() if separators else position


def _largest_value(text: str) -> Any:
    """Return the longest list or object in a text (the first if there is a tie), or None."""
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
    """Return the end position and the content of the value at `start`; None if there is no value.

    Trailing commas are allowed.
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
    """Return the position after the bracket that closes the bracket at `start`.

    Brackets in quoted text are ignored. The position is `start` if brackets are nested too deeply.
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
    """Return the prompts in an answer, each cleaned by `tidy`.

    Parameters
    ----------
    answer
        Answer that contains a list, an object with a list, or numbered lines.

    Returns
    -------
    list[str]
        All prompts; only the complete prompts if the answer was cut off.

    Raises
    ------
    UnusableAnswer
        If the answer contains no prompts.
    """
    items = _items(answer)
    texts = []
    for item in items:
        text = next(iter(item.values()), None) if isinstance(item, Mapping) else item
        if isinstance(text, str):
            texts.append(tidy(text))
    if items and not texts:
        raise UnusableAnswer("the answer contains no list of prompts")
    return texts


def _items(answer: Completion) -> Sequence[Any]:
    """Return the items of the list that an answer contains."""
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
    """Strip list numbering, quotation marks, brackets, commas and the final period from a text."""
    numbered = re.sub(r"^\s*(?:\d+\s*[.):]|[-•])\s*", "", text)
    return " ".join(_STRAY.sub(" ", numbered).split()).rstrip(".!:").strip()


def read_axes(value: Any) -> list[ParsedAxis]:
    """Return the axes in a parsed answer.

    Parameters
    ----------
    value
        Answer in one of the forms {"axes": [...]}, [...], {axis: [prompts]} and
        {axis: {value: prompt}}.

    Returns
    -------
    list[ParsedAxis]
        The axes, in the order in which the answer lists them.

    Raises
    ------
    UnusableAnswer
        If the answer has any other form.
    """
    value = _unwrapped(value)
    if isinstance(value, Mapping) and "name" in value:
        value = [value]
    elif isinstance(value, Mapping):
        value = [{"name": name, "counterfactuals": part} for name, part in value.items()]
    if not isinstance(value, list):
        raise UnusableAnswer("the answer contains no axes")
    return [_read_axis(item) for item in value if isinstance(item, Mapping)]


def _unwrapped(value: Any) -> Any:
    """Return the content of the only field if this field contains axes; if not, return `value`."""
    if not isinstance(value, Mapping) or len(value) != 1:
        return value
    inner = next(iter(value.values()))
    if not isinstance(inner, list | dict):
        return value
    return inner if "axes" in value or _is_collection_of_axes(inner) else value


def _is_collection_of_axes(inner: list[Any] | dict[Any, Any]) -> bool:
    """Check whether `inner` is a list of named axes, or an object of only lists and objects."""
    if isinstance(inner, dict):
        return all(isinstance(part, dict | list) for part in inner.values())
    if not all(isinstance(part, dict) for part in inner):
        return False
    return any("name" in part or "axis" in part for part in inner)


def _read_axis(item: Mapping[Any, Any]) -> ParsedAxis:
    """Return the axis that an object in an answer describes."""
    names = [item.get(key) for key in ("name", "axis", "axis_name")]
    parts = [part for part in item.values() if isinstance(part, list | Mapping)]
    kind = item.get("kind", item.get("type", ""))
    counterfactuals = tuple(_read_pairs(parts[0])) if parts else ()
    return ParsedAxis(
        name=next((name for name in names if isinstance(name, str)), ""),
        kind=str(kind).lower(),
        counterfactuals=counterfactuals,
        unreadable=len(parts[0]) - len(counterfactuals) if parts else 0,
    )


def _read_pairs(part: Any) -> Iterator[tuple[str, str]]:
    """Yield each value of an axis with its prompt.

    An answer can list values and prompts in four forms.

    The forms are {value: prompt}, [{"value": …, "prompt": …}], [{value: prompt}] and [prompt].
    """
    for item in part.items() if isinstance(part, Mapping) else part:
        value, text = _read_pair(item)
        if isinstance(value, str | int | float) and isinstance(text, str):
            yield " ".join(str(value).lower().split()), " ".join(text.split())


def _read_pair(item: Any) -> tuple[Any, Any]:
    """Return the value and the prompt in an item, without checking their types."""
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
