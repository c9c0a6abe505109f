"""The command `askew serve`."""

import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from askew.console import write
from askew.errors import UsageError
from askew.listening import check_packages
from askew.options import Flag

PORT = 8765

RunsArgument = Annotated[
    Path,
    Parameter(
        name="RUNS", help="Run folders, or folders that contain run folders. [default: runs]"
    ),
]


def serve(
    *runs: RunsArgument,
    port: int = PORT,
    no_browser: Flag = False,
    read_only: Flag = False,
) -> None:
    """Explore the reports, images and labels of runs in a browser on this machine.

    Only this machine can reach the app. The app itself loads no model and sends nothing to other
    machines. Ctrl-C stops the app.

    Examples
    --------
    `askew serve`

    `askew serve runs other/runs --no-browser`

    `askew serve received/run --read-only`

    Parameters
    ----------
    port
        Port of the app. Use 0 for any free port.
    no_browser
        Print the address, but do not open a browser.
    read_only
        Change nothing on disk.

    Raises
    ------
    UsageError
        If a folder does not exist, or the port cannot be used.
    MissingPackage
        If the `web` extra is not installed.
    """
    check_packages("askew serve")
    folders = [Path(run) for run in runs] or [Path("runs")]
    for folder in folders:
        if runs and not folder.is_dir():
            raise UsageError(
                f"the folder {folder} does not exist. Name run folders, or a folder that contains "
                "run folders. Without an argument, askew serve creates the folder runs"
            )
    from askew.web.server import WebServer

    server = WebServer(folders, port=port, is_read_only=read_only)
    write(f"Open {server.address} (this address works only once). Press Ctrl-C to stop\n")
    sys.stdout.flush()
    server.run(open_browser=not no_browser)
