"""Single checkpoint files, which contain all weights of a pipeline in one safetensors file."""

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
"""Layout that diffusers assumes if it recognizes no other layout."""


def find(name: str, path: Path, revision: str | None, config: str) -> Pretrained:
    """Find the configurations for a single checkpoint file.

    Parameters
    ----------
    name
        Name of the file as the user wrote it.
    path
        The file.
    revision
        Branch, tag or commit that the user specified, or None. A file has no revision.
    config
        Folder or ID of a pipeline with the same layout. If "", askew recognizes the layout by the
        names of the weights.

    Returns
    -------
    Pretrained
        The configurations, together with the name of the file. The identity depends on the
        file and on the configurations.

    Raises
    ------
    UsageError
        If askew cannot recognize the layout, if the file is not a safetensors file, or if a
        revision is given.
    ModelError
        If the file is damaged, or if the configurations cannot be downloaded.
    """
    if path.suffix != WEIGHTS:
        raise UsageError(f"{name!r} {NO_SAFETENSORS}")
    if revision:
        raise UsageError(f"{name!r} is a file and has no revision {revision!r}; omit -M revision")
    address = config or _usual_config(name, path)
    try:
        network = find_pretrained(address, needs_weights=False)
    except ModelError as error:
        raise ModelError(
            f"{error}. {name!r} needs the configuration of {address!r}. You can also give the "
            "folder of a pipeline with the same layout, as in -M config=FOLDER"
        ) from error
    return replace(
        network, name=name, identity=f"{digest_of_file(path)}+{network.identity}", on_hub=False
    )


def _usual_config(name: str, path: Path) -> str:
    """Return the ID of a pipeline that has the file's layout, inferred from the weights' names."""
    header = weights_header(path)
    shapes = {
        key: SimpleNamespace(shape=tuple(tensor.get("shape", ()))) for key, tensor in header.items()
    }
    layout = infer_diffusers_model_type(shapes)
    is_told = layout != FALLBACK or any(key.startswith(LDM_UNET_KEY) for key in shapes)
    if not is_told or layout not in DIFFUSERS_DEFAULT_PIPELINE_PATHS:
        raise UsageError(
            f"askew cannot recognize the layout of {name!r} by the names of its weights; give the "
            "folder or ID of a pipeline with the same layout, as in -M config=ID"
        )
    config = DIFFUSERS_DEFAULT_PIPELINE_PATHS[layout]
    return str(config["pretrained_model_name_or_path"])
