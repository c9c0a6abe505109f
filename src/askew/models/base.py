"""Protocols of text-to-image models and of collections of existing images."""

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
"""Key in the `info` of an image under which a model reports facts, as texts and numbers by name.

A hosted model reports `revised_prompt`, the prompt that the server used in place of the given one.
"""

MITIGATION_SETTING = "mitigation"
"""Setting that names a model's mitigation: by its file when given, by its hash in results."""


def check_settings(owner: str, known: Mapping[str, Any], settings: Mapping[str, object]) -> None:
    """Check the names of settings, and the types of numbers and switches.

    Parameters
    ----------
    owner
        Name of the object with these settings, for messages.
    known
        Types of the settings by name. None accepts every value.
    settings
        The settings as given.

    Raises
    ------
    UsageError
        For a setting that does not exist, a text in place of a number or switch, or a fraction in
        place of a whole number.
    """
    for name, value in settings.items():
        if name not in known:
            raise UsageError(f"{owner}: {UnknownName('setting', name, known)}")
        types = set(get_args(known[name]) or (known[name],))
        if not _has_type(value, types):
            raise UsageError(f"{owner}: {name} is {value!r}; it must be {_type_words(types)}")


def _has_type(value: object, types: set[Any]) -> bool:
    """Check whether a value has one of the types, if they are numbers or switches."""
    numbers = set(types) - {NoneType}
    is_other = not numbers <= {int, float, bool}
    if is_other or (value is None and NoneType in types):
        return True
    if isinstance(value, float):
        return float in types
    is_switch = numbers == {bool}
    return isinstance(value, int) and isinstance(value, bool) == is_switch


def _type_words(types: set[Any]) -> str:
    """Return the words for numbers or switches of these types."""
    if float in types:
        return "a number"
    return "a whole number" if int in types else "true or false"


@dataclass(frozen=True, slots=True)
class Request:
    """Request of an image.

    Attributes
    ----------
    prompt
        The prompt.
    seed
        Seed of all noise of the image.
    number
        Position of the image among those of its prompt, from 0. With the prompt and the run's seed,
        it decides `seed`. None where images are not numbered.
    """

    prompt: str
    seed: int
    number: int | None = None


@dataclass(frozen=True, slots=True)
class Suggestion:
    """Size of an audit that suits a model, used unless the user sets it.

    Attributes
    ----------
    images
        Number of images of each prompt.
    axes
        Names of the axes. None leaves the choice to the writer.
    """

    images: int = 48
    axes: tuple[str, ...] | None = None


@runtime_checkable
class Model(Protocol):
    """Text-to-image model under audit.

    An image depends on revision, settings, prompt and seed only. It depends neither on the other
    requests of a batch nor on earlier images.

    Attributes
    ----------
    name
        Provider and name.
    revision
        Text that changes with every change of the model.
    settings
        Settings that affect images.
    batch_size
        Number of images that are made at a time.
    """

    name: str
    revision: str
    settings: Mapping[str, Setting]
    batch_size: int

    def generate(self, requests: Sequence[Request]) -> list[Image.Image | Missing]:
        """Return an RGB image, or the reason why there is none, per request, in order."""

    def unknown_words(self, prompt: str) -> list[str]:
        """Return the words of `prompt` that the model is known to ignore, if that is known."""


def is_mitigated(model: object) -> bool:
    """Check whether a mitigation wraps a model; False for a collection of images."""
    settings: Mapping[str, Setting] = getattr(model, "settings", {})
    return MITIGATION_SETTING in settings


def is_seeded(model: object) -> bool:
    """Check whether a model can make an image again, by its optional attribute `seeded`.

    A model is seeded unless it says otherwise. An image of a seeded model depends only on revision,
    settings, prompt and seed. Images of an unseeded model, such as a hosted server, are kept and
    never made again.
    """
    return bool(getattr(model, "seeded", True))


class WhiteBox(Model, Protocol):
    """Model whose network is accessible while it makes images.

    Attributes
    ----------
    watch
        Function of the pipeline and the requests that returns a context, which is entered while
        the pipeline makes these images. None where nothing watches.
    """

    watch: Callable[[Any, Sequence[Request]], Any] | None

    @property
    def dtype(self) -> str:
        """Number format of the network, such as float32."""

    @property
    def pipeline(self) -> Any:
        """Diffusers pipeline."""


@dataclass(frozen=True, slots=True)
class FiledPicture:
    """Image file of a collection.

    Attributes
    ----------
    path
        The file.
    prompt
        Prompt of the image, or a name that replaces it, such as an occupation.
    axis, value
        Condition as in `askew.types.Prompt`. Both are None for the baseline condition.
    labels
        Value that a person gave the image, by axis.
    rater_labels
        Values that several raters gave the image, by axis, in the order of the raters. These axes
        are not among `labels`.
    """

    path: Path
    prompt: str
    axis: str | None
    value: str | None
    labels: Mapping[str, str]
    rater_labels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def all_labels(self) -> Mapping[str, tuple[str, ...]]:
        """Labels of all raters by axis. An axis in `labels` has a single rater."""
        return {axis: (label,) for axis, label in self.labels.items()} | dict(self.rater_labels)


@runtime_checkable
class Collection(Protocol):
    """Collection of existing images, which replaces a model."""

    name: str
    revision: str

    def pictures(self) -> Sequence[FiledPicture]:
        """Return all images, in the order of the manifest."""


@dataclass(frozen=True, slots=True)
class EditRequest:
    """Request of an edit.

    Attributes
    ----------
    picture
        The image to edit.
    prompt
        Prompt of the edited image.
    strength
        Share of the denoising steps that are repeated, in (0, 1].
    seed
        Seed of the noise.
    """

    picture: Image.Image
    prompt: str
    strength: float
    seed: int


class Editor(Protocol):
    """Model that edits images toward prompts.

    An edit depends on revision, settings and request only, not on its batch. An editor may have the
    attributes `seeded` and `concurrency` of a model.

    Attributes
    ----------
    name
        Provider and name.
    revision
        Text that changes with every change of the model.
    settings
        Settings that affect edits.
    batch_size
        Number of edits that are made at a time.
    """

    name: str
    revision: str
    settings: Mapping[str, Setting]
    batch_size: int

    def check(self, size: tuple[int, int], strengths: Sequence[float]) -> None:
        """Raise UsageError if images of a width and height cannot be edited at all strengths."""

    def edit(self, requests: Sequence[EditRequest]) -> list[Image.Image | Missing]:
        """Return an RGB image of the same size, or the reason why there is none, per request."""


@runtime_checkable
class Restorer(Editor, Protocol):
    """Editor whose autoencoder is accessible, so that its changes can be told from edits."""

    def encode_decode(self, pictures: Sequence[Image.Image]) -> list[Image.Image | Missing]:
        """Return each image, encoded and decoded without an edit."""


@runtime_checkable
class EditingModel(Protocol):
    """Model that can also edit images."""

    def editor(self, settings: Mapping[str, Setting]) -> Editor:
        """Return the model as an editor. `settings` override the model's settings."""


_LISTENER: ContextVar[Callable[[int], None]] = ContextVar("listener", default=lambda count: None)


def report_images(count: int) -> None:
    """Report that `count` more images of the batch are made.

    Reports serve the display of progress only. No model has to report.
    """
    _LISTENER.get()(count)


@contextmanager
def progress_listener(listener: Callable[[int], None]) -> Iterator[None]:
    """Call `listener` with each number of images that a model of this process reports meanwhile."""
    token = _LISTENER.set(listener)
    try:
        yield
    finally:
        _LISTENER.reset(token)
