"""Commands for stores and for the packs that `--shard` writes."""

from pathlib import Path

from rich.filesize import decimal

from askew.errors import RunError, StoreError, UsageError
from askew.pages.words import plural
from askew.store.merge import MergeReport, merge_all
from askew.store.pack_address import opened_packs
from askew.store.pack_storage import ASIDE
from askew.store.store import Store

LARGEST_LIST = 5
"""Maximum number of packs that a message lists."""


def merge(packs: str, /, *, store: Path = Path("runs/.askew")) -> str:
    """Import the packs from `--shard` into a store, and report which packs are missing or damaged.

    Then repeat the run's command without --shard. All images and answers are now in the store.

    Examples
    --------
    `askew merge packs --store runs/.askew`

    Parameters
    ----------
    packs
        Folder or bucket that contains the packs, as in the jobs' option --packs.
    store
        Store of the run.

    Returns
    -------
    str
        Description of what was imported, and the next step.

    Raises
    ------
    UsageError
        If the folder or bucket contains no packs.
    RunError
        If packs are missing or damaged. All other packs are imported.
    """
    storage = opened_packs(packs)
    with Store(store) as opened:
        report = merge_all(storage, opened)
    if not (report.taken or report.damaged or report.absent):
        raise UsageError(
            f"{packs} contains no packs. Name the folder or bucket from the jobs' option --packs"
        )
    lines = [*opened.notes, f"{plural(report.taken, 'pack')} imported into the store {store}"]
    left = _left(report, packs)
    if left:
        raise RunError("\n".join([*lines, *left]))
    lines.append("next: repeat the run's command without --shard and --packs")
    return "\n".join(lines)


def _left(report: MergeReport, packs: str) -> list[str]:
    """Describe the missing and damaged packs, and how to replace them."""
    lines = []
    for path, fault in list(report.damaged.items())[:LARGEST_LIST]:
        lines.append(f"{Path(path).name} {fault}")
    if report.damaged:
        lines.append(f"{plural(len(report.damaged), 'damaged pack')} moved to {packs}/{ASIDE}")
    left = len(report.absent) + len(report.damaged)
    if left:
        lines.append(
            f"{plural(left, 'pack')} of {report.taken + left} missing. Start the jobs again; they "
            "write only the missing packs. Or repeat the command without --shard and --packs, "
            "to do the rest of the work on this machine"
        )
    return lines


def store_copy(source: Path, target: Path, /) -> str:
    """Copy a store into another folder, and preserve the modification times of its files.

    If the other folder is already a store, askew adds only the missing content. The command can
    therefore also join two stores, or continue an interrupted copy.

    Examples
    --------
    `askew store copy runs/.askew /data/askew`

    Parameters
    ----------
    source
        Folder of the store.
    target
        Folder of the copy.

    Returns
    -------
    str
        What was copied.

    Raises
    ------
    UsageError
        If there is no such store.
    StoreError
        If images are damaged. All other content is still copied.
    """
    from askew.store.copying import copy_store

    report = copy_store(source, target)
    summary = (
        f"{plural(report.files, 'file')} ({decimal(report.size)}) and {plural(report.rows, 'row')} of "
        f"the index copied to {target}; {plural(report.existing, 'file')} existed already"
    )
    if report.damaged:
        names = ", ".join(file.name for file in report.damaged[:LARGEST_LIST])
        raise StoreError(
            f"{summary}. {plural(len(report.damaged), 'damaged image')} not copied: {names}. The "
            "next run generates damaged images again"
        )
    return summary
