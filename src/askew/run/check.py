"""After a run: is everything that was planned either stored or known to be missing, and is all of
it what it was?
"""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from askew.errors import AskewError, UsageError
from askew.findings import RESULTS_FILE, Head
from askew.plan import PLAN_FILE, read_plan
from askew.run.folder import HASH_FILE, plan_hash_in
from askew.store.files import SUMS_FILE, changed_files
from askew.store.store import Store


@dataclass(frozen=True, slots=True)
class CheckReport:
    """What a run holds: `counts` and `faults` in words, how many pictures are `left`, `damaged`
    files of its folder.
    """

    counts: str
    left: int
    faults: list[str]
    damaged: list[Path]

    @property
    def ok(self) -> bool:
        """Whether nothing is left and nothing is wrong."""
        return not self.left and not self.faults

    def lines(self) -> list[str]:
        """The report in words."""
        hint = "Run the same command again: it makes what is left. --repair sets aside what is damaged before."
        return [self.counts, *self.faults, *([] if self.ok else [hint])]


def check(folder: Path, store: Store, found: Head | AskewError | None = None) -> CheckReport:
    """Compare a run folder with its store: plan, results (`found`, or why they cannot be read),
    index, picture files. Raises UsageError where there is no run.
    """
    plan_hash = plan_hash_in(folder)
    if plan_hash is None:
        raise UsageError(
            f"{folder} holds no run: there is neither {HASH_FILE} nor {PLAN_FILE} in it"
        )
    planned = store.planned(plan_hash)
    results = folder / RESULTS_FILE
    plan = folder / PLAN_FILE
    files = {folder / name: f"{folder / name} {why}" for name, why in changed_files(folder).items()}
    if isinstance(found, AskewError):
        files.setdefault(results, str(found))
    elif found and (found.plan_hash, found.plan.hash) != (plan_hash, plan_hash):
        files.setdefault(results, f"{results} belongs to another plan")
    try:
        if read_plan(plan).hash != plan_hash:
            files[plan] = f"{plan} is not the plan that was run: {HASH_FILE} is that of another"
    except AskewError as error:
        files[plan] = str(error)
    faults = [
        *files.values(),
        *store.index_faults(),
        *store.file_faults(one.path for one in planned if one.path),
    ]
    if isinstance(found, Head):
        known = {one.id for one in planned}
        named = {name for one in found.sets for name in one.pictures if name is not None}
        told = "which is none of the run's in the store"
        faults += [
            f"{results.name} names the picture {name}, {told}" for name in sorted(named - known)
        ]
    reasons = Counter(one.reason for one in planned if one.reason is not None)
    stored = sum(one.path is not None for one in planned)
    left = len(planned) - stored - reasons.total()
    missing = ", ".join(f"{count} {reason}" for reason, count in sorted(reasons.items())) or "none"
    counts = f"planned {len(planned)}, stored {stored}, missing {missing}, left {left}"
    return CheckReport(counts, left, faults, [*files])


def set_aside(folder: Path, report: CheckReport) -> list[str]:
    """Rename the damaged files of a run folder, so that the same command writes them anew. Returns
    their names.
    """
    files = [*report.damaged, folder / SUMS_FILE] if report.damaged else []
    if folder / PLAN_FILE in files:
        files.append(folder / HASH_FILE)
    there = [file for file in files if file.exists()]
    for file in there:
        file.replace(file.with_name(f"{file.name}.damaged"))
    return [file.name for file in there]
