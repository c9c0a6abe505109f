"""Cache of comparison pages."""

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field

from askew.pages.blocks import Page
from askew.studies.compare.command import comparison_of
from askew.web.index import RunFacts, stamp_of

MOST_COMPARISONS = 8
"""Maximum number of comparison pages that the cache keeps in memory."""


@dataclass
class Comparisons:
    """Cache that keeps the most recent comparison pages in memory."""

    _pages: OrderedDict[tuple[str, ...], Page] = field(default_factory=OrderedDict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def page(self, runs: Sequence[RunFacts]) -> Page:
        """Return the page that compares the runs.

        The page is recomputed only if a run has changed.
        """
        key = tuple(f"{run.id} {stamp_of(run.folder)}" for run in runs)
        with self._lock:
            if key not in self._pages:
                self._pages[key] = comparison_of([run.folder for run in runs]).page
                while len(self._pages) > MOST_COMPARISONS:
                    self._pages.popitem(last=False)
            self._pages.move_to_end(key)
            return self._pages[key]
