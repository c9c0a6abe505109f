"""The studio's instruments: an embedder, and a VQA that scores captions with it. They read studio
pictures only.
"""

import json
from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from askew.errors import MissingPackage, UsageError
from askew.measure.base import CAPTION, CachingEmbedder, ComparingVQA, Vectors
from askew.store.files import sha256
from askew.studio import weights
from askew.studio.caption import NO_OCCUPATION, NOBODY, caption, parse, wordings
from askew.studio.scene import ATTRIBUTES, OCCUPATIONS, OF_ANY_SCENE, Scene
from askew.types import Axis, Missing, Question

if TYPE_CHECKING:
    import torch
    from transformers import CLIPModel, CLIPTokenizer

BATCH = 64
SIZE = (128, 128)
PERSON_WORDINGS = {
    "yes": ["a photo of a person"],
    "no": ["a photo of an empty scene", f"a photo of {NOBODY}"],
}
OPENING = "a photo of "
CAPTIONED = ("gender", "clothing", "environment", "disability", "occupation")
"""What a caption tells: who, dressed how, where. The rest is asked for, and would only blur other
axes' scores here.
"""

DESCRIBED: Mapping[str, tuple[str, ...]] = {
    "appearance": ("gender", "age", "ethnicity", "body_type", "hair"),
    "fashion": ("clothing",),
    "background": ("environment",),
    "setting": ("environment",),
    "race": ("ethnicity",),
    "racial": ("ethnicity",),
    "ableism": ("disability",),
    "color": ("style",),
}
"""Which attributes answer an open question about something the studio has no attribute for."""

KNOWN_ERRORS = weights("embedder") / "known_errors.json"
"""Confusion counts by attribute, written by `benchmarks.studio_vqa`."""

VALUES: Mapping[str, tuple[str, ...]] = {**ATTRIBUTES, "occupation": (*OCCUPATIONS, NO_OCCUPATION)}
"""What can be read from a drawing: the values of every attribute, and of the occupation."""

READ = ("model.safetensors", "tokenizer.json", "tokenizer_config.json", "config.json")
"""Files of all that decides a vector: the network's weights and what cuts texts into words."""


class StudioEmbedder(CachingEmbedder):
    """The small CLIPModel trained on studio drawings and captions. It is loaded when something is
    to be embedded.
    """

    name = "studio"

    def __init__(self) -> None:
        super().__init__(BATCH)
        self._folder = weights("embedder")
        if not (self._folder / "model.safetensors").exists():
            raise UsageError(
                f"the studio embedder's weights are not at {self._folder}; the installation is incomplete"
            )
        read = b"".join((self._folder / file).read_bytes() for file in READ)
        self.fingerprint = f"studio-embedder-3-{sha256(read)[:16]}"

    @cached_property
    def _tower(self) -> "tuple[CLIPModel, CLIPTokenizer]":
        import torch
        from transformers import CLIPModel, CLIPTokenizer
        from transformers.utils import logging

        logging.set_verbosity_error()
        logging.disable_progress_bar()
        model = CLIPModel.from_pretrained(self._folder, dtype=torch.float32).eval()
        return model, CLIPTokenizer.from_pretrained(self._folder)

    def text_tower(self) -> "tuple[CLIPModel, CLIPTokenizer]":
        """The whole network, whose text tower the studio's pipelines share, and what texts are cut
        into.
        """
        return self._tower

    def _embedded(self, images: list[Image.Image]) -> Vectors:
        sized = [
            one if one.size == SIZE else one.resize(SIZE, Image.Resampling.BICUBIC)
            for one in images
        ]
        return self.embed_pixels(np.stack([np.asarray(one) for one in sized]))

    def embed_pixels(self, pixels: NDArray[np.uint8]) -> Vectors:
        """Unit rows for pictures given as (pictures, 128, 128, 3)."""
        import torch

        with torch.inference_mode():
            blocks = (
                network_input(pixels[start : start + BATCH])
                for start in range(0, len(pixels), BATCH)
            )
            features = [
                self._tower[0].get_image_features(pixel_values=block).pooler_output
                for block in blocks
            ]
            return np.concatenate(
                [torch.nn.functional.normalize(rows, dim=-1).numpy() for rows in features]
            )

    def embed_texts(self, texts: Sequence[str]) -> Vectors:
        """(texts, 128), unit rows."""
        import torch

        model, tokenizer = self._tower
        with torch.inference_mode():
            tokens = tokenizer(list(texts), padding=True, truncation=True, return_tensors="pt")
            rows = torch.nn.functional.normalize(
                model.get_text_features(**tokens).pooler_output, dim=-1
            )
            return np.asarray(rows.numpy(), dtype=np.float32)


