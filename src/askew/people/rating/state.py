"""The raters and answers of a study while it is being served."""

import hmac
import secrets
import threading
import time
from collections import defaultdict, deque
from dataclasses import dataclass
from hashlib import sha256

from askew.people.assignment import displayed_options
from askew.people.folder import (
    ANSWERS_FILE,
    RATERS_FILE,
    SECOND_ITEMS_FILE,
    StudyFolder,
    token_hash,
)
from askew.people.records import SPECIAL_ANSWERS, AnswerRecord, Item, RaterRecord

MOST_REQUESTS = 20
"""Maximum number of requests per second from a rater."""

WATCHED_FILES = (SECOND_ITEMS_FILE, RATERS_FILE, ANSWERS_FILE)
"""Files that are read again if they change. The answers come last."""

LONGEST_TEXT = 2000
"""Maximum number of characters in a text that a rater writes."""


class AnswerRefused(Exception):
    """Exception for an answer that the question does not allow."""


@dataclass(frozen=True)
class Progress:
    """Progress of a rater through the study.

    Attributes
    ----------
    rater
        The rater.
    answers
        The rater's answers so far, keyed by item id.
    """

    rater: RaterRecord
    answers: dict[str, AnswerRecord]

    @property
    def next_item(self) -> str | None:
        """Id of the rater's first unanswered item; None if all items are answered."""
        return next((name for name in self.rater.items if name not in self.answers), None)

    def after(self, item: str) -> str | None:
        """Return the first unanswered item after a given item.

        After the last item, the search continues with the first item. The result is None if all
        other items are answered.
        """
        place = self.rater.items.index(item)
        order = self.rater.items[place + 1 :] + self.rater.items[:place]
        return next((name for name in order if name not in self.answers), None)

    def before(self, item: str | None) -> str | None:
        """Return the item before a given item in the rater's order.

        If `item` is None, return the last item.
        """
        if item is None:
            return self.rater.items[-1] if self.rater.items else None
        place = self.rater.items.index(item)
        return self.rater.items[place - 1] if place else None


class StudyState:
    """The raters and answers of a study while the web app presents it to raters.

    Parameters
    ----------
    folder
        The study.
    """

    def __init__(self, folder: StudyFolder) -> None:
        self.folder = folder
        self.plan = folder.plan
        self.items = folder.items
        self._lock = threading.Lock()
        self._key = secrets.token_bytes(32)
        self._requests: dict[str, deque[float]] = defaultdict(deque)
        self._versions: tuple[object, ...] = ()
        self._raters: dict[str, RaterRecord] = {}
        self._answers: dict[tuple[str, str], AnswerRecord] = {}

    def progress(self, token: str) -> Progress | None:
        """Return the progress of the rater who has this secret; None if the secret is unknown."""
        with self._lock:
            self._read()
            rater = self._raters.get(token_hash(token))
            if rater is None:
                return None
            mine = {item: each for (name, item), each in self._answers.items() if name == rater.id}
            return Progress(rater=rater, answers=mine)

    def _read(self) -> None:
        """Reload the raters, the answers and the items if their files have changed."""
        versions = tuple(self._version(name) for name in WATCHED_FILES)
        if versions != self._versions:
            if versions[:1] != self._versions[:1]:
                # a folder object reads its items only once
                self.folder = StudyFolder(self.folder.path)
                self.items = self.folder.items
            self._raters = {rater.token: rater for rater in self.folder.raters() if rater.token}
            self._answers = self.folder.answers()
            self._versions = versions

    def _version(self, name: str) -> object:
        path = self.folder.path / name
        if not path.exists():
            return None
        status = path.stat()
        return status.st_ino, status.st_size, status.st_mtime_ns

    def answer(self, answer: AnswerRecord) -> None:
        """Store an answer. When this method returns, the answer is on disk."""
        with self._lock:
            self._read()
            self.folder.append(answer)
            self._answers[answer.rater, answer.item] = answer
            # another process may have changed the other files while this answer was stored
            self._versions = (*self._versions[:-1], self._version(ANSWERS_FILE))

    def consent(self, rater: RaterRecord) -> None:
        """Record that a rater agreed to take part."""
        with self._lock:
            self.folder.consent(rater.id)

    def withdraw(self, rater: RaterRecord) -> None:
        """Delete a rater and all of the rater's answers."""
        with self._lock:
            self.folder.withdraw(rater.id)

    def is_busy(self, token: str) -> bool:
        """Check whether a rater has sent more than MOST_REQUESTS requests in the last second."""
        now = time.monotonic()
        with self._lock:
            times = self._requests[token]
            while times and now - times[0] > 1:
                times.popleft()
            times.append(now)
            return len(times) > MOST_REQUESTS

    def stamp(self, item: str) -> str:
        """Return a stamp that contains the time at which an item is shown.

        The stamp is signed, so that it cannot be forged.
        """
        moment = f"{time.time():.3f}"
        return f"{moment}.{self._signature(item, moment)}"

    def seconds_since(self, stamp: str, item: str) -> float | None:
        """Return the seconds since an item was shown; None if the stamp's signature is invalid."""
        moment, _, signature = stamp.rpartition(".")
        if not hmac.compare_digest(signature, self._signature(item, moment)):
            return None
        return round(max(time.time() - float(moment), 0.0), 1)

    def _signature(self, item: str, moment: str) -> str:
        return hmac.new(self._key, f"{item} {moment}".encode(), sha256).hexdigest()[:32]


def checked_answer(item: Item, chosen: list[str], text: str) -> tuple[str, ...]:
    """Check the options that a rater chose, and return them in the item's original order.

    Raises
    ------
    AnswerRefused
        If a chosen option does not exist, too many or too few options are chosen, or the text is
        too long.
    """
    allowed = (*item.options, *item.special)
    if any(name not in allowed for name in chosen):
        raise AnswerRefused("the question does not have this answer")
    if len(text) > LONGEST_TEXT:
        raise AnswerRefused(f"the text has more than {LONGEST_TEXT} characters")
    answer = tuple(name for name in allowed if name in chosen)
    if not item.multiple and len(answer) != 1:
        raise AnswerRefused("choose one answer")
    if not answer:
        raise AnswerRefused("choose all answers that apply, or “None of these”")
    if len(answer) > 1 and any(name in item.special for name in answer):
        special = next(name for name in answer if name in item.special)
        raise AnswerRefused(f"“{SPECIAL_ANSWERS[special]}” cannot be combined with other answers")
    return answer


def shown_answers(item: Item, number: int) -> tuple[str, ...]:
    """Return all possible answers to an item in the order in which a rater sees them."""
    return (*displayed_options(item, number), *item.special)
