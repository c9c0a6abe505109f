"""A language model as writer: of axes and counterfactuals, in TIBET's three steps, of prompts,
mutations, variations.

TIBET: section 3.1 and appendix 9.1.
"""

import re
import tomllib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from importlib.resources import files
from typing import Any

from askew.errors import UsageError
from askew.prompts import answers as a
from askew.prompts.axes import AXES, OTHER, canonical_name, catalogue, table_question
from askew.prompts.base import (
    AxesOn,
    AxisProposal,
    Kind,
    Words,
    checked_length,
    has_length,
    normalize_prompt,
    simplify,
)
from askew.prompts.llm import (
    ATTEMPTS,
    CachingLLM,
    Complete,
    Completion,
    Message,
    Schema,
    attempt_seed,
    gave_nothing,
)
from askew.prompts.open_details import STYLES
from askew.types import Axis, Question

VERSION = 2
"""To be raised whenever a change of code or instructions changes what is asked or kept."""

MAX_VALUES = 8
NAMED = "lists of axes"
WRITTEN = "drafts of counterfactual prompts"
READ = "answers in JSON"
TEXTS = "counterfactual prompts"
PROPOSED = "axes"
"""The steps whose answers are counted."""

INSTRUCTIONS: Mapping[str, Any] = tomllib.loads(
    (files("askew.prompts") / "instructions.toml").read_text(encoding="utf-8")
)
"""What a language model is told."""

_LISTED = 60
"""Texts that a model is told not to repeat."""

Rejected = tuple[str, tuple[tuple[str, str], ...]]
"""Why a proposed axis was not taken, and its prompts by value, for a person to mend."""