class StudioVQA(ComparingVQA):
    """Answers by comparing a picture with captions that say each possible answer.

    An open question is answered from the studio's own concepts. A picture in which nobody can be
    seen gives Missing("no_person") to every question about a person. A question about something
    that the studio cannot show is Missing("not_asked").
    """

    name = "studio"
    embedder: StudioEmbedder

    def __init__(self, embedder: StudioEmbedder | None = None) -> None:
        super().__init__(embedder or create_embedder(""))
        self.fingerprint = f"studio-vqa-2-{self.embedder.fingerprint}"

    def sees_somebody(self, vectors: Vectors) -> NDArray[np.bool_]:
        """Whether each picture shows a person."""
        return np.equal(self._best(vectors, PERSON_WORDINGS), "yes")

    def known_errors(self, axis: Axis) -> NDArray[np.int64] | None:
        """Counts of true against answered values on fresh drawings, for the studio's own axes."""
        if axis.values != ATTRIBUTES.get(axis.name) or not KNOWN_ERRORS.exists():
            return None
        return np.array(json.loads(KNOWN_ERRORS.read_text())[axis.name])

    def read(self, vectors: Vectors, attribute: str) -> list[str]:
        """The best-fitting value of a studio attribute, or occupation, per picture."""
        return self._best(
            vectors, {value: wordings(attribute, value) for value in VALUES[attribute]}
        )

    def _column(
        self, vectors: Vectors, question: Question, somebody: NDArray[np.bool_]
    ) -> list[str | Missing]:
        if question == CAPTION:
            rows = zip(*(self.read(vectors, name) for name in VALUES), strict=True)
            seen = [dict(zip(VALUES, row, strict=True)) for row in rows]
            return [_caption(row, bool(there)) for row, there in zip(seen, somebody, strict=True)]
        names = _attributes(question)
        if names == ("person",):
            return ["yes" if there else "no" for there in somebody]
        if not names:
            return [
                Missing("not_asked", f"the studio cannot see {question.axis or question.text!r}")
            ] * len(vectors)
        if set(question.options) == {"yes", "no"}:
            asked = parse(question.text).attributes.values()
            answers = ["yes" if value in asked else "no" for value in self.read(vectors, names[0])]
        elif question.options and set(question.options) != set(VALUES[names[0]]):
            answers = self._best(
                vectors, {option: _wordings(option) for option in question.options}
            )
        else:
            answers = [
                " ".join(row)
                for row in zip(*(self.read(vectors, name) for name in names), strict=True)
            ]
        if set(names) <= OF_ANY_SCENE:
            return list(answers)
        return [
            answer if there else Missing("no_person")
            for answer, there in zip(answers, somebody, strict=True)
        ]


@lru_cache
def create_embedder(name: str) -> StudioEmbedder:
    """The one embedder of this process, the VQA's too. Raises MissingPackage without the packages
    of networks.
    """
    MissingPackage.unless_installed("torch", "models", "the embedder 'studio'")
    return StudioEmbedder()


def create_vqa(name: str) -> StudioVQA:
    """The VQA's factory. Raises MissingPackage without the packages of networks."""
    MissingPackage.unless_installed("torch", "models", "the vqa 'studio'")
    return StudioVQA()


def _caption(values: Mapping[str, str], person: bool) -> str:
    """What was read. A visible disability is mentioned, its absence is not, nor that it is a photo."""
    names = CAPTIONED if person else ("environment",)
    told = [name for name in names if (name, values[name]) != ("disability", "fit")]
    occupation = None if values["occupation"] == NO_OCCUPATION else values["occupation"]
    scene = Scene.of(
        {name: values[name] for name in told if name != "occupation"}, occupation, person
    )
    return caption(scene, told).removeprefix(OPENING)


def _attributes(question: Question) -> tuple[str, ...]:
    """The studio attributes that a question asks for; empty if the studio has none for it."""
    if set(question.options) == {"yes", "no"}:
        said = parse(question.text).attributes
        return tuple(said) if said else ("person",) if question.axis is None else ()
    axis = (question.axis or "").replace(" ", "_").lower()
    if axis in VALUES:
        return (axis,)
    known = {name: (name,) for name in ATTRIBUTES} | dict(DESCRIBED)
    return next((known[word] for word in axis.split("_") if word in known), ())


def _wordings(option: str) -> list[str]:
    said = parse(option).attributes
    if len(said) != 1:
        raise UsageError(f"the studio VQA does not know the answer {option!r}")
    return wordings(*next(iter(said.items())))


def network_input(pixels: NDArray[np.uint8]) -> "torch.Tensor":
    """Pictures (pictures, height, width, 3) from 0 to 255 as the studio's networks take them:
    (pictures, 3, height, width) from -1 to 1.
    """
    import torch

    return torch.from_numpy(pixels).permute(0, 3, 1, 2).float().div_(127.5).sub_(1)
