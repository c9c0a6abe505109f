"""Models and editors that open their diffusers pipeline only when it is needed.

Opening a pipeline imports PyTorch and diffusers. askew can show a finished run without opening a
pipeline, because the run stores the necessary facts.
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
    from torch import Tensor

    from askew.models.diffusers.editing import DiffusersEditor
    from askew.models.diffusers.model import DiffusersModel
    from askew.models.diffusers.repository import Repository

FACTS = ("revision", "settings", "batch_size", "dtype")
"""Names of those facts about a pipeline that a run stores."""


def _states(text: str) -> list[object]:
    """Return a value that changes whenever a file named by a setting changes."""
    addresses = [part.strip() for part in text.split(",")]
    addresses += [address.rpartition(":")[0] for address in addresses]
    return [
        file_state(address)
        for address in addresses
        if address and Path(address).expanduser().exists()
    ]


class PipelineModel:
    """Model that opens its diffusers pipeline only to generate an image or to look up a fact.

    Parameters
    ----------
    location
        Folder, or ID of a repository.
    name
        Name of the model in results.
    defaults
        Settings that apply unless `settings` override them. See `DiffusersModel`.
    known
        Values of the facts that `FACTS` lists, or None if the pipeline must be opened to determine
        them.
    **settings
        The user's settings. See `askew.models.diffusers.model.DiffusersModel`.

    Attributes
    ----------
    cuts_prompts
        True if `unknown_words` are words that the model cuts off.
    watch, steer
        Functions that take the pipeline and a batch of requests, and return a context manager; None
        for no function. The context is active while the pipeline makes the images for these
        requests. `watch` must not change the images; `steer` may change them.

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
        """Return the facts about a network that `FACTS` lists.

        Open the network only if its facts are not remembered.

        Parameters
        ----------
        network
            Function that opens the network.
        *parts
            Values that also determine the facts, in addition to this model's settings and files.
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
        """Device that generates the images; None if the pipeline has not been opened."""
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

    @property
    def encoder_is_here(self) -> bool:
        """True if the weights of the text encoder are on this machine."""
        return self.network.encoder_is_here

    def token_embeddings(self) -> "Tensor | None":
        """Read the token embeddings. See `DiffusersModel.token_embeddings`."""
        return self.network.token_embeddings()

    def generate(self, requests: Sequence[Request]) -> list[Image.Image | Missing]:
        """Return an RGB image, or `Missing("blank_image")`, for each request.

        Each image depends only on its request.
        """
        self.network.watch = self.watch
        self.network.steer = self.steer
        return self.network.generate(requests)

    def unknown_words(self, prompt: str) -> list[str]:
        """Return the words that no text encoder receives. See `DiffusersModel.unknown_words`."""
        return [] if len(prompt) <= SHORT_PROMPT else self.network.unknown_words(prompt)

    def editor(self, settings: Mapping[str, Setting]) -> "PipelineEditor":
        """Return an editor that uses this model. `settings` override the model's settings."""
        return PipelineEditor(self, settings)


class PipelineEditor:
    """Editor that opens its image-to-image pipeline only when the pipeline is needed.

    An edit depends only on the editor's revision, its settings and the request, not on the batch.

    Parameters
    ----------
    model
        The model whose pipeline performs the edits.
    settings
        Settings that override the model's settings.
    known
        Values of the editor's facts that `FACTS` lists, or None if the pipeline must be opened to
        determine them.
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
        """Device on which images are edited; None if the pipeline has not been opened."""
        return self._arguments[0].device

    @property
    def dtype(self) -> str:
        """Number format of the network."""
        return self._arguments[0].dtype

    def check(self, size: tuple[int, int], strengths: Sequence[float]) -> None:
        """Raise UsageError unless images of this size can be edited at every given strength."""
        self.network.check(size, strengths)

    def edit(self, requests: Sequence[EditRequest]) -> list[Image.Image | Missing]:
        """Return an edited image of the same size as its input, or `Missing`, for each request."""
        return self.network.edit(requests)

    def encode_decode(self, pictures: Sequence[Image.Image]) -> list[Image.Image | Missing]:
        """Return each image after encoding it and decoding the mean of the latent distribution."""
        return self.network.encode_decode(pictures)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle only the arguments, not the pipeline."""
        return type(self), self._arguments
