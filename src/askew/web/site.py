"""Record of the objects shared by all pages of a running app, and types of page handlers."""

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
        Background thread that reads new and changed runs.
    session
        Session of the user.
    opened
        Cache of opened runs.
    jobs
        Queue of the commands that the app starts.
    home
        Folder for new runs.
    is_read_only
        Whether the app must not change anything on disk.
    overlays
        Cache of the attention overlays shown on recent pages.
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
"""Function that returns the response to a GET request. It runs in a thread."""

FormHandler = Callable[[Site, HTTPRequest, SentForm], Response]
"""Function that processes a submitted form and returns the response. It runs in a thread."""
