"""Records for the images that a run needs and for their state in the index."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from askew.models.base import Setting
from askew.store.keys import slot_key


@dataclass(frozen=True, slots=True)
class PictureRequest:
    """An image that a run needs.

    Attributes
    ----------
    key
        Hash that identifies the image. See `askew.store.keys`.
    prompt
        The prompt.
    seed
        The seed; None for an existing file.
    model
        Name of the model or image collection.
    source
        Path of an existing file; None for an image that a model generates.
    made_by
        Revision and settings of the model.
    number
        Position of the image among the prompt's images, starting at 0.
    """

    key: str
    prompt: str
    seed: int | None
    model: str
    source: Path | None = None
    made_by: Mapping[str, Setting] = field(default_factory=dict)
    number: int | None = None

    @property
    def slot(self) -> str:
        """Hash that identifies the image in a run's plan."""
        path = None if self.source is None else str(self.source)
        settings = {name: value for name, value in self.made_by.items() if name != "revision"}
        return slot_key(self.model, self.prompt, self.seed, path, settings)


@dataclass(frozen=True, slots=True)
class PlannedPicture:
    """State of an image that a run needs, as recorded in the index.

    Attributes
    ----------
    key
        Hash that identifies the image.
    id
        Id of the stored image; None if the image is not stored.
    reason
        Reason why the image is missing; None if the image is stored or has not been generated yet.
    path
        Path of the image file; None if the image is not stored.
    """

    key: str
    id: str | None
    reason: str | None
    path: Path | None
