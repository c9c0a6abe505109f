"""What a store holds that no run needs, and freeing it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from askew.errors import StoreError
from askew.store.index import faults
from askew.store.store import Store


@dataclass(frozen=True, slots=True)
class Unneeded:
    """Pictures that no run plans, by id, and the files that can go with them."""

    ids: frozenset[str]
    files: tuple[Path, ...]

    @property
    def size(self) -> int:
        """Bytes of the files."""
        return sum(file.stat().st_size for file in self.files)


def unneeded(store: Store) -> Unneeded:
    """What no run needs. Raises StoreError for a store that is damaged: what seems unneeded may be needed."""
    if store.index_faults():
        raise StoreError(f"the store {store.path} is damaged; mend it first: askew check {store.path} --rebuild")
    needed = {row[2] for row, _ in store.index.all_rows("planned")}
    rows = [row for row, _ in store.index.all_rows("pictures")]
    kept = {row[1] for row in rows if row[0] in needed}
    known = {row[1] for row in rows} | {
        row[1] for table, some in store.journal.rows() if table == "pictures" for row in some
    }
    files = [file for file in (store.path / "pictures").glob("*/*") if file.stem not in kept and file.stem in known]
    aside = [file for file in (store.path / "quarantine").glob("*") if file.is_file()]
    return Unneeded(frozenset(row[1] for row in rows if row[1]) - kept, tuple(sorted([*files, *aside])))


def free(store: Store, found: Unneeded) -> None:
    """Take away what no run needs: rows first, then files. Raises StoreError."""
    store.index.delete("pictures", "id", found.ids)
    for table in ("answers", "vectors"):
        store.index.delete(table, "picture", found.ids)
    with faults(f"the store {store.path}"):
        for file in found.files:
            file.unlink(missing_ok=True)
