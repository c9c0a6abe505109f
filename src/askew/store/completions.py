"""Answers of language models on disk, in the store's folder: completions/ab/ab12….json, by what was asked."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from askew.store.files import write_whole
from askew.store.index import faults


class Completions:
    """The answers kept in one store, which several processes and threads may share."""

    def __init__(self, store: Path | str) -> None:
        self._folder = Path(store).absolute() / "completions"
        self._where = f"the store {self._folder.parent}"

    def completion(self, key: str) -> Mapping[str, Any] | None:
        """The record under `key`, None if there is none that can be read."""
        try:
            record = json.loads(self._file(key).read_bytes())
        except (OSError, ValueError):
            return None
        return record if isinstance(record, dict) else None

    def put_completion(self, key: str, record: Mapping[str, Any]) -> None:
        """Keep a record. Raises StoreError."""
        path = self._file(key)
        with faults(self._where):
            path.parent.mkdir(parents=True, exist_ok=True)
            write_whole({path: json.dumps(record, indent=1, sort_keys=True).encode("ascii")})

    def _file(self, key: str) -> Path:
        return self._folder / key[:2] / f"{key}.json"
