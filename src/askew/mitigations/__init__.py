"""Techniques that mitigate bias: values that wrap a model, and how a model is opened under them."""

from collections.abc import Mapping

from askew import registry
from askew.mitigations.base import wrap_model
from askew.models.base import MITIGATION_SETTING, Collection, Model


def open_model(name: str, settings: Mapping[str, object]) -> Model | Collection:
    """Load a model and wrap it in the mitigation that its settings name.

    Parameters
    ----------
    name
        Provider and name, such as "studio" or "diffusers/PATH".
    settings
        Settings of the model. `mitigation`, where given, is the path of a mitigation file.

    Raises
    ------
    UsageError
        If the mitigation cannot work on the model.
    """
    model_settings = {key: value for key, value in settings.items() if key != MITIGATION_SETTING}
    model = registry.model(name, **model_settings)
    mitigation_file = settings.get(MITIGATION_SETTING)
    return model if mitigation_file is None else wrap_model(model, str(mitigation_file))


def open_model_if_fast(name: str, settings: Mapping[str, object]) -> Model | Collection | None:
    """Open a model as `open_model` does, or return None for a model that takes seconds to open.

    Planning asks a model for the number of images that suits it, or for the images that it has.
    A model that takes seconds to open answers neither question.
    """
    return None if registry.opens_slowly(name) else open_model(name, settings)
