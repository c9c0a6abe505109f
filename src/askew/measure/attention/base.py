"""Where in a picture a text-to-image model attends to a word, watched while the picture is made.
Attention maps of the pictures of a prompt, as vectors that a store can keep; made while the
pictures are.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from askew.errors import ModelError, NotEnoughData, UsageError
from askew.models.base import Request, WhiteBox
from askew.stats.overlap import bilinear
from askew.store.files import digest_of
from askew.store.imagefile import opened
from askew.types import Missing, Picture, slices

if TYPE_CHECKING:
    from torch import Tensor
    from torch.utils.hooks import RemovableHandle

    from askew.measure.attribution import EncodedText

Maps = NDArray[np.float32]
PLAIN = ("PixArtAlphaPipeline", "PixArtSigmaPipeline", "SanaPipeline", "SanaSprintPipeline")
"""Transformers with plain cross-attention."""

WATCHED = (
    "Stable Diffusion 1, 2, XL, 3 or 3.5, Flux, Chroma, AuraFlow, Qwen-Image, PixArt-α, PixArt-Σ, Sana, Sana-Sprint, "
    "or the studio"
)
"""Models whose attention to words can be watched."""


class AttentionMaps:
    """Maps of where the tokens of `attribution` are attended to, taken while `pipe(...)` runs
    inside the context.

    >>> with AttentionMaps(pipe, "a photo of a nurse and gender") as maps:  # doctest: +SKIP
    ...     pipe("a photo of a nurse")
    >>> maps.word("gender")  # doctest: +SKIP

    pipe         a pipeline of diffusers: Stable Diffusion 1, 2, XL, 3, Flux, Chroma, AuraFlow, Qwen-Image, PixArt, Sana
    attribution  any text; all of its tokens get a map
    branch       `cond` or, with plain cross-attention and guidance, `uncond`: whose image is listened to
    definition   `ovam` or, where text and image attend to each other in one sequence, `output`
    options      `middle` of `UNetAttentionMaps`, `softmax` of `TransformerAttentionMaps`, of which this is then an
                 instance

    The picture is the same to the bit. Several calls of the pipeline append their pictures, if all
    have one size. Contexts may be nested. Raises UsageError for what cannot be met.
    """

    branches: tuple[str, ...] = ("cond", "uncond")
    definitions: tuple[str, ...] = ("ovam",)
    text: EncodedText
    _encode: Callable[..., EncodedText]  # the attribution prompt as the pipeline reads its own
    _layers: Mapping[str, Any]  # by name what is watched, from input to output
    _watch: Callable[[], Iterator[RemovableHandle]]

    def __new__(cls, pipe: Any, *_: Any, **__: Any) -> AttentionMaps:
        """Of the class that watches this kind of network."""
        from askew.measure.attention.transformer import TransformerAttentionMaps
        from askew.measure.attention.unet import PlainTransformerAttentionMaps, UNetAttentionMaps

        by_kind = (
            UNetAttentionMaps
            if getattr(pipe, "transformer", None) is None
            else TransformerAttentionMaps
        )
        kind = PlainTransformerAttentionMaps if type(pipe).__name__ in PLAIN else by_kind
        return super().__new__(kind if cls is AttentionMaps else cls)

    def __init__(
        self,
        pipe: Any,
        attribution: str,
        branch: str = "cond",
        definition: str = "ovam",
        **options: Any,
    ) -> None:
        if not attribution.strip():
            raise UsageError(
                "the attribution prompt is empty; give a text such as 'a photo of a nurse and gender'"
            )
        for what, chosen, known in (
            ("branch", branch, self.branches),
            ("definition", definition, self.definitions),
        ):
            if chosen not in known:
                raise UsageError(
                    f"{what} is {chosen!r}; of this model there is {' and '.join(map(repr, known))} alone"
                )
        self._pipe = pipe
        self._attribution = attribution
        self._branch = branch
        self._hooks: list[RemovableHandle] = []
        self._runs: list[dict[str, Tensor]] = []  # of every call of the pipeline the sums by layer
        self._timesteps: Tensor | None = None  # of the latest call: every call sets new ones
        self._read_as: tuple[Any, ...] | None = None

    @property
    def tokens(self) -> list[str]:
        """The tokens of the attribution prompt as their tokenizer writes them, special ones kept.
        SD3 reads every text twice: the CLIP tokens come first, then those of T5, if the pipeline
        has T5.
        """
        return list(self.text.tokens)

    def layers(self) -> dict[str, Maps]:
        """By name of the layer, from input to output, maps (pictures, tokens, h, w): sums over
        steps and heads.

        `up-2-attentions-1-transformer-1-attn2` is
        up_blocks[1].attentions[0].transformer_blocks[0].attn2 of a UNet, `joint-1` the first block
        of a transformer. Raises NotEnoughData before a picture was made, and UsageError if pictures
        have different sizes.
        """
        runs = self._finished()
        if not runs:
            raise NotEnoughData(
                "no picture was made while attention was watched: call the pipeline inside `with`"
            )
        if any(
            sums.shape[-2:] != runs[0][name].shape[-2:]
            for run in runs
            for name, sums in run.items()
        ):
            raise UsageError(
                "the pictures that were watched have different sizes: watch one size after the other"
            )
        return {
            name: np.concatenate([run[name].cpu().numpy() for run in runs]) for name in self._layers
        }

    def aggregate(self) -> Maps:
        """Maps of all layers together, (pictures, tokens, H, W) at the size of the largest. The sum
        of all layers, resized by bilinear interpolation and not normalised (BiasMap, Eq. 2).
        """
        layers = self.layers().values()
        size = max(maps.shape[-2:] for maps in layers)
        return np.asarray(
            np.sum([bilinear(maps, size) for maps in layers], axis=0), dtype=np.float32
        )

    def word(self, word: str) -> Maps:
        """The aggregated map of a word, (pictures, H, W): the mean over its tokens, wherever it
        stands.
        """
        return np.asarray(self.aggregate()[:, self.positions(word)].mean(axis=1))

    def word_layers(self, word: str) -> dict[str, Maps]:
        """By layer the map of a word, (pictures, h, w): the mean over its tokens, wherever it
        stands.
        """
        positions = self.positions(word)
        return {name: maps[:, positions].mean(axis=1) for name, maps in self.layers().items()}

    def positions(self, word: str) -> list[int]:
        """Which tokens a word, or several in a row, has in the attribution prompt, in capital
        letters or small ones. Raises UsageError if it has none.
        """
        if not word.strip():
            raise UsageError("a concept is empty; give a word such as gender")
        parts = self._pipe.components.items()
        tokenizers = [part for name, part in parts if "tokenizer" in name and part is not None]
        written = re.findall(
            rf"(?<!\w){re.escape(word.strip())}(?!\w)", self._attribution, re.IGNORECASE
        ) or [word]
        forms = dict.fromkeys(
            [*written, *(form.lower() for form in written)]
        )  # T5 knows capital letters, PixArt none
        for start in (
            " ",
            "",
        ):  # Gemma's and Qwen's tokens hold the space before a word, but at the start of a text
            found = set[int]()
            for pieces in (one.tokenize(start + form) for one in tokenizers for form in forms):
                for at in range(len(self.tokens) - len(pieces) + 1):
                    if pieces and self.tokens[at : at + len(pieces)] == pieces:
                        found.update(range(at, at + len(pieces)))
            if found:
                return sorted(found)
        raise UsageError(
            f"the attribution prompt does not hold {word!r}; its tokens are: {' '.join(self.tokens)}"
        )

    def __enter__(self) -> Self:
        self._hooks = list(self._watch())
        return self

    def __exit__(self, *_: object) -> None:
        while self._hooks:
            self._hooks.pop().remove()

    def _read_text(self, *how: Any) -> bool:
        """Encode the attribution as a call of the pipeline reads its prompt; whether that is a new
        way.
        """
        if how == self._read_as:
            return False
        self.text = self._encode(self._pipe, self._attribution, *how)
        self._read_as = how
        return True

    def _begin_run(self) -> bool:
        """Whether the pipeline was called anew. A call that broke off within its first step is
        forgotten.
        """
        if self._runs and self._pipe.scheduler.timesteps is self._timesteps:
            return False
        self._runs = [*self._finished(), {}]
        self._timesteps = self._pipe.scheduler.timesteps
        return True

    def _finished(self) -> list[dict[str, Tensor]]:
        return [run for run in self._runs if len(run) == len(self._layers)]


def block_names(sizes: Mapping[str, tuple[int, int]]) -> dict[str, str]:
    """By layer of a network, in order, the block that it belongs to, given the layers' sizes (h,
    w).

    Of a UNet, layers of one side and size are a block: down-64, down-32, …, mid, …, up-64, or
    down-48x64 if not square (height x width). Of a transformer, every layer is a block.
    """
    found = {}
    for layer, (height, width) in sizes.items():
        kind = layer.partition("-")[0]
        side = f"{height}" if height == width else f"{height}x{width}"
        found[layer] = (
            f"{kind}-{side}" if kind in ("down", "up") else "mid" if kind == "mid" else layer
        )
    return found


VERSION = 2
SAME = 2.0
"""Mean difference, of 255, up to which a picture made again counts as the same."""


def attribution_text(prompt: str, concept: str, against: str) -> str:
    """The attribution prompt of a pair of words: "<prompt> and <concept>" (BiasMap, section 3). A
    word that the prompt does not hold is added too; "artist" does not hold "art".
    """
    held = re.search(rf"(?<!\w){re.escape(against.strip())}(?!\w)", prompt, re.IGNORECASE)
    added = [concept] if held else [concept, against]
    return " and ".join([prompt, *added])


class AttentionReader:
    """Reads where a model attends to each concept, and to the word that it is held against, in
    pictures of one prompt.

    As vectors: those of `encode_maps`, with two rows of maps for every concept. `numbers` are those
    of the pictures, by seed.
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
        self.attributions = [attribution_text(prompt, *pair) for pair in self.words]
        content = [
            VERSION,
            model.name,
            model.revision,
            dict(model.settings),
            self.attributions,
            self.words,
            definition,
            branch,
        ]
        self.fingerprint = f"attention-{digest_of(content)[:16]}"

    def embed_pictures(self, pictures: Sequence[Picture]) -> Maps:
        """Maps of pictures whose own were not kept: they are made again, and must come out the
        same.
        """
        rows: list[Maps] = []
        for part in slices(pictures, self._model.batch_size):
            requests = [
                Request(self.prompt, one.seed or 0, self._numbers.get(one.seed)) for one in part
            ]
            with watching(self._model, self) as found:
                images = self._model.generate(requests)
            for picture, image in zip(part, images, strict=True):
                before = np.asarray(opened(picture.path), dtype=float)
                again = (
                    None
                    if isinstance(image, Missing)
                    else np.asarray(image.convert("RGB"), dtype=float)
                )
                if (
                    again is None
                    or again.shape != before.shape
                    or np.abs(again - before).mean() > SAME
                ):
                    raise ModelError(
                        f"{self._model.name} made another picture of {picture.prompt!r} (seed {picture.seed}) than the "
                        f"one that is stored, so its attention maps would describe that other one: use another store "
                        f"(--store)"
                    )
            rows += [found[request] for request in requests]
        return np.stack(rows)

    def check(self) -> None:
        """Raises UsageError for words that cannot be looked for; loads the model."""
        for maps, words in zip(self.maps(self._model.pipeline), self.words, strict=True):
            for word in words:
                maps.positions(word)

    def maps(self, pipeline: Any) -> list[AttentionMaps]:
        """What watches the pipeline for each attribution prompt."""
        options = {} if getattr(pipeline, "transformer", None) else {"middle": True}
        return [
            AttentionMaps(pipeline, text, self._branch, self._definition, **options)
            for text in self.attributions
        ]


