"""Single checkpoint files: weights of a whole pipeline in one safetensors file."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

from diffusers.loaders.single_file_utils import (
    DIFFUSERS_DEFAULT_PIPELINE_PATHS,
    LDM_UNET_KEY,
    infer_diffusers_model_type,
)

from askew.errors import ModelError, UsageError
from askew.models.diffusers.weights import weights_header
from askew.models.hub import (
    NO_SAFETENSORS,
    WEIGHTS,
    Pretrained,
    digest_of_file,
    find_pretrained,
)

FALLBACK = "v1"
"""Layout that diffusers assumes where it recognizes no other."""


def find(name: str, path: Path, revision: str | None, config: str) -> Pretrained:
    """Find the configurations of a single checkpoint file.

    Parameters
    ----------
    name
        Name of the file as the user wrote it.
    path
        The file.
    revision
        Branch, tag or commit that a user gave. A file has none.
    config
        Folder or ID of a pipeline of the same layout, "" to tell it by the names of the weights.

    Returns
    -------
    Pretrained
        The configurations, under the name of the file. Its identity names both.

    Raises
    ------
    UsageError
        If the layout cannot be told, or the file is no safetensors file.
    ModelError
        If the file is damaged, or the configurations cannot be downloaded.
    """
    if path.suffix != WEIGHTS:
        raise UsageError(f"{name!r} {NO_SAFETENSORS}")
    if revision:
        raise UsageError(f"{name!r} is a file and has no revision {revision!r}; leave it out")
    address = config or _usual_config(name, path)
    try:
        network = find_pretrained(address, needs_weights=False)
    except ModelError as error:
        raise ModelError(
            f"{error}. Its configuration is that of {address!r}; a folder of a pipeline of the "
            "same layout will do as well, as in -M config=FOLDER"
        ) from error
    return replace(
        network, name=name, identity=f"{digest_of_file(path)}+{network.identity}", on_hub=False
    )


def _usual_config(name: str, path: Path) -> str:
    """Return the ID of the pipeline whose layout a file has, by the names of its weights."""
    header = weights_header(path)
    shapes = {
        key: SimpleNamespace(shape=tuple(tensor.get("shape", ()))) for key, tensor in header.items()
    }
    layout = infer_diffusers_model_type(shapes)
    is_told = layout != FALLBACK or any(key.startswith(LDM_UNET_KEY) for key in shapes)
    if not is_told or layout not in DIFFUSERS_DEFAULT_PIPELINE_PATHS:
        raise UsageError(
            f"the layout of {name!r} cannot be told by the names of its weights; give the folder "
            "or ID of a pipeline of the same layout, as in -M config=ID"
        )
    config = DIFFUSERS_DEFAULT_PIPELINE_PATHS[layout]
    return str(config["pretrained_model_name_or_path"])
