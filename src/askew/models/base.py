"""Protocols for text-to-image models and for collections of existing images."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from types import NoneType
from typing import Any, Protocol, get_args, runtime_checkable

from PIL import Image

from askew.errors import UnknownName, UsageError
from askew.types import Missing

Setting = str | int | float | bool

REPORT = "askew_report"
"""Key in an image's `info` mapping.

The value under this key maps names to facts that the model reports.

A hosted model reports `revised_prompt`, the prompt that the server used in place of the user's
prompt.
"""

MITIGATION_SETTING = "mitigation"
"""Name of the setting for a model's mitigation.

Users set this setting to the path of the mitigation's file; results contain the file's hash.
"""


def check_settings(owner: str, known: Mapping[str, Any], settings: Mapping[str, object]) -> None:
    """Check that settings exist, and that numeric and boolean settings have the right type.

    Parameters
    ----------
    owner
        Name of the object that takes these settings, used in error messages.
    known
        Type of each setting, keyed by name. A setting whose type is None accepts any value.
    settings
        The user's settings.

    Raises
    ------
    UsageError
        If a setting does not exist, if the value of a numeric or boolean setting is text, or if the
        value of an integer setting is a float.
    """
    for name, value in settings.items():
        if name not in known:
            raise UsageError(f"{owner}: {UnknownName('setting', name, known)}")
        types = set(get_args(known[name]) or (known[name],))
        if not _has_type(value, types):
            raise UsageError(f"{owner}: {name} is {value!r}; it must be {_type_words(types)}")


def _has_type(value: object, types: set[Any]) -> bool:
    """Check whether a value has one of the types; only numeric and boolean types are checked."""
    numbers = set(types) - {NoneType}
    is_other = not numbers <= {int, float, bool}
    if is_other or (value is None and NoneType in types):
        return True
    if isinstance(value, float):
        return float in types
    is_switch = numbers == {bool}
    return isinstance(value, int) and isinstance(value, bool) == is_switch


def _type_words(types: set[Any]) -> str:
    """Return a phrase that describes the values accepted by numeric or boolean types."""
    if float in types:
        return "a number"
    return "a whole number" if int in types else "true or false"


@dataclass(frozen=True, slots=True)
class Request:
    """Request for an image.

    Attributes
    ----------
    prompt
        The prompt.
    seed
        Seed for all noise in the image.
    number
        Index of the image among all images for its prompt, starting at 0. askew computes `seed`
        from this number, the prompt and the run's seed. None if images are not numbered.
    """

    prompt: str
    seed: int
    number: int | None = None


@dataclass(frozen=True, slots=True)
class Suggestion:
    """Default number of images and default axes for audits of a model.

    Users can override both defaults.

    Attributes
    ----------
    images
        Number of images per prompt.
    axes
        Names of the axes. If None, the prompt generator chooses them.
    """

    images: int = 48
    axes: tuple[str, ...] | None = None


@runtime_checkable
class Model(Protocol):
    """Text-to-image model under audit.

    An image depends only on the model's revision and settings, and on the prompt and seed of its
    request. The image depends neither on other requests in the batch nor on earlier images.

    Attributes
    ----------
    name
        Provider and name.
    revision
        Text that changes whenever the model changes.
    settings
        Settings that affect images.
    batch_size
        Number of images that the model generates at a time.
    """

    name: str
    revision: str
    settings: Mapping[str, Setting]
    batch_size: int

    def generate(self, requests: Sequence[Request]) -> list[Image.Image | Missing]:
        """Return an RGB image for each request, or the reason why there is no image."""

    def unknown_words(self, prompt: str) -> list[str]:
        """Return the words in `prompt` that the model ignores; empty if they are unknown."""


def is_mitigated(model: object) -> bool:
    """Check whether a model is wrapped by a mitigation; return False for a collection of images."""
    settings: Mapping[str, Setting] = getattr(model, "settings", {})
    return MITIGATION_SETTING in settings


def is_seeded(model: object) -> bool:
    """Check whether a model generates the same image each time it receives the same request.

    A model is seeded unless its optional attribute `seeded` is false. An image from a seeded model
    depends only on the model's revision and settings, and on the prompt and seed. askew stores the
    images of an unseeded model, such as a hosted server, and never regenerates them.
    """
    return bool(getattr(model, "seeded", True))


def is_called(model: object) -> bool:
    """Check whether a model generates each image by calling a server, as hosted models do."""
    return hasattr(model, "concurrency")


class WhiteBox(Model, Protocol):
    """Model whose network askew can access while the model generates images.

    Attributes
    ----------
    watch
        Function that takes the pipeline and a batch of requests, and returns a context manager. The
        context is active while the pipeline generates the images for these requests. None if
        nothing watches.
    """

    watch: Callable[[Any, Sequence[Request]], Any] | None

    @property
    def dtype(self) -> str:
        """Number format of the network, such as float32."""

    @property
    def pipeline(self) -> Any:
        """The model's diffusers pipeline."""


