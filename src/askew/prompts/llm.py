"""Interface to language models, with a cache for answers and counts of usable answers."""

import hashlib
import json
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal, Protocol, runtime_checkable

from askew.errors import LanguageModelError, RunError, UsageError

Schema = Mapping[str, Any]
"""A JSON schema."""


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True)
class Completion:
    """An answer from a language model.

    Attributes
    ----------
    text
        The answer.
    refused
        Whether the model or its server refused to answer.
    truncated
        Whether the answer was cut off.
    prompt_tokens, completion_tokens
        Numbers of tokens in the request and in the answer; None if the server does not report them.
    """

    text: str
    refused: bool = False
    truncated: bool = False
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


@runtime_checkable
class LLM(Protocol):
    """A language model.

    Attributes
    ----------
    name
        Name in results and messages.
    fingerprint
        Text that contains the model's name and all settings that affect its answers.
    concurrency
        Maximum number of simultaneous conversations.
    """

    name: str
    fingerprint: str
    concurrency: int

    def complete(self, messages: Sequence[Message], schema: Schema | None, seed: int) -> Completion:
        """Return the model's next message in a conversation.

        Parameters
        ----------
        messages
            All messages so far.
        schema
            JSON schema for the answer; None for any answer. The caller must check the answer.
        seed
            Seed for the answer.

        Returns
        -------
        Completion
            The answer.

        Raises
        ------
        ServerError
            If the server does not answer.
        """


class CompletionCache(Protocol):
    """A cache for answers, such as the store."""

    def completion(self, key: str) -> Mapping[str, Any] | None:
        """Return the record that is stored under a key, or None."""

    def put_completion(self, key: str, record: Mapping[str, Any]) -> None:
        """Store a record under a key."""


@dataclass(slots=True)
class Usage:
    """Counts of requests to a language model, and of the tokens used.

    Attributes
    ----------
    calls
        Number of answers from the model.
    cached
        Number of answers from the cache.
    prompt_tokens, completion_tokens
        Numbers of tokens in requests and in answers, as reported by the server.
    unreported
        Number of calls for which the server did not report the number of tokens.
    """

    calls: int = 0
    cached: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    unreported: int = 0

    @property
    def tokens(self) -> int:
        """Total number of reported tokens."""
        return self.prompt_tokens + self.completion_tokens

    def add(self, answer: Completion) -> None:
        """Count a call to the model and the tokens that it used."""
        self.calls += 1
        if answer.prompt_tokens is None or answer.completion_tokens is None:
            self.unreported += 1
        self.prompt_tokens += answer.prompt_tokens or 0
        self.completion_tokens += answer.completion_tokens or 0

    def line(self) -> str:
        """Return the counts as a line of text."""
        line = f"{self.calls} calls, {self.cached} answers from the store, {self.tokens} tokens"
        if self.unreported:
            line += f", {self.unreported} calls without a token count"
        return line


@dataclass(slots=True)
class AnswerTally:
    """Counts of usable answers, and of the reasons why other answers are unusable.

    Attributes
    ----------
    steps
        Number of usable answers and total number of answers, keyed by step.
    faults
        Number of unusable answers, keyed by step and then by reason.
    """

    steps: dict[str, tuple[int, int]] = field(default_factory=dict)
    faults: dict[str, Counter[str]] = field(default_factory=dict)

    def add(self, step: str, *faults: str | None) -> None:
        """Count the answers of a step, given each answer's fault (None for a usable answer)."""
        usable, total = self.steps.get(step, (0, 0))
        self.steps[step] = (usable + faults.count(None), total + len(faults))
        self.faults.setdefault(step, Counter()).update(fault for fault in faults if fault)

    def lines(self) -> list[str]:
        """Return a line of text for each step that has unusable answers."""
        return [
            f"{usable} of {total} {step} could be used; "
            f"reasons for rejection: {self._reasons(step)}"
            for step, (usable, total) in self.steps.items()
            if usable < total
        ]

    def _reasons(self, step: str) -> str:
        reasons = self.faults[step].most_common(4)
        return ", ".join(f"{reason} ({count})" for reason, count in reasons)


def report_usage(writer: object, report: Callable[[str], object] | None) -> None:
    """Report the number of calls to a generator's language model, and the number of usable answers.

    Parameters
    ----------
    writer
        Prompt generator. Nothing is reported if the generator has no language model.
    report
        Function that displays a line of text; None to report nothing.
    """
    usage = getattr(writer, "usage", None)
    tally = getattr(writer, "tally", AnswerTally())
    if report and isinstance(usage, Usage):
        report(f"{getattr(writer, 'name', 'llm')}: {'; '.join([usage.line(), *tally.lines()])}")


Records = dict[str, Mapping[str, Any]]
"""Records of answers, by key."""


