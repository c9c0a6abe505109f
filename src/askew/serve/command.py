"""The command `askew serve-model`."""

import sys
from typing import Annotated

from cyclopts import Parameter

from askew import registry
from askew.console import write
from askew.errors import MissingPackage, UsageError
from askew.models.base import Model
from askew.options import SettingsOption, TextsOption, key_values, several
from askew.serve.faults import FAULTS, Fault

HOST = "127.0.0.1"
"""The server is reachable from this machine only."""

PORT = 8787

FAULT_HELP = (
    f"Show a fault on purpose: KIND, KIND=RATE or KIND:WORD=RATE. Kinds: {', '.join(FAULTS)}. "
    "May be repeated."
)


def serve_model(
    model: str,
    /,
    *,
    port: int = PORT,
    model_args: Annotated[
        SettingsOption, Parameter(name="-M", help="Model setting, such as bias=0.5.")
    ] = None,
    fault: Annotated[TextsOption, Parameter(help=FAULT_HELP)] = None,
) -> None:
    """Serve a model through an OpenAI-compatible images endpoint on 127.0.0.1.

    Other tools can be tested against a model whose bias is known. The server honors a `seed` in the
    request. `--fault` makes it misbehave on purpose.

    Examples
    --------
    `askew serve-model studio/planted`

    `askew serve-model studio/planted --fault refuse:female=0.3 --fault 429=0.1`

    Parameters
    ----------
    model
        Name of the model, such as studio/planted.
    port
        Port of the server; 0 for a free port.

    Raises
    ------
    UsageError
        If the model does not exist, the name is a folder of images, or the port cannot be used.
    MissingPackage
        If the packages of the extra `web` are not installed.
    """
    faults = [Fault.parse(text) for text in several(fault)]
    for package in ("starlette", "uvicorn"):
        MissingPackage.unless_installed(package, "web", "`askew serve-model`")
    chosen = registry.model(model, **key_values(model_args or {}, "-M"))
    if not isinstance(chosen, Model):
        raise UsageError(
            f"{model!r} is a collection of existing images. Give a model that makes images, such "
            "as studio/planted"
        )
    from askew.serve.app import ImageServer

    _run(ImageServer(model, chosen, faults).app(), port, model)


def _run(app: object, port: int, name: str) -> None:
    """Serve an application until Ctrl-C."""
    import socket

    import uvicorn

    try:
        listener = socket.create_server((HOST, port))
    except OSError as error:
        raise UsageError(
            f"the port {port} cannot be used ({error.strerror}). Choose another port: --port 0 "
            "takes a free one"
        ) from error
    url = f"http://{HOST}:{listener.getsockname()[1]}/v1"
    write(f"serving {name} at {url}. Press Ctrl-C to stop\n")
    sys.stdout.flush()
    config = uvicorn.Config(app, log_level="warning", server_header=False)  # type: ignore[arg-type]
    try:
        uvicorn.Server(config).run(sockets=[listener])
    except KeyboardInterrupt:
        return
