"""`diffusers/ID-OR-PATH`: a diffusers text-to-image pipeline from a folder or the Hub.

This module does not import heavy packages such as PyTorch.
"""

from askew.errors import MissingPackage
from askew.models.base import Setting
from askew.models.pipeline import PipelineModel

OPENS_SLOWLY = True
"""Opening a pipeline takes seconds. See `registry.opens_slowly`."""


def create(name: str, **settings: Setting) -> PipelineModel:
    """Create the model for `--model diffusers/NAME`.

    Parameters
    ----------
    name
        A folder, a repository's ID, or a single checkpoint file.
    **settings
        Settings of `DiffusersModel`, and string, numeric or boolean arguments of the pipeline's
        call.

    Raises
    ------
    UsageError, ModelError
        If the pipeline cannot be opened.
    """
    MissingPackage.unless_installed("torch", "models", f"the model {f'diffusers/{name}'!r}")
    return PipelineModel(name, f"diffusers/{name}", None, None, **settings)
