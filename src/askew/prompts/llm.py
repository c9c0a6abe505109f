"""Language models: what askew asks of one, what its answers are, their memory on disk, and how many
were of use.
"""

import hashlib
import json
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields
from functools import partial
from typing import Any, Literal, Protocol, runtime_checkable

from askew.errors import LanguageModelError, RunError, UsageError

Schema = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True)
class Completion:
    """What a language model answered. Token counts are None where a server does not report them."""

    text: str
    refused: bool = False
    truncated: bool = False
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


@runtime_checkable
class LLM(Protocol):
    """A language model. `fingerprint` names the model and all settings that change an answer.

    `concurrency` is how many conversations it can hold at once.
    """

    name: str
    fingerprint: str
    concurrency: int

    def complete(self, messages: Sequence[Message], schema: Schema | None, seed: int) -> Completion:
        """The next turn. With `schema` it should be JSON that follows it; whether it does, the
        caller checks.

        Raises ServerError.
        """


class CompletionCache(Protocol):
    """Where answers are kept; the store is one."""

    def completion(self, key: str) -> Mapping[str, Any] | None:
        """The record under `key`, None if there is none."""

    def put_completion(self, key: str, record: Mapping[str, Any]) -> None:
        """Keep a record."""


@dataclass(slots=True)
class Usage:
    """What a language model was asked. Answers from the cache are `cached` alone; `unreported`
    calls told no tokens.
    """

    calls: int = 0
    cached: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    unreported: int = 0

    @property
    def tokens(self) -> int:
        """All tokens that were reported."""
        return self.prompt_tokens + self.completion_tokens

    def line(self) -> str:
        """The numbers in words."""
        more = f", {self.unreported} calls without a token count" if self.unreported else ""
        return (
            f"{self.calls} calls, {self.cached} answers from the store, {self.tokens} tokens{more}"
        )


@dataclass(slots=True)
class AnswerTally:
    """How many answers of each step were of use, of how many, and why the others were not."""

    steps: dict[str, tuple[int, int]] = field(default_factory=dict)
    faults: dict[str, Counter[str]] = field(default_factory=dict)

    def note(self, step: str, *faults: str | None) -> None:
        """What was wrong with the answers of a step, None for those of use."""
        usable, asked = self.steps.get(step, (0, 0))
        self.steps[step] = usable + faults.count(None), asked + len(faults)
        self.faults.setdefault(step, Counter()).update(fault for fault in faults if fault)

    def lines(self) -> list[str]:
        """What could not be used, in words: a line for each step in which that was so."""
        return [
            f"{usable} of {asked} {step} could be used; the others: "
            + ", ".join(f"{reason} ({count})" for reason, count in self.faults[step].most_common(4))
            for step, (usable, asked) in self.steps.items()
            if usable < asked
        ]


def report_usage(writer: object, tell: Callable[[str], object] | None) -> None:
    """Tell how much a writer has asked its language model, and what was of no use; nothing of a
    writer without one.
    """
    usage = getattr(writer, "usage", None)
    tally = getattr(writer, "tally", AnswerTally())
    if tell and isinstance(usage, Usage):
        tell(f"{getattr(writer, 'name', 'llm')}: {'; '.join([usage.line(), *tally.lines()])}")


Complete = Callable[[Sequence[Message], Schema | None, int], Completion]
"""From messages, a schema and a seed to the next turn."""


class CachingLLM:
    """A language model whose answers are kept: what was of use is never asked for twice. `budget`
    is in tokens.
    """

    def __init__(
        self, llm: LLM, cache: CompletionCache | None = None, budget: int | None = None
    ) -> None:
        self.name = llm.name
        self.fingerprint = llm.fingerprint
        self.concurrency = llm.concurrency
        self.usage = Usage()
        self.tally = AnswerTally()
        self._llm = llm
        self._cache = cache
        self._budget = budget
        self._lock = threading.Lock()
        self._held: dict[str, Mapping[str, Any]] = {}
        self._useful = False

    @contextmanager
    def remembering(self, goes_on: bool = False) -> Iterator[Complete]:
        """What gives the next turns of one task, from the cache or by the model. Raises RunError at
        the budget's end.

        They are kept, unless the task ends with a LanguageModelError: what was of no use is asked
        again another time. Where the work `goes_on` without the task, as a search does, its answers
        are kept as soon as any task of this model has been of use, so that the same work is done
        when it is repeated.
        """
        fresh: dict[str, Mapping[str, Any]] = {}
        useful = True
        try:
            yield partial(self._complete, fresh)
        except LanguageModelError:
            useful = False
            raise
        finally:
            with self._lock:
                self._useful = self._useful or useful
                if goes_on or useful:
                    self._held |= fresh
                for key, record in self._held.items() if self._useful and self._cache else ():
                    self._cache.put_completion(key, record)  # type: ignore[union-attr]
                self._held = {} if self._useful else self._held

    def _complete(
        self,
        fresh: dict[str, Mapping[str, Any]],
        messages: Sequence[Message],
        schema: Schema | None,
        seed: int,
    ) -> Completion:
        asked = {
            "fingerprint": self.fingerprint,
            "messages": [asdict(message) for message in messages],
            "schema": schema,
            "seed": seed,
        }
        key = hashlib.sha256(json.dumps(asked, sort_keys=True).encode("ascii")).hexdigest()
        with self._lock:
            if self._cache and (known := _completion(self._cache.completion(key))):
                self.usage.cached += 1
                return known
            if self._budget is not None and self.usage.unreported:
                raise UsageError(
                    f"{self.name}: the server does not tell the tokens it used, so no budget can be kept"
                )
            if self._budget is not None and self.usage.tokens >= self._budget:
                raise RunError(
                    f"the budget of {self._budget} tokens for {self.name} is used up ({self.usage.line()}); what was "
                    "answered is kept, and the same command with a new budget continues"
                )
        answer = self._llm.complete(messages, schema, seed)
        with self._lock:
            self.usage.calls += 1
            self.usage.unreported += (
                answer.prompt_tokens is None or answer.completion_tokens is None
            )
            self.usage.prompt_tokens += answer.prompt_tokens or 0
            self.usage.completion_tokens += answer.completion_tokens or 0
        fresh[key] = {**asked, "answer": asdict(answer)}
        return answer


def _completion(record: Mapping[str, Any] | None) -> Completion | None:
    """The answer in a record, None if somebody has damaged it."""
    answer = record.get("answer") if isinstance(record, Mapping) else None
    names = {one.name for one in fields(Completion)}
    if (
        not isinstance(answer, dict)
        or answer.keys() != names
        or not isinstance(answer["text"], str)
    ):
        return None
    return Completion(**answer)


ATTEMPTS = 4
"""How often one thing is asked for before giving up."""


def attempt_seed(seed: int, attempt: int) -> int:
    """The seed of one try, below 2^31 - 1, which every server takes."""
    return int(hashlib.sha256(f"{seed} {attempt}".encode()).hexdigest(), 16) % (2**31 - 1)


def gave_nothing(llm: CachingLLM, reason: str) -> LanguageModelError:
    """The error after the last try."""
    return LanguageModelError(
        f"{llm.name} gave nothing that could be used in {ATTEMPTS} tries: {reason}. Try a larger model, or another seed"
    )
