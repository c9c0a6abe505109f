"""What the command line and Python share about audits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from askew.errors import UsageError
from askew.plan import Plan
from askew.prompts.files import clean_prompts, read_prompts
from askew.run.opening import run_folder
from askew.store.store import default_store


def collect_prompts(prompts: Sequence[str], file: Path | None, clean: bool = False) -> list[str]:
    """Prompts as given and from a file, the file's shortened to their core if `clean`."""
    filed = read_prompts(file) if file else []
    if clean and file is None:
        raise UsageError("--clean shortens the prompts of a file; give one by --prompts FILE")
    return [*prompts, *(clean_prompts(filed) if clean else filed)]


def llm_settings(url: str | None, settings: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The settings of a writer, with its server's address if there is one."""
    return dict(settings or {}) | ({} if url is None else {"url": url})


def default_completions(run: str | Path | None, store: str | Path | None) -> Path:
    """The store for a language model's answers, which are needed before the run's own name is known."""
    return Path(store) if store else default_store(Path(run) if run else Path("runs") / "any")


def default_run(plan: Plan) -> Path:
    """runs/NAME-HASH, from the first prompt and the plan's hash."""
    return run_folder(plan.prompts[0].text, plan, otherwise="audit")
