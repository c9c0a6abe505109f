"""A prompt generator that uses a language model.

The generator proposes axes and counterfactual prompts in TIBET's three steps (section 3.1 and
appendix 9.1). The generator also writes random prompts, mutations and variations.
"""

import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any, NamedTuple

from askew.errors import UsageError
from askew.prompts import acceptance
from askew.prompts import answers as a
from askew.prompts.axes import AXES, canonical_name, table_question
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
    AnswerTally,
    CachingLLM,
    Completion,
    Message,
    Schema,
    Task,
    attempt_seed,
    unusable_error,
)
from askew.prompts.meanings import canonical_value
from askew.prompts.open_details import STYLES
from askew.types import Axis, Question

VERSION = 5
"""Version number, to be increased whenever a change affects the requests or the results."""

MAX_VALUES = 8
"""Maximum number of values for a proposed axis."""

AXIS_LISTS = "lists of axes"
DRAFTS = "drafts of counterfactual prompts"
JSON_ANSWERS = "answers in JSON"
COUNTERFACTUALS = "counterfactual prompts"
PROPOSED_AXES = "axes"
"""Names of the steps for which askew counts usable answers."""

INSTRUCTIONS: Mapping[str, Any] = tomllib.loads(
    (files("askew.prompts") / "instructions.toml").read_text(encoding="utf-8")
)
"""The instructions for a language model."""

_MAX_LISTED = 60
"""Maximum number of texts to list after the instruction "Do not repeat these texts"."""


class RejectedAxis(NamedTuple):
    """A proposed axis that askew rejects.

    Attributes
    ----------
    reason
        Reason for the rejection.
    counterfactuals
        Pairs (value, prompt), which a person may correct.
    """

    reason: str
    counterfactuals: tuple[tuple[str, str], ...]


class RejectedText(NamedTuple):
    """A counterfactual prompt that askew rejects.

    Attributes
    ----------
    axis, value, text
        Axis, value and prompt in askew's spelling.
    reason
        Reason for the rejection.
    """

    axis: str
    value: str
    text: str
    reason: str


