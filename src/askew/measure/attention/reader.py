"""Attention maps of a prompt's images, encoded as vectors for the store."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from askew.errors import ModelError, StoreError
from askew.measure.attention.base import AttentionRecorder, Maps
from askew.measure.attention.choice import AttentionMaps
from askew.measure.attention.concepts import ConceptTokens
from askew.models.base import Request, WhiteBox
from askew.prompts.vocabulary import contains_word
from askew.store.files import digest_of
from askew.store.foreign import json_value
from askew.store.imagefile import opened
from askew.types import Missing, Picture, slices

if TYPE_CHECKING:
    from PIL import Image

VERSION = 2
TOLERANCE = 2.0
"""Maximum mean difference in pixel values (0 to 255) at which two images count as equal."""


def attribution_text(prompt: str, concept: str, against: str) -> str:
    """Return the attribution prompt "<prompt> and <concept>" (BiasMap, section 3).

    If the prompt does not contain the word `against`, this word is also added. The prompt must
    contain the exact word: "artist" does not contain "art".
    """
    words = [concept]
    if not contains_word(prompt, against.strip()):
        words.append(against)
    return " and ".join([prompt, *words])


class AttentionReader:
    """Reader that records a model's attention to concepts, and to another word for comparison.

    A reading is a vector from `encode_maps`. For each concept, the vector contains a map of the
    concept and a map of the word `against`.

    Parameters
    ----------
    model
        Model whose attention is recorded.
    prompt
        Prompt from which the images were generated.
    concepts
        Words such as "gender".
    against
        Word whose maps are compared with the maps of each concept, such as "nurse".
    definition, branch
        As in `AttentionMaps`.
    numbers
        Position of each image among the prompt's images, keyed by the image's seed.

    Attributes
    ----------
    words
        Pairs of a concept and the word `against`.
    spelled
        The same pairs, in the spelling of the attribution prompts. See `ConceptTokens`.
    """

    name = "attention"

    def __init__(
        self,
        model: WhiteBox,
        prompt: str,
        concepts: Sequence[str],
        against: str,
        definition: str,
        branch: str,
        numbers: Mapping[int | None, int | None],
    ) -> None:
        self._model = model
        self.prompt = prompt
        self._numbers = numbers
        self._definition = definition
        self._branch = branch
        self.words = [(concept, against) for concept in concepts]
        self._tokens = ConceptTokens(model)
        against_spelled = against
        if not contains_word(prompt, against.strip()):
            against_spelled = self._tokens.spelling(against)
        self.spelled = [(self._tokens.spelling(concept), against_spelled) for concept in concepts]
        self.attributions = [attribution_text(prompt, *pair) for pair in self.spelled]
        content = [
            VERSION,
            model.name,
            model.revision,
            dict(model.settings),
            self.attributions,
            self.words,
            definition,
            branch,
            *self._tokens.identity([*concepts, against]),
        ]
        self.fingerprint = f"attention-{digest_of(content)[:16]}"

    def embed_pictures(self, pictures: Sequence[Picture]) -> Maps:
        """Generate the images a second time while recording their maps, and return the maps.

        Raises
        ------
        ModelError
            If an image differs from the stored image.
        """
        rows: list[Maps] = []
        for part in slices(pictures, self._model.batch_size):
            rows += self._maps_of_remade(part)
        return np.stack(rows)

    def _maps_of_remade(self, pictures: Sequence[Picture]) -> list[Maps]:
        requests = [
            Request(self.prompt, picture.seed or 0, self._numbers.get(picture.seed))
            for picture in pictures
        ]
        with watching(self._model, self) as maps_by_request:
            images = self._model.generate(requests)
        for picture, image in zip(pictures, images, strict=True):
            if not _is_same(picture, image):
                raise ModelError(
                    f"{self._model.name} made an image of {picture.prompt!r} "
                    f"(seed {picture.seed}) that differs from the stored image, "
                    f"so its attention maps would not describe the stored image: "
                    f"use another store (--store)"
                )
        return [maps_by_request[request] for request in requests]

    def check(self) -> None:
        """Load the model, and check that its tokenizers find each word in the attribution prompts.

        Raises
        ------
        UsageError
            If a word cannot be found, or the model's attention cannot be recorded.
        """
        recorders = self.recorders(self._model.pipeline)
        for recorder, words in zip(recorders, self.spelled, strict=True):
            for word in words:
                recorder.positions(word)

    def recorders(self, pipeline: Any) -> list[AttentionRecorder]:
        """Return a recorder for each attribution prompt."""
        self._tokens.teach(pipeline)
        options = {} if getattr(pipeline, "transformer", None) else {"middle": True}
        return [
            AttentionMaps(pipeline, text, self._branch, self._definition, **options)
            for text in self.attributions
        ]


def _is_same(picture: Picture, image: Image.Image | Missing) -> bool:
    """Check whether a stored image equals a new image generated from the same request."""
    stored = np.asarray(opened(picture.path), dtype=float)
    if isinstance(image, Missing):
        return False
    remade = np.asarray(image.convert("RGB"), dtype=float)
    return remade.shape == stored.shape and np.abs(remade - stored).mean() <= TOLERANCE


@contextmanager
def watching(model: WhiteBox, reader: AttentionReader) -> Iterator[dict[Request, Maps]]:
    """Record attention maps while a model generates images from the reader's prompt.

    Yields
    ------
    dict
        The vector for each request. When the images of a batch are finished, their vectors are
        added.
    """
    maps_by_request: dict[Request, Maps] = {}

    @contextmanager
    def watch(pipeline: Any, requests: Sequence[Request]) -> Iterator[None]:
        with ExitStack() as stack:
            recorders = [stack.enter_context(recorder) for recorder in reader.recorders(pipeline)]
            yield
        vectors = _vectors(recorders, reader.spelled)
        maps_by_request.update(zip(requests, vectors, strict=True))

    model.watch = watch
    try:
        yield maps_by_request
    finally:
        model.watch = None


def _vectors(
    recorders: Sequence[AttentionRecorder], words: Sequence[tuple[str, str]]
) -> list[Maps]:
    """Return one vector per image, which encodes the maps of all words in all layers."""
    layers: dict[str, list[Maps]] = {}
    for recorder, pair in zip(recorders, words, strict=True):
        for word in pair:
            for name, maps in recorder.word_layers(word).items():
                layers.setdefault(name, []).append(maps)
    stacked = {name: np.stack(maps, axis=1) for name, maps in layers.items()}
    vectors = []
    for maps_of_image in zip(*stacked.values(), strict=True):
        vectors.append(encode_maps(dict(zip(stacked, maps_of_image, strict=True))))
    return vectors


def encode_maps(layers: Mapping[str, Maps]) -> Maps:
    """Encode maps as a vector whose first numbers are the bytes of a JSON header.

    Parameters
    ----------
    layers
        Maps of each layer, of shape (words, h, w).
    """
    shapes = [[name, *maps.shape] for name, maps in layers.items()]
    header = json.dumps(shapes, separators=(",", ":")).encode()
    parts = [np.array([len(header), *header]), *(maps.ravel() for maps in layers.values())]
    return np.concatenate(parts).astype(np.float32)


def decode_maps(rows: Maps) -> dict[str, Maps]:
    """Decode vectors, and return the maps of each layer, of shape (images, words, h, w).

    Parameters
    ----------
    rows
        Vectors from `encode_maps`, of shape (images, numbers). All vectors must contain the same
        layers, with maps of the same shapes.

    Raises
    ------
    StoreError
        If the vectors are damaged.
    """
    layers = {}
    try:
        length = int(rows[0, 0])
        header = json_value(bytes(rows[0, 1 : 1 + length].astype(np.uint8)))
        start = 1 + length
        for name, words, height, width in header:
            stop = start + words * height * width
            layers[name] = rows[:, start:stop].reshape(-1, words, height, width)
            start = stop
    except (ValueError, TypeError, OverflowError) as error:
        raise StoreError(f"the store contains damaged attention maps: {error}") from error
    return layers
