"""Base class for recorders, which measure where in an image a model attends to a word."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from askew.errors import NotEnoughData, UsageError
from askew.stats.overlap import bilinear

if TYPE_CHECKING:
    from torch import Tensor
    from torch.utils.hooks import RemovableHandle

    from askew.measure.attribution import EncodedText

Maps = NDArray[np.float32]

SUPPORTED_MODELS = (
    "Stable Diffusion 1, 2, XL, 3 or 3.5, Flux, FLUX.2 klein, Chroma, AuraFlow, Bria, "
    "Qwen-Image, Ovis-Image, PixArt-α, PixArt-Σ, Sana, Sana-Sprint, or the studio"
)
"""Models whose attention to words can be recorded."""


class AttentionRecorder:
    """Recorder that measures how much each pixel attends to each token of an attribution prompt.

    The attribution prompt is a text, such as the prompt with a concept added. The recorder computes
    a map for each token of this text.

    `askew.measure.attention.AttentionMaps` creates the recorder for a pipeline and documents the
    parameters. A subclass sets `_layers` and `_encode`, and its method `_watch` yields the hooks.

    Attributes
    ----------
    branches, definitions
        Permitted values of the arguments `branch` and `definition`.
    text
        The attribution prompt, encoded in the same way as the pipeline encodes its own prompt.
    """

    branches: tuple[str, ...] = ("cond", "uncond")
    definitions: tuple[str, ...] = ("ovam",)
    text: EncodedText
    _encode: Callable[..., EncodedText]
    # watched parts of the network by name, from input to output
    _layers: Mapping[str, Any]
    _watch: Callable[[], Iterator[RemovableHandle]]

    def __init__(
        self, pipe: Any, attribution: str, branch: str = "cond", definition: str = "ovam"
    ) -> None:
        if not attribution.strip():
            raise UsageError(
                "the attribution prompt is empty; "
                "give a text such as 'a photo of a nurse and gender'"
            )
        _check_choice("branch", branch, self.branches)
        _check_choice("definition", definition, self.definitions)
        self._pipe = pipe
        self._attribution = attribution
        self._branch = branch
        self._hooks: list[RemovableHandle] = []
        # for each call of the pipeline, the sums by layer
        self._runs: list[dict[str, Tensor]] = []
        # timesteps of the latest call: each call sets a new tensor
        self._timesteps: Tensor | None = None
        self._encoding: tuple[Any, ...] | None = None

    @property
    def tokens(self) -> list[str]:
        """Return the tokens of the attribution prompt, including special tokens.

        The tokenizer determines the spelling of the tokens. SD3 encodes each text twice: the CLIP
        tokens come first, then the T5 tokens, if the pipeline has T5.
        """
        return list(self.text.tokens)

    def layers(self) -> dict[str, Maps]:
        """Return the maps of each layer, summed over steps and heads.

        Returns
        -------
        dict
            Arrays of shape (images, tokens, h, w), keyed by layer name, in order from input to
            output. The name `up-2-attentions-1-transformer-1-attn2` stands for
            up_blocks[1].attentions[0].transformer_blocks[0].attn2 of a UNet. The name `joint-1`
            stands for the first block of a transformer.

        Raises
        ------
        NotEnoughData
            If the pipeline generated no image inside the `with` block.
        UsageError
            If the images have different sizes.
        """
        runs = self._finished()
        if not runs:
            raise NotEnoughData(
                "attention maps need an image: call the pipeline inside the `with` block"
            )
        for run in runs:
            for name, sums in run.items():
                if sums.shape[-2:] != runs[0][name].shape[-2:]:
                    raise UsageError(
                        "the images have different sizes; use one `with` block for each size"
                    )
        layers = {}
        for name in self._layers:
            layers[name] = np.concatenate([run[name].cpu().numpy() for run in runs])
        return layers

    def aggregate(self) -> Maps:
        """Return the maps summed over all layers, of shape (images, tokens, H, W) (BiasMap, Eq. 2).

        Bilinear interpolation resizes all maps to the size of the largest layer. The maps are not
        normalized.
        """
        layers = self.layers().values()
        size = max(maps.shape[-2:] for maps in layers)
        resized = [bilinear(maps, size) for maps in layers]
        return np.asarray(np.sum(resized, axis=0), dtype=np.float32)

    def word(self, word: str) -> Maps:
        """Return aggregated maps of shape (images, H, W), averaged over the word's tokens."""
        return np.asarray(self.aggregate()[:, self.positions(word)].mean(axis=1))

    def word_layers(self, word: str) -> dict[str, Maps]:
        """Return each layer's maps of shape (images, h, w), averaged over the word's tokens."""
        positions = self.positions(word)
        return {name: maps[:, positions].mean(axis=1) for name, maps in self.layers().items()}

    def positions(self, word: str) -> list[int]:
        """Return the positions of the tokens that spell a word or a phrase.

        Case is ignored.

        Raises
        ------
        UsageError
            If the attribution prompt does not contain the word.
        """
        if not word.strip():
            raise UsageError("a concept is empty; give a word such as gender")
        spellings = self._spellings(word.strip()) or _with_lower_case([word])
        # Tokens of Gemma and Qwen include the space before a word, except at the start of a text.
        for start in (" ", ""):
            positions = set[int]()
            for tokenizer in self._tokenizers():
                for spelling in spellings:
                    pieces = tokenizer.tokenize(start + spelling)
                    positions.update(_occurrences(pieces, self.tokens))
            if positions:
                return sorted(positions)
        raise UsageError(
            f"the attribution prompt does not contain {word!r}; "
            f"its tokens are: {' '.join(self.tokens)}"
        )

    def _tokenizers(self) -> list[Any]:
        parts = self._pipe.components.items()
        return [part for name, part in parts if "tokenizer" in name and part is not None]

    def _spellings(self, word: str) -> list[str]:
        """Return the spellings of a word that occur in the attribution prompt."""
        whole_word = rf"(?<!\w){re.escape(word)}(?!\w)"
        return _with_lower_case(re.findall(whole_word, self._attribution, re.IGNORECASE))

    def __enter__(self) -> Self:
        self._hooks = list(self._watch())
        return self

    def __exit__(self, *_: object) -> None:
        while self._hooks:
            self._hooks.pop().remove()

    def _read_text(self, *settings: Any) -> bool:
        """Encode the attribution prompt with the settings of a call.

        Return True if these settings differ from the settings of the previous call.
        """
        if settings == self._encoding:
            return False
        self.text = self._encode(self._pipe, self._attribution, *settings)
        self._encoding = settings
        return True

    def _begin_run(self) -> bool:
        """Check whether a new call has begun. If so, drop the maps of interrupted calls."""
        if self._runs and self._pipe.scheduler.timesteps is self._timesteps:
            return False
        self._runs = [*self._finished(), {}]
        self._timesteps = self._pipe.scheduler.timesteps
        return True

    def _finished(self) -> list[dict[str, Tensor]]:
        return [run for run in self._runs if len(run) == len(self._layers)]


