"""Techniques that mitigate bias.

A mitigation wraps a model and changes its prompts or its network.
"""

from collections.abc import Mapping

from askew import registry
from askew.mitigations.base import wrap_model
from askew.models.base import MITIGATION_SETTING, Collection, Model


def open_model(name: str, settings: Mapping[str, object]) -> Model | Collection:
    """Load a model, and wrap it in the mitigation that its settings specify.

    Parameters
    ----------
    name
        Provider and name, such as "studio" or "diffusers/PATH".
    settings
        Settings of the model. The setting `mitigation`, if given, is the path of a mitigation file.

    Raises
    ------
    UsageError
        If the mitigation cannot be applied to the model.
    """
    model_settings = {key: value for key, value in settings.items() if key != MITIGATION_SETTING}
    model = registry.model(name, **model_settings)
    mitigation_file = settings.get(MITIGATION_SETTING)
    return model if mitigation_file is None else wrap_model(model, str(mitigation_file))


def open_model_if_fast(name: str, settings: Mapping[str, object]) -> Model | Collection | None:
    """Open a model with `open_model`, or return None if opening the model would take seconds.

    To plan a run, askew needs a model's suggested number of images, or the list of a collection's
    images. For models that take seconds to open, askew plans without this information.
    """
    return None if registry.opens_slowly(name) else open_model(name, settings)