class LLMWriter:
    """A prompt generator that asks a language model for texts and checks them.

    The generator asks for missing texts up to `ATTEMPTS` times.

    Parameters
    ----------
    llm
        The language model.
    axes
        Maximum number of axes to propose.
    on
        Whether to propose axes that the prompt leaves open, axes that it states, or both.
    doubtful_values
        Whether to accept values that askew does not know as values of their axis.
    """

    def __init__(
        self,
        llm: CachingLLM,
        *,
        axes: int = 8,
        on: AxesOn = "unstated",
        doubtful_values: bool = False,
    ) -> None:
        if axes < 1:
            raise UsageError(f"the number of axes for {llm.name} is {axes}; it must be at least 1")
        self.name = llm.name
        self.concurrency = llm.concurrency
        self.usage = llm.usage
        self.tally = llm.tally
        self.fingerprint = f"{llm.fingerprint} writer-{VERSION}"
        self.rejected: dict[str, dict[str, RejectedAxis]] = {}  # by prompt and axis
        self.rejected_texts: dict[str, dict[str, RejectedText]] = {}  # by prompt and text
        self._llm = llm
        self._axes = axes
        self._on = on
        self._doubtful_values = doubtful_values

    def propose(self, prompt: str, axes: Sequence[str] | None, seed: int) -> list[AxisProposal]:
        """Propose axes with counterfactual prompts; see `askew.prompts.base.Writer`.

        After an attempt without usable axes, the generator starts again with the first step.

        Raises
        ------
        UsageError
            If the prompt or the name of an axis is empty.
        LanguageModelError
            If no axis is usable, or if one of the requested axes is missing.
        """
        text = normalize_prompt(prompt)
        names = _checked_names(axes)
        reason = ""
        with self._llm.remembering() as task:
            check = _TextCheck(
                prompt=text,
                stated=self._on != "unstated" or names is not None,
                doubtful=self._doubtful_values,
                reader=_ValueReader(task, attempt_seed(seed, ATTEMPTS)),
            )
            collection = _AxisCollection(check=check, tally=self.tally)
            self.rejected[prompt] = collection.rejected
            self.rejected_texts[prompt] = collection.rejected_texts
            for attempt in range(ATTEMPTS):
                attempted_seed = attempt_seed(seed, attempt)
                try:
                    parsed_axes = self._three_steps(task, text, names, attempted_seed)
                except a.UnusableAnswer as error:
                    reason = str(error)
                    continue
                for axis in parsed_axes:
                    if names is None or axis_name(axis.name) in names:
                        collection.add(axis)
                if collection.accepted:
                    task.accept()
                if collection.is_complete(names):
                    return collection.proposals(names)[: self._axes if names is None else None]
                reason = collection.missing_reason(names)
            raise unusable_error(self._llm, collection.with_rejections(reason))

    def _three_steps(
        self, task: Task, prompt: str, names: Sequence[str] | None, seed: int
    ) -> list[a.ParsedAxis]:
        """Ask the model for axes, then for counterfactual prompts, and then for both as JSON.

        The first step is skipped if the user has chosen the axes.
        """
        conversation = _Conversation(task, self.tally, seed)
        instruction = INSTRUCTIONS["counterfactuals"].format(prompt=prompt)
        if names is None:
            about = INSTRUCTIONS["about"][self._on]
            naming = INSTRUCTIONS["named_axes"].format(prompt=prompt, about=about, most=self._axes)
            conversation.ask(AXIS_LISTS, naming, 1, a.read_whole)
        else:
            chosen = ", ".join(name.replace("_", " ") for name in names)
            given = INSTRUCTIONS["given_axes"].format(prompt=prompt, names=chosen)
            instruction = f"{given} {instruction}"
        conversation.ask(DRAFTS, instruction, 2, a.read_whole)
        schema = _axes_schema(prompt, self._axes if names is None else len(names))
        parsed_axes: list[a.ParsedAxis]
        parsed_axes, lost = conversation.ask(
            JSON_ANSWERS, INSTRUCTIONS["as_json"], 3, a.axes_of, schema
        )
        self.tally.add(PROPOSED_AXES, *["the answer was cut off before its end"] * lost)
        return parsed_axes

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
        """Write texts; see `askew.prompts.base.Writer`.

        Each attempt asks for the texts that are still missing, and lists the faults of the last
        attempt.
        """
        words = checked_length(kind, prompt, count, words)
        collection = _TextCollection(kind=kind, prompt=prompt, words=words)
        with self._llm.remembering(continues=True) as task:
            for attempt in range(ATTEMPTS):
                missing = count - len(collection.texts)
                request = _write_instruction(kind, prompt, missing, words, topic)
                messages = [
                    Message("system", INSTRUCTIONS["writing"]),
                    Message("user", f"{request}{collection.reminders()}"),
                ]
                text_schema = a.text_schema(14 * words[1])
                schema = a.object_schema(prompts=a.list_schema(text_schema, missing, missing))
                answer = task(messages, schema, attempt_seed(seed, attempt))
                faults = collection.add(answer, missing)
                if None in faults:
                    task.accept()
                self.tally.add(kind, *faults)
                if len(collection.texts) >= count:
                    break
            if not collection.texts:
                raise unusable_error(
                    self._llm, ", ".join(collection.faults) or "the answer was empty"
                )
        return list(collection.texts.values())[:count]


def _checked_names(axes: Sequence[str] | None) -> list[str] | None:
    """Return askew's names for the axes that the user has chosen."""
    if axes is None:
        return None
    names = [axis_name(name) for name in axes]
    if not all(names):
        raise UsageError(
            f"the name of an axis must contain letters or digits: {', '.join(map(repr, axes))}"
        )
    return names


def _axes_schema(prompt: str, most_axes: int) -> Schema:
    """Return the JSON schema for an answer that contains axes and counterfactual prompts."""
    pair = a.object_schema(value=a.text_schema(40), prompt=a.text_schema(len(prompt) + 80))
    axis = a.object_schema(
        name=a.text_schema(40),
        kind={"type": "string", "enum": ["societal", "incidental"]},
        counterfactuals=a.list_schema(pair, 2, MAX_VALUES),
    )
    return a.object_schema(axes=a.list_schema(axis, 1, most_axes))


