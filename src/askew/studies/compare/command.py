"""askew compare."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from askew import conditions, findings
from askew.errors import UsageError
from askew.methods.audit.findings import AuditResult
from askew.options import Flag, Names, Place, Texts, names
from askew.parts.scoring import Scoring
from askew.parts.survey import blocks as survey
from askew.parts.survey.observed import Gone, MissingPictures, uneven
from askew.parts.survey.reader import beyond_drawings
from askew.plan import PromptPlan
from askew.studies.compare import COMPARISON_FILE, recorded
from askew.studies.compare.findings import SCORES, Difference
from askew.studies.compare.result import RUNS_FILE, Comparison, ComparisonPlan
from askew.studies.compare.score import ComparedRun, score

MOST = 6
"""Runs at once: as many as there are colours that everybody can tell apart."""

UNPAIRED = "these pictures have no seeds in common: sets are compared as independent ones, not picture by picture"
SAME = "{} and {} are runs of one plan on one model with the same pictures: nothing can differ"


def compare(
    *runs: str | Path,
    names: Names = None,
    store: Place = None,
    to: Place = None,
    fail_if: Texts = None,
    json: Flag = False,
) -> Comparison:
    """Compare finished runs of the same plan on several models, every two of them.

    Differences are those of the later run less the earlier one. Pictures of the same prompt and seed are pairs.

    Examples:

    - `askew compare runs/base runs/new`

    - `askew compare runs/flux runs/sdxl runs/dalle --names flux,sdxl,dalle`

    Parameters
    ----------
    runs
        Folders of two to six runs of `askew audit`.
    names
        A short name for each run, separated by commas; by default its model.
    store
        Where the pictures and answers of all runs are; by default .askew beside each run.
    to
        Folder for comparison.json and comparison.html; by default beside the first run.
    fail_if
        Exit with 3 if it holds of a difference: "share.q < 0.05", "gender: mad.low > 0". May be repeated.
    json
        Print comparison.json instead of the table.

    Raises
    ------
    UsageError
        For runs that are not finished, or that were planned or read otherwise.
    CheckFailed
        Where a condition of `fail_if` holds.
    """
    wanted, folders = conditions.parse(fail_if, SCORES), _folders(runs)
    audits = [recorded.finished_run(folder, Path(store) if store else None) for folder in folders]
    found = dict(zip(_names(audits, names), audits, strict=True))
    prompts, warnings = _matched(found)
    compared = [
        ComparedRun(name, recorded.identity(run), recorded.observed_sets(run, prompts)) for name, run in found.items()
    ]
    digest = hashlib.sha256(" ".join(run.plan.hash for run in audits).encode()).hexdigest()[:8]
    folder, plan = Path(to) if to else folders[0].absolute().parent / f"comparison-{digest}", audits[0].plan
    entries = score(compared, prompts, plan.vqa, _scoring(audits), plan.concepts == "axis")
    result = Comparison(folder, found, entries, warnings).write()
    conditions.check(wanted, result.entries)
    return result


def load_comparison(folder: Path, store: Path | None = None) -> Comparison:
    """A comparison that was made before; `store` is that of all runs, if they moved. Raises UsageError."""
    plan = ComparisonPlan.read(folder / RUNS_FILE)
    runs = {}
    for one in plan.runs:
        own, kept = (Path(os.path.normpath(folder / place)) for place in (one.folder, one.store))
        runs[one.name] = recorded.finished_run(own, store or kept)
    path = folder / COMPARISON_FILE
    entries = findings.valid(tuple[Difference, ...], findings.read_text(path), path)
    return Comparison(folder, runs, entries, _matched(runs)[1])


def _matched(runs: Mapping[str, AuditResult]) -> tuple[list[PromptPlan], list[str]]:
    """The prompts that can be compared, and what a reader must know. Raises UsageError where nothing can."""
    generated = all(recorded.is_generated(run) for run in runs.values())
    by_folder = {str(run.folder): run for run in runs.values()}
    prompts, warnings = recorded.comparable_prompts({name: run.plan for name, run in by_folder.items()}, generated)
    recorded.check_instruments(by_folder)
    seen: dict[str, str] = {}
    warnings += [SAME.format(twin, name) for name, run in runs.items()
                 if (twin := seen.setdefault(recorded.identity(run), name)) != name]  # fmt: skip
    warnings += _missing_sentences(runs, prompts)
    warnings += [*_sets_left_out(runs, prompts), *([] if generated else [UNPAIRED])]
    for run in runs.values():
        warnings += beyond_drawings([run.found.model.name], run.found.instruments.vqa)
    return prompts, list(dict.fromkeys(warnings))


def _folders(runs: Sequence[str | Path]) -> list[Path]:
    folders, seen = [Path(run) for run in runs], dict[Path, Path]()
    if len(folders) < 2:
        raise UsageError("a comparison needs two runs or more: askew compare RUN RUN")
    if len(folders) > MOST:
        raise UsageError(f"{len(folders)} runs are too many to read side by side; compare up to {MOST} at once")
    for folder in folders:
        if (twin := seen.setdefault(folder.resolve(), folder)) is not folder:
            raise UsageError(f"{twin} and {folder} are one and the same run; name two different ones")
    return folders


def _names(runs: Sequence[AuditResult], given: Texts) -> list[str]:
    """A name for each run: as given, else its model, with settings where models are the same, else its folder."""
    if given is not None:
        own = names(given)
        if len(own) != len(runs) or len(set(own)) != len(runs) or not all(name.strip() for name in own):
            raise UsageError(f"{len(runs)} runs need {len(runs)} different names, not: {', '.join(own) or 'none'}")
        return own
    plain = [run.found.model.name for run in runs]
    settings = [run.found.model.settings if recorded.is_generated(run) else {} for run in runs]
    apart = [{key for key, value in own.items() if any(s.get(key) != value for s in settings)} for own in settings]
    full = [name + "".join(f" {key}={own[key]}" for key in own if key in told)
            for name, own, told in zip(plain, settings, apart, strict=True)]  # fmt: skip
    candidates = (plain, full, [run.folder.resolve().name for run in runs])
    return next((some for some in candidates if len(set(some)) == len(some)), [str(run.folder) for run in runs])


def _sets_left_out(runs: Mapping[str, AuditResult], prompts: Sequence[PromptPlan]) -> list[str]:
    """Sets that only some runs have: conditions of a folder."""
    compared = {prompt.text for prompt in prompts}
    sets = {name: {(s.prompt, s.axis, s.value) for s in run.found.sets if s.prompt in compared}
            for name, run in runs.items()}  # fmt: skip
    shared = set.intersection(*sets.values())
    lost = {name: len(own - shared) for name, own in sets.items()}
    return [f"{n} picture sets of {name} are left out, which not every run has" for name, n in lost.items() if n]


def _missing_sentences(runs: Mapping[str, AuditResult], prompts: Sequence[PromptPlan]) -> list[str]:
    """Where one run lacks more answers about its own pictures than another: what is missing may be what differs."""
    counted: dict[tuple[str, str], dict[str, Gone]] = {}
    for name, run in runs.items():
        for one in run.found.shares:
            if one.set == "initial" and one.instrument == run.plan.vqa[0] and one.prompt in {p.text for p in prompts}:
                lost = sum(one.missing.values())
                counted.setdefault((one.prompt, one.axis), {})[name] = Gone(lost, lost + sum(one.counts.values()))
    tables = [({"prompt": prompt, "axis": axis}, counts) for (prompt, axis), counts in counted.items()]
    return survey.missing_sentences(uneven(MissingPictures, tables, _scoring(list(runs.values()))), "answers about")


def _scoring(runs: Sequence[AuditResult]) -> Scoring:
    """Choices for the comparison: the same whatever the order of the runs."""
    plans = [run.plan for run in runs]
    return Scoring("", min(plan.seed for plan in plans), max(plan.draws for plan in plans),
                   max(plan.level for plan in plans), plans[0].variant)  # fmt: skip
