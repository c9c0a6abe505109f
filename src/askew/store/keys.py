"""What identifies a wanted picture, its seed, and a question: hashes that are the same everywhere
and always.
"""

import json
from collections.abc import Mapping

from askew.errors import UsageError
from askew.models.base import Setting
from askew.store.files import sha256
from askew.types import Question

SEEDS = 2**63 - 1
"""Seeds lie in 1 .. SEEDS, which every random generator and SQLite can hold."""


def picture_key(
    model_name: str, revision: str, settings: Mapping[str, Setting], prompt: str, seed: int
) -> str:
    """The identity of a wanted picture, as 64 hexadecimal digits. `model_name` includes the
    provider.

    `settings` are those that change the picture. Raises UsageError for one that is not a finite
    number.
    """
    return _digest("picture", model_name, revision, dict(sorted(settings.items())), prompt, seed)


def file_key(collection: str, revision: str, path: str) -> str:
    """The identity of a collection's picture file, as 64 hexadecimal digits."""
    return _digest("file", collection, revision, path)


def slot_key(
    model_name: str,
    prompt: str,
    seed: int | None,
    path: str | None,
    settings: Mapping[str, Setting] | None = None,
) -> str:
    """The place of a picture in a run's plan, which stays the same when the model gets new weights."""
    return _digest(
        "slot",
        model_name,
        prompt,
        seed,
        path,
        *([dict(sorted(settings.items()))] if settings else []),
    )


def picture_seed(run_seed: int, prompt: str, k: int) -> int:
    """The seed of picture `k` of `prompt`, in 1 .. 2**63 - 1: the same for every model and setting,
    as paired noise.
    """
    return 1 + int(_digest("seed", run_seed, prompt, k), 16) % SEEDS


def question_hash(question: Question) -> str:
    """The identity of a question: its text, its options in order, and the axis that it reads."""
    return _digest("question", question.text, list(question.options), question.axis)


def derived_seed(run_seed: int, *names: str) -> int:
    """A seed for the random draws of one computation, independent of every other name's, in 1 ..
    2**63 - 1.
    """
    return 1 + int(_digest("draws", run_seed, *names), 16) % SEEDS


def _digest(*parts: object) -> str:
    try:
        text = json.dumps(parts, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError) as error:
        raise UsageError(
            f"settings must be text, finite numbers or yes/no: {parts[1:]} ({error})"
        ) from error
    return sha256(text.encode("ascii"))
