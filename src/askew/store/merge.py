"""Taking packs into a store."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from askew.store.foreign import json_value
from askew.store.pack_folder import PLANS, PackStorage
from askew.store.packs import (
    DamagedPack,
    ImagePack,
    ReadingPack,
    Vector,
    kind_of,
    unpacked_images,
    unpacked_readings,
)
from askew.store.store import RETRIED, Store


@dataclass(slots=True)
class MergeReport:
    """Numbers of packs that were taken into a store.

    Attributes
    ----------
    taken
        Number of packs whose content the store has now.
    absent
        Paths of packs that do not exist.
    damaged
        Faults of damaged packs, by path.
    """

    taken: int = 0
    absent: list[str] = field(default_factory=list)
    damaged: dict[str, str] = field(default_factory=dict)


def merge(packs: PackStorage, paths: Iterable[str], store: Store) -> MergeReport:
    """Take packs into a store. What the store has already stays as it is.

    Parameters
    ----------
    packs
        The place of the packs.
    paths
        Paths of the packs. Images come before readings of them.
    store
        The store.

    Raises
    ------
    StoreError
        If the packs cannot be read, or the store cannot be written.
    """
    report = MergeReport()
    for path in sorted(paths, key=kind_of):
        data = packs.get(path)
        if data is None:
            report.absent.append(path)
            continue
        try:
            take_pack(path, data, store)
        except DamagedPack as error:
            report.damaged[path] = str(error)
        else:
            report.taken += 1
    return report


def merge_all(packs: PackStorage, store: Store) -> MergeReport:
    """Take all packs into a store, and move damaged packs away.

    Packs that a run wants and that do not exist are reported as absent.
    """
    existing = packs.paths()
    report = merge(packs, existing, store)
    for path in report.damaged:
        packs.set_aside(path)
    report.absent += sorted(_wanted(packs) - existing)
    return report


def _wanted(packs: PackStorage) -> set[str]:
    """Return the paths of the packs that the runs with these packs want."""
    wanted = set[str]()
    for path in packs.paths(PLANS):
        content = json_value(packs.get(path) or b"{}")
        wanted.update(content.get("packs", []))
    return wanted


def take_pack(path: str, data: bytes, store: Store) -> None:
    """Take the pack at a path into a store.

    Raises
    ------
    DamagedPack
        If it is damaged. Then nothing of it is stored.
    """
    if kind_of(path) == "images":
        take_images(unpacked_images(data), store)
    else:
        take_readings(unpacked_readings(data), store)


def take_images(pack: ImagePack, store: Store) -> None:
    """Store the images of a pack, unless the store has them."""
    stored = store.pictures(request.key for request in pack.requests)
    if len(stored) == len(pack.requests):
        return
    store.put_reports(pack.reports)
    store.put_pictures(pack.requests, pack.outcomes, pack.provenance, pack.rows_seen())


def take_readings(pack: ReadingPack, store: Store) -> None:
    """Store the answers and vectors of a pack, unless the store has final ones."""
    store.put_answer_rows([row for row in pack.answers if row[4] != RETRIED], pack.questions)
    by_fingerprint: dict[str, dict[str, Vector]] = {}
    for name, rows in pack.vectors.items():
        for fingerprint, row in rows.items():
            by_fingerprint.setdefault(fingerprint, {})[name] = row
    for fingerprint, vectors in by_fingerprint.items():
        store.put_vectors(fingerprint, vectors)
