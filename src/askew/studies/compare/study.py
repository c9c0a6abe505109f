"""Finished runs of one plan on several models: compare them, write comparison.json and the page."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from io import StringIO
from pathlib import Path
from typing import Any

from rich.console import Console, RenderableType

from askew.errors import RunError, UsageError
from askew.methods.audit.result import AuditResult
from askew.parts.drawings import beyond_drawings
from askew.parts.scoring import Scoring
from askew.plan import PromptPlan
from askew.report.compare import ComparedModel
from askew.report.compare_page import write_comparison
from askew.report.compare_table import comparison_table
from askew.results.file import estimate_of, write_json
from askew.store.index import explain_os_error
from askew.studies.compare.comparable import check_instruments, common_prompts
from askew.studies.compare.differences import ComparedRun, Instruments, comparison
from askew.studies.compare.recorded import StoredVectors, captioner, finished_run, identity, is_generated, observed_sets
from askew.types import Estimate, Missing

COMPARISON_FILE = "comparison.json"
PAGE_FILE = "comparison.html"
MOST = 6
"""Runs at once: as many as there are colours that everybody can tell apart."""

UNPAIRED = "these pictures have no seeds in common: sets are compared as independent ones, not picture by picture"
SAME = "{} and {} are runs of one plan on one model with the same pictures: nothing can differ"


@dataclass(frozen=True)
class Comparison:
    """What differs between runs: the entries of comparison.json, the runs by name, and what a reader should know."""

    folder: Path
    runs: Mapping[str, AuditResult]
    entries: Sequence[Mapping[str, Any]]
    warnings: Sequence[str]

    def difference(
        self,
        score: str,
        axis: str,
        value: str | None = None,
        *,
        prompt: str | None = None,
        runs: tuple[str, str] | None = None,
        set_name: str | None = None,
        instrument: str | None = None,
    ) -> Estimate | Missing:
        """One score of the second run less that of the first; of the first prompt, pair and instrument unless named.

        `set_name` is for shares and distances, "initial" by default. Raises UsageError for what was not compared.
        """
        wanted = {
            "score": score,
            "prompt": prompt or self.entries[0]["prompt"],
            "axis": axis,
            "set": set_name or ("initial" if score in ("share", "distance") else None),
            "value": value,
            "runs": list(runs or self.entries[0]["runs"]),
        } | ({"instrument": instrument} if instrument else {})
        for entry in self.entries:
            if all(entry[name] == sought for name, sought in wanted.items()):
                return estimate_of(entry["difference"])
        text = ", ".join(f"{name} {sought!r}" for name, sought in wanted.items() if sought is not None)
        raise UsageError(f"this comparison has no entry with {text}")

    def table(self) -> RenderableType:
        """The main differences as a table for a terminal, to print with rich."""
        return comparison_table(self._models, self.entries, self.warnings)

    @property
    def results(self) -> Path:
        """Where comparison.json lies."""
        return self.folder / COMPARISON_FILE

    @property
    def numbers(self) -> Path:
        """Where comparison.json lies."""
        return self.results

    @property
    def report(self) -> Path:
        """Where the page lies."""
        return self.folder / PAGE_FILE

    def write_report(self) -> Path:
        """Write comparison.html into the folder and return its path."""
        return write_comparison(self._models, self.entries, self.warnings, self.report)

    @cached_property
    def _models(self) -> list[ComparedModel]:
        return [ComparedModel(name, str(run.folder), run.results, run.picture) for name, run in self.runs.items()]

    def _repr_html_(self) -> str:
        console = Console(record=True, file=StringIO(), width=100)
        console.print(self.table())
        return console.export_html(inline_styles=True, code_format="<pre>{code}</pre>")


def compare_runs(
    folders: Sequence[Path],
    stores: Sequence[Path] = (),
    names: Sequence[str] | None = None,
    to: Path | None = None,
) -> Comparison:
    """Compare finished runs, and write comparison.json and comparison.html into the folder `to`.

    `stores` is empty (each run's own), one for all, or one per run. `names` are short names for the runs, made from
    their models by default. Raises UsageError for runs that cannot be read or compared.
    """
    _check_folders(folders)
    audits = [finished_run(folder, store) for folder, store in zip(folders, _stores(folders, stores), strict=True)]
    runs = dict(zip(_names(audits, names), audits, strict=True))
    generated = [is_generated(run) for run in audits]
    prompts, warnings = common_prompts({str(run.folder): run.plan for run in audits}, all(generated))
    check_instruments({str(run.folder): run.results["instruments"] for run in audits})
    warnings += [*_oddities(runs), *_set_warnings(runs, prompts), *([] if all(generated) else [UNPAIRED])]
    warnings += dict.fromkeys(text for run in audits for text in beyond_drawings(run.results))
    instruments = Instruments(audits[0].plan.vqa, captioner(audits[0]), _embedder(audits))
    compared = [_compared(name, run, prompts, instruments.embedder) for name, run in runs.items()]
    entries = comparison(compared, prompts, instruments, _scoring(audits))
    folder = to or folders[0].absolute().parent / f"comparison-{_digest([run.plan.hash for run in audits])}"
    path = _write(folder, entries)
    found = Comparison(folder, runs, json.loads(path.read_text(encoding="utf-8")), warnings)
    found.write_report()
    return found


def _check_folders(folders: Sequence[Path]) -> None:
    if len(folders) < 2:
        raise UsageError("a comparison needs two runs or more: askew compare RUN RUN")
    if len(folders) > MOST:
        raise UsageError(f"{len(folders)} runs are too many to read side by side; compare up to {MOST} at once")
    seen: dict[Path, Path] = {}
    for folder in folders:
        if folder.resolve() in seen:
            raise UsageError(f"{seen[folder.resolve()]} and {folder} are one and the same run; name two different ones")
        seen[folder.resolve()] = folder


def _stores(folders: Sequence[Path], stores: Sequence[Path]) -> list[Path | None]:
    """The store of each run; None for its own."""
    if len(stores) not in (0, 1, len(folders)):
        raise UsageError(
            f"{len(stores)} stores for {len(folders)} runs; name none, one for all, or each run's in order"
        )
    return list(stores) if len(stores) == len(folders) else [next(iter(stores), None)] * len(folders)


def _names(runs: Sequence[AuditResult], given: Sequence[str] | None) -> list[str]:
    """A name for each run: as given, else its model, with settings where models are the same, else its folder."""
    if given is not None:
        if len(given) != len(runs) or len(set(given)) != len(runs) or not all(name.strip() for name in given):
            raise UsageError(f"{len(runs)} runs need {len(runs)} different names, not: {', '.join(given) or 'none'}")
        return list(given)
    plain = [str(run.results["model"]["name"]) for run in runs]
    settings = [run.results["model"]["settings"] if is_generated(run) else {} for run in runs]
    full = [
        name + "".join(f" {key}={value}" for key, value in own.items() if any(s.get(key) != value for s in settings))
        for name, own in zip(plain, settings, strict=True)
    ]
    candidates = (plain, full, [run.folder.resolve().name for run in runs], [str(run.folder) for run in runs])
    return next((names for names in candidates if len(set(names)) == len(names)), candidates[-1])


def _oddities(runs: Mapping[str, AuditResult]) -> list[str]:
    """Runs that are the same in all that could differ."""
    seen: dict[str, str] = {}
    found = []
    for name, run in runs.items():
        twin = seen.setdefault(identity(run), name)
        if twin != name:
            found.append(SAME.format(twin, name))
    return found


def _set_warnings(runs: Mapping[str, AuditResult], prompts: Sequence[PromptPlan]) -> list[str]:
    """Sets that only some runs have: conditions of a folder."""
    texts = {prompt.text for prompt in prompts}
    sets = {
        name: {(e["prompt"], e["axis"], e["value"]) for e in run.results["sets"] if e["prompt"] in texts}
        for name, run in runs.items()
    }
    shared = set.intersection(*sets.values())
    return [
        f"{len(own - shared)} picture sets of {name} are left out, which not every run has"
        for name, own in sets.items()
        if own - shared
    ]


def _embedder(runs: Sequence[AuditResult]) -> str | None:
    """The embedder of all runs; None unless each of them embedded its pictures."""
    found = [run.results["instruments"]["embedder"] for run in runs]
    return next(iter(found[0])) if all(found) else None


def _compared(name: str, run: AuditResult, prompts: Sequence[PromptPlan], embedder: str | None) -> ComparedRun:
    texts = [prompt.text for prompt in prompts]
    vectors = StoredVectors(run, texts, embedder) if embedder else None
    return ComparedRun(name, identity(run), observed_sets(run, prompts), vectors)


def _scoring(runs: Sequence[AuditResult]) -> Scoring:
    """Choices for the comparison: the same whatever the order of the runs."""
    plans = [run.plan for run in runs]
    seed, draws, level = (f(getattr(plan, name) for plan in plans) for f, name in
                          ((min, "seed"), (max, "draws"), (max, "level")))  # fmt: skip
    return Scoring("", seed, draws, level, plans[0].variant)


def _write(folder: Path, entries: Sequence[Mapping[str, Any]]) -> Path:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RunError(f"the folder {folder} {explain_os_error(error)}") from error
    return write_json(folder / COMPARISON_FILE, entries)


def _digest(hashes: Sequence[str]) -> str:
    return hashlib.sha256(" ".join(hashes).encode()).hexdigest()[:8]