class LLMWriter:
    """Asks a language model, checks what comes back, and asks again for what is missing, a bounded
    number of times.

    `axes` is the number of axes to ask for, `on` whether they are to be open in a prompt.
    """

    def __init__(self, llm: CachingLLM, *, axes: int = 8, on: AxesOn = "unstated") -> None:
        if axes < 1:
            raise UsageError(f"{llm.name} was asked for {axes} axes; the number must be at least 1")
        self.name = llm.name
        self.concurrency = llm.concurrency
        self.usage = llm.usage
        self.tally = llm.tally
        self.fingerprint = f"{llm.fingerprint} writer-{VERSION}"
        self.rejected: dict[str, dict[str, Rejected]] = {}  # by prompt and axis
        self._llm = llm
        self._axes = axes
        self._on = on

    def propose(self, prompt: str, axes: Sequence[str] | None, seed: int) -> list[AxisProposal]:
        """Axes with counterfactuals; see `askew.prompts.base.Writer`.

        A try from which nothing can be used is followed by a fresh one from the first step. Raises
        UsageError for an empty prompt, LanguageModelError if no axis is left, or one that was asked
        for.
        """
        text = normalize_prompt(prompt)
        names = None if axes is None else [axis_name(name) for name in axes]
        if names is not None and not all(names):
            raise UsageError(f"an axis needs a name of letters: {', '.join(map(repr, axes or ()))}")
        found: dict[str, AxisProposal] = {}
        rejected = self.rejected[prompt] = dict[str, Rejected]()
        reason = ""
        with self._llm.remembering() as complete:
            for attempt in range(ATTEMPTS):
                try:
                    answered = self._three_steps(complete, text, names, attempt_seed(seed, attempt))
                except a.UnusableAnswer as error:
                    reason = str(error)
                    continue
                self._take(
                    answered, text, self._on != "unstated" or names is not None, found, rejected
                )
                missing = [name for name in names or () if name not in found]
                if found and not missing:
                    return (
                        [*found.values()][: self._axes]
                        if names is None
                        else [found[name] for name in names]
                    )
                lacking = f"the axis {missing[0]!r}" if missing else "an axis"
                reason = (
                    f"{lacking} with two counterfactual prompts that differ in one thing is missing"
                )
            whys = "; ".join(f"{name}: {why}" for name, (why, _) in rejected.items())
            raise gave_nothing(self._llm, f"{reason} ({whys})" if whys else reason)

    def _three_steps(
        self, complete: Complete, prompt: str, names: Sequence[str] | None, seed: int
    ) -> list[a.ParsedAxis]:
        """One try: axes, counterfactuals, and both as JSON. Axes that a person has chosen are told,
        not asked for.
        """
        messages = [Message("system", INSTRUCTIONS["reasoning"])]

        def answer(
            step: str,
            told: str,
            number: int,
            read: Callable[[Completion], Any],
            schema: Schema | None,
        ) -> Any:
            messages.append(Message("user", told))
            try:
                said = read(complete(messages, schema, attempt_seed(seed, number)))
            except a.UnusableAnswer as error:
                self.tally.note(step, str(error))
                raise a.UnusableAnswer(f"of the {step}: {error}") from error
            self.tally.note(step, None)
            messages.append(Message("assistant", str(said)))
            return said

        told = INSTRUCTIONS["counterfactuals"].format(prompt=prompt)
        if names is None:
            asked = INSTRUCTIONS["named_axes"].format(
                prompt=prompt, about=INSTRUCTIONS["about"][self._on], most=self._axes
            )
            answer(NAMED, asked, 1, a.read_whole, None)
        else:
            chosen = ", ".join(name.replace("_", " ") for name in names)
            told = f"{INSTRUCTIONS['given_axes'].format(prompt=prompt, names=chosen)} {told}"
        answer(WRITTEN, told, 2, a.read_whole, None)
        one = a.object_schema(value=a.text_schema(40), prompt=a.text_schema(len(prompt) + 80))
        kind = {"type": "string", "enum": ["societal", "incidental"]}
        axis = a.object_schema(
            name=a.text_schema(40), kind=kind, counterfactuals=a.list_schema(one, 2, MAX_VALUES)
        )
        form = a.object_schema(
            axes=a.list_schema(axis, 1, self._axes if names is None else len(names))
        )
        found: list[a.ParsedAxis] = answer(
            READ, INSTRUCTIONS["as_json"], 3, lambda last: a.read_axes(a.parse(last)), form
        )
        return found

    def _take(
        self,
        answered: Sequence[a.ParsedAxis],
        prompt: str,
        stated: bool,
        found: dict[str, AxisProposal],
        rejected: dict[str, Rejected],
    ) -> None:
        """Sort out axes that can be used, each once, and why others cannot; `stated` ones may be
        about what is said.
        """
        for axis in answered:
            name = axis_name(axis.name)
            texts, faults = _counterfactuals(name, axis, prompt, stated)
            self.tally.note(TEXTS, *faults)
            mine = {*map(simplify, texts.values())}
            same = [
                other
                for other, one in found.items()
                if other == name or len(mine & {*map(simplify, one.counterfactuals.values())}) >= 2
            ]
            reason = None if name else "it has no name"
            if len(texts) < 2:
                reason = next(filter(None, faults), "it has not two counterfactual prompts")
            elif same:
                reason = f"it is the same as {same[0]!r}"
            self.tally.note(PROPOSED, reason)
            if reason is None:
                found[name] = AxisProposal(_axis(name, axis.kind, tuple(texts)), texts)
                rejected.pop(name, None)
            elif name and name not in found:
                rejected.setdefault(name, (reason, axis.counterfactuals))

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
        """What `Writer` says; texts that are missing are asked for again, with what was wrong,
        `ATTEMPTS` times.
        """
        words = checked_length(kind, prompt, count, words)
        found: dict[str, str] = {}
        faults: Counter[str] = Counter()
        with self._llm.remembering(goes_on=True) as complete:
            for attempt in range(ATTEMPTS):
                left = count - len(found)
                told = _asking(kind, prompt, left, words, topic)
                told += f" Last time something was wrong: {', '.join(faults)}." if faults else ""
                listed = "; ".join([*found.values()][-_LISTED:])
                told += (
                    f" These are there already and must not come again: {listed}." if listed else ""
                )
                messages = [Message("system", INSTRUCTIONS["writing"]), Message("user", told)]
                form = a.object_schema(
                    prompts=a.list_schema(a.text_schema(14 * words[1]), left, left)
                )
                answer = complete(messages, form, attempt_seed(seed, attempt))
                faults = Counter()
                try:
                    texts = a.read_texts(answer)
                except a.UnusableAnswer as error:
                    texts, faults[str(error)] = [], 1
                    self.tally.note(kind, *[str(error)] * left)
                for text in texts:
                    fault = (
                        None
                        if has_length(text, words)
                        else f"a text had not {words[0]} to {words[1]} words"
                    )
                    fault = "a text was empty" if not simplify(text) else fault
                    fault = fault or (
                        a.variation_fault(prompt, text)
                        if kind == "variations"
                        else a.prompt_fault(text)
                    )
                    fault = fault or (
                        "a text was a repetition"
                        if simplify(text) in {simplify(prompt), *found}
                        else None
                    )
                    self.tally.note(kind, fault)
                    if fault:
                        faults[fault] += 1
                    else:
                        found[simplify(text)] = text
                if len(found) >= count:
                    break
            if not found:
                raise gave_nothing(self._llm, ", ".join(faults) or "it was empty")
        return list(found.values())[:count]


