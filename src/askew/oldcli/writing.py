"""How texts are written, from the options of a command."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from askew.api.audit import default_completions, llm_settings
from askew.oldcli.base import err
from askew.plans.settings import key_values
from askew.store.completions import Completions


def writing(url: str | None, settings: Sequence[str] | None, run: Path | None, store: Path | None) -> dict[str, Any]:
    """The writer's settings, where its answers are kept, and who is told of their number."""
    return {
        "llm_args": llm_settings(url, key_values(settings or (), "--llm-arg")),
        "cache": Completions(default_completions(run, store)),
        "tell": tell,
    }


def tell(line: str) -> None:
    """Say how much a language model was asked."""
    err.print(line, soft_wrap=True, markup=False, highlight=False)
