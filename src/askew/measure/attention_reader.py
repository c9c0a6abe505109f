"""Attention maps of the pictures of a prompt, as vectors that a store can keep; made while the pictures are."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from askew.errors import ModelError
from askew.measure.attention import AttentionMaps
from askew.models.base import Model, Request
from askew.store.imagefile import opened
from askew.types import Missing, Picture

VERSION = 1
SAME = 2.0
"""Mean difference, of 255, up to which a picture made again counts as the same."""

Row = NDArray[np.float32]
Keep = Callable[[str, Mapping[str, Row]], None]


class WhiteBox(Model, Protocol):
    """A model whose network can be watched while it works."""

    watch: Callable[[Any, Sequence[Request]], Any] | None

    @property
    def pipeline(self) -> Any:
        """The diffusers pipeline."""
        ...


def attribution_text(prompt: str, concept: str, against: str) -> str:
    """The attribution prompt of a pair of words: "<prompt> and <concept>" (BiasMap, section 3).

    A word that the prompt does not hold is added too; "artist" does not hold "art".
    """
    held = re.search(rf"(?<!\w){re.escape(against.strip())}(?!\w)", prompt, re.IGNORECASE)
    added = [concept] if held else [concept, against]
    return " and ".join([prompt, *added])


class AttentionReader:
    """Reads where a model attends to each concept, and to the word that it is held against, in pictures of one prompt.

    As vectors: those of `encode_maps`, with two rows of maps for every concept.
    """

    name = "attention"

    def __init__(
        self, model: WhiteBox, prompt: str, concepts: Sequence[str], against: str, definition: str, branch: str
    ) -> None:
        self._model, self.prompt = model, prompt
        self._definition, self._branch = definition, branch
        self.words = [(concept, against) for concept in concepts]
        own = definition == "daam"
        self.attributions = [prompt if own else attribution_text(prompt, *pair) for pair in self.words]
        content = [VERSION, model.name, model.revision, dict(model.settings), self.attributions, self.words,
                   definition, branch]  # fmt: skip
        self.fingerprint = f"attention-{hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]}"

    def embed_pictures(self, pictures: Sequence[Picture]) -> Row:
        """Maps of pictures whose own were not kept: they are made again, and must come out the same."""
        rows: list[Row] = []
        for start in range(0, len(pictures), self._model.batch_size):
            part = pictures[start : start + self._model.batch_size]
            requests = [Request(self.prompt, picture.seed or 0) for picture in part]
            with watching(self._model, self) as found:
                images = self._model.generate(requests)
            for picture, image in zip(part, images, strict=True):
                _check_same(self._model, picture, image)
            rows += [found[request] for request in requests]
        return np.stack(rows)

    def check(self) -> None:
        """Raises UsageError for words that cannot be looked for; loads the model."""
        for maps, words in zip(self._open(self._model.pipeline), self.words, strict=True):
            for word in words:
                maps.positions(word)

    @contextmanager
    def listening(self, pipeline: Any) -> Iterator[list[AttentionMaps]]:
        """Watch a call of the pipeline for every attribution prompt at once."""
        with ExitStack() as stack:
            yield [stack.enter_context(maps) for maps in self._open(pipeline)]

    def rows(self, watched: Sequence[AttentionMaps]) -> list[Row]:
        """A vector per picture that was watched."""
        layers: dict[str, list[NDArray[np.float32]]] = {}
        for maps, words in zip(watched, self.words, strict=True):
            for word in words:
                for name, found in maps.word_layers(word).items():
                    layers.setdefault(name, []).append(found)
        stacked = {name: np.stack(found, axis=1) for name, found in layers.items()}
        return [encode_maps({name: maps[k] for name, maps in stacked.items()}) for k in range(_pictures(stacked))]

    def _open(self, pipeline: Any) -> list[AttentionMaps]:
        unet = self._definition == "ovam" and getattr(pipeline, "transformer", None) is None
        options = {"middle": True} if unet else {}
        return [AttentionMaps(pipeline, text, self._branch, self._definition, **options) for text in self.attributions]


@contextmanager
def watching(model: WhiteBox, reader: AttentionReader) -> Iterator[dict[Request, Row]]:
    """Watch whatever a model makes of the reader's prompt; afterwards its maps are in the mapping, by request."""
    found: dict[Request, Row] = {}

    @contextmanager
    def watch(pipeline: Any, requests: Sequence[Request]) -> Iterator[None]:
        with reader.listening(pipeline) as watched:
            yield
        found.update(zip(requests, reader.rows(watched), strict=True))

    model.watch = watch
    try:
        yield found
    finally:
        model.watch = None


def encode_maps(layers: Mapping[str, NDArray[np.float32]]) -> Row:
    """Maps (words, h, w) by layer as one vector that says by itself what it holds: a JSON header, byte by byte."""
    header = json.dumps([[name, *maps.shape] for name, maps in layers.items()], separators=(",", ":")).encode()
    parts = [np.array([len(header), *header]), *(maps.ravel() for maps in layers.values())]
    return np.concatenate(parts).astype(np.float32)


def decode_maps(rows: Row) -> dict[str, NDArray[np.float32]]:
    """By layer the maps (pictures, words, h, w) of vectors (pictures, numbers) of one kind."""
    length = int(rows[0, 0])
    header = json.loads(bytes(rows[0, 1 : 1 + length].astype(np.uint8)).decode())
    layers, start = {}, 1 + length
    for name, words, height, width in header:
        stop = start + words * height * width
        layers[name] = rows[:, start:stop].reshape(-1, words, height, width)
        start = stop
    return layers


def _pictures(layers: Mapping[str, NDArray[np.float32]]) -> int:
    return len(next(iter(layers.values())))


def _check_same(model: Model, picture: Picture, image: Image.Image | Missing) -> None:
    before = np.asarray(opened(picture.path), dtype=float)
    again = None if isinstance(image, Missing) else np.asarray(image.convert("RGB"), dtype=float)
    if again is None or again.shape != before.shape or np.abs(again - before).mean() > SAME:
        raise ModelError(
            f"{model.name} made another picture of {picture.prompt!r} (seed {picture.seed}) than the one that is "
            f"stored, so its attention maps would describe that other one: use another store (--store)"
        )
