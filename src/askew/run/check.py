"""After a run: is everything that was planned either stored or known to be missing, and are the files intact?"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from askew.errors import UsageError
from askew.findings import RESULTS_FILE, read_text
from askew.plan import PLAN_FILE
from askew.run.live import HASH_FILE, plan_hash_in
from askew.store.store import Store, is_intact


@dataclass(frozen=True, slots=True)
class CheckReport:
    """What a run holds. `planned` = `stored` + missing + `left`; `faults` says in words what is wrong."""

    planned: int
    stored: int
    left: int
    missing: dict[str, int] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)

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
            lines.append("Run the same command again: it makes what is left and repairs what is broken.")
        return lines


def check(folder: Path, store: Store) -> CheckReport:
    """Compare a run folder with its store, and read every picture file of the run.

    Raises UsageError for a folder that holds no run.
    """
    plan_hash = plan_hash_in(folder)
    if plan_hash is None:
        raise UsageError(f"{folder} holds no run: there is neither {HASH_FILE} nor {PLAN_FILE} in it")
    planned = store.planned(plan_hash)
    present = sum(one.path is not None for one in planned)
    reasons = Counter(one.reason for one in planned if one.reason is not None)
    broken = (path for path in sorted({one.path for one in planned if one.path}) if not is_intact(path))
    faults = [
        f"{path} is {'not what was stored: its SHA-256 is another' if path.exists() else 'gone'}" for path in broken
    ]
    if (folder / RESULTS_FILE).exists():
        faults += _result_faults(json.loads(read_text(folder / RESULTS_FILE)), plan_hash, store)
    left = len(planned) - present - sum(reasons.values())
    return CheckReport(len(planned), present, left, dict(sorted(reasons.items())), faults)


def _result_faults(results: dict[str, Any], plan_hash: str, store: Store) -> list[str]:
    faults = []
    if results.get("plan_hash") not in (None, plan_hash):
        faults.append(f"{RESULTS_FILE} belongs to another plan")
    named = {name for one in results.get("sets", []) for name in one.get("pictures", []) if name is not None}
    known = store.known_files(sorted(named))
    absent = sorted(name for name in named if name not in known or not is_intact(known[name]))
    faults += [f"{RESULTS_FILE} names the picture {name}, which the store does not hold intact" for name in absent]
    return faults
