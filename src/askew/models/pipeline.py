"""Diffusers pipelines as models that are opened only when needed.

Opening a pipeline imports PyTorch and diffusers. To show a finished run needs only the facts that
were stored when the run was made.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from platform import node
from typing import TYPE_CHECKING, Any, cast

from PIL import Image

from askew.environment import package_versions
from askew.models.base import EditRequest, Request, Setting
from askew.models.facts import remembered_facts
from askew.models.hub import file_state
from askew.models.pipeline_constants import CAPTION_CLEANING, FILE_SETTINGS, SHORT_PROMPT
from askew.store.files import digest_of
from askew.types import Missing

if TYPE_CHECKING:
    from askew.models.diffusers.editing import DiffusersEditor
    from askew.models.diffusers.model import DiffusersModel
    from askew.models.diffusers.repository import Repository

FACTS = ("revision", "settings", "batch_size", "dtype")
"""Facts of a pipeline that are stored with a run."""


def _states(text: str) -> list[object]:
    """Return a value that changes with the files that a setting of `FILE_SETTINGS` names."""
    addresses = [part.strip() for part in text.split(",")]
    addresses += [address.rpartition(":")[0] for address in addresses]
    return [
        file_state(address)
        for address in addresses
        if address and Path(address).expanduser().exists()
    ]


class PipelineModel:
    """Pipeline as a model, opened when a fact or an image is needed.

    Parameters
    ----------
    location
        Folder, or ID of a repository.
    name
        Name of the model in results.
    defaults
        Settings that hold unless `settings` replace them, see `DiffusersModel`.
    known
        The `FACTS`, or None if the pipeline must be opened for them.
    **settings
        Settings as given, see `askew.models.diffusers.model.DiffusersModel`.

    Attributes
    ----------
    cuts_prompts
        True if `unknown_words` are words that the model cuts off.
    watch, steer
        Functions of the pipeline and the requests that return a context, which is entered while
        the pipeline makes these images, or None. `watch` must not change images; `steer` may.

    Raises
    ------
    UsageError, ModelError
        If the pipeline cannot be opened.
    """

    has_pipeline = True
    cuts_prompts = True
    watch: Any = None
    steer: Any = None

    def __init__(
        self,
        location: str,
        name: str,
        defaults: Mapping[str, Setting] | None,
        known: Mapping[str, Any] | None,
        **settings: Setting,
    ) -> None:
        self.name = name
        self._defaults = defaults
        self._location = location
        self._given = settings
        facts = known or self.facts(lambda: self.network)
        self.revision: str = facts["revision"]
        self.settings: Mapping[str, Setting] = facts["settings"]
        self.batch_size: int = facts["batch_size"]
        self.dtype: str = facts["dtype"]

    def facts(self, network: Callable[[], Any], *parts: object) -> Mapping[str, Any]:
        """Return the `FACTS` of a network, remembered or read from the network.

        Parameters
        ----------
        network
            Function that opens the network.
        *parts
            Values besides this model's that decide the facts.
        """
        remembered = remembered_facts()
        files = file_state(self._location, str(self._given.get("revision") or "") or None)
        others = [_states(str(self._given.get(name) or "")) for name in FILE_SETTINGS]
        cleaning = [bool(find_spec(module)) for module in CAPTION_CLEANING]
        identity = (
            self.name,
            self._given,
            files,
            others,
            package_versions(),
            cleaning,
            node(),
            parts,
        )
        key = digest_of(repr(identity))
        if key in remembered:
            return cast("Mapping[str, Any]", remembered[key])
        facts = {name: getattr(network(), name) for name in FACTS}
        # Several revisions mean that parts are in other repositories, which may change.
        if "+" not in facts["revision"]:
            remembered[key] = facts
        return facts

    @cached_property
    def network(self) -> "DiffusersModel":
        """Opened pipeline."""
        from askew.models.diffusers.model import DiffusersModel

        return DiffusersModel(
            self._location, name=self.name, defaults=self._defaults, **self._given
        )

    @property
    def device(self) -> str | None:
        """Device of the images, or None if the pipeline was not opened."""
        return self.network.device if "network" in self.__dict__ else None

    @property
    def pipeline(self) -> Any:
        """Loaded diffusers pipeline."""
        return self.network.pipeline

    @property
    def pipeline_class(self) -> type:
        """Class of the diffusers pipeline."""
        return self.network.pipeline_class

    @property
    def repository(self) -> "Repository":
        """Repository of the pipeline."""
        return self.network.repository

    def generate(self, requests: Sequence[Request]) -> list[Image.Image | Missing]:
        """Return an RGB image, or `Missing("blank_image")`, per request.

        Each image depends on its request only.
        """
        self.network.watch = self.watch
        self.network.steer = self.steer
        return self.network.generate(requests)

    def unknown_words(self, prompt: str) -> list[str]:
        """Return the words that no text encoder receives; see `DiffusersModel.unknown_words`."""
        return [] if len(prompt) <= SHORT_PROMPT else self.network.unknown_words(prompt)

    def editor(self, settings: Mapping[str, Setting]) -> "PipelineEditor":
        """Return the model as an editor. `settings` override the model's settings."""
        return PipelineEditor(self, settings)


class PipelineEditor:
    """Pipeline that starts from an image instead of pure noise, opened when it is needed.

    An edit depends on revision, settings and request only, not on its batch.

    Parameters
    ----------
    model
        The model whose pipeline edits.
    settings
        Settings that override the model's settings.
    known
        The `FACTS` of the editor, or None if it must be opened for them.
    """

    def __init__(
        self,
        model: PipelineModel,
        settings: Mapping[str, Setting],
        known: Mapping[str, Any] | None = None,
    ) -> None:
        self._arguments = (model, dict(settings), known)
        facts = known or model.facts(lambda: self.network, "editing", dict(settings))
        self.name = model.name
        self.revision = model.revision
        self.batch_size = model.batch_size
        self.settings: Mapping[str, Setting] = facts["settings"]

    @cached_property
    def network(self) -> "DiffusersEditor":
        """Opened pipeline."""
        from askew.models.diffusers.editing import DiffusersEditor

        model, settings, _ = self._arguments
        return DiffusersEditor(model.network, settings)

    @property
    def device(self) -> str | None:
        """Device of the edits, or None if the pipeline was not opened."""
        return self._arguments[0].device

    @property
    def dtype(self) -> str:
        """Number format of the network."""
        return self._arguments[0].dtype

    def check(self, size: tuple[int, int], strengths: Sequence[float]) -> None:
        """Raise UsageError if images of a width and height cannot be edited at all strengths."""
        self.network.check(size, strengths)

    def edit(self, requests: Sequence[EditRequest]) -> list[Image.Image | Missing]:
        """Return an RGB image of the same size, or `Missing("blank_image")`, per request."""
        return self.network.edit(requests)

    def encode_decode(self, pictures: Sequence[Image.Image]) -> list[Image.Image | Missing]:
        """Return each image as the autoencoder decodes the mean of its latent distribution."""
        return self.network.encode_decode(pictures)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the arguments only, without the pipeline."""
        return type(self), self._arguments
