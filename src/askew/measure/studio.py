"""The studio's instruments: an embedder, and a VQA that uses it to compare images with captions.

Both instruments work only for images from the studio.
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
from askew.measure.subjects import PERSON_KIND, subject_captions
from askew.store.files import sha256
from askew.studio import weights
from askew.studio.caption import NO_OCCUPATION, NOBODY, caption, parse, wordings
from askew.studio.scene import ATTRIBUTES, OCCUPATIONS, OF_ANY_SCENE, Scene
from askew.types import Axis, Missing, Question

if TYPE_CHECKING:
    import torch
    from transformers import CLIPModel, CLIPTokenizer

    from askew.measure.small_clip import SmallClip

BATCH = 64
SIZE = (128, 128)
SUBJECT_CAPTIONS = {
    PERSON_KIND: ("a photo of a person",),
    "nobody": ("a photo of an empty scene", f"a photo of {NOBODY}"),
}
"""Captions for images with and without a person, in the studio's vocabulary."""

OPENING = "a photo of "
CAPTIONED = ("gender", "clothing", "environment", "disability", "occupation")
"""Attributes that a caption mentions: person, clothes and place.

Separate questions ask about the other attributes. If a caption mentioned these attributes, they
would only blur the scores of other axes.
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
"""Attributes whose values answer an open question about a topic, keyed by the topic."""

KNOWN_ERRORS = weights("embedder") / "known_errors.json"
"""File with confusion counts for each attribute, written by `benchmarks.studio_vqa`."""

VALUES: Mapping[str, tuple[str, ...]] = {**ATTRIBUTES, "occupation": (*OCCUPATIONS, NO_OCCUPATION)}
"""Values that the studio's VQA can recognize, for each attribute and for the occupation."""

READ = ("model.safetensors", "tokenizer.json", "tokenizer_config.json", "config.json")
"""Files that determine the vectors: weights, configuration and tokenizer of the network."""


class StudioEmbedder(CachingEmbedder):
    """Embedder based on a small CLIPModel that was trained on studio drawings and captions.

    The network is loaded when the first vector is needed.
    """

    name = "studio"
    subject_captions: Mapping[str, Sequence[str]] = SUBJECT_CAPTIONS

    def __init__(self) -> None:
        super().__init__(BATCH)
        self._folder = weights("embedder")
        if not (self._folder / "model.safetensors").exists():
            raise UsageError(
                f"the studio embedder's weights are not at {self._folder}; install askew again, "
                f"because the installation is incomplete"
            )
        read = b"".join((self._folder / file).read_bytes() for file in READ)
        self.fingerprint = f"studio-embedder-3-{sha256(read)[:16]}"

    @cached_property
    def _network(self) -> "SmallClip":
        from askew.measure.small_clip import SmallClip

        return SmallClip(self._folder)

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
        """Return the network and its tokenizer.

        The studio's pipelines share the network's text tower.
        """
        return self._tower

    def token_embeddings(self) -> "torch.Tensor | None":
        """Read the text tower's token embeddings, of shape (tokens, width), from the weight file."""
        import torch

        from askew.models.diffusers.weights import TOKEN_EMBEDDINGS, find_weight

        rows = find_weight([self._folder / "model.safetensors"], TOKEN_EMBEDDINGS)
        return None if rows is None else rows.to(torch.float32)

    def _embedded(self, images: list[Image.Image]) -> Vectors:
        return self.embed_pixels(np.stack([np.asarray(_resized(image)) for image in images]))

    def embed_images(self, images: list[Image.Image]) -> Vectors:
        """Return unit vectors for images in memory, as an array of shape (images, 128)."""
        return self._embedded(images)

    def embed_pixels(self, pixels: NDArray[np.uint8]) -> Vectors:
        """Return unit vectors for images in an array of shape (images, 128, 128, 3)."""
        import torch

        vectors = []
        with torch.inference_mode():
            for start in range(0, len(pixels), BATCH):
                rows = self._network.images(network_input(pixels[start : start + BATCH]))
                vectors.append(torch.nn.functional.normalize(rows, dim=-1).numpy())
        return np.concatenate(vectors)

    def embed_texts(self, texts: Sequence[str]) -> Vectors:
        """Return unit vectors (texts, 128)."""
        import torch

        with torch.inference_mode():
            rows = torch.nn.functional.normalize(self._network.texts(texts), dim=-1)
            return np.asarray(rows.numpy(), dtype=np.float32)


def _resized(image: Image.Image) -> Image.Image:
    return image if image.size == SIZE else image.resize(SIZE, Image.Resampling.BICUBIC)