class _Conversation:
    """A conversation about the axes of a prompt, with counts of usable answers for each step."""

    def __init__(self, task: Task, tally: AnswerTally, seed: int) -> None:
        self._task = task
        self._tally = tally
        self._seed = seed
        self._messages = [Message("system", INSTRUCTIONS["reasoning"])]

    def ask(
        self,
        step: str,
        instruction: str,
        number: int,
        read: Callable[[Completion], Any],
        schema: Schema | None = None,
    ) -> Any:
        """Return the model's answer to an instruction, or raise UnusableAnswer."""
        self._messages.append(Message("user", instruction))
        completion = self._task(self._messages, schema, attempt_seed(self._seed, number))
        try:
            answer = read(completion)
        except a.UnusableAnswer as error:
            self._tally.add(step, str(error))
            raise a.UnusableAnswer(f"of the {step}: {error}") from error
        if schema is None:  # an answer in JSON is accepted with its first usable axis
            self._task.accept()
        self._tally.add(step, None)
        self._messages.append(Message("assistant", str(answer)))
        return answer


@dataclass
class _AxisCollection:
    """The accepted and rejected axes for a prompt, keyed by name."""

    check: "_TextCheck"
    tally: AnswerTally
    accepted: dict[str, AxisProposal] = field(default_factory=dict)
    rejected: dict[str, RejectedAxis] = field(default_factory=dict)
    rejected_texts: dict[str, RejectedText] = field(default_factory=dict)

    def add(self, axis: a.ParsedAxis) -> None:
        """Accept an axis, or reject it for a reason such as the repetition of another axis."""
        name = axis_name(axis.name)
        checked = self.check.run(name, axis)
        self.tally.add(COUNTERFACTUALS, *checked.faults, *_lost_entries(axis))
        for rejected_text in checked.rejected:
            self.rejected_texts.setdefault(rejected_text.text, rejected_text)
        reason = self._fault(name, checked)
        self.tally.add(PROPOSED_AXES, reason)
        if reason is None:
            proposed_axis = _axis(name, axis.kind, tuple(checked.texts))
            self.accepted[name] = AxisProposal(proposed_axis, checked.texts)
            self.rejected.pop(name, None)
        elif name and name not in self.accepted:
            self.rejected.setdefault(name, RejectedAxis(reason, axis.counterfactuals))

    def _fault(self, name: str, checked: "_CheckedTexts") -> str | None:
        """Return the reason why an axis is rejected; None if it is accepted."""
        if len(checked.texts) < 2:
            faults = [fault for fault in checked.faults if fault]
            return faults[0] if faults else "the axis has fewer than two counterfactual prompts"
        same = [other for other in self.accepted if self._is_same(name, checked, other)]
        if same:
            return f"the axis is the same as {same[0]!r}"
        return None if name else "the axis has no name"

    def _is_same(self, name: str, checked: "_CheckedTexts", other: str) -> bool:
        """Check whether an axis and an accepted axis have the same name or share two texts."""
        texts = set(map(simplify, checked.texts.values()))
        other_texts = set(map(simplify, self.accepted[other].counterfactuals.values()))
        return name == other or len(texts & other_texts) >= 2

    def is_complete(self, names: Sequence[str] | None) -> bool:
        """Check whether at least one axis, and all axes in `names`, have been accepted."""
        return bool(self.accepted) and self.accepted.keys() >= set(names or ())

    def proposals(self, names: Sequence[str] | None) -> list[AxisProposal]:
        """Return all accepted axes, or only the axes in `names`, in the order of `names`."""
        return [self.accepted[name] for name in (self.accepted if names is None else names)]

    def missing_reason(self, names: Sequence[str] | None) -> str:
        """Return the reason why the collection is incomplete."""
        missing = [name for name in names or () if name not in self.accepted]
        if missing:
            return (
                f"the axis {missing[0]!r} does not have two counterfactual prompts that "
                "differ in only one concept"
            )
        return "no axis has two counterfactual prompts that differ in only one concept"

    def with_rejections(self, reason: str) -> str:
        """Return a reason, followed by the rejected axes and their reasons in parentheses."""
        rejections = [f"{name}: {axis.reason}" for name, axis in self.rejected.items()]
        return f"{reason} ({'; '.join(rejections)})" if rejections else reason


