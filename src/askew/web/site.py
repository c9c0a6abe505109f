"""The parts of a running app that its pages share."""

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
    """A running app.

    Attributes
    ----------
    index
        The runs.
    indexer
        The thread that reads changed runs.
    session
        The owner's session.
    opened
        Runs in memory.
    jobs
        Commands that the app starts.
    home
        Folder of new runs.
    is_read_only
        True if the app changes nothing on disk.
    overlays
        Attention overlays of the pages that were shown last.
    comparisons
        Comparisons that were shown last.
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
"""A function that carries out a form and answers it. It runs in a thread."""
