"""Seeds, and hashes that identify images and questions.

Seeds and hashes do not depend on the version of askew.
"""

import json
from collections.abc import Mapping

from askew.errors import UsageError
from askew.models.base import Setting
from askew.store.files import sha256
from askew.types import Question

SEEDS = 2**63 - 1
"""The largest seed. SQLite and all random generators accept seeds from 1 to this number."""

_ENCODER = json.JSONEncoder(separators=(",", ":"), allow_nan=False)


def picture_key(
    model_name: str, revision: str, settings: Mapping[str, Setting], prompt: str, seed: int
) -> str:
    """Return the hash that identifies an image that a model generates, as 64 hexadecimal digits.

    Parameters
    ----------
    model_name
        Name of the model with its provider.
    revision, prompt, seed
        Revision of the model, and prompt and seed of the image.
    settings
        The model settings that affect the image.

    Raises
    ------
    UsageError
        If a setting is a number that is not finite.
    """
    return _digest("picture", model_name, revision, dict(sorted(settings.items())), prompt, seed)


def file_key(collection: str, revision: str, path: str) -> str:
    """Return the hash that identifies an image file in a collection, as 64 hexadecimal digits."""
    return _digest("file", collection, revision, path)


def slot_key(
    model_name: str,
    prompt: str,
    seed: int | None,
    path: str | None,
    settings: Mapping[str, Setting] | None = None,
) -> str:
    """Return the hash that identifies an image in a run's plan for all revisions of the model."""
    changing = [dict(sorted(settings.items()))] if settings else []
    return _digest("slot", model_name, prompt, seed, path, *changing)


def picture_seed(run_seed: int, prompt: str, k: int) -> int:
    """Return the seed, from 1 to 2**63 - 1, for image number `k` of a prompt.

    The seed does not depend on the model or its settings, so that paired images start from the same
    noise.
    """
    return 1 + int(_digest("seed", run_seed, prompt, k), 16) % SEEDS


def question_hash(question: Question) -> str:
    """Return the hash that identifies a question by its text, ordered options and axis."""
    return _digest("question", question.text, list(question.options), question.axis)


def derived_seed(run_seed: int, *names: str) -> int:
    """Return a seed, from 1 to 2**63 - 1, for the random draws in one computation.

    Different names yield independent seeds.
    """
    return 1 + int(_digest("draws", run_seed, *names), 16) % SEEDS


def held_out_seed(run_seed: int) -> int:
    """Return the run seed for held-out images, which do not affect the selection of prompts."""
    return derived_seed(run_seed, "fresh")


def _digest(*parts: object) -> str:
    try:
        text = _ENCODER.encode(parts)
    except (TypeError, ValueError) as error:
        raise UsageError(
            f"settings must be text, finite numbers or true/false, not {parts[1:]} ({error})"
        ) from error
    return sha256(text.encode("ascii"))
