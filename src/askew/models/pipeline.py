"""A pipeline of diffusers as a model, opened when more is asked of it than is known. To open it
imports PyTorch and diffusers; who looks at a finished run again asks nothing but what was found out
when it was made.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from importlib.util import find_spec
from platform import node
from typing import TYPE_CHECKING, Any, cast

from PIL import Image

from askew.environment import package_versions
from askew.models.base import Request, Setting
from askew.models.facts import remembered_facts
from askew.models.hub import file_state
from askew.models.pipeline_constants import CAPTION_CLEANING, SHORT_PROMPT
from askew.store.files import digest_of
from askew.types import Missing

if TYPE_CHECKING:
    from askew.models.diffusers.editing import DiffusersEditor
    from askew.models.diffusers.model import DiffusersModel

FACTS = ("revision", "settings", "batch_size", "dtype")


class PipelineModel:
    """A pipeline as a model. `defaults` hold unless others are `given`; `known` are its `FACTS`,
    None where they must be found out. Raises UsageError and ModelError for what cannot be met.
    """

    has_pipeline = True
    watch: Any = None
    steer: Any = None

    def __init__(
        self,
        location: str,
        name: str,
        defaults: Mapping[str, Setting],
        known: Mapping[str, Any] | None,
        **given: Setting,
    ) -> None:
        self.name = name
        self._location = location
        self._defaults = defaults
        self._given = given
        facts = known or self.facts(lambda: self.network)
        self.revision: str = facts["revision"]
        self.settings: Mapping[str, Setting] = facts["settings"]
        self.batch_size: int = facts["batch_size"]
        self.dtype: str = facts["dtype"]

    def facts(self, network: Callable[[], Any], *of: object) -> Mapping[str, Any]:
        """The `FACTS` of a network, unless they are known of the same files, packages and machine."""
        opened = remembered_facts()
        files = file_state(self._location, str(self._given.get("revision") or "") or None)
        cleaned = [bool(find_spec(module)) for module in CAPTION_CLEANING]
        key = digest_of(
            repr((self.name, self._given, files, package_versions(), cleaned, node(), of))
        )
        if key in opened:
            return cast("Mapping[str, Any]", opened[key])
        found = {name: getattr(network(), name) for name in FACTS}
        if "+" not in found["revision"]:  # else parts of it lie elsewhere, and may change
            opened[key] = found
        return found

    @cached_property
    def network(self) -> "DiffusersModel":
        """The opened pipeline."""
        from askew.models.diffusers.model import DiffusersModel

        return DiffusersModel(
            self._location, name=self.name, defaults=self._defaults, **self._given
        )

    @property
    def device(self) -> str | None:
        """Where the pictures are made; None as long as none was."""
        return self.network.device if "network" in self.__dict__ else None

    @property
    def pipeline(self) -> Any:
        """The diffusers pipeline itself, loaded."""
        return self.network.pipeline

    @property
    def pipeline_class(self) -> type:
        """Its class."""
        return self.network.pipeline_class

    def generate(self, requests: Sequence[Request]) -> list[Image.Image | Missing]:
        """One RGB picture per request, or `Missing("blank_image")`; it depends on the request
        alone.
        """
        self.network.watch = self.watch
        self.network.steer = self.steer
        return self.network.generate(requests)

    def unknown_words(self, prompt: str) -> list[str]:
        """Words that no text encoder sees, in their order; none if any of them takes prompts of
        other lengths.
        """
        return [] if len(prompt) <= SHORT_PROMPT else self.network.unknown_words(prompt)

    def editor(self, settings: Mapping[str, Setting]) -> "Editor":
        """The model as an editor; `settings` replace its own."""
        return Editor(self, settings)


class Editor:
    """A pipeline that begins from a picture instead of pure noise. An edit depends on (revision,
    settings, request) alone, not on its batch. It is opened when something is edited, and for what
    is not `known`.
    """

    def __init__(
        self,
        model: PipelineModel,
        given: Mapping[str, Setting],
        known: Mapping[str, Any] | None = None,
    ) -> None:
        self._made_of = model, dict(given), known
        facts = known or model.facts(lambda: self.network, "editing", dict(given))
        self.name = model.name
        self.revision = model.revision
        self.batch_size = model.batch_size
        self.settings: Mapping[str, Setting] = facts["settings"]

    @cached_property
    def network(self) -> "DiffusersEditor":
        """The opened pipeline."""
        from askew.models.diffusers.editing import DiffusersEditor

        model, given, _ = self._made_of
        return DiffusersEditor(model.network, given)

    def __getattr__(self, name: str) -> Any:
        """What edits, by the pipeline; and where, in which number format."""
        if name not in ("check", "edit", "encode_decode", "device", "dtype"):
            raise AttributeError(name)
        return getattr(self._made_of[0] if name in ("device", "dtype") else self.network, name)

    def __reduce__(self) -> tuple[Any, ...]:
        """By what it was made of: the pipeline stays behind."""
        return type(self), self._made_of
