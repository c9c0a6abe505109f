"""Open-vocabulary cross-attention maps of pictures by UNets: Stable Diffusion 1, 2 and XL, and their like.

Hooks read the queries of every cross-attention while a picture is made; keys come from the attribution prompt. No query
is kept and no processor is replaced, so the picture is the same to the bit. After OVAM (Marcos-Manchón et al., CVPR
2024, arXiv 2403.14291); `daam` after DAAM (Tang et al., ACL 2023, arXiv 2210.04885).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor
from torch.utils.hooks import RemovableHandle

from askew.errors import ModelError, UnknownName, UsageError
from askew.measure.attention import WATCHED, AttentionMaps, Maps
from askew.measure.attribution import EncodedText, encode_attribution, encode_by_pipeline

BRANCHES = ("cond", "uncond")
DEFINITIONS = ("ovam", "daam")
ALIKE = 0.02
"""Largest difference, in units of the largest number, between encodings of one text in half precision."""


@dataclass(slots=True)
class _Layer:
    """One cross-attention of the UNet. `image` is the module that holds it, which knows height and width."""

    attention: Any
    image: Any
    size: tuple[int, int] = (0, 0)
    keys: Tensor | None = None
    queries: Tensor | None = None


class UNetAttentionMaps(AttentionMaps):
    """`AttentionMaps` of Stable Diffusion 1, 2 or XL.

    definition   `ovam`: keys of the attribution prompt, softmax over its tokens alone. `daam`: those of the run, whose
                 prompt the attribution must be, padding included
    middle       read the middle block too
    guided       whether every picture is in the UNet's batch twice, for guidance; None asks the pipeline. For those who
                 call `pipe.unet` themselves
    """

    def __init__(
        self,
        pipe: Any,
        attribution: str,
        branch: str = "cond",
        definition: str = "ovam",
        *,
        middle: bool = False,
        guided: bool | None = None,
    ) -> None:
        super().__init__(pipe, attribution, branch)
        for what, chosen, known in (("branch", branch, BRANCHES), ("definition", definition, DEFINITIONS)):
            if chosen not in known:
                raise UnknownName(what, chosen, known)
        self._guided, self._own_keys = guided, definition == "daam"
        self._network: Any = getattr(pipe, "unet", None)
        self._layers: dict[str, _Layer] = dict(cross_attention(pipe, middle))
        self._text, self._clip_skip = self._encoded(), None
        self._rows = slice(None)

    def _encoded(self, clip_skip: int | None = None) -> EncodedText:
        return encode_attribution(self._pipe, self._attribution, clip_skip)

    def layers(self) -> dict[str, Maps]:
        """As of every network."""
        found = super().layers()
        return {name: maps.sum(axis=1) for name, maps in found.items()} if self._own_keys else found

    def aggregate(self) -> Maps:
        """`ovam`: as of every network. `daam`: the mean over layers and heads, each resized by bicubic interpolation
        and cut off below 0."""
        if not self._own_keys:
            return super().aggregate()
        layers = [torch.from_numpy(maps) for maps in super().layers().values()]
        size, heads = max(x.shape[-2:] for x in layers), sum(x.shape[1] for x in layers)
        large = [F.interpolate(x.flatten(0, 1), size, mode="bicubic").clamp_(min=0) for x in layers]
        sums = [one.reshape(*x.shape[:3], *size).sum(dim=1) for one, x in zip(large, layers, strict=True)]
        mean: Maps = (torch.stack(sums).sum(dim=0) / heads).numpy()
        return mean

    def _watch(self) -> Iterator[RemovableHandle]:
        yield self._network.register_forward_pre_hook(self._begin, with_kwargs=True)
        for name, layer in self._layers.items():
            yield layer.image.register_forward_pre_hook(partial(self._enter, layer), with_kwargs=True)
            asks = layer.attention.to_q if layer.attention.norm_q is None else layer.attention.norm_q
            yield asks.register_forward_hook(partial(self._query, name, layer))
            if self._own_keys:
                yield layer.attention.to_k.register_forward_hook(partial(self._key, name, layer))

    def __exit__(self, *_: object) -> None:
        super().__exit__()
        for layer in self._layers.values():
            layer.keys = layer.queries = None

    def _begin(self, unet: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Before the UNet: which rows of its batch are read, and whether a new call of the pipeline has begun."""
        self._rows = self._rows_of(args[0] if args else kwargs["sample"])
        self._read_text_like_the_run()
        if self._own_keys:
            self._check_prompt(args[2] if len(args) > 2 else kwargs["encoder_hidden_states"])
        self._begin_run()

    def _read_text_like_the_run(self) -> None:
        """Encode the attribution anew if this call of the pipeline skips other layers of the text encoder."""
        clip_skip = getattr(self._pipe, "_clip_skip", None)
        if clip_skip != self._clip_skip:
            self._text, self._clip_skip = self._encoded(clip_skip), clip_skip
            for layer in self._layers.values():
                layer.keys = None

    def _rows_of(self, sample: Tensor) -> slice:
        """The rows of the branch: pipelines put unconditional pictures first, then conditional, then perturbed ones."""
        guided = getattr(self._pipe, "do_classifier_free_guidance", None) if self._guided is None else self._guided
        if guided is None:
            raise UsageError(f"a {type(self._pipe).__name__} does not tell whether it guides: say so by `guided`")
        if self._branch == "uncond" and not guided:
            raise UsageError("this run has no guidance and so no unconditional branch: use branch='cond'")
        copies = 1 + bool(guided) + bool(getattr(self._pipe, "do_perturbed_attention_guidance", False))
        pictures, rest = divmod(len(sample), copies)
        latents = sample[:, : self._network.config.out_channels]
        if rest or (copies > 1 and not torch.equal(latents[:pictures], latents[pictures : 2 * pictures])):
            raise ModelError(
                f"a {type(self._pipe).__name__} arranges its pictures for guidance in a way that is not known: "
                f"make them without guidance"
            )
        start = pictures if guided and self._branch == "cond" else 0
        return slice(start, start + pictures)

    def _check_prompt(self, states: Tensor) -> None:
        own, wanted = states[self._rows, : len(self.tokens)].float(), self._text.vectors.to(states).float()
        fits = self._branch == "uncond" or (
            own.shape[1] == len(wanted) and bool((own - wanted).abs().max() <= ALIKE * wanted.abs().max())
        )
        if not fits:
            raise UsageError(
                "definition='daam' describes the words of the run's own prompt: give the prompt itself as the "
                "attribution, or use definition='ovam'"
            )

    @torch.no_grad()
    def _enter(self, layer: _Layer, image: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Before a layer's module: keep the size, and make the keys, now that scales of LoRA hold."""
        hidden = args[0] if args else kwargs["hidden_states"]
        layer.size = hidden.shape[-2:]
        if layer.keys is None and not self._own_keys:
            layer.keys = layer.attention.to_k(self._text.vectors.to(hidden)[None])

    def _query(self, name: str, layer: _Layer, projection: Any, args: Any, output: Tensor) -> None:
        if self._own_keys:
            layer.queries = output[self._rows]
        elif layer.keys is not None:
            self._add(name, layer, output[self._rows], layer.keys)

    def _key(self, name: str, layer: _Layer, projection: Any, args: Any, output: Tensor) -> None:
        if layer.queries is not None:
            self._add(name, layer, layer.queries, output[self._rows])
            layer.queries = None

    @torch.no_grad()
    def _add(self, name: str, layer: _Layer, queries: Tensor, keys: Tensor) -> None:
        """Add the weights of queries (pictures, pixels, channels) for keys (pictures or 1, tokens, channels).

        Sums are (pictures, tokens, h, w), of `daam` (pictures, heads, tokens, h, w).
        """
        sums, heads, tokens = self._runs[-1], layer.attention.heads, len(self._text.tokens)
        if name not in sums:
            kept = (heads,) if self._own_keys else ()
            sums[name] = queries.new_zeros((len(queries), *kept, tokens, *layer.size), dtype=torch.float32)
        for total, one, own in zip(sums[name].flatten(-2), queries, keys.expand(len(queries), -1, -1), strict=True):
            weights = _weights(one, own, heads, layer.attention.scale)
            total += weights[:, :tokens] if self._own_keys else weights.sum(dim=0)


class PlainTransformerAttentionMaps(UNetAttentionMaps):
    """`AttentionMaps` of PixArt and Sana, every block of which attends to the text as those of UNets do.

    Not all tell whether they guide: a batch whose halves differ in their text alone is guided.
    """

    def __init__(self, pipe: Any, attribution: str, branch: str = "cond", definition: str = "ovam") -> None:
        super(UNetAttentionMaps, self).__init__(pipe, attribution, branch)
        if definition != "ovam":
            raise UsageError(f"definition is {definition!r}; transformer models have maps by 'ovam' alone")
        if branch not in BRANCHES:
            raise UnknownName("branch", branch, BRANCHES)
        self._own_keys, self._clip_skip, self._rows = False, None, slice(None)
        self._network, self._text = pipe.transformer, self._encoded()
        blocks = enumerate(self._network.transformer_blocks, 1)
        self._layers = {f"block-{k}": _Layer(block.attn2, block) for k, block in blocks}

    def _encoded(self, clip_skip: int | None = None) -> EncodedText:
        return encode_by_pipeline(self._pipe, self._attribution)

    def _begin(self, network: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        sample, text = args[0] if args else kwargs["hidden_states"], kwargs["encoder_hidden_states"]
        half, rest = divmod(len(sample), 2)
        self._guided = not (rest or torch.equal(text[:half], text[half:])) and torch.equal(sample[:half], sample[half:])
        self._rows = self._rows_of(sample)
        for layer in self._layers.values():
            layer.size = tuple(side // network.config.patch_size for side in sample.shape[-2:])
        self._begin_run()

    @torch.no_grad()
    def _enter(self, layer: _Layer, block: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if layer.keys is None:
            text = self._text.vectors.to(args[0] if args else kwargs["hidden_states"])[None]
            text = self._network.caption_projection(text)
            if hasattr(self._network, "caption_norm"):
                text = self._network.caption_norm(text)
            keys = layer.attention.to_k(text)
            layer.keys = keys if layer.attention.norm_k is None else layer.attention.norm_k(keys)


def cross_attention(pipe: Any, middle: bool) -> Iterator[tuple[str, _Layer]]:
    """The cross-attention of a pipeline's UNet, from input to output, named as OVAM names it."""
    unet = getattr(pipe, "unet", None)
    parts = [("down", getattr(unet, "down_blocks", ())), ("up", getattr(unet, "up_blocks", ()))]
    center = getattr(unet, "mid_block", None)
    if middle and center is not None:
        parts.insert(1, ("mid", (center,)))
    found = [
        (f"{kind}-{i}-attentions-{j}-transformer-{k}-attn2", _Layer(block.attn2, image))
        for kind, blocks in parts
        for i, outer in enumerate(blocks, 1)
        for j, image in enumerate(getattr(outer, "attentions", None) or (), 1)
        for k, block in enumerate(getattr(image, "transformer_blocks", ()), 1)
        if getattr(block, "attn2", None) is not None and block.attn2.is_cross_attention
    ]
    if not found:
        raise UsageError(
            f"a {type(pipe).__name__} has no cross-attention to words that could be watched: use {WATCHED}"
        )
    yield from found


def _weights(queries: Tensor, keys: Tensor, heads: int, scale: float) -> Tensor:
    """Softmax over the tokens of (pixels, channels) and (tokens, channels): (heads, tokens, pixels).

    Tokens before pixels: on a CPU the other order takes several times as long.
    """
    q = queries.float().reshape(len(queries), heads, -1).permute(1, 2, 0)
    k = keys.float().reshape(len(keys), heads, -1).transpose(0, 1) * scale
    return torch.bmm(k, q).softmax(dim=1)
