"""Attention recorders for plain cross-attention (Stable Diffusion 1, 2 and XL, PixArt, Sana).

Hooks read the queries of each cross-attention layer while the model generates an image. The keys
come from the attribution prompt. Queries are not stored and no attention processor is replaced, so
not a single bit of the image changes. The method is OVAM (Marcos-Manchón et al., CVPR 2024, arXiv
2403.14291).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.utils.hooks import RemovableHandle

from askew.errors import ModelError, UsageError
from askew.measure.attention.base import SUPPORTED_MODELS, AttentionRecorder
from askew.measure.attribution import EncodedText, encode_attribution, encode_by_pipeline


@dataclass(slots=True)
class _Layer:
    """One cross-attention layer.

    `image` is the module that contains this layer; its input has a height and a width.
    """

    attention: Any
    image: Any
    size: tuple[int, int] = (0, 0)
    keys: Tensor | None = None


class UNetAttentionRecorder(AttentionRecorder):
    """Attention recorder for Stable Diffusion 1, 2 and XL.

    A softmax normalizes each pixel's attention over the tokens of the attribution prompt.

    Parameters
    ----------
    pipe, attribution, branch, definition
        As in `AttentionMaps`.
    middle
        If True, record the middle block too.
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
            enter = partial(self._enter, layer)
            yield layer.image.register_forward_pre_hook(enter, with_kwargs=True)
            attention = layer.attention
            queries = attention.to_q if attention.norm_q is None else attention.norm_q
            yield queries.register_forward_hook(partial(self._add, name, layer))

    def __exit__(self, *_: object) -> None:
        super().__exit__()
        self._forget_keys()

    def _forget_keys(self) -> None:
        for layer in self._layers.values():
            layer.keys = None

    def _begin(self, network: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Before the UNet runs, choose the rows to record and detect a new call of the pipeline."""
        guided = getattr(self._pipe, "do_classifier_free_guidance", None)
        if guided is None:
            raise UsageError(
                f"{type(self._pipe).__name__} does not report whether guidance is on; "
                f"use {SUPPORTED_MODELS}"
            )
        self._rows = self._rows_of(args[0] if args else kwargs["sample"], bool(guided))
        if self._read_text(getattr(self._pipe, "_clip_skip", None)):
            self._forget_keys()
        self._begin_run()

    def _rows_of(self, sample: Tensor, guided: bool) -> slice:
        """Return the rows of a batch that belong to the recorded branch.

        In a pipeline's batch, the unconditional branch comes first, then the conditional branch,
        then the perturbed branch.
        """
        if self._branch == "uncond" and not guided:
            raise UsageError(
                "this call has no guidance, so it has no unconditional branch; use branch='cond'"
            )
        copies = 1
        if guided:
            copies += 1
        if getattr(self._pipe, "do_perturbed_attention_guidance", False):
            copies += 1
        images, rest = divmod(len(sample), copies)
        if rest or (copies > 1 and not self._halves_are_equal(sample, images)):
            raise ModelError(
                f"{type(self._pipe).__name__} orders the images of a guided batch in an unknown "
                f"way; make the images without guidance"
            )
        start = images if guided and self._branch == "cond" else 0
        return slice(start, start + images)

    def _halves_are_equal(self, sample: Tensor, images: int) -> bool:
        """Check whether the first two branches of a batch have the same latents."""
        latents = sample[:, : self._network.config.out_channels]
        return torch.equal(latents[:images], latents[images : 2 * images])

    @torch.no_grad()
    def _enter(
        self, layer: _Layer, image: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        """Record a layer's size before it runs, and compute its keys.

        The keys are computed at this point because the LoRA scales are already in effect.
        """
        hidden = args[0] if args else kwargs["hidden_states"]
        layer.size = hidden.shape[-2:]
        if layer.keys is None:
            layer.keys = layer.attention.to_k(self.text.vectors.to(hidden))

    @torch.no_grad()
    def _add(self, name: str, layer: _Layer, _module: Any, _args: Any, output: Tensor) -> None:
        """Add the attention weights of queries, summed over heads, to the layer's sums.

        Queries have the shape (rows, pixels, channels), and sums have the shape (images, tokens, h,
        w). The softmax runs over tokens. The token dimension comes before the pixel dimension,
        because the other order takes several times as long on a CPU.
        """
        queries = output[self._rows]
        sums = self._runs[-1]
        heads = layer.attention.heads
        assert layer.keys is not None
        keys_by_head = layer.keys.float().reshape(len(layer.keys), heads, -1).transpose(0, 1)
        keys = keys_by_head * layer.attention.scale
        if name not in sums:
            shape = (len(queries), keys.shape[1], *layer.size)
            sums[name] = queries.new_zeros(shape, dtype=torch.float32)
        for total, query in zip(sums[name].flatten(-2), queries, strict=True):
            query_by_head = query.float().reshape(len(query), heads, -1).permute(1, 2, 0)
            total += torch.bmm(keys, query_by_head).softmax(dim=1).sum(dim=0)


class PlainTransformerAttentionRecorder(UNetAttentionRecorder):
    """Attention recorder for PixArt and Sana, whose blocks attend to text as in a UNet.

    Some of these pipelines do not report whether they use guidance. If the two halves of a batch
    differ only in their text, the batch counts as guided.
    """

    _encode = staticmethod(encode_by_pipeline)

    def __init__(
        self, pipe: Any, attribution: str, branch: str = "cond", definition: str = "ovam"
    ) -> None:
        super(UNetAttentionRecorder, self).__init__(pipe, attribution, branch, definition)
        self._network = pipe.transformer
        self._rows = slice(None)
        blocks = enumerate(self._network.transformer_blocks, start=1)
        self._layers = {f"block-{k}": _Layer(block.attn2, block) for k, block in blocks}
        self._read_text()

    def _begin(self, network: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        sample = args[0] if args else kwargs["hidden_states"]
        text = kwargs["encoder_hidden_states"]
        half, rest = divmod(len(sample), 2)
        doubled = not rest and torch.equal(sample[:half], sample[half:])
        if doubled and torch.equal(text[:half], text[half:]):
            raise UsageError(
                "both halves of the batch are equal: the images are equal, or the negative "
                "prompt equals the prompt; change the negative prompt, or give each image a different seed"
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
            hidden = args[0] if args else kwargs["hidden_states"]
            text = self._network.caption_projection(self.text.vectors.to(hidden))
            if hasattr(self._network, "caption_norm"):
                text = self._network.caption_norm(text)
            keys = layer.attention.to_k(text)
            layer.keys = keys if layer.attention.norm_k is None else layer.attention.norm_k(keys)


def cross_attention(pipe: Any, middle: bool) -> list[tuple[str, _Layer]]:
    """Return the cross-attention layers of a pipeline's UNet, in order from input to output.

    Parameters
    ----------
    pipe
        Pipeline with a UNet.
    middle
        If True, include the middle block.

    Returns
    -------
    list
        For each layer, its name (as in OVAM) and the layer itself.

    Raises
    ------
    UsageError
        If the pipeline has no cross-attention to a text.
    """
    unet = getattr(pipe, "unet", None)
    sides = [("down", getattr(unet, "down_blocks", ()))]
    mid_block = getattr(unet, "mid_block", None)
    if middle and mid_block is not None:
        sides.append(("mid", [mid_block]))
    sides.append(("up", getattr(unet, "up_blocks", ())))
    layers: list[tuple[str, _Layer]] = []
    for kind, blocks in sides:
        for k, block in enumerate(blocks, start=1):
            layers.extend(_block_layers(f"{kind}-{k}", block))
    if not layers:
        raise UsageError(
            f"{type(pipe).__name__} has no cross-attention to words; use {SUPPORTED_MODELS}"
        )
    return layers


def _block_layers(name: str, block: Any) -> Iterator[tuple[str, _Layer]]:
    """Yield the name and the `_Layer` of each cross-attention module in a block of a UNet."""
    for j, image in enumerate(getattr(block, "attentions", None) or (), start=1):
        for k, transformer in enumerate(getattr(image, "transformer_blocks", ()), start=1):
            attention = getattr(transformer, "attn2", None)
            if attention is not None and attention.is_cross_attention:
                yield f"{name}-attentions-{j}-transformer-{k}-attn2", _Layer(attention, image)
