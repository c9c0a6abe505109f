"""Check that a run accounts for all planned images, and that none of its files has changed."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from askew.errors import AskewError, UsageError
from askew.findings import RESULTS_FILE, Head
from askew.plan import PLAN_FILE, read_plan
from askew.run.folder import DAMAGED, HASH_FILE, changed_run_files, plan_hash_in
from askew.store.files import SUMS_FILE
from askew.store.requests import PlannedPicture
from askew.store.store import Store

HINT = (
    "Repeat the run's command to complete the run. First use --repair to set damaged files aside."
)


@dataclass(frozen=True, slots=True)
class CheckReport:
    """The state of a run.

    Attributes
    ----------
    counts
        Sentence that states the numbers of planned, stored, missing and remaining images.
    left
        Number of planned images that are neither stored nor recorded as missing.
    faults
        Descriptions of the faults.
    damaged
        Damaged files in the run folder.
    """

    counts: str
    left: int
    faults: list[str]
    damaged: list[Path]

    @property
    def ok(self) -> bool:
        """True if no image remains to be generated and no faults were detected."""
        return not self.left and not self.faults

    def lines(self) -> list[str]:
        """Return the lines of the report."""
        lines = [self.counts, *self.faults]
        return lines if self.ok else [*lines, HINT]


def check(folder: Path, store: Store, results: Head | AskewError | None = None) -> CheckReport:
    """Check a run's plan and results, and the index and image files of its store.

    Parameters
    ----------
    folder
        The run folder.
    store
        The store of the run.
    results
        The results, or the error raised while reading them; None if the run is not finished.

    Raises
    ------
    UsageError
        If the folder contains no run.
    """
    plan_hash = plan_hash_in(folder)
    if plan_hash is None:
        raise UsageError(
            f"{folder} is not a run folder: it contains neither {HASH_FILE} nor {PLAN_FILE}"
        )
    planned = store.planned(plan_hash)
    damaged = _damaged_files(folder, plan_hash, results)
    faults = [
        *damaged.values(),
        *store.index_faults(),
        *store.file_faults(picture.path for picture in planned if picture.path),
    ]
    if isinstance(results, Head):
        faults += _unknown_images(results, planned)
    reasons = Counter(picture.reason for picture in planned if picture.reason is not None)
    stored = sum(picture.path is not None for picture in planned)
    left = len(planned) - stored - reasons.total()
    listed = ", ".join(f"{count} {reason}" for reason, count in sorted(reasons.items()))
    missing = listed if listed else "none"
    return CheckReport(
        counts=f"planned {len(planned)}, stored {stored}, missing {missing}, left {left}",
        left=left,
        faults=faults,
        damaged=[*damaged],
    )


def _damaged_files(
    folder: Path, plan_hash: str, results: Head | AskewError | None
) -> dict[Path, str]:
    """Return a description of each damaged file in a run folder, keyed by path."""
    results_file = folder / RESULTS_FILE
    plan_file = folder / PLAN_FILE
    damaged = {
        folder / name: f"{folder / name} {fault}"
        for name, fault in changed_run_files(folder).items()
    }
    if isinstance(results, AskewError):
        damaged.setdefault(results_file, str(results))
    elif results and (results.plan_hash, results.plan.hash) != (plan_hash, plan_hash):
        damaged.setdefault(results_file, f"{results_file} belongs to another plan")
    try:
        if read_plan(plan_file, follow=False).hash != plan_hash:
            damaged[plan_file] = f"{plan_file} is not the plan of {HASH_FILE}"
    except AskewError as error:
        damaged[plan_file] = str(error)
    return damaged


def _unknown_images(results: Head, planned: Sequence[PlannedPicture]) -> Iterator[str]:
    """Yield a sentence for each image in the results that the store does not contain."""
    known = {picture.id for picture in planned}
    named = {name for image_set in results.sets for name in image_set.pictures if name is not None}
    for name in sorted(named - known):
        yield f"{RESULTS_FILE} lists the image {name}, which is missing from the store for this run"


def set_aside(folder: Path, report: CheckReport) -> list[str]:
    """Rename the damaged files in a run folder, so that the run's command can write them again.

    Returns
    -------
    list of str
        Names of the renamed files.
    """
    files = [*report.damaged, folder / SUMS_FILE] if report.damaged else []
    if folder / PLAN_FILE in files:
        files.append(folder / HASH_FILE)
    existing = [file for file in files if file.exists()]
    for file in existing:
        file.replace(file.with_name(f"{file.name}{DAMAGED}"))
    return [file.name for file in existing]