@dataclass
class _TextCollection:
    """Accepted texts, keyed by their simplified form, and the faults in the last answer."""

    kind: Kind
    prompt: str
    words: Words
    texts: dict[str, str] = field(default_factory=dict)
    faults: Counter[str] = field(default_factory=Counter)

    def reminders(self) -> str:
        """Return the text to add to a repeated request: the last faults, and the accepted texts."""
        reminders = ""
        if self.faults:
            reminders += f" Faults of the last answer: {', '.join(self.faults)}."
        listed = "; ".join([*self.texts.values()][-_MAX_LISTED:])
        if listed:
            reminders += f" Do not repeat these texts: {listed}."
        return reminders

    def add(self, answer: Completion, requested: int) -> list[str | None]:
        """Collect the texts in an answer, and return the fault of each text (None if accepted)."""
        self.faults = Counter()
        try:
            texts = a.read_texts(answer)
        except a.UnusableAnswer as error:
            self.faults[str(error)] = 1
            return [str(error)] * requested
        faults = []
        for text in texts:
            fault = self._fault(text)
            faults.append(fault)
            if fault:
                self.faults[fault] += 1
            else:
                self.texts[simplify(text)] = text
        return faults

    def _fault(self, text: str) -> str | None:
        """Return the reason why a text is rejected; None if it is accepted."""
        if not simplify(text):
            return "a text was empty"
        if not has_length(text, self.words):
            return f"a text did not have {self.words[0]} to {self.words[1]} words"
        fault = acceptance.prompt_fault(text)
        if self.kind == "variations":
            fault = acceptance.variation_fault(self.prompt, text)
        if fault is None and simplify(text) in {simplify(self.prompt), *self.texts}:
            fault = "a text was a repetition"
        return fault


def axis_name(text: str) -> str:
    """Return askew's name for an axis, such as "art" for "Art Bias" and "gender" for "sex"."""
    words = [word for word in re.findall(r"[^\W_]+", text.lower()) if word not in ("bias", "axis")]
    return canonical_name("_".join(words[:4]))


@dataclass(frozen=True)
class _CheckedTexts:
    """The accepted and rejected counterfactual prompts for an axis.

    Attributes
    ----------
    texts
        Accepted prompts by value.
    rejected
        Rejected prompts with the reasons for rejection.
    """

    texts: dict[str, str] = field(default_factory=dict)
    rejected: list[RejectedText] = field(default_factory=list)

    @property
    def faults(self) -> list[str | None]:
        """Return the reason for each rejected prompt, and None for each accepted prompt."""
        reasons = [text.reason for text in self.rejected]
        return [*reasons, *[None] * len(self.texts)]


def _lost_entries(axis: a.ParsedAxis) -> Iterator[str]:
    """Yield a fault for each unreadable or surplus counterfactual prompt of an axis."""
    surplus = len(axis.counterfactuals) - MAX_VALUES
    if surplus > 0:
        reason = (
            f"the axis has {len(axis.counterfactuals)} values; askew uses the first {MAX_VALUES}"
        )
        yield from [reason] * surplus
    yield from ["an entry is not a pair of a value and a prompt"] * axis.unreadable


@dataclass(frozen=True, slots=True)
class _ValueReader:
    """An interface that asks the language model which value each prompt states."""

    task: Task
    seed: int

    def read(self, axis: str, texts: Sequence[str]) -> list[str]:
        """Return the values that the model finds in the texts, or [] if the answer is unusable."""
        listed = "\n".join(f"{number}. {text}" for number, text in enumerate(texts, start=1))
        instruction = INSTRUCTIONS["read_back"].format(
            count=len(texts), prompts=listed, axis=axis.replace("_", " ")
        )
        schema = a.object_schema(values=a.list_schema(a.text_schema(40), len(texts), len(texts)))
        messages = [
            Message("system", INSTRUCTIONS["reasoning"]),
            Message("user", instruction),
        ]
        try:
            values = a.read_texts(self.task(messages, schema, self.seed))
        except a.UnusableAnswer:
            return []
        return values if len(values) == len(texts) else []


