"""Cached answers of language models."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from askew.store.entries import check_store, read_bytes, regular_files
from askew.store.files import digest_of, write_whole
from askew.store.foreign import json_value
from askew.store.index import faults


class Completions:
    """Cache, inside a store, for answers from language models.

    Several processes and threads can share the cache.
    """

    def __init__(self, store: Path | str) -> None:
        self._folder = Path(store).absolute() / "completions"
        self._where = f"the store {self._folder.parent}"
        check_store(self._folder.parent)

    def completion(self, key: str) -> Mapping[str, Any] | None:
        """Return the record stored under `key`; None if no readable record exists."""
        return _record_in(self._file(key))

    def put_completion(self, key: str, record: Mapping[str, Any]) -> None:
        """Store a record.

        Raises
        ------
        StoreError
            If the record cannot be written.
        """
        self.put_completions({key: record})

    def put_completions(self, records: Mapping[str, Mapping[str, Any]]) -> None:
        """Store several records, keyed by request hash.

        Storing them together is faster than storing them one by one.

        Raises
        ------
        StoreError
            If the records cannot be written.
        """
        contents = {}
        with faults(self._where):
            for key, record in records.items():
                path = self._file(key)
                path.parent.mkdir(parents=True, exist_ok=True)
                content = {**record, "sha256": digest_of(record)}
                text = json.dumps(content, indent=1, sort_keys=True)
                contents[path] = text.encode("ascii")
            write_whole(contents)

    def _file(self, key: str) -> Path:
        return self._folder / key[:2] / f"{key}.json"


def damaged_completions(store: Path) -> Iterator[Path]:
    """Yield the damaged answer files in a store. askew treats their answers as missing."""
    folders = store / "completions"
    for folder in sorted(folders.iterdir()) if folders.is_dir() else ():
        for file in regular_files(folder):
            if file.suffix == ".json" and _record_in(file) is None:
                yield file


def _record_in(file: Path) -> Mapping[str, Any] | None:
    """Return the record stored in a file; None if the file is missing or damaged."""
    try:
        record = json_value(read_bytes(file, follow=False))
    except (OSError, ValueError):
        return None
    if not isinstance(record, dict):
        return None
    digest = record.pop("sha256", None)
    return record if digest == digest_of(record) else None
