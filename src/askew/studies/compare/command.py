"""The command `askew compare`, which loads no models or instruments."""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import cast

from askew import conditions, findings
from askew.errors import UsageError
from askew.method import load
from askew.methods.audit.findings import AuditResult
from askew.methods.audit.stored import observed_sets
from askew.options import Flag, NamesOption, PathOption, TextsOption
from askew.plan import PromptPlan
from askew.store.files import SUMS_FILE, changed_files, sha256
from askew.studies.compare import COMPARISON_FILE
from askew.studies.compare.comparable import have_the_same_embedder, match_runs
from askew.studies.compare.comparison import FILES, RUNS_FILE, Comparison, ComparisonPlan
from askew.studies.compare.findings import SCORES, ScoreDifference, run_scores
from askew.studies.compare.runs import (
    ComparedResult,
    TaskRun,
    compared_method,
    content_digest,
    finished_run,
    run_names,
    scoring_of,
    stored_vectors,
)
from askew.studies.compare.score import ComparedRun, score
from askew.studies.compare_downstream.comparison import (
    TaskComparison,
    compare_tasks,
    warnings_of,
)
from askew.studies.compare_downstream.findings import TaskDifference, scores_of

AUDIT = "audit"

MOST_RUNS = 6
"""Maximum number of runs. More colors in a chart would be hard to distinguish."""


def compare(
    *runs: str | Path,
    names: NamesOption = None,
    store: PathOption = None,
    output: PathOption = None,
    fail_if: TextsOption = None,
    json: Flag = False,
) -> Comparison | TaskComparison:
    """Compare every pair of finished runs that used the same plan on different models.

    In each pair, the score of the run that you list first is subtracted from the score of the other
    run. Images that have the same prompt and seed form pairs. For classifications and edits, runs
    with the same input images are compared image by image.

    Examples
    --------
    `askew compare runs/base runs/new`

    `askew compare runs/flux runs/sdxl runs/dalle --names flux,sdxl,dalle`

    `askew compare runs/classify-photos runs/classify-synthetic --names photos,synthetic`

    Parameters
    ----------
    runs
        Folders of two to six runs of `askew audit`, of `askew classify` or of `askew edit`.
    names
        Short names of the runs, separated by commas. By default, each run is named after its model.
    store
        Store with the images and answers of all runs. [default: .askew next to each run]
    output
        Folder for comparison.json and comparison.html. [default: a folder next to the first run]
    fail_if
        Exit with code 3 if a difference meets the condition, such as "share.q < 0.05" or "gender:
        mad.low > 0". May be repeated.
    json
        Print comparison.json instead of the table.

    Returns
    -------
    Comparison or TaskComparison
        The differences between all pairs of runs: a TaskComparison for classifications and edits, a
        Comparison for audits.

    Raises
    ------
    UsageError
        If a run is not finished, or if the plans or instruments of the runs differ.
    CheckFailed
        If a difference meets a condition in `fail_if`.
    """
    folders = [Path(run) for run in runs]
    _check_folders(folders)
    given_store = Path(store) if store else None
    method = compared_method(folders)
    checks = conditions.parse(fail_if, SCORES if method == AUDIT else scores_of(method))
    result = comparison_of(folders, given_store, names, output).write()
    conditions.check(checks, result.entries, result)
    return result


def comparison_of(
    folders: Sequence[Path],
    store: Path | None = None,
    names: NamesOption = None,
    output: PathOption = None,
) -> Comparison | TaskComparison:
    """Compare finished runs, without writing files.

    Parameters
    ----------
    folders
        Folders of two to six runs of the same method.
    store, names, output
        As in `compare`.

    Raises
    ------
    UsageError
        If a run is not finished, or if the plans or instruments of the runs differ.
    """
    _check_folders(folders)
    if compared_method(folders) == AUDIT:
        return _compared_audits(folders, store, names, output)
    tasks = _named_tasks(folders, store, names)
    return compare_tasks(tasks, _place(output, folders, tasks.values()))