@dataclass(frozen=True, slots=True)
class FiledPicture:
    """Image file in a collection, with its prompt and labels.

    Attributes
    ----------
    path
        The file.
    prompt
        Prompt of the image, or a name that replaces the prompt, such as an occupation.
    axis, value
        Axis and value that the image's condition specifies, as in `askew.types.Prompt`. Both are
        None for the baseline condition.
    labels
        For each axis with one rater, the rater's label for the image.
    rater_labels
        For each axis with more than one rater, all labels for the image, in the order of the
        raters. `labels` does not contain these axes.
    """

    path: Path
    prompt: str
    axis: str | None
    value: str | None
    labels: Mapping[str, str]
    rater_labels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def all_labels(self) -> Mapping[str, tuple[str, ...]]:
        """All raters' labels for each axis. An axis in `labels` has one label."""
        return {axis: (label,) for axis, label in self.labels.items()} | dict(self.rater_labels)


@runtime_checkable
class Collection(Protocol):
    """Collection of existing images, used in place of a model."""

    name: str
    revision: str

    def pictures(self) -> Sequence[FiledPicture]:
        """Return all images, in the order of the manifest."""


@dataclass(frozen=True, slots=True)
class EditRequest:
    """Request for an edit.

    Attributes
    ----------
    picture
        The image to edit.
    prompt
        Prompt that the edited image should match.
    strength
        Strength of the edit: share of the denoising steps that are run on the noised image, in (0,
        1].
    seed
        Seed for the noise.
    """

    picture: Image.Image
    prompt: str
    strength: float
    seed: int


class Editor(Protocol):
    """Model that edits images to match prompts.

    An edit depends only on the editor's revision, its settings and the request, not on the batch.
    Like a model, an editor may have the attributes `seeded` and `concurrency`.

    Attributes
    ----------
    name
        Provider and name.
    revision
        Text that changes whenever the model changes.
    settings
        Settings that affect edits.
    batch_size
        Number of images that the model edits at a time.
    """

    name: str
    revision: str
    settings: Mapping[str, Setting]
    batch_size: int

    def check(self, size: tuple[int, int], strengths: Sequence[float]) -> None:
        """Raise UsageError unless images of this size can be edited at every given strength."""

    def edit(self, requests: Sequence[EditRequest]) -> list[Image.Image | Missing]:
        """Return an edited image of the same size as its input, or `Missing`, for each request."""


@runtime_checkable
class Restorer(Editor, Protocol):
    """Editor that can also run its autoencoder on an image without editing the image.

    Comparing edited images with images that only passed through the autoencoder separates the
    effect of the edit from the effect of the autoencoder.
    """

    def encode_decode(self, pictures: Sequence[Image.Image]) -> list[Image.Image | Missing]:
        """Return each image after the autoencoder has encoded and decoded it, without an edit."""


@runtime_checkable
class EditingModel(Protocol):
    """Model that can also edit images."""

    def editor(self, settings: Mapping[str, Setting]) -> Editor:
        """Return an editor that uses this model. `settings` override the model's settings."""


_LISTENER: ContextVar[Callable[[int], None]] = ContextVar("listener", default=lambda count: None)


def report_images(count: int) -> None:
    """Report that the model has generated `count` more images of the batch.

    Progress reports affect only the progress display. Models may omit these reports.
    """
    _LISTENER.get()(count)


@contextmanager
def progress_listener(listener: Callable[[int], None]) -> Iterator[None]:
    """Call `listener` with each count that a model passes to `report_images` in this context."""
    token = _LISTENER.set(listener)
    try:
        yield
    finally:
        _LISTENER.reset(token)
