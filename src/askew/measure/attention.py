"""Where in a picture a text-to-image model attends to a word, watched while the picture is made."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from askew.errors import UsageError

Maps = NDArray[np.float32]


class Capture(Protocol):
    """What every kind of network offers; the fields of `AttentionMaps`."""

    @property
    def tokens(self) -> list[str]: ...
    def layers(self) -> dict[str, Maps]: ...
    def aggregate(self) -> Maps: ...
    def __enter__(self) -> Any: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None: ...


class AttentionMaps:
    """Maps of where the tokens of `attribution` are attended to, taken while `pipe(...)` runs inside the context.

    >>> with AttentionMaps(pipe, "a photo of a nurse and gender") as maps:  # doctest: +SKIP
    ...     pipe("a photo of a nurse")
    >>> maps.word("gender")  # doctest: +SKIP

    pipe         a pipeline of diffusers: Stable Diffusion 1, 2, XL, 3 or Flux
    attribution  any text; all of its tokens get a map
    branch       `cond` or, with guidance, `uncond`: whose image is listened to
    definition   `ovam` or, for UNets, `daam`
    options      `middle` and `guided` of `UNetAttentionMaps`, `softmax` of `TransformerAttentionMaps`

    The picture is the same to the bit. Several pictures per call, and several calls of one size, keep their order.
    Raises UsageError for what cannot be met.
    """

    def __init__(
        self, pipe: Any, attribution: str, branch: str = "cond", definition: str = "ovam", **options: Any
    ) -> None:
        self._pipe = pipe
        self._capture: Capture = _kind(pipe)(pipe, attribution, branch, definition, **options)

    @property
    def tokens(self) -> list[str]:
        """The tokens of the attribution prompt as their tokenizer writes them, special ones kept."""
        return self._capture.tokens

    def layers(self) -> dict[str, Maps]:
        """By name of the layer, from input to output, maps (pictures, tokens, h, w): sums over steps and heads."""
        return self._capture.layers()

    def aggregate(self) -> Maps:
        """Maps of all layers together, (pictures, tokens, H, W)."""
        return self._capture.aggregate()

    def word(self, word: str) -> Maps:
        """The aggregated map of a word, (pictures, H, W): the mean over its tokens, wherever it stands."""
        mean: Maps = self.aggregate()[:, self.positions(word)].mean(axis=1)
        return mean

    def word_layers(self, word: str) -> dict[str, Maps]:
        """By layer the map of a word, (pictures, h, w): the mean over its tokens, wherever it stands."""
        positions = self.positions(word)
        return {name: maps[:, positions].mean(axis=1) for name, maps in self.layers().items()}

    def positions(self, word: str) -> list[int]:
        """Which tokens a word, or several in a row, has in the attribution prompt. Raises UsageError if it has none."""
        if not word.strip():
            raise UsageError("a concept is empty; give a word such as gender")
        written = {tuple(tokenizer.tokenize(word)) for tokenizer in _tokenizers(self._pipe)}
        found = sorted({k for pieces in written for k in _occurrences(self.tokens, pieces)})
        if not found:
            raise UsageError(f"the attribution prompt does not hold {word!r}; its tokens are: {' '.join(self.tokens)}")
        return found

    def __enter__(self) -> AttentionMaps:
        self._capture.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._capture.__exit__(kind, error, traceback)


def block_names(sizes: Mapping[str, tuple[int, int]]) -> dict[str, str]:
    """By layer of a network, in order, the block that it belongs to, given the layers' sizes (h, w).

    Of a UNet, layers of one side and size are a block: down-64, down-32, …, mid, …, up-64, or down-48x64 if not square
    (height x width). Of a transformer, every layer is a block.
    """
    return {name: _block_name(name, *size) for name, size in sizes.items()}


def _block_name(layer: str, height: int, width: int) -> str:
    kind = layer.partition("-")[0]
    if kind == "mid" or kind not in ("down", "up"):
        return kind if kind == "mid" else layer
    return f"{kind}-{height}" if height == width else f"{kind}-{height}x{width}"


def _kind(pipe: Any) -> Any:
    """The class that watches this kind of network."""
    if getattr(pipe, "transformer", None) is not None:
        from askew.measure.attention_transformers import TransformerAttentionMaps

        return TransformerAttentionMaps
    from askew.measure.attention_unet import UNetAttentionMaps

    return UNetAttentionMaps


def _tokenizers(pipe: Any) -> list[Any]:
    return [part for name, part in pipe.components.items() if "tokenizer" in name and part is not None]


def _occurrences(tokens: Sequence[str], pieces: Sequence[str]) -> Iterable[int]:
    """Positions of all tokens of every occurrence of `pieces`."""
    length = len(pieces)
    for start in range(len(tokens) - length + 1):
        if length and tuple(tokens[start : start + length]) == tuple(pieces):
            yield from range(start, start + length)