def _compared_audits(
    folders: Sequence[Path],
    store: Path | None,
    names: NamesOption,
    output: PathOption,
) -> Comparison:
    """Compare finished audits."""
    audits = [finished_run(folder, store) for folder in folders]
    labels = run_names([(run.folder, run.findings) for run in audits], names)
    by_name = dict(zip(labels, audits, strict=True))
    prompts, warnings = match_runs(by_name)
    with_vectors = have_the_same_embedder(audits)
    compared = [
        _compared_run(name, run, prompts, with_vectors=with_vectors)
        for name, run in by_name.items()
    ]
    place = _place(output, folders, audits)
    plan = audits[0].plan
    entries = score(
        compared,
        prompts,
        plan.vqa,
        scoring_of(audits),
        separate_concepts=plan.concepts == "axis",
    )
    return Comparison(folder=place, runs=by_name, entries=entries, warnings=warnings)


def _named_tasks(
    folders: Sequence[Path], store: Path | None, names: NamesOption
) -> dict[str, TaskRun]:
    """Load finished classifications or edits, and return them, keyed by name."""
    tasks = [cast("TaskRun", load(folder, store)) for folder in folders]
    labels = run_names([(run.folder, run.findings) for run in tasks], names)
    return dict(zip(labels, tasks, strict=True))


def _place(output: PathOption, folders: Sequence[Path], runs: Iterable[ComparedResult]) -> Path:
    """Return the folder for a comparison's files; by default, a folder next to the first run."""
    digest = sha256(" ".join(run.plan.hash for run in runs).encode())[:8]
    return Path(output) if output else folders[0].absolute().parent / f"comparison-{digest}"


def _compared_run(
    name: str, run: AuditResult, prompts: Sequence[PromptPlan], *, with_vectors: bool
) -> ComparedRun:
    """Return a run with its labeled images and, if requested, the images' embedding vectors."""
    sets = observed_sets(run, prompts)
    return ComparedRun(
        name=name,
        identity=content_digest(run),
        sets=sets,
        vectors=stored_vectors(run, sets) if with_vectors else {},
        embedder=next(iter(run.findings.instruments.embedder or {}), ""),
        scores=run_scores(run.findings),
    )


def _check_folders(folders: Sequence[Path]) -> None:
    """Raise UsageError if there are too few or too many runs, or if a run is given twice."""
    if len(folders) < 2:
        raise UsageError("a comparison needs two or more runs: askew compare RUN RUN")
    if len(folders) > MOST_RUNS:
        raise UsageError(
            f"{len(folders)} runs are too many to compare side by side. Give at most {MOST_RUNS} "
            "runs"
        )
    seen: dict[Path, Path] = {}
    for folder in folders:
        first = seen.setdefault(folder.resolve(), folder)
        if first is not folder:
            raise UsageError(f"{first} and {folder} are the same run. Give different runs")


def load_comparison(folder: Path, store: Path | None = None) -> Comparison | TaskComparison:
    """Load a finished comparison.

    Parameters
    ----------
    folder
        Folder of the comparison.
    store
        Store with the images and answers of all runs. By default, askew uses the stores listed in
        comparison.toml.

    Raises
    ------
    UsageError
        If a file or a run is missing or not valid.
    """
    plan = ComparisonPlan.read(folder / RUNS_FILE, follow=False)
    faults = changed_files(folder, FILES)
    for name in (SUMS_FILE, RUNS_FILE, COMPARISON_FILE):
        if name in faults:
            raise UsageError(
                f"{folder / name} {faults[name]}. Repeat askew compare to write the comparison again"
            )
    places = []
    for run in plan.runs:
        run_folder = Path(os.path.normpath(folder / run.folder))
        run_store = store or Path(os.path.normpath(folder / run.store))
        places.append((run.name, run_folder, run_store))
    path = folder / COMPARISON_FILE
    if compared_method([run_folder for _, run_folder, _ in places]) != AUDIT:
        tasks = {}
        for name, run_folder, run_store in places:
            tasks[name] = cast("TaskRun", load(run_folder, run_store))
        differences = findings.read_records(tuple[TaskDifference, ...], path)
        return TaskComparison(
            folder=folder, runs=tasks, entries=differences, warnings=warnings_of(tasks)
        )
    runs = {name: finished_run(run_folder, run_store) for name, run_folder, run_store in places}
    entries = findings.read_records(tuple[ScoreDifference, ...], path)
    _, warnings = match_runs(runs)
    return Comparison(folder=folder, runs=runs, entries=entries, warnings=warnings)
