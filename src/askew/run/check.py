"""After a run: is everything that was planned either stored or known to be missing, and is all of it what it was?"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from askew.errors import AskewError, UsageError
from askew.findings import RESULTS_FILE, Head
from askew.plan import PLAN_FILE, RunPlan
from askew.run.live import HASH_FILE, plan_hash_in, plan_in
from askew.store.files import SUMS_FILE, changed_files
from askew.store.store import Store, is_intact


@dataclass(frozen=True, slots=True)
class CheckReport:
    """What a run holds. `planned` = `stored` + missing + `left`; `faults` says in words what is wrong.

    `damaged` are the files of the run folder that are not what was written.
    """

    planned: int
    stored: int
    left: int
    missing: dict[str, int] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)
    damaged: tuple[Path, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether nothing is left and nothing is wrong."""
        return not self.left and not self.faults

    def lines(self) -> list[str]:
        """The report in words."""
        reasons = ", ".join(f"{count} {reason}" for reason, count in self.missing.items()) or "none"
        lines = [f"planned {self.planned}, stored {self.stored}, missing {reasons}, left {self.left}"]
        lines += self.faults
        if not self.ok:
            lines.append(
                "Run the same command again: it makes what is left. --repair sets aside what is damaged before."
            )
        return lines


def check(folder: Path, store: Store, found: Head | AskewError | None = None) -> CheckReport:
    """Compare a run folder with its store: plan and results, every row of the index, every picture file of the run.

    `found` are its findings, or why they cannot be read; None leaves them out. Raises UsageError for a folder that
    holds no run.
    """
    plan_hash = plan_hash_in(folder)
    if plan_hash is None:
        raise UsageError(f"{folder} holds no run: there is neither {HASH_FILE} nor {PLAN_FILE} in it")
    planned = store.planned(plan_hash)
    faults, damaged = _of_files(folder, plan_hash, found)
    faults += store.index_faults()
    broken = [path for path in sorted({one.path for one in planned if one.path}) if not is_intact(path)]
    faults += [
        f"{path} is {'not what was stored: its SHA-256 is another' if path.exists() else 'gone'}" for path in broken
    ]
    if isinstance(found, Head):
        known = {one.id for one in planned}
        named = sorted({name for one in found.sets for name in one.pictures if name is not None} - known)
        faults += [
            f"{RESULTS_FILE} names the picture {name}, which is none of the run's in the store" for name in named
        ]
    reasons = Counter(one.reason for one in planned if one.reason is not None)
    present = sum(one.path is not None for one in planned)
    left = len(planned) - present - sum(reasons.values())
    return CheckReport(len(planned), present, left, dict(sorted(reasons.items())), faults, tuple(damaged))


def _of_files(folder: Path, plan_hash: str, found: Head | AskewError | None) -> tuple[list[str], list[Path]]:
    """What is wrong with the files of a run folder, in words, and with which."""
    faults = {folder / name: f"{folder / name} {why}" for name, why in changed_files(folder).items()}
    if isinstance(found, AskewError):
        faults.setdefault(folder / RESULTS_FILE, str(found))
    elif found and (found.plan_hash, found.plan.hash) != (plan_hash, plan_hash):
        faults.setdefault(folder / RESULTS_FILE, f"{folder / RESULTS_FILE} belongs to another plan")
    try:
        plan: RunPlan | None = plan_in(folder)
        if plan is None or plan.hash != plan_hash:
            faults[folder / PLAN_FILE] = (
                f"{folder / PLAN_FILE} is not the plan that was run: {HASH_FILE} is that of another"
            )
    except AskewError as error:
        faults[folder / PLAN_FILE] = str(error)
    return list(faults.values()), list(faults)


def set_aside(folder: Path, report: CheckReport) -> list[str]:
    """Rename the damaged files of a run folder, so that the same command writes them anew. Returns their names."""
    files = [*report.damaged, folder / SUMS_FILE] if report.damaged else []
    if folder / PLAN_FILE in files:
        files.append(folder / HASH_FILE)
    there = [file for file in files if file.exists()]
    for file in there:
        file.replace(file.with_name(f"{file.name}.damaged"))
    return [file.name for file in there]
