"""What a run of edits has to make: fitted sources, sources that were merely encoded and decoded, and edits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from PIL import Image, ImageOps

from askew.methods.editing_faces import AlignedFaces, average_of
from askew.models.editing import Editor, EditRequest
from askew.prompts.groups import prompt_of
from askew.run.run import encoded, provider
from askew.store.imagefile import EncodedPicture, opened
from askew.store.keys import picture_key, picture_seed
from askew.store.store import Wanted
from askew.types import Missing, Picture

RESTORED = ""
"""The prompt of a picture that was encoded and decoded without being edited."""


@dataclass(frozen=True, slots=True)
class Fitter:
    """Crops pictures to a square around their middle and resizes them to `side` pixels."""

    side: int
    name: str = "cropped and resized"
    batch_size: int = 16

    def wanted(self, source: Picture) -> Wanted:
        """The fitted picture of a source."""
        key = picture_key(self.name, "1", {"side": self.side, "of": source.id}, source.prompt, 0)
        return Wanted(key, source.prompt, 0, f"{self.name} {self.side} {source.id}")

    def make(self, sources: Mapping[str, Picture], wanted: Sequence[Wanted]) -> list[EncodedPicture | Missing]:
        """Fit the sources that belong to the keys of `wanted`."""
        size = (self.side, self.side)
        return [encoded(ImageOps.fit(opened(sources[one.key].path), size, Image.Resampling.LANCZOS)) for one in wanted]


@dataclass(frozen=True, slots=True)
class AverageFaces:
    """Average faces as pictures, so that reports can show them."""

    finder: str
    faces: AlignedFaces
    name: str = "average face"
    batch_size: int = 16

    def wanted(self, group: str, pictures: Sequence[Picture | Missing]) -> Wanted | None:
        """The average face of some pictures of a group; None if there is a face in none of them."""
        if isinstance(average_of(pictures, self.faces), Missing):
            return None
        ids = ",".join(one.id for one in pictures if isinstance(one, Picture))
        key = picture_key(self.name, "1", {"finder": self.finder, "of": ids}, group, 0)
        return Wanted(key, group, 0, f"{self.name} {key}")

    def make(
        self, sets: Mapping[str, Sequence[Picture | Missing]], wanted: Sequence[Wanted]
    ) -> list[EncodedPicture | Missing]:
        """Average the pictures that belong to the keys of `wanted`."""
        averages = [average_of(sets[one.key], self.faces) for one in wanted]
        return [one if isinstance(one, Missing) else encoded(Image.fromarray(one)) for one in averages]


@dataclass(frozen=True, slots=True)
class WantedEdit:
    """An edit of picture `source` towards `word` at a strength; `wanted` is its place in the store."""

    source: Picture
    word: str
    strength: float
    wanted: Wanted


def wanted_edit(editor: Editor, source: Picture, k: int, word: str, strength: float, seed: int) -> WantedEdit:
    """The edit of a group's picture `k`. Its seed is the same for every group and strength, so that they make pairs."""
    prompt = prompt_of(word)
    own = picture_seed(seed, prompt, k)
    settings = {**editor.settings, "edit_of": source.id, "strength": strength}
    key = picture_key(editor.name, editor.revision, settings, prompt, own)
    model = f"{editor.name} editing {source.id} at {strength:g}"
    return WantedEdit(source, word, strength, Wanted(key, prompt, own, model))


def wanted_restored(editor: Editor, source: Picture) -> Wanted:
    """The source as it comes back from the editor's autoencoder."""
    settings = {"encode_decode_of": source.id, **{k: v for k, v in editor.settings.items() if k == "variant"}}
    key = picture_key(editor.name, editor.revision, settings, RESTORED, 0)
    return Wanted(key, RESTORED, 0, f"{editor.name} restoring {source.id}")


def make_edits(
    editor: Editor, edits: Mapping[str, WantedEdit], wanted: Sequence[Wanted]
) -> list[EncodedPicture | Missing]:
    """One slice of edits; `edits` by key."""
    chosen = [edits[one.key] for one in wanted]
    with provider(editor.name, f"editing towards {chosen[0].word!r}"):
        requests = [EditRequest(opened(e.source.path), e.wanted.prompt, e.strength, e.wanted.seed or 0) for e in chosen]
        return [encoded(image) for image in editor.edit(requests)]


def make_restored(
    editor: Editor, sources: Mapping[str, Picture], wanted: Sequence[Wanted]
) -> list[EncodedPicture | Missing]:
    """One slice of sources, encoded and decoded; `sources` by key."""
    with provider(editor.name, "encoding and decoding pictures"):
        return [encoded(image) for image in editor.encode_decode([opened(sources[one.key].path) for one in wanted])]