@dataclass(frozen=True, slots=True)
class _TextCheck:
    """The check that askew applies to counterfactual prompts."""

    prompt: str
    stated: bool
    doubtful: bool
    reader: _ValueReader

    def run(self, name: str, axis: a.ParsedAxis) -> _CheckedTexts:
        """Check the counterfactual prompts for an axis."""
        pairs = [self._pair(name, value, text) for value, text in axis.counterfactuals[:MAX_VALUES]]
        values = [value for value, _ in pairs]
        checked = _CheckedTexts()
        for value, text in pairs:
            fault = self._fault(name, value, text, values, checked.texts)
            if fault is None:
                checked.texts[value] = text
            else:
                checked.rejected.append(RejectedText(name, value, text, fault))
        self._read_back(name, checked)
        return checked

    def _pair(self, axis: str, value: str, text: str) -> tuple[str, str]:
        """Return the value as the catalog spells it, and the prompt that the text contains."""
        content = acceptance.requested_content(self.prompt, text)
        return _value_of(axis, value, content, self.prompt), content

    def _fault(
        self,
        axis: str,
        value: str,
        text: str,
        values: Sequence[str],
        accepted: Mapping[str, str],
    ) -> str | None:
        """Return the fault that askew finds in a text without asking the language model."""
        if not value:
            return "the text has no value"
        if value in accepted or simplify(text) in map(simplify, accepted.values()):
            return "the text repeats another text"
        return acceptance.counterfactual_fault(
            self.prompt,
            axis,
            value,
            text,
            values,
            stated=self.stated,
            doubtful=self.doubtful,
        )

    def _read_back(self, axis: str, checked: _CheckedTexts) -> None:
        """Reject each text with an unknown value, unless the model finds that value in the text."""
        texts = dict(checked.texts)
        unknown = [value for value in texts if acceptance.is_read_back(self.prompt, axis, value)]
        if not unknown:
            return
        answers = self.reader.read(axis, [texts[value] for value in unknown])
        for index, value in enumerate(unknown):
            answer = answers[index] if answers else None
            fault = self._reading_fault(value, answer, texts)
            if fault:
                text = checked.texts.pop(value)
                checked.rejected.append(RejectedText(axis, value, text, fault))

    @staticmethod
    def _reading_fault(value: str, answer: str | None, texts: Mapping[str, str]) -> str | None:
        """Return a fault if the model gives no answer or finds another value in a text."""
        if answer is None:
            return "the language model did not confirm the value"
        others = [other for other in texts if other != value]
        if acceptance.values_agree(value, answer, others):
            return None
        return f"the language model reads the value {answer!r} in the text, not the intended value"


def _value_of(axis: str, value: str, text: str, prompt: str) -> str:
    """Return the value that a text states, in the catalog's spelling.

    If the model gave no value and askew finds no value in the text, the words that the text adds to
    the prompt are used as the value.
    """
    if not value:
        stated = acceptance.stated_value(axis, text)
        if stated:
            return stated
        prompt_words = simplify(prompt).split()
        value = " ".join(word for word in simplify(text).split() if word not in prompt_words)
    return canonical_value(axis, value)


def _axis(name: str, kind: str, values: tuple[str, ...]) -> Axis:
    """Return an axis with these values, based on the catalog if the catalog contains that axis."""
    known = AXES.get(name)
    if known and set(known.values) == set(values) and len(known.questions) == 1:
        scale = known.scale if known.values == values else "nominal"
        return Axis(name, values, known.kind, scale, known.questions)
    question = Question(table_question(name), values, name)
    is_societal = kind.startswith("soc") or (not kind and "person" in question.text)
    if known:
        is_societal = known.kind == "societal"
    return Axis(name, values, "societal" if is_societal else "incidental", "nominal", (question,))


def _write_instruction(kind: Kind, prompt: str, count: int, words: Words, topic: str | None) -> str:
    """Return the instruction to write texts of the given kind, and about the topic if there is one."""
    number = "1 prompt" if count == 1 else f"{count} prompts"
    steered = ""
    if topic is not None and topic not in STYLES:
        steered = INSTRUCTIONS["must_show"].format(topic=topic)
    request: str = INSTRUCTIONS["write"][kind].format(
        prompt=prompt,
        wanted=f"{number} of {words[0]} to {words[1]} words each",
        about=steered or INSTRUCTIONS["areas"],
        steered=steered,
        open=_open_aspects(topic),
    )
    return f"{request.rstrip()} {INSTRUCTIONS['style']}"


def _open_aspects(topic: str | None) -> str:
    """Return the part of the variation instruction that lists which details to state."""
    key = "any" if topic is None else topic
    if topic in STYLES:
        key = "style"
    open_aspects = INSTRUCTIONS["open"]
    aspects: str = open_aspects.get(key, open_aspects["other"])
    return aspects.format(topic=topic)