class StudioVQA(ComparingVQA):
    """Instrument that compares an image with a caption for each possible answer.

    The answer to an open question consists of values of the studio's attributes. If an image shows
    no person, the answer to a question about a person is Missing("no_person"). If a question is
    about a topic that the studio cannot show, the answer is Missing("not_asked").

    Parameters
    ----------
    embedder
        Embedder of images and captions. The default is the embedder of this process.
    """

    name = "studio"
    embedder: StudioEmbedder

    def __init__(self, embedder: StudioEmbedder | None = None) -> None:
        super().__init__(embedder or create_embedder(""))
        self.fingerprint = f"studio-vqa-2-{self.embedder.fingerprint}"

    def sees_somebody(self, vectors: Vectors) -> NDArray[np.bool_]:
        """Check, for each image, whether it shows a person."""
        return np.equal(self._best(vectors, subject_captions(self.embedder)), PERSON_KIND)

    def known_errors(self, axis: Axis) -> NDArray[np.int64] | None:
        """Return counts of answers on held-out drawings, for each true value of an axis."""
        if axis.values != ATTRIBUTES.get(axis.name) or not KNOWN_ERRORS.exists():
            return None
        return np.array(json.loads(KNOWN_ERRORS.read_text())[axis.name])

    def read(self, vectors: Vectors, attribute: str) -> list[str]:
        """Return, for each image, the best-fitting value of an attribute or of the occupation."""
        captions = {value: wordings(attribute, value) for value in VALUES[attribute]}
        return self._best(vectors, captions)

    def _column(
        self, vectors: Vectors, question: Question, somebody: NDArray[np.bool_]
    ) -> list[str | Missing]:
        if question == CAPTION:
            return list(self._captions(vectors, somebody))
        names = _attributes(question)
        if names == ("person",):
            return ["yes" if there else "no" for there in somebody]
        if not names:
            topic = question.axis or question.text
            unknown = Missing("not_asked", f"the studio cannot show {topic!r}")
            return [unknown] * len(vectors)
        answers = self._answers(vectors, question, names)
        if set(names) <= OF_ANY_SCENE:
            return list(answers)
        return [
            answer if there else Missing("no_person")
            for answer, there in zip(answers, somebody, strict=True)
        ]

    def _captions(self, vectors: Vectors, somebody: NDArray[np.bool_]) -> list[str]:
        rows = zip(*(self.read(vectors, name) for name in VALUES), strict=True)
        return [
            _caption(dict(zip(VALUES, row, strict=True)), bool(there))
            for row, there in zip(rows, somebody, strict=True)
        ]

    def _answers(self, vectors: Vectors, question: Question, names: Sequence[str]) -> list[str]:
        """Return, for each image, the answer that is composed of the values of these attributes."""
        options = set(question.options)
        if options == {"yes", "no"}:
            asked = parse(question.text).attributes.values()
            return ["yes" if value in asked else "no" for value in self.read(vectors, names[0])]
        if options and options != set(VALUES[names[0]]):
            captions = {option: _wordings(option) for option in question.options}
            return self._best(vectors, captions)
        rows = zip(*(self.read(vectors, name) for name in names), strict=True)
        return [" ".join(row) for row in rows]


@lru_cache
def create_embedder(name: str) -> StudioEmbedder:
    """Return the embedder `studio` of this process. The VQA `studio` uses the same embedder.

    Raises
    ------
    MissingPackage
        If the packages that networks need are not installed.
    """
    MissingPackage.unless_installed("torch", "models", "the embedder 'studio'")
    return StudioEmbedder()


@lru_cache
def create_vqa(name: str) -> StudioVQA:
    """Return the VQA `studio` of this process, which caches the vectors of its captions.

    Raises
    ------
    MissingPackage
        If the packages that networks need are not installed.
    """
    MissingPackage.unless_installed("torch", "models", "the vqa 'studio'")
    return StudioVQA()


def _caption(values: Mapping[str, str], person: bool) -> str:
    """Return a caption that describes an image with the given values.

    The caption mentions a visible disability, but not its absence. The caption does not state that
    the image is a photo.
    """
    names = CAPTIONED if person else ("environment",)
    mentioned = [name for name in names if (name, values[name]) != ("disability", "fit")]
    occupation = None if values["occupation"] == NO_OCCUPATION else values["occupation"]
    attributes = {name: values[name] for name in mentioned if name != "occupation"}
    scene = Scene.of(attributes, occupation, person)
    return caption(scene, mentioned).removeprefix(OPENING)


def _attributes(question: Question) -> tuple[str, ...]:
    """Return the studio attributes that a question asks about; empty if there are none."""
    if set(question.options) == {"yes", "no"}:
        attributes = tuple(parse(question.text).attributes)
        if not attributes and question.axis is None:
            return ("person",)
        return attributes
    axis = (question.axis or "").replace(" ", "_").lower()
    if axis in VALUES:
        return (axis,)
    topics = {name: (name,) for name in ATTRIBUTES} | dict(DESCRIBED)
    return next((topics[word] for word in axis.split("_") if word in topics), ())


def _wordings(option: str) -> list[str]:
    attributes = parse(option).attributes
    if len(attributes) != 1:
        raise UsageError(
            f"the studio VQA does not know the answer {option!r}; "
            f"use values of the studio's axes, or another --vqa"
        )
    ((attribute, value),) = attributes.items()
    return wordings(attribute, value)


def network_input(pixels: NDArray[np.uint8]) -> "torch.Tensor":
    """Convert images to the input format of the studio's networks.

    Parameters
    ----------
    pixels
        Array of shape (images, height, width, 3), values from 0 to 255.

    Returns
    -------
    torch.Tensor
        Tensor of shape (images, 3, height, width), values from -1 to 1.
    """
    import torch

    return torch.from_numpy(pixels).permute(0, 3, 1, 2).float().div_(127.5).sub_(1)
