"""What askew asks of a text-to-image model, and of a collection of pictures that exist already."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from types import NoneType
from typing import Any, Protocol, get_args, runtime_checkable

from PIL import Image

from askew.errors import UnknownName, UsageError
from askew.types import Missing

Setting = str | int | float | bool

MITIGATION_SETTING = "mitigation"
"""Setting that names a model's mitigation: by its file when given, by its hash in results."""


def check_settings(who: str, known: Mapping[str, Any], given: Mapping[str, object]) -> None:
    """Raises UsageError for settings that do not exist, words for numbers or switches, and broken
    for whole numbers. `known` are the types of settings by name, None where anything may do.
    """
    for name, value in given.items():
        if name not in known:
            raise UsageError(f"{who}: {UnknownName('setting', name, known)}")
        kinds = set(get_args(known[name]) or (known[name],))
        numbers = kinds - {NoneType}
        if not numbers <= {int, float, bool} or (value is None and numbers < kinds):
            continue
        needed = (
            "a number" if float in kinds else "a whole number" if int in kinds else "true or false"
        )
        whole = isinstance(value, int) and isinstance(value, bool) == (numbers == {bool})
        if not whole and not (float in kinds and isinstance(value, float)):
            raise UsageError(f"{who}: {name} is {value!r}; it must be {needed}")


@dataclass(frozen=True, slots=True)
class Request:
    """One wanted picture. `number` is its place among the pictures of its prompt, which with the
    prompt and the run's seed decides `seed`; None where nobody counts.
    """

    prompt: str
    seed: int
    number: int | None = None


@dataclass(frozen=True, slots=True)
class Suggestion:
    """The size of an audit that suits a model, where the user names none. `axes` None leaves them
    to the writer.
    """

    images: int = 48
    axes: tuple[str, ...] | None = None


@runtime_checkable
class Model(Protocol):
    """A text-to-image model under audit. A picture may depend on (revision, settings, prompt, seed)
    alone: neither on the other requests of a batch nor on what was generated before.
    """

    name: str
    revision: str
    settings: Mapping[str, Setting]
    batch_size: int

    def generate(self, requests: Sequence[Request]) -> list[Image.Image | Missing]:
        """One RGB picture, or the reason why there is none, per request and in their order."""

    def unknown_words(self, prompt: str) -> list[str]:
        """Words of `prompt` that this model is known to ignore; empty where that cannot be known."""


def is_mitigated(model: object) -> bool:
    """Check whether a mitigation wraps a model; False for a collection of images."""
    settings: Mapping[str, Setting] = getattr(model, "settings", {})
    return MITIGATION_SETTING in settings


def is_seeded(model: object) -> bool:
    """Return the optional attribute `seeded` of a model: whether an image can be made again.

    A model is seeded unless it says otherwise. An image of a seeded model depends only on revision,
    settings, prompt and seed. Images of an unseeded model, such as a hosted server, are kept and
    never made again.
    """
    return bool(getattr(model, "seeded", True))


class WhiteBox(Model, Protocol):
    """A model whose network is at hand, and can be watched while it works."""

    watch: Callable[[Any, Sequence[Request]], Any] | None

    @property
    def dtype(self) -> str: ...

    @property
    def pipeline(self) -> Any:
        """The diffusers pipeline."""


@dataclass(frozen=True, slots=True)
class FiledPicture:
    """A picture file of a collection: where it lies, its prompt or what stands for it, such as an
    occupation, the condition as in `askew.types.Prompt`, both None for the initial one, and by axis
    what a person wrote of it.
    """

    path: Path
    prompt: str
    axis: str | None
    value: str | None
    labels: Mapping[str, str]


@runtime_checkable
class Collection(Protocol):
    """Pictures that exist already, in the place of a model."""

    name: str
    revision: str

    def pictures(self) -> Sequence[FiledPicture]:
        """All pictures, in the order of the manifest."""


@dataclass(frozen=True, slots=True)
class EditRequest:
    """One wanted edit: of which picture, towards which prompt, how much is redrawn (0 to 1), and
    its seed.
    """

    picture: Image.Image
    prompt: str
    strength: float
    seed: int


_LISTENER: ContextVar[Callable[[int], None]] = ContextVar("listener", default=lambda count: None)


def report_images(count: int) -> None:
    """Tell whoever listens that `count` more pictures of the batch are made, for progress alone; no
    model has to.
    """
    _LISTENER.get()(count)


@contextmanager
def progress_listener(listener: Callable[[int], None]) -> Iterator[None]:
    """Within, `listener` is called with every number of pictures that a model of this process tells
    of.
    """
    token = _LISTENER.set(listener)
    try:
        yield
    finally:
        _LISTENER.reset(token)
