"""Model that runs a workflow on a ComfyUI server.

Users specify the nodes that receive the prompt and the seed.

The workflow is a file in ComfyUI's API format. askew sends it once per image, with that image's
prompt and seed, and then polls the server for the result. The same workflow and seed produce the
same image, as long as the server's models and nodes do not change.
"""

import copy
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from PIL import Image

from askew.errors import ServerError, UsageError
from askew.hosted import check_concurrency
from askew.models.base import Request, Setting
from askew.models.comfyui_server import ComfyServer
from askew.models.openai import URL_VARIABLE
from askew.models.openai_images import opened_safely
from askew.store.files import digest_of, read_text
from askew.store.foreign import json_value
from askew.types import Missing

CONCURRENCY = 2
TIMEOUT = 600.0
SEED_BITS = 63

PROMPT_INPUTS = ("text", "prompt", "value", "string")
"""Input names to try for the prompt if the setting specifies only the node."""

SEED_INPUTS = ("seed", "noise_seed", "value")
"""Input names to try for the seed if the setting specifies only the node."""

Node = tuple[str, str]
"""A node's number, and the name of one of the node's inputs."""


class ComfyModel:
    """Model that runs one workflow on one server.

    askew does not distinguish between servers: an image from one server is reused for any other
    server if everything else is the same.

    Parameters
    ----------
    name
        Name of the workflow.
    server
        The server.
    workflow
        Nodes of the workflow, keyed by number, in ComfyUI's API format.
    prompt_inputs, seed_inputs
        Inputs that receive the prompt and the seed. If no input receives the seed, askew stores the
        images and never regenerates them.
    output_node
        Number of the node whose image askew uses; "" if the workflow makes only one image.
    revision
        Revision of the server's models, as stated by the user.
    concurrency
        Number of simultaneous calls.
    """

    batch_size = 1

    def __init__(
        self,
        name: str,
        server: ComfyServer,
        workflow: Mapping[str, Any],
        *,
        prompt_inputs: Sequence[Node],
        seed_inputs: Sequence[Node],
        output_node: str,
        revision: str,
        concurrency: int,
    ) -> None:
        digest = digest_of(_without_inputs(workflow, [*prompt_inputs, *seed_inputs]))
        self.name = f"comfyui/{name}"
        self.revision = revision or digest[:12]
        self.seeded = bool(seed_inputs)
        self.concurrency = concurrency
        self.settings: Mapping[str, Setting] = {
            "workflow": digest,
            "prompt_node": _names_of(prompt_inputs),
            "seed_node": _names_of(seed_inputs),
            "output_node": output_node,
        }
        self._server = server
        self._workflow = workflow
        self._prompt_inputs = prompt_inputs
        self._seed_inputs = seed_inputs
        self._output_node = output_node

    def generate(self, requests: Sequence[Request]) -> list[Image.Image | Missing]:
        """Return one image per request.

        Raises
        ------
        ServerError
            If the server does not return an image.
        """
        return [self._image(request) for request in requests]

    def _image(self, request: Request) -> Image.Image:
        workflow = copy.deepcopy(dict(self._workflow))
        for node, name in self._prompt_inputs:
            workflow[node]["inputs"][name] = request.prompt
        for node, name in self._seed_inputs:
            workflow[node]["inputs"][name] = request.seed % 2**SEED_BITS
        data = self._server.image(workflow, self._output_node)
        try:
            return opened_safely(data)
        except Exception as error:  # decoders raise all kinds of exceptions on garbage
            raise ServerError(f"{self._server.url} sent no image: {error}") from error

    def unknown_words(self, prompt: str) -> list[str]:
        """Return an empty list, because the words that a workflow ignores are unknown."""
        return []


def _names_of(inputs: Sequence[Node]) -> str:
    return ",".join(f"{node}.{name}" for node, name in inputs)


def _without_inputs(workflow: Mapping[str, Any], inputs: Sequence[Node]) -> dict[str, Any]:
    """Return a copy of a workflow without the prompt and the seed, which differ between images."""
    copied = copy.deepcopy(dict(workflow))
    for node, name in inputs:
        copied[node]["inputs"][name] = None
    return copied


