"""Who makes the pictures of a run of edits: fitted sources, sources that were encoded and decoded, edits, faces."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from PIL import Image, ImageOps

from askew.measure.portraits import FRAME
from askew.measure.skin import Bytes
from askew.models.base import Setting
from askew.models.editing import Editor, EditRequest
from askew.prompts.groups import prompt_of
from askew.run.base import Made, encoded, provider
from askew.store.imagefile import opened
from askew.store.keys import picture_key, picture_seed
from askew.store.store import Wanted
from askew.types import Picture

RESTORED = ""
"""The prompt of a picture that was encoded and decoded without being edited."""

SEES: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedOf(Wanted):
    """What is to be made of a picture: with an editor, at which strength."""

    of: Picture
    strength: float = 0.0


@dataclass(frozen=True, slots=True)
class Fits:
    """Crops pictures to a square around their middle and resizes them to `side` pixels."""

    side: int
    name: str = "cropped and resized"
    batch_size: int = 16
    sees: frozenset[str] = SEES

    def wanted(self, source: Picture) -> WantedOf:
        """The fitted picture of a source."""
        key = picture_key(self.name, "1", {"side": self.side, "of": source.id}, source.prompt, 0)
        return WantedOf(key, source.prompt, 0, f"{self.name} {self.side} {source.id}", of=source)

    def make(self, wanted: Sequence[WantedOf]) -> list[Made]:
        """One batch."""
        size = (self.side, self.side)
        return [Made(encoded(ImageOps.fit(opened(one.of.path), size, Image.Resampling.LANCZOS))) for one in wanted]


@dataclass(frozen=True, slots=True)
class _ByEditor:
    """What a model makes of pictures, under its name."""

    model: Editor
    sees: frozenset[str] = SEES

    @property
    def name(self) -> str:
        """The model's."""
        return self.model.name

    @property
    def batch_size(self) -> int:
        """The model's."""
        return self.model.batch_size


@dataclass(frozen=True, slots=True)
class Restorations(_ByEditor):
    """Pictures as they come back from a model's autoencoder."""

    def wanted(self, source: Picture) -> WantedOf:
        """The source as it comes back."""
        kept = {name: value for name, value in self.model.settings.items() if name == "variant"}
        settings: Mapping[str, Setting] = {"encode_decode_of": source.id, **kept}
        key = picture_key(self.name, self.model.revision, settings, RESTORED, 0)
        return WantedOf(key, RESTORED, 0, f"{self.name} restoring {source.id}", of=source)

    def make(self, wanted: Sequence[WantedOf]) -> list[Made]:
        """One batch."""
        with provider(self.name, "encoding and decoding pictures"):
            return [Made(encoded(one)) for one in self.model.encode_decode([opened(one.of.path) for one in wanted])]


@dataclass(frozen=True, slots=True)
class Edits(_ByEditor):
    """Pictures that a model edits towards words."""

    def wanted(self, source: Picture, k: int, word: str, strength: float, seed: int) -> WantedOf:
        """The edit of a group's picture `k`.

        Its seed is the same for every group and strength, so that they make pairs.
        """
        prompt = prompt_of(word)
        own = picture_seed(seed, prompt, k)
        settings = {**self.model.settings, "edit_of": source.id, "strength": strength}
        key = picture_key(self.name, self.model.revision, settings, prompt, own)
        return WantedOf(key, prompt, own, f"{self.name} editing {source.id} at {strength:g}", of=source,
                        strength=strength)  # fmt: skip

    def make(self, wanted: Sequence[WantedOf]) -> list[Made]:
        """One batch."""
        with provider(self.name, f"editing towards {wanted[0].prompt!r}"):
            requests = [EditRequest(opened(one.of.path), one.prompt, one.strength, one.seed or 0) for one in wanted]
            return [Made(encoded(image)) for image in self.model.edit(requests)]


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedFace(Wanted):
    """An average face: its pixels as bytes, rows of RGB."""

    pixels: bytes


@dataclass(frozen=True, slots=True)
class AverageFaces:
    """Average faces as pictures, so that reports can show them. `way` says how faces were found and laid together."""

    way: str
    name: str = "average face"
    batch_size: int = 16
    sees: frozenset[str] = SEES

    def wanted(self, group: str, pictures: Sequence[Picture], face: Bytes) -> WantedFace:
        """The average face of some pictures of a group."""
        ids = ",".join(one.id for one in pictures)
        key = picture_key(self.name, "1", {"finder": self.way, "of": ids}, group, 0)
        return WantedFace(key, group, 0, f"{self.name} {key}", pixels=face.tobytes())

    def make(self, wanted: Sequence[WantedFace]) -> list[Made]:
        """One batch."""
        return [Made(encoded(Image.frombytes("RGB", (FRAME, FRAME), one.pixels))) for one in wanted]
