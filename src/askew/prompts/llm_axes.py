"""Axes and counterfactual prompts by a language model, in TIBET's three steps (section 3.1, appendix 9.1)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from askew.errors import UsageError
from askew.prompts import instructions
from askew.prompts.axes import AXES, table_question
from askew.prompts.base import AxisProposal, bare
from askew.prompts.llm import Message, RememberedLLM, Unusable, ask, attempt_seed
from askew.types import Axis, Question

MOST_VALUES = 8
MOST_ADDED = 12
"""Words that a counterfactual prompt may have more than its prompt."""

_SMALL_WORDS = frozenset("of in on at by for with to and or from into who is are photo picture image portrait".split())


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid")


class _Counterfactual(_Part):
    value: str
    prompt: str


class _ProposedAxis(_Part):
    name: str
    kind: Literal["societal", "incidental"]
    counterfactuals: list[_Counterfactual]


class _Answer(_Part):
    axes: list[_ProposedAxis]


def propose(llm: RememberedLLM, prompt: str, axes: Sequence[str] | None, most: int, seed: int) -> list[AxisProposal]:
    """Axes with counterfactuals; `axes` None lets the model choose at most `most`.

    Counterfactuals that repeat the prompt or each other, or have little of the prompt left, are dropped, and axes with
    fewer than two. Raises UsageError for an empty prompt, LanguageModelError if no axis is left, or one that was asked
    for.
    """
    if not prompt:
        raise UsageError("the prompt is empty; it should describe a picture, such as 'a photo of a doctor'")
    names = None if axes is None else [axis_name(name) for name in axes]
    if names is not None and not all(names):
        raise UsageError(f"an axis needs a name of letters: {', '.join(map(repr, axes or ()))}")
    messages = [Message("system", instructions.REASONING)]
    if names is None:
        messages = _step(llm, messages, instructions.axes(prompt, most), attempt_seed(seed, 1))
    else:
        given = instructions.given_axes(prompt, [name.replace("_", " ") for name in names])
        messages.append(Message("user", given))
    messages = _step(llm, messages, instructions.counterfactuals(prompt), attempt_seed(seed, 2))
    messages.append(Message("user", instructions.as_json()))
    return ask(llm, messages, _Answer.model_json_schema(), lambda value: _read(value, prompt, names, most), seed)


def axis_name(text: str) -> str:
    """The name of an axis as askew writes it: "Gender Bias" -> "gender"."""
    words = [word for word in re.findall(r"[^\W_]+", text.lower()) if word not in ("bias", "axis")]
    return "_".join(words[:4])


def _step(llm: RememberedLLM, messages: Sequence[Message], told: str, seed: int) -> list[Message]:
    """One step in free words, and the model's answer; an instruction that follows another joins it."""
    if messages[-1].role == "user":
        told = f"{messages[-1].content} {told}"
        messages = messages[:-1]
    turns = [*messages, Message("user", told)]
    return [*turns, Message("assistant", llm.complete(turns, None, seed).text)]


def _read(value: Any, prompt: str, names: Sequence[str] | None, most: int) -> list[AxisProposal]:
    try:
        answer = _Answer.model_validate(value)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise Unusable(f"{place or 'the whole'}: {first['msg']}") from error
    found: dict[str, AxisProposal] = {}
    for axis in answer.axes:
        name = axis_name(axis.name)
        texts = _counterfactuals(axis, prompt)
        if name and name not in found and len(texts) >= 2:
            found[name] = AxisProposal(_axis(name, axis.kind, tuple(texts)), texts)
    missing = [name for name in names or () if name not in found]
    if missing or not found:
        lacking = f"the axis {missing[0]!r}" if missing else "an axis"
        raise Unusable(f"{lacking} with two counterfactual prompts that keep most words of the prompt is missing")
    return [found[name] for name in names] if names is not None else list(found.values())[:most]


def _counterfactuals(axis: _ProposedAxis, prompt: str) -> dict[str, str]:
    """By value, the prompts that can be used."""
    texts: dict[str, str] = {}
    seen = {bare(prompt)}
    for one in axis.counterfactuals[:MOST_VALUES]:
        value, text = " ".join(one.value.lower().split()), " ".join(one.prompt.split())
        if value and value not in texts and bare(text) not in seen and _is_near(text, prompt):
            texts[value] = text
            seen.add(bare(text))
    return texts


def _is_near(text: str, prompt: str) -> bool:
    """Whether at least half of the prompt's words are left, and not too many are added."""
    wanted = set(bare(prompt).split()) - _SMALL_WORDS
    kept = wanted & set(bare(text).split())
    return len(kept) >= len(wanted) // 2 and 0 < len(text.split()) <= len(prompt.split()) + MOST_ADDED


def _axis(name: str, kind: Literal["societal", "incidental"], values: tuple[str, ...]) -> Axis:
    """The axis, as the catalogue has it if the values are the same."""
    known = AXES.get(name)
    if known is not None and set(known.values) == set(values) and not known.questions[1:]:
        return Axis(name, values, known.kind, "nominal" if known.values != values else known.scale, known.questions)
    return Axis(name, values, kind, "nominal", (Question(table_question(name), values, name),))