@dataclass(slots=True)
class Task:
    """All requests for one task, such as proposing the axes for a prompt.

    Attributes
    ----------
    complete
        Function that returns the next message and adds a record of it to `records`.
    records
        Records of all new answers, in the order in which they arrived.
    accepted
        Keys of the new answers that passed the task's check.
    """

    complete: Callable[[Records, Sequence[Message], Schema | None, int], Completion]
    records: Records = field(default_factory=dict)
    accepted: set[str] = field(default_factory=set)

    def __call__(self, messages: Sequence[Message], schema: Schema | None, seed: int) -> Completion:
        """Return the next message in a conversation; see `LLM.complete`."""
        return self.complete(self.records, messages, schema, seed)

    def accept(self) -> None:
        """Mark the latest new answer as accepted, after it has passed the task's check."""
        self.accepted.update(list(self.records)[-1:])

    def accepted_records(self) -> Records:
        """Return the records of the accepted answers."""
        return {key: record for key, record in self.records.items() if key in self.accepted}


class CachingLLM:
    """A language model whose usable answers are cached.

    Parameters
    ----------
    llm
        The language model.
    cache
        Cache for answers; None for no cache.
    budget
        Maximum number of tokens to use; None for no limit.
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
        self._waiting: Records = {}
        self._has_usable_task = False

    @contextmanager
    def remembering(self, *, continues: bool = False) -> Iterator[Task]:
        """Start a task whose answers are cached when it ends.

        If the task ends with a LanguageModelError, its answers are not cached, so that a later run
        requests them again. If the task ends with any other error, such as a wrong API key, only
        the answers that the task has accepted are cached.

        Parameters
        ----------
        continues
            Whether work continues after the task has failed, as in a search. If it does, the
            answers of the failed task are cached as soon as any task of this model succeeds. A
            repeated run then produces the same results.

        Yields
        ------
        Task
            The task. A request raises RunError when the budget is used up.
        """
        task = Task(self._complete)
        usable_records: Records = {}
        is_usable = False
        try:
            yield task
            usable_records = task.records
            is_usable = True
        except LanguageModelError:
            usable_records = task.records if continues else {}
            raise
        except BaseException:
            usable_records = task.accepted_records()
            is_usable = bool(usable_records)
            raise
        finally:
            with self._lock:
                self._has_usable_task = self._has_usable_task or is_usable
                self._waiting |= usable_records
                if self._has_usable_task:
                    self._store_waiting()

    def _store_waiting(self) -> None:
        """Cache the records that were waiting for a task to succeed."""
        if self._cache:
            for key, record in self._waiting.items():
                self._cache.put_completion(key, record)
        self._waiting = {}

    def _complete(
        self,
        new_records: Records,
        messages: Sequence[Message],
        schema: Schema | None,
        seed: int,
    ) -> Completion:
        """Return the next message from the cache or the model, and record any new answer."""
        request = {
            "fingerprint": self.fingerprint,
            "messages": [asdict(message) for message in messages],
            "schema": schema,
            "seed": seed,
        }
        key = hashlib.sha256(json.dumps(request, sort_keys=True).encode("ascii")).hexdigest()
        with self._lock:
            known = _completion(self._cache.completion(key)) if self._cache else None
            if known:
                self.usage.cached += 1
                return known
            self._check_budget()
        answer = self._llm.complete(messages, schema, seed)
        with self._lock:
            self.usage.add(answer)
        new_records[key] = {**request, "answer": asdict(answer)}
        return answer

    def _check_budget(self) -> None:
        if self._budget is None:
            return
        if self.usage.unreported:
            raise UsageError(
                f"{self.name}: the server does not report how many tokens it used, "
                "so askew cannot enforce a budget; remove --llm-arg budget"
            )
        if self.usage.tokens >= self._budget:
            raise RunError(
                f"the budget of {self._budget} tokens for {self.name} is used up "
                f"({self.usage.line()}). All answers are stored. To continue, repeat the command "
                "with a larger --llm-arg budget=TOKENS"
            )


def _completion(record: Mapping[str, Any] | None) -> Completion | None:
    """Return the answer in a record; None if there is no record or if it is damaged."""
    answer = record.get("answer") if isinstance(record, Mapping) else None
    names = {entry.name for entry in fields(Completion)}
    if not isinstance(answer, dict) or answer.keys() != names:
        return None
    return Completion(**answer) if isinstance(answer["text"], str) else None


ATTEMPTS = 4
"""Maximum number of attempts before askew gives up on a language model."""


def attempt_seed(seed: int, attempt: int) -> int:
    """Return a seed for an attempt. All seeds are below 2^31 - 1, which every server accepts."""
    return int(hashlib.sha256(f"{seed} {attempt}".encode()).hexdigest(), 16) % (2**31 - 1)


def unusable_error(llm: CachingLLM, reason: str) -> LanguageModelError:
    """Return the error to raise when the last attempt has failed."""
    return LanguageModelError(
        f"{llm.name} gave no usable answer in {ATTEMPTS} attempts: {reason}. "
        "Use a larger model, or another --seed"
    )
