"""`studio`, `studio/balanced`: the embedded diffusion models of drawn portraits, one leaning as planted, one less."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

from PIL import Image

from askew.errors import MissingPackage, UnknownName
from askew.models.base import Editor, Request, Setting, Suggestion
from askew.models.hub import find_pretrained
from askew.studio import weights
from askew.studio.caption import parse, unheard
from askew.types import Missing

if TYPE_CHECKING:
    from askew.models.diffusers.editing import DiffusersEditor
    from askew.models.diffusers.model import DiffusersModel

MODELS: Mapping[str, str] = {"": "studio", "balanced": "balanced"}
"""Folder of each model's weights, by what follows the slash."""

DEFAULTS: Mapping[str, Setting] = {"num_inference_steps": 12, "guidance_scale": 1.4}
BATCH_SIZE = 24
KNOWN: Mapping[str, Setting] = {**DEFAULTS, "batch_size": BATCH_SIZE}
DTYPE = "float32"
"""On every device, known before PyTorch is loaded: the networks are small."""


class StudioModel:
    """A studio pipeline. It knows the words of the caption grammar alone. PyTorch and diffusers are imported when the
    pipeline is needed, or when settings are to be checked that are not of the studio's own."""

    suggestion = Suggestion(images=24, axes=("gender", "age", "ethnicity"))
    has_pipeline = True
    watch: Any = None
    steer: Any = None

    def __init__(self, name: str, **settings: Setting) -> None:
        self.name = f"studio/{name}".rstrip("/")
        self._folder = weights(MODELS[name])
        self._given = settings
        self.revision = find_pretrained(str(self._folder)).identity
        own: dict[str, Any] = {**KNOWN, **settings}
        if not _need_no_check(settings):
            own = {**self.network.settings, "batch_size": self.network.batch_size}
        self.batch_size = int(own.pop("batch_size"))
        self.settings: Mapping[str, Setting] = own

    @cached_property
    def network(self) -> "DiffusersModel":
        """The diffusers pipeline as a model. Raises UsageError for settings that it does not take."""
        from askew.models.diffusers.model import DiffusersModel

        settings: dict[str, Setting] = {"batch_size": BATCH_SIZE, "dtype": DTYPE, **self._given}
        return DiffusersModel(self._folder, name=self.name, defaults=DEFAULTS, **settings)

    @property
    def device(self) -> str | None:
        """Where the pictures are made; None as long as none was."""
        return self.network.device if "network" in self.__dict__ else None

    @property
    def dtype(self) -> str:
        """In which number format they are made."""
        return self.network.dtype if "dtype" in self._given else DTYPE

    @property
    def pipeline(self) -> Any:
        """The diffusers pipeline itself, loaded."""
        return self.network.pipeline

    @property
    def pipeline_class(self) -> type:
        """Its class."""
        return self.network.pipeline_class

    def editor(self, settings: Mapping[str, Setting]) -> Editor:
        """The model as an editor; `settings` replace its own."""
        found = StudioEditor(self, settings)
        return cast("Editor", found) if _need_no_check({**self._given, **settings}) else found.network

    def generate(self, requests: Sequence[Request]) -> list[Image.Image | Missing]:
        """One RGB picture per request; it depends on the request alone."""
        self.network.watch, self.network.steer = self.watch, self.steer
        return self.network.generate(requests)

    def unknown_words(self, prompt: str) -> list[str]:
        """Words of the prompt that the caption grammar does not know."""
        return list(parse(prompt).unknown)

    def unheard_words(self, prompt: str) -> list[str]:
        """Words of the prompt that are known, and that less than nine in ten pictures show."""
        return unheard(prompt)


class StudioEditor:
    """A studio model that edits with settings of the studio's own. Networks are loaded when something is edited."""

    def __init__(self, model: StudioModel, settings: Mapping[str, Setting]) -> None:
        self._model, self._given = model, dict(settings)
        self.name, self.revision, self.batch_size = model.name, model.revision, model.batch_size
        self.settings: Mapping[str, Setting] = {**model.settings, **settings}

    @cached_property
    def network(self) -> "DiffusersEditor":
        """The diffusers pipeline as an editor."""
        from askew.models.diffusers.editing import DiffusersEditor

        return DiffusersEditor(self._model, self._given)  # type: ignore[arg-type]

    def __getattr__(self, name: str) -> Any:
        """What edits, by the pipeline; and where, in which number format."""
        if name not in ("check", "edit", "encode_decode", "device", "dtype"):
            raise AttributeError(name)
        return getattr(self._model if name in ("device", "dtype") else self.network, name)

    def __reduce__(self) -> tuple[Any, ...]:
        """By what it was made of: the pipeline stays behind."""
        return type(self), (self._model, self._given)


def _need_no_check(settings: Mapping[str, Setting]) -> bool:
    return all(key in KNOWN and type(one) is type(KNOWN[key]) and float(one) > 0 for key, one in settings.items())


def create(name: str, **settings: Setting) -> StudioModel:
    """The provider's factory. Raises MissingPackage without the packages of networks."""
    if name not in MODELS:
        raise UnknownName("model", f"studio/{name}", ["studio", "studio/balanced", "studio/planted"])
    MissingPackage.unless_installed("torch", "models", f"the model {f'studio/{name}'.rstrip('/')!r}")
    return StudioModel(name, **settings)
