"""Open-vocabulary maps of plain cross-attention: Stable Diffusion 1, 2 and XL and their like,
PixArt, Sana.

Hooks read the queries of every cross-attention while a picture is made; keys come from the
attribution prompt. No query is kept and no processor is replaced, so the picture is the same to the
bit. After OVAM (Marcos-Manchón et al., CVPR 2024, arXiv 2403.14291).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.utils.hooks import RemovableHandle

from askew.errors import ModelError, UsageError
from askew.measure.attention.base import WATCHED, AttentionMaps
from askew.measure.attribution import EncodedText, encode_attribution, encode_by_pipeline


@dataclass(slots=True)
class _Layer:
    """One cross-attention. `image` is the module that holds it, which knows height and width."""

    attention: Any
    image: Any
    size: tuple[int, int] = (0, 0)
    keys: Tensor | None = None


class UNetAttentionMaps(AttentionMaps):
    """`AttentionMaps` of Stable Diffusion 1, 2 or XL: keys of the attribution prompt, softmax over
    its tokens alone. `middle` reads the middle block too.
    """

    _encode: Callable[..., EncodedText] = staticmethod(encode_attribution)

    def __init__(
        self,
        pipe: Any,
        attribution: str,
        branch: str = "cond",
        definition: str = "ovam",
        *,
        middle: bool = False,
    ) -> None:
        super().__init__(pipe, attribution, branch, definition)
        self._rows = slice(None)
        self._network: Any = getattr(pipe, "unet", None)
        self._layers: dict[str, _Layer] = dict(cross_attention(pipe, middle))
        self._read_text(None)

    def _watch(self) -> Iterator[RemovableHandle]:
        yield self._network.register_forward_pre_hook(self._begin, with_kwargs=True)
        for name, layer in self._layers.items():
            yield layer.image.register_forward_pre_hook(
                partial(self._enter, layer), with_kwargs=True
            )
            asks = (
                layer.attention.to_q if layer.attention.norm_q is None else layer.attention.norm_q
            )
            yield asks.register_forward_hook(partial(self._add, name, layer))

    def __exit__(self, *_: object) -> None:
        super().__exit__()
        self._forget_keys()

    def _forget_keys(self) -> None:
        for layer in self._layers.values():
            layer.keys = None

    def _begin(self, network: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Before the UNet: which rows of its batch are read, and whether a new call of the pipeline
        has begun.
        """
        guided = getattr(self._pipe, "do_classifier_free_guidance", None)
        if guided is None:
            raise UsageError(
                f"a {type(self._pipe).__name__} does not tell whether it guides: use {WATCHED}"
            )
        self._rows = self._rows_of(args[0] if args else kwargs["sample"], bool(guided))
        if self._read_text(getattr(self._pipe, "_clip_skip", None)):
            self._forget_keys()
        self._begin_run()

    def _rows_of(self, sample: Tensor, guided: bool) -> slice:
        """The rows of the branch: pipelines put unconditional pictures first, then conditional,
        then perturbed ones.
        """
        if self._branch == "uncond" and not guided:
            raise UsageError(
                "this run has no guidance and so no unconditional branch: use branch='cond'"
            )
        copies = 1 + guided + bool(getattr(self._pipe, "do_perturbed_attention_guidance", False))
        pictures, rest = divmod(len(sample), copies)
        latents = sample[:, : self._network.config.out_channels]
        if rest or (
            copies > 1 and not torch.equal(latents[:pictures], latents[pictures : 2 * pictures])
        ):
            raise ModelError(
                f"a {type(self._pipe).__name__} arranges its pictures for guidance in a way that is not known: "
                f"make them without guidance"
            )
        start = pictures if guided and self._branch == "cond" else 0
        return slice(start, start + pictures)

    @torch.no_grad()
    def _enter(
        self, layer: _Layer, image: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        """Before a layer's module: keep the size, and make the keys, now that scales of LoRA hold."""
        hidden = args[0] if args else kwargs["hidden_states"]
        layer.size = hidden.shape[-2:]
        if layer.keys is None:
            layer.keys = layer.attention.to_k(self.text.vectors.to(hidden))

    @torch.no_grad()
    def _add(self, name: str, layer: _Layer, _module: Any, _args: Any, output: Tensor) -> None:
        """Add the weights of queries (rows, pixels, channels), summed over heads, to sums
        (pictures, tokens, h, w). Softmax over the tokens, which stand before pixels: on a CPU the
        other order takes several times as long.
        """
        queries = output[self._rows]
        sums = self._runs[-1]
        heads = layer.attention.heads
        assert layer.keys is not None
        keys = (
            layer.keys.float().reshape(len(layer.keys), heads, -1).transpose(0, 1)
            * layer.attention.scale
        )
        if name not in sums:
            sums[name] = queries.new_zeros(
                (len(queries), keys.shape[1], *layer.size), dtype=torch.float32
            )
        for total, one in zip(sums[name].flatten(-2), queries, strict=True):
            q = one.float().reshape(len(one), heads, -1).permute(1, 2, 0)
            total += torch.bmm(keys, q).softmax(dim=1).sum(dim=0)


class PlainTransformerAttentionMaps(UNetAttentionMaps):
    """`AttentionMaps` of PixArt and Sana, every block of which attends to the text as those of
    UNets do. Not all tell whether they guide: a batch whose halves differ in their text alone is
    guided.
    """

    _encode = staticmethod(encode_by_pipeline)

    def __init__(
        self, pipe: Any, attribution: str, branch: str = "cond", definition: str = "ovam"
    ) -> None:
        super(UNetAttentionMaps, self).__init__(pipe, attribution, branch, definition)
        self._network = pipe.transformer
        self._rows = slice(None)
        blocks = enumerate(self._network.transformer_blocks, 1)
        self._layers = {f"block-{k}": _Layer(block.attn2, block) for k, block in blocks}
        self._read_text()

    def _begin(self, network: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        sample = args[0] if args else kwargs["hidden_states"]
        text = kwargs["encoder_hidden_states"]
        half, rest = divmod(len(sample), 2)
        doubled = not rest and torch.equal(sample[:half], sample[half:])
        if doubled and torch.equal(text[:half], text[half:]):
            raise UsageError(
                "pictures that are alike, or guidance by a negative prompt that is the prompt itself: this model does "
                "not tell which; give another negative prompt, or another seed to each picture"
            )
        self._rows = self._rows_of(sample, doubled)
        for layer in self._layers.values():
            layer.size = tuple(side // network.config.patch_size for side in sample.shape[-2:])
        self._begin_run()

    @torch.no_grad()
    def _enter(
        self, layer: _Layer, block: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        if layer.keys is None:
            text = self._network.caption_projection(
                self.text.vectors.to(args[0] if args else kwargs["hidden_states"])
            )
            if hasattr(self._network, "caption_norm"):
                text = self._network.caption_norm(text)
            keys = layer.attention.to_k(text)
            layer.keys = keys if layer.attention.norm_k is None else layer.attention.norm_k(keys)


def cross_attention(pipe: Any, middle: bool) -> Iterator[tuple[str, _Layer]]:
    """The cross-attention of a pipeline's UNet, from input to output, named as OVAM names it."""
    unet = getattr(pipe, "unet", None)
    mid = [block for block in (getattr(unet, "mid_block", None),) if middle and block is not None]
    parts = {
        "down": getattr(unet, "down_blocks", ()),
        "mid": mid,
        "up": getattr(unet, "up_blocks", ()),
    }
    found = [
        (f"{kind}-{i}-attentions-{j}-transformer-{k}-attn2", _Layer(block.attn2, image))
        for kind, blocks in parts.items()
        for i, outer in enumerate(blocks, 1)
        for j, image in enumerate(getattr(outer, "attentions", None) or (), 1)
        for k, block in enumerate(getattr(image, "transformer_blocks", ()), 1)
        if getattr(block, "attn2", None) is not None and block.attn2.is_cross_attention
    ]
    if not found:
        kind = type(pipe).__name__
        raise UsageError(
            f"a {kind} has no cross-attention to words that could be watched: use {WATCHED}"
        )
    yield from found