def _check_choice(argument: str, value: str, accepted: Collection[str]) -> None:
    if value not in accepted:
        names = " and ".join(repr(name) for name in accepted)
        raise UsageError(f"{argument} is {value!r}; this model supports only {names}")


def _with_lower_case(spellings: Sequence[str]) -> list[str]:
    """Return each spelling and its lower-case form, because PixArt lower-cases prompts."""
    lower_case = [spelling.lower() for spelling in spellings]
    return list(dict.fromkeys([*spellings, *lower_case]))


def _occurrences(pieces: Sequence[str], tokens: Sequence[str]) -> Iterator[int]:
    """Yield the positions of all tokens that belong to an occurrence of `pieces`."""
    if not pieces:
        return
    for start in range(len(tokens) - len(pieces) + 1):
        stop = start + len(pieces)
        if tokens[start:stop] == pieces:
            yield from range(start, stop)


def block_names(sizes: Mapping[str, tuple[int, int]]) -> dict[str, str]:
    """Return the name of the block to which each layer of a network belongs.

    In a UNet, layers on the same side (down, mid or up) form a block if their maps have the same
    size. Blocks are named down-64, down-32, …, mid, …, up-64. If the maps are not square, the name
    contains height and width, such as down-48x64. In a transformer, each layer is a block.

    Parameters
    ----------
    sizes
        Height and width of each layer's maps, keyed by layer name.
    """
    return {layer: _block_name(layer, *size) for layer, size in sizes.items()}


def _block_name(layer: str, height: int, width: int) -> str:
    kind = layer.partition("-")[0]
    if kind == "mid":
        return "mid"
    if kind not in ("down", "up"):
        return layer
    size = f"{height}" if height == width else f"{height}x{width}"
    return f"{kind}-{size}"