@contextmanager
def watching(model: WhiteBox, reader: AttentionReader) -> Iterator[dict[Request, Maps]]:
    """Watch whatever a model makes of the reader's prompt; afterwards its maps are in the mapping,
    by request.
    """
    found: dict[Request, Maps] = {}

    @contextmanager
    def watch(pipeline: Any, requests: Sequence[Request]) -> Iterator[None]:
        with ExitStack() as stack:
            watched = [stack.enter_context(maps) for maps in reader.maps(pipeline)]
            yield
        layers: dict[str, list[Maps]] = {}
        for maps, words in zip(watched, reader.words, strict=True):
            for word in words:
                for name, own in maps.word_layers(word).items():
                    layers.setdefault(name, []).append(own)
        stacked = {name: np.stack(own, axis=1) for name, own in layers.items()}
        rows = zip(*stacked.values(), strict=True)
        found.update(
            (request, encode_maps(dict(zip(stacked, own, strict=True))))
            for request, own in zip(requests, rows, strict=True)
        )

    model.watch = watch
    try:
        yield found
    finally:
        model.watch = None


def encode_maps(layers: Mapping[str, Maps]) -> Maps:
    """Maps (words, h, w) by layer as one vector that says by itself what it holds: a JSON header,
    byte by byte.
    """
    header = json.dumps(
        [[name, *maps.shape] for name, maps in layers.items()], separators=(",", ":")
    ).encode()
    parts = [np.array([len(header), *header]), *(maps.ravel() for maps in layers.values())]
    return np.concatenate(parts).astype(np.float32)


def decode_maps(rows: Maps) -> dict[str, Maps]:
    """By layer the maps (pictures, words, h, w) of vectors (pictures, numbers) of one kind."""
    length = int(rows[0, 0])
    header = json.loads(bytes(rows[0, 1 : 1 + length].astype(np.uint8)).decode())
    layers = {}
    start = 1 + length
    for name, words, height, width in header:
        stop = start + words * height * width
        layers[name] = rows[:, start:stop].reshape(-1, words, height, width)
        start = stop
    return layers
