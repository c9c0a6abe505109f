"""Record of the parts of a running app that its pages share, and types of the pages' handlers."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from starlette.requests import Request as HTTPRequest
from starlette.responses import Response

from askew.web.comparisons import Comparisons
from askew.web.index import RunIndex
from askew.web.indexer import Indexer
from askew.web.jobs import Jobs
from askew.web.opened import OpenedRuns, OverlayCopies
from askew.web.sent_form import SentForm
from askew.web.session import Session


@dataclass
class Site:
    """Parts of a running app.

    Attributes
    ----------
    index
        Index of the runs.
    indexer
        Thread that reads new and changed runs.
    session
        Session of the user.
    opened
        Cache of opened runs.
    jobs
        Commands that the app starts.
    home
        Folder for new runs.
    is_read_only
        Whether the app must not change anything on disk.
    overlays
        Cache of attention overlays on recent pages.
    comparisons
        Cache of recent comparisons.
    """

    index: RunIndex
    indexer: Indexer
    session: Session
    opened: OpenedRuns
    jobs: Jobs
    home: Path
    is_read_only: bool = False
    overlays: OverlayCopies = field(default_factory=OverlayCopies)
    comparisons: Comparisons = field(default_factory=Comparisons)


Handler = Callable[[Site, HTTPRequest], Response]
"""A function that answers a GET request. It runs in a thread."""

FormHandler = Callable[[Site, HTTPRequest, SentForm], Response]
"""A function that carries out a submitted form and returns the response. It runs in a thread."""
