"""The run folder, which contains a plan and its hash."""

import os
from collections.abc import Iterator
from pathlib import Path

from askew.errors import RunError, UsageError
from askew.plan import PLAN_FILE, RunPlan, read_plan
from askew.store.entries import is_regular, read_bytes

HASH_FILE = "plan.hash"
LARGEST_LIST = 3
"""Largest number of differences in an error message."""


def check_folder(folder: Path, plan: RunPlan) -> None:
    """Check that a run folder can take a plan.

    Raises
    ------
    UsageError
        If the folder contains another plan, or a link in place of a plan.
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
        f"the run folder {folder} holds another plan{listed}, and a folder can contain only one plan. Repeat "
        f"the options of that run, or choose another folder, as in --run {folder}-2. Stored "
        "images are reused in both cases"
    )


def _differences(folder: Path, plan: RunPlan) -> str:
    """Return the differences of the plan of a folder from another in words; empty if unreadable."""
    try:
        there = _settings(read_plan(folder / PLAN_FILE))
    except UsageError:
        return ""
    here = _settings(plan)
    differing = [name for name in {**there, **here} if there.get(name) != here.get(name)]
    words = [
        f"{name} is {there.get(name)!r:.60} there and {here.get(name)!r:.60} here"
        for name in differing[:LARGEST_LIST]
    ]
    text = ", ".join(words)
    more = len(differing) - LARGEST_LIST
    return f"{text} and {more} more" if more > 0 else text


def _settings(plan: RunPlan) -> dict[str, object]:
    return dict(_leaves(plan.model_dump(mode="json")))


def _leaves(node: object, place: str = "") -> Iterator[tuple[str, object]]:
    """Yield the paths and the values of all leaves below a node."""
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
    """Return the hash of the plan in a folder; None if it contains no plan.

    The hash file decides. If there is no hash file, the plan is read.

    Raises
    ------
    RunError
        If the hash file cannot be read.
    UsageError
        If there is no hash file, and the plan cannot be read.
    """
    hash_file = folder / HASH_FILE
    plan = folder / PLAN_FILE
    try:
        if hash_file.exists():
            return read_bytes(hash_file, follow=False).decode("ascii").strip()
    except (OSError, ValueError) as error:
        raise RunError(f"cannot read {hash_file}: {error}") from error
    return read_plan(plan).hash if plan.exists() else None
