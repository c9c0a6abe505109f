"""Server for the web app.

The server listens on a port, reads the runs, and opens the app in the user's browser.
"""

import os
import tempfile
import webbrowser
from collections.abc import Sequence
from contextlib import suppress
from html import escape
from pathlib import Path

from askew.listening import HOST, Listener, listen
from askew.plan import PLAN_FILE
from askew.web.app import application
from askew.web.gate import Gate
from askew.web.index import INDEX_FILE, RunIndex
from askew.web.indexer import Indexer
from askew.web.jobs import Jobs, heed_interrupts
from askew.web.opened import OpenedRuns
from askew.web.session import Session
from askew.web.site import Site

APP_FOLDER = ".web"
"""Name of the folder, next to the run folders, in which the app stores its index and jobs."""

JOBS_FOLDER = "jobs"


class WebServer:
    """Server for the web app, on a port of this machine.

    Parameters
    ----------
    folders
        Run folders, or folders that contain run folders.
    port
        Port of the server; 0 for any free port.
    is_read_only
        Whether the app must not change anything on disk.

    Raises
    ------
    UsageError
        If the port cannot be used.
    """

    def __init__(self, folders: Sequence[Path], *, port: int, is_read_only: bool = False) -> None:
        listening = listen(HOST, port)
        self.port = int(listening.getsockname()[1])
        home = home_of(folders)
        index = RunIndex(folders, None if is_read_only else home / APP_FOLDER / INDEX_FILE)
        self.site = Site(
            index=index,
            indexer=Indexer(index),
            session=Session(self.port),
            opened=OpenedRuns(index),
            jobs=Jobs(home / APP_FOLDER / JOBS_FOLDER),
            home=home,
            is_read_only=is_read_only,
        )
        self.gate = Gate(application(self.site), self.site.session, self.port)
        self._listener = Listener(self.gate, listening)

    @property
    def address(self) -> str:
        """Address that contains the one-time token. It opens the app only once."""
        return f"http://{HOST}:{self.port}/?t={self.site.session.token}"

    def run(self, *, open_browser: bool = False) -> None:
        """Serve until Ctrl-C."""
        heed_interrupts()
        self.site.indexer.start()
        if not self.site.is_read_only:
            self.site.jobs.start()
        self.site.indexer.refresh()
        if open_browser:
            show_in_browser(self.address)
        try:
            self._listener.run()
        finally:
            self.site.jobs.stop()
            self.site.indexer.stop()
            self.site.index.close()

    def stop(self) -> None:
        """Stop a server that runs in another thread."""
        self._listener.stop()


def home_of(folders: Sequence[Path]) -> Path:
    """Return the folder for new runs: the first folder, or its parent if it is a run folder."""
    first = folders[0].absolute()
    return first.parent if (first / PLAN_FILE).exists() else first


def show_in_browser(address: str) -> None:
    """Open an address in the user's browser.

    The address contains a secret, and other users of the machine can see the command-line arguments
    of a process. The browser therefore opens a file that only this user can read and that redirects
    to the address.
    """
    with suppress(OSError, webbrowser.Error):
        folder = Path(tempfile.mkdtemp(prefix="askew-"))
        file = folder / "open.html"
        content = (
            '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>askew</title>'
            f'<meta http-equiv="refresh" content="0; url={escape(address)}"></head></html>'
        )
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(descriptor, "w", encoding="utf-8") as stream:
            stream.write(content)
        webbrowser.open(file.as_uri())
