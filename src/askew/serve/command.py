"""The command `askew serve-model`."""

import sys
from typing import Annotated

from cyclopts import Parameter

from askew import registry
from askew.console import write
from askew.errors import UsageError
from askew.listening import HOST, Listener, check_packages, listen
from askew.models.base import Model
from askew.options import SettingsOption, TextsOption, key_values, several
from askew.serve.faults import FAULTS, Fault

PORT = 8787

FAULT_HELP = (
    f"Fault that the server produces on purpose: KIND, KIND=RATE or KIND:WORD=RATE. Kinds: {', '.join(FAULTS)}. "
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

    Use the server to test other tools on a model whose bias is known. If a request contains a
    `seed`, the server uses it. `--fault` makes the server misbehave on purpose.

    Examples
    --------
    `askew serve-model studio/planted`

    `askew serve-model studio/planted --fault refuse:female=0.3 --fault 429=0.1`

    Parameters
    ----------
    model
        Name of the model, such as studio/planted.
    port
        Port of the server. Use 0 for any free port.

    Raises
    ------
    UsageError
        If the model does not exist or is a folder of images, or if the port cannot be used.
    MissingPackage
        If the extra `web` is not installed.
    """
    faults = [Fault.parse(text) for text in several(fault)]
    check_packages("askew serve-model")
    chosen = registry.model(model, **key_values(model_args or {}, "-M"))
    if not isinstance(chosen, Model):
        raise UsageError(
            f"{model!r} is a collection of existing images. Name a model that generates images, such "
            "as studio/planted"
        )
    from askew.serve.app import ImageServer

    _run(ImageServer(model, chosen, faults).app(), port, model)


def _run(app: object, port: int, name: str) -> None:
    """Serve an application until Ctrl-C."""
    listener = Listener(app, listen(HOST, port))
    write(f"serving {name} at http://{HOST}:{listener.port}/v1. Press Ctrl-C to stop\n")
    sys.stdout.flush()
    listener.run()
