"""Importing packs into a store."""

from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field

from askew.store.pack_lists import ATTEMPTS, read_list
from askew.store.pack_storage import PLANS, PackStorage
from askew.store.packs import DamagedPack, ImagePack, ReadingPack, Vector, kind_of, unpacked
from askew.store.store import Store

READERS = 8
"""Number of packs that askew reads in parallel."""


@dataclass(slots=True)
class MergeReport:
    """Report on an import of packs into a store.

    Attributes
    ----------
    taken
        Number of imported packs.
    absent
        Paths of packs that do not exist.
    damaged
        Descriptions of damaged packs, keyed by path.
    """

    taken: int = 0
    absent: list[str] = field(default_factory=list)
    damaged: dict[str, str] = field(default_factory=dict)


def merge(packs: PackStorage, paths: Iterable[str], store: Store) -> MergeReport:
    """Import packs into a store. Content already in the store is not changed.

    Parameters
    ----------
    packs
        Folder or bucket that contains the packs.
    paths
        Paths of the packs.
    store
        The store.

    Raises
    ------
    StoreError
        If the packs cannot be read, or the store cannot be written.
    """
    report = MergeReport()
    # images come before readings of them
    for path, pack in _read_ahead(packs, sorted(paths, key=kind_of)):
        if pack is None:
            report.absent.append(path)
        elif isinstance(pack, DamagedPack):
            report.damaged[path] = str(pack)
        else:
            take_pack(pack, store)
            report.taken += 1
    return report


def merge_all(packs: PackStorage, store: Store) -> MergeReport:
    """Import all packs into a store, and move damaged packs to the folder `damaged`.

    Missing packs that a run needs are listed in `absent`.
    """
    existing = packs.paths()
    report = merge(packs, existing, store)
    wanted = set[str]()
    for path in packs.paths(PLANS):
        listed = read_list(packs, path)
        if listed is None:
            report.damaged[path] = "has changed: its SHA-256 differs"
        else:
            wanted.update(listed)
    for path in report.damaged:
        packs.set_aside(path)
    report.absent += sorted(wanted - existing)
    return report


def read_pack(packs: PackStorage, path: str) -> ImagePack | ReadingPack | DamagedPack | None:
    """Read a pack.

    Return DamagedPack if the pack is damaged, and None if no pack exists at the path.
    """
    fault = None
    for _ in range(ATTEMPTS):
        data = packs.get(path)
        if data is None:
            return None
        try:
            return unpacked(data, kind_of(path))
        except DamagedPack as error:
            fault = error
    return fault


def _read_ahead(
    packs: PackStorage, paths: Iterable[str]
) -> Iterator[tuple[str, ImagePack | ReadingPack | DamagedPack | None]]:
    """Yield each path and its pack, in order, and read the next packs in the background."""
    in_flight = deque[tuple[str, Future[ImagePack | ReadingPack | DamagedPack | None]]]()
    with ThreadPoolExecutor(READERS, thread_name_prefix="packs") as pool:
        for path in paths:
            in_flight.append((path, pool.submit(read_pack, packs, path)))
            if len(in_flight) > READERS:
                first, future = in_flight.popleft()
                yield first, future.result()
        for path, future in in_flight:
            yield path, future.result()


def take_pack(pack: ImagePack | ReadingPack, store: Store) -> None:
    """Import a pack into a store."""
    if isinstance(pack, ImagePack):
        take_images(pack, store)
    else:
        _take_readings(pack, store)


def take_images(pack: ImagePack, store: Store) -> None:
    """From a pack, store the images that the store does not contain yet."""
    stored = store.pictures(request.key for request in pack.requests)
    if len(stored) == len(pack.requests):
        return
    store.put_reports(pack.reports)
    store.put_pictures(pack.requests, pack.outcomes, pack.provenance, pack.rows_seen())


def _take_readings(pack: ReadingPack, store: Store) -> None:
    """From a pack, store the answers and vectors that the store does not contain yet."""
    store.put_answer_rows(pack.answers, pack.questions)
    by_fingerprint: dict[str, dict[str, Vector]] = {}
    for name, rows in pack.vectors.items():
        for fingerprint, row in rows.items():
            by_fingerprint.setdefault(fingerprint, {})[name] = row
    for fingerprint, vectors in by_fingerprint.items():
        store.put_vectors(fingerprint, vectors)
