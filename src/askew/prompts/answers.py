"""What language models answer, read generously: the papers' own formats, and the slips that models make."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from askew.prompts.llm import Completion

_STARTS = 40
"""Brackets at which a value may begin, before an answer is given up."""

_COMPLETE_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"(?=\s*[,\]])')
_ITEM = re.compile(r"^\s*(?:\d+\s*[.):]|[-•*])\s+(\S.*)$", re.M)
_STRAY = re.compile('[,;"“”„«»()\\[\\]{}<>`*]')


class Unusable(Exception):
    """An answer cannot be used; the message says why."""


@dataclass(frozen=True, slots=True)
class ReadAxis:
    """An axis as a model wrote it: name, kind in any words, counterfactuals as (value, prompt), "" for no value."""

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
    return {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}


def whole(answer: Completion) -> str:
    """The words of an answer, without what a model thought before. Raises Unusable if refused, cut off or empty."""
    text = _said(answer)
    if answer.truncated:
        raise Unusable("it was cut off because it is too long")
    if not text:
        raise Unusable("it was empty")
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
        raise Unusable("it was cut off because it is too long" if answer.truncated else "it is not valid JSON")
    try:
        json.dumps(best[1], ensure_ascii=False, default=str).encode()
    except (UnicodeEncodeError, TypeError, ValueError) as error:  # an escape such as \ud83d alone
        raise Unusable("it holds half of a character") from error
    return best[1]


def _said(answer: Completion) -> str:
    if answer.refused:
        raise Unusable("it was refused")
    return re.sub(r"<think>.*?(</think>|\Z)", "", answer.text, flags=re.S).strip()


def _value_at(text: str, start: int) -> tuple[int, Any] | None:
    """Where the value that begins at `start` ends, and the value; None if it is none. Trailing commas are forgiven."""
    try:
        value, end = json.JSONDecoder(strict=False).raw_decode(text, start)
        return end, value
    except (ValueError, RecursionError):
        depth, quote, end = 0, "", start
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
    """The texts in an answer, tidied: of a list, of an object with one, of numbered lines; of a cut one the complete.

    Raises Unusable.
    """
    try:
        value = parse(answer)
    except Unusable:
        complete = _COMPLETE_STRING.findall(answer.text) if answer.truncated else _ITEM.findall(answer.text)
        if answer.refused or not complete:
            raise
        value = complete
    if isinstance(value, Mapping):
        lists = [part for part in value.values() if isinstance(part, list)]
        value = lists[0] if lists else list(value.values())
    value = [next(iter(one.values()), None) if isinstance(one, Mapping) else one for one in value]
    texts = [tidy(text) for text in value if isinstance(text, str)]
    if not texts and value:
        raise Unusable("it holds no list of prompts")
    return texts


def tidy(text: str) -> str:
    """A text without numbering, quotation marks, brackets, commas and a full stop at its end."""
    numbered = re.sub(r"^\s*(?:\d+\s*[.):]|[-•])\s*", "", text)
    return " ".join(_STRAY.sub(" ", numbered).split()).rstrip(".!:").strip()


def read_axes(value: Any) -> list[ReadAxis]:
    """The axes in an answer: {"axes": [...]}, a list, {axis: [prompts]} or {axis: {value: prompt}}. Raises Unusable."""
    if isinstance(value, Mapping) and len(value) == 1 and isinstance(next(iter(value.values())), list | dict):
        inner = next(iter(value.values()))
        parts = inner.values() if isinstance(inner, dict) else inner
        nested = all(isinstance(one, dict if isinstance(inner, list) else dict | list) for one in parts)
        named = isinstance(inner, dict) or any("name" in one or "axis" in one for one in inner if isinstance(one, dict))
        value = inner if "axes" in value or (nested and named) else value
    if isinstance(value, Mapping):
        value = (
            [value] if "name" in value else [{"name": name, "counterfactuals": part} for name, part in value.items()]
        )
    if not isinstance(value, list):
        raise Unusable("it holds no axes")
    axes = []
    for one in [one for one in value if isinstance(one, Mapping)]:
        name = next((one[key] for key in ("name", "axis", "axis_name") if isinstance(one.get(key), str)), "")
        listed = [part for key, part in one.items() if isinstance(part, list | Mapping)]
        kind = one.get("kind", one.get("type", ""))
        axes.append(ReadAxis(name, str(kind).lower(), tuple(_pairs(listed[0])) if listed else ()))
    return axes


def _pairs(part: Any) -> Iterator[tuple[str, str]]:
    """(value, prompt) of {value: prompt}, of [{"value": …, "prompt": …}], of [{value: prompt}], of [prompt]."""
    for one in part.items() if isinstance(part, Mapping) else part:
        if isinstance(one, Mapping):
            words = [word for word in one.values() if isinstance(word, str)]
            named = isinstance(one.get("prompt"), str)
            text = one["prompt"] if named else words[-1] if words else ""
            value = one.get("value", "") if named else words[0] if len(words) > 1 else next(iter(one), "")
        else:
            value, text = one if isinstance(one, tuple | list) and len(one) == 2 else ("", one)
        if isinstance(value, str | int | float) and isinstance(text, str):
            yield " ".join(str(value).lower().split()), " ".join(text.split())
