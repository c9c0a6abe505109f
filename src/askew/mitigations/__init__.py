"""Techniques that mitigate bias: values that wrap a model, and how a model is opened under them."""

from collections.abc import Mapping

from askew import registry
from askew.mitigations.base import MITIGATION, wrapped
from askew.models.base import Collection, Model


def opened(name: str, settings: Mapping[str, object]) -> Model | Collection:
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
    model = registry.model(name, **_settings_of_model(settings))
    mitigation_file = settings.get(MITIGATION)
    return model if mitigation_file is None else wrapped(model, str(mitigation_file))


def planned(name: str, settings: Mapping[str, object]) -> Model | Collection | None:
    """Load the unmitigated model for the facts that a plan asks of it.

    Parameters
    ----------
    name, settings
        As for `opened`. A mitigation changes none of these facts.

    Returns
    -------
    Model, Collection or None
        None for a model that is slow to open.
    """
    return registry.planned(name, **_settings_of_model(settings))


def _settings_of_model(settings: Mapping[str, object]) -> dict[str, object]:
    return {key: value for key, value in settings.items() if key != MITIGATION}