def read_workflow(path: Path) -> dict[str, Any]:
    """Read a workflow file, and return its nodes, keyed by number.

    Raises
    ------
    UsageError
        If the file cannot be read, or is not in ComfyUI's API format.
    """
    try:
        workflow: dict[str, Any] = json_value(read_text(path, "the workflow"))
    except ValueError as error:
        raise UsageError(f"the workflow {path} is not valid JSON: {error}") from error
    is_for_api = isinstance(workflow, dict) and bool(workflow)
    if not is_for_api or not all(_is_node(node) for node in workflow.values()):
        raise UsageError(
            f"the workflow {path} is not in ComfyUI's API format, in which each node has a number, "
            "a class_type and inputs. Save it in ComfyUI with File > Export (API)"
        )
    return workflow


def _is_node(node: object) -> bool:
    return isinstance(node, dict) and "class_type" in node and isinstance(node.get("inputs"), dict)


def inputs_named(
    workflow: Mapping[str, Any], setting: str, text: str, usual: Sequence[str]
) -> list[Node]:
    """Return the node inputs that a setting specifies, such as "6" or "6.text_g,6.text_l".

    Parameters
    ----------
    workflow
        Nodes by number.
    setting
        Name of the setting, for error messages.
    text
        Value of the setting: node numbers, separated by commas. Each number may be followed by a
        dot and the name of an input.
    usual
        Input names to try if the value does not specify an input.

    Raises
    ------
    UsageError
        If there is no such node or input, or if the input is linked to another node.
    """
    inputs = []
    for part in filter(None, (part.strip() for part in text.split(","))):
        node, _, name = part.partition(".")
        if node not in workflow:
            raise UsageError(
                f"the workflow has no node {node!r}; set -M {setting} to the number of one of its "
                f"nodes: {', '.join(workflow)}"
            )
        given = workflow[node]["inputs"]
        # a list is a link to another node, which would lose its effect
        free = [key for key, value in given.items() if not isinstance(value, list)]
        chosen = name or next((key for key in usual if key in free), "")
        if chosen not in free:
            raise UsageError(
                f"node {node} ({workflow[node]['class_type']}) has no free input "
                f"{name or ' or '.join(usual)!r}; write -M {setting}={node}.INPUT with one of: "
                f"{', '.join(free) or 'none'}"
            )
        inputs.append((node, chosen))
    return inputs


def create(
    name: str = "",
    *,
    url: str = "",
    workflow: str = "",
    prompt_node: str | int | float = "",
    seed_node: str | int | float = "",
    output_node: str | int = "",
    revision: str = "",
    concurrency: int = CONCURRENCY,
    timeout: float = TIMEOUT,
) -> ComfyModel:
    """Create the model for `--model comfyui/ADDRESS`.

    Parameters
    ----------
    name
        Address of the server, such as http://127.0.0.1:8188.
    url
        The address, if the name does not contain it; by default $ASKEW_MODEL_URL.
    workflow
        Workflow file, exported from ComfyUI in the API format.
    prompt_node, seed_node
        Nodes that receive the prompt and the seed, each as NUMBER or NUMBER.INPUT. Commas separate
        several nodes. Without a seed node, askew stores the images and never regenerates them.
    output_node
        Number of the node whose image askew uses, if the workflow makes several images.
    revision
        Revision of the server's models, as stated by the user; by default a digest of the workflow.
    concurrency
        Number of simultaneous calls.
    timeout
        Seconds to wait for an image.

    Raises
    ------
    UsageError
        If the address, the workflow or a node is missing.
    """
    check_concurrency(concurrency)
    address = name or url or os.environ.get(URL_VARIABLE, "")
    if not address:
        raise UsageError(
            "--model comfyui does not name a server; write --model comfyui/http://127.0.0.1:8188, "
            f"or set the environment variable {URL_VARIABLE} to the address"
        )
    if not (workflow and str(prompt_node)):
        raise UsageError(
            "a ComfyUI model needs a workflow and the numbers of its nodes, as in "
            "-M workflow=FILE.json -M prompt_node=6 -M seed_node=3"
        )
    nodes = read_workflow(Path(workflow))
    return ComfyModel(
        Path(workflow).stem,
        ComfyServer(address, timeout=timeout),
        nodes,
        prompt_inputs=inputs_named(nodes, "prompt_node", str(prompt_node), PROMPT_INPUTS),
        seed_inputs=inputs_named(nodes, "seed_node", str(seed_node), SEED_INPUTS),
        output_node=str(output_node),
        revision=str(revision),
        concurrency=concurrency,
    )
