"""Background thread that reads new and changed runs into the index, so that pages load quickly."""

import threading
from pathlib import Path

from askew.web.index import RunIndex


class Indexer:
    """Background thread that reads new and changed runs into an index.

    Parameters
    ----------
    index
        The index.
    """

    def __init__(self, index: RunIndex) -> None:
        self._index = index
        self._wanted = threading.Event()
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._work, daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Stop the thread after it has read the current run."""
        self._stopped.set()
        self._wanted.set()
        if self._thread.ident is not None:
            self._thread.join(10)

    def refresh(self) -> int:
        """Detect new and changed run folders.

        Returns
        -------
        int
            Number of runs that have not been read yet.
        """
        unread = self._index.scan()
        if unread:
            self._wanted.set()
        return len(unread)

    def _work(self) -> None:
        while not self._stopped.is_set():
            self._wanted.wait()
            self._wanted.clear()
            for folder in self._unread():
                if self._stopped.is_set():
                    return
                self._index.read(folder)

    def _unread(self) -> list[Path]:
        return [] if self._stopped.is_set() else self._index.scan()
