"""The run folder, which contains the plan, its hash, the results, the report and checksums."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

from askew.errors import RunError, UsageError
from askew.findings import RESULTS_FILE
from askew.plan import PLAN_FILE, RunPlan, read_plan
from askew.store.entries import is_regular, read_bytes
from askew.store.files import SUMS_FILE, changed_files, listed_files

HASH_FILE = "plan.hash"
REPORT_FILE = "report.html"
OPENED_FILE = "opened.json"
"""File that describes a run's models, so that they need not be opened again."""

ANNOTATIONS_FILE = "annotations.jsonl"
"""File to which people add corrected labels, flags and notes. No checksum covers the file."""

FILES = (RESULTS_FILE, REPORT_FILE, OPENED_FILE, PLAN_FILE, HASH_FILE)
"""Files of every run. `SHA256SUMS` lists them."""

MITIGATION_PREFIX = "mitigation-"
"""Prefix of the names of mitigation files.

A mitigation file belongs to a run if `SHA256SUMS` lists the file.
"""

DAMAGED = ".damaged"
"""Suffix that askew adds to the names of damaged files."""

INCOMPLETE = re.compile(r"\.[0-9a-f]{16}\.part")
"""Pattern for the names of incomplete files left behind by killed processes."""

LARGEST_LIST = 3
"""Maximum number of differences that an error message lists."""


def changed_run_files(folder: Path) -> dict[str, str]:
    """Describe what is wrong with each damaged file in a run folder, keyed by file name.

    Nothing is reported for a run that has neither results nor checksums yet.
    """
    is_scored = any(os.path.lexists(folder / name) for name in (RESULTS_FILE, SUMS_FILE))
    return changed_files(folder, FILES) if is_scored else {}


def run_files(folder: Path) -> list[Path]:
    """Return the files that askew wrote to a folder. The plan and its hash come last."""
    names = [*_mitigation_files(folder), ANNOTATIONS_FILE, SUMS_FILE, *FILES]
    names += [f"{name}{DAMAGED}" for name in names]
    incomplete = [path.name for path in folder.iterdir() if INCOMPLETE.fullmatch(path.name)]
    files = [folder / name for name in (*incomplete, *sorted(names, key=_is_plan))]
    return [file for file in files if file.is_symlink() or is_regular(file)]


def _mitigation_files(folder: Path) -> list[str]:
    try:
        sums = listed_files(folder)
    except (OSError, ValueError):
        return []
    return [name for name in sums if name.startswith(MITIGATION_PREFIX)]


def _is_plan(name: str) -> bool:
    return name in (PLAN_FILE, HASH_FILE)


def check_folder(folder: Path, plan: RunPlan) -> None:
    """Check that a run folder does not contain a different plan.

    Raises
    ------
    UsageError
        If the folder contains another plan, or a link or special file in place of a plan.
    """
    for file in (folder / PLAN_FILE, folder / HASH_FILE):
        if os.path.lexists(file) and not is_regular(file):
            raise UsageError(
                f"{file} is a link or a special file. Choose another folder with --run"
            )
    if plan_hash_in(folder) in (None, plan.hash):
        return
    differences = _differences(folder, plan)
    listed = f" ({differences})" if differences else ""
    raise UsageError(
        f"the run folder {folder} contains another plan{listed}, but it can contain only one plan. "
        f"Use the options of that run, or choose another folder, as in --run {folder}-2. Stored "
        "images are reused in either case"
    )


def _differences(folder: Path, plan: RunPlan) -> str:
    """Describe how a folder's plan differs from another plan; "" if it is unreadable."""
    try:
        there = _settings(read_plan(folder / PLAN_FILE, follow=False))
    except UsageError:
        return ""
    here = _settings(plan)
    differing = [name for name in {**there, **here} if there.get(name) != here.get(name)]
    words = [
        f"{name} is {there.get(name)!r:.60} in that plan and {here.get(name)!r:.60} in this plan"
        for name in differing[:LARGEST_LIST]
    ]
    text = ", ".join(words)
    more = len(differing) - LARGEST_LIST
    return f"{text} and {more} more" if more > 0 else text


def _settings(plan: RunPlan) -> dict[str, object]:
    return dict(_leaves(plan.model_dump(mode="json")))


def _leaves(node: object, place: str = "") -> Iterator[tuple[str, object]]:
    """Yield the path and value of every leaf in nested dictionaries and lists."""
    children: list[tuple[object, object]] = []
    if isinstance(node, dict):
        children = list(node.items())
    elif isinstance(node, list):
        children = list(enumerate(node))
    else:
        yield place, node
    for name, child in children:
        yield from _leaves(child, f"{place}.{name}".lstrip("."))


def plan_hash_in(folder: Path) -> str | None:
    """Return the hash of a folder's plan; None if the folder contains no plan.

    The hash is read from the hash file. If there is no hash file, the hash is computed from the
    plan.

    Raises
    ------
    RunError
        If the hash file cannot be read.
    UsageError
        If there is no hash file and the plan cannot be read either.
    """
    hash_file = folder / HASH_FILE
    plan = folder / PLAN_FILE
    try:
        if hash_file.exists():
            # a damaged hash is the hash of no plan
            return read_bytes(hash_file, follow=False).decode("ascii", "replace").strip()
    except OSError as error:
        raise RunError(f"cannot read {hash_file}: {error}") from error
    return read_plan(plan, follow=False).hash if plan.exists() else None