def axis_name(text: str) -> str:
    """The name of an axis as askew writes it: "Art Bias" -> "art", and as the catalogue calls it:
    "sex" -> "gender".
    """
    words = [word for word in re.findall(r"[^\W_]+", text.lower()) if word not in ("bias", "axis")]
    return canonical_name("_".join(words[:4]))


def _counterfactuals(
    name: str, axis: a.ParsedAxis, prompt: str, stated: bool
) -> tuple[dict[str, str], list[str | None]]:
    """By value, the prompts that can be used; and what is wrong with each of the others."""
    said = {*simplify(prompt).split()}
    entry = catalogue().get(name)
    known = (
        {word: value for value, words in entry.synonyms.items() for word in words} if entry else {}
    )
    pairs = []
    for value, text in axis.counterfactuals[:MAX_VALUES]:
        value = value or " ".join(word for word in simplify(text).split() if word not in said)
        pairs.append((known[value] if known.get(value, OTHER) != OTHER else value, text))
    values = [value for value, _ in pairs]
    texts: dict[str, str] = {}
    faults: list[str | None] = []
    for value, text in pairs:
        taken = value in texts or simplify(text) in map(simplify, texts.values())
        fault = (
            "it repeats another"
            if taken
            else a.counterfactual_fault(prompt, name, value, text, values, stated=stated)
        )
        faults.append(fault if value else "it has no value")
        if faults[-1] is None:
            texts[value] = text
    return texts, faults


def _axis(name: str, kind: str, values: tuple[str, ...]) -> Axis:
    """The axis, as the catalogue has it if the values are the same."""
    known = AXES.get(name)
    if known is not None and set(known.values) == set(values) and not known.questions[1:]:
        return Axis(
            name,
            values,
            known.kind,
            "nominal" if known.values != values else known.scale,
            known.questions,
        )
    question = Question(table_question(name), values, name)
    about_people = kind.startswith("soc") or (not kind and "person" in question.text)
    societal = known.kind == "societal" if known else about_people
    return Axis(name, values, "societal" if societal else "incidental", "nominal", (question,))


def _asking(kind: Kind, prompt: str, count: int, words: Words, topic: str | None) -> str:
    """The instruction for prompts about anything or about the topic, for mutations of a prompt, or
    readings of it.
    """
    wanted = (
        f"{'1 prompt' if count == 1 else f'{count} prompts'} of {words[0]} to {words[1]} words each"
    )
    steered = (
        "" if topic is None or topic in STYLES else INSTRUCTIONS["must_show"].format(topic=topic)
    )
    about = "any" if topic is None else "style" if topic in STYLES else topic
    left_open = INSTRUCTIONS["open"].get(about, INSTRUCTIONS["open"]["other"]).format(topic=topic)
    told: str = INSTRUCTIONS["write"][kind].format(
        prompt=prompt,
        wanted=wanted,
        about=steered or INSTRUCTIONS["areas"],
        steered=steered,
        open=left_open,
    )
    return f"{told.rstrip()} {INSTRUCTIONS['style']}"
