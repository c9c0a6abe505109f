"""Open-vocabulary cross-attention maps of pictures by UNets: Stable Diffusion 1, 2 and XL, and their like.

Hooks read the queries of every cross-attention while a picture is made; keys come from the attribution prompt. No query
is kept and no processor is replaced, so the picture is the same to the bit. After OVAM (Marcos-Manchón et al., CVPR
2024, arXiv 2403.14291); `daam` after DAAM (Tang et al., ACL 2023, arXiv 2210.04885).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from types import TracebackType
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from numpy.typing import NDArray
from torch import Tensor
from torch.utils.hooks import RemovableHandle

from askew.errors import ModelError, NotEnoughData, UnknownName, UsageError
from askew.measure.attribution import encode_attribution
from askew.stats.overlap import bilinear

BRANCHES = ("cond", "uncond")
DEFINITIONS = ("ovam", "daam")
ALIKE = 0.02
"""Largest difference, in units of the largest number, between encodings of one text in half precision."""

Maps = NDArray[np.float32]


@dataclass(slots=True)
class _Layer:
    """One cross-attention of the UNet. `image` is the module that holds it, which knows height and width."""

    attention: Any
    image: Any
    size: tuple[int, int] = (0, 0)
    keys: Tensor | None = None
    queries: Tensor | None = None


@dataclass(slots=True)
class _Run:
    """What one call of the pipeline gave: sums (pictures, heads or 1, tokens, pixels) and sizes, by layer."""

    totals: dict[str, Tensor] = field(default_factory=dict)
    sizes: dict[str, tuple[int, int]] = field(default_factory=dict)


class UNetAttentionMaps:
    """Maps of where the tokens of `attribution` are attended to, taken while `pipe(...)` runs inside the context.

    pipe         a Stable Diffusion 1, 2 or XL pipeline of diffusers
    attribution  any text; all of its tokens get a map. With "daam" the prompt of which the pictures are made
    branch       `cond` or, in runs with guidance, `uncond`: whose queries are read
    definition   `ovam`: keys of the attribution prompt, softmax over its tokens alone. `daam`: the run's own keys,
                 padding included
    middle       read the middle block too
    guided       whether every picture is in the UNet's batch twice, for guidance; None asks the pipeline. For those who
                 call `pipe.unet` themselves

    Several calls of the pipeline append their pictures, if all have one size. Contexts may be nested. Raises UsageError
    for what cannot be met.
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
        for what, chosen, known in (("branch", branch, BRANCHES), ("definition", definition, DEFINITIONS)):
            if chosen not in known:
                raise UnknownName(what, chosen, known)
        self._pipe, self._branch, self._guided = pipe, branch, guided
        self._own_keys = definition == "daam"
        self._layers = dict(_cross_attention(pipe, middle))
        self._attribution, self._clip_skip = attribution, None
        self._text = encode_attribution(pipe, attribution)
        self._hooks: list[RemovableHandle] = []
        self._runs: list[_Run] = []
        self._timesteps: Tensor | None = None  # of the pipeline's latest call: every call sets new ones
        self._rows = slice(None)

    @property
    def tokens(self) -> list[str]:
        """The tokens of the attribution prompt as the tokenizer writes them, special ones kept."""
        return list(self._text.tokens)

    def layers(self) -> dict[str, Maps]:
        """By name of the layer, from input to output, maps (pictures, tokens, h, w): sums over steps and heads.

        `up-2-attentions-1-transformer-1-attn2` is up_blocks[1].attentions[0].transformer_blocks[0].attn2. Raises
        NotEnoughData before a picture was made.
        """
        runs = self._finished()
        return {
            name: np.concatenate([_shaped(run, name).sum(dim=1).cpu().numpy() for run in runs]) for name in self._layers
        }

    def aggregate(self) -> Maps:
        """(pictures, tokens, H, W) at the size of the largest layer.

        `ovam`: the sum of all layers, resized by bilinear interpolation and not normalised (BiasMap, Eq. 2). `daam`:
        the mean over layers and heads, each resized by bicubic interpolation and cut off below 0.
        """
        size = max(self._finished()[0].sizes.values())
        if self._own_keys:
            return np.concatenate([_mean_of_heads(run, size) for run in self._finished()])
        total: Maps = np.sum([bilinear(maps, size) for maps in self.layers().values()], axis=0).astype(np.float32)
        return total

    def __enter__(self) -> UNetAttentionMaps:
        self._hooks.append(self._pipe.unet.register_forward_pre_hook(self._begin, with_kwargs=True))
        for name, layer in self._layers.items():
            self._hooks += [
                layer.image.register_forward_pre_hook(partial(self._enter, name, layer), with_kwargs=True),
                layer.attention.to_q.register_forward_hook(partial(self._query, name, layer)),
            ]
            if self._own_keys:
                self._hooks.append(layer.attention.to_k.register_forward_hook(partial(self._key, name, layer)))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for hook in self._hooks:
            hook.remove()
        self._hooks = []
        for layer in self._layers.values():
            layer.keys = layer.queries = None

    def _begin(self, unet: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Before the UNet: which rows of its batch are read, and whether a new call of the pipeline has begun."""
        sample = args[0] if args else kwargs["sample"]
        self._rows = self._rows_of(sample)
        self._read_text_like_the_run()
        if self._own_keys:
            self._check_prompt(args[2] if len(args) > 2 else kwargs["encoder_hidden_states"])
        if self._pipe.scheduler.timesteps is not self._timesteps or not self._runs:
            self._runs = [*self._finished(empty=True), _Run()]
            self._timesteps = self._pipe.scheduler.timesteps

    def _read_text_like_the_run(self) -> None:
        """Encode the attribution anew if this call of the pipeline skips other layers of the text encoder."""
        clip_skip = getattr(self._pipe, "_clip_skip", None)
        if clip_skip != self._clip_skip:
            self._text, self._clip_skip = encode_attribution(self._pipe, self._attribution, clip_skip), clip_skip
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
        latents = sample[:, : self._pipe.unet.config.out_channels]
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
    def _enter(self, name: str, layer: _Layer, image: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Before a layer's module: keep the size, and make the keys, now that scales of LoRA hold."""
        hidden = args[0] if args else kwargs["hidden_states"]
        layer.size = self._runs[-1].sizes[name] = tuple(hidden.shape[-2:])
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
        """Add the weights of queries (pictures, pixels, channels) for keys (pictures or 1, tokens, channels)."""
        totals, heads, tokens = self._runs[-1].totals, layer.attention.heads, len(self.tokens)
        if name not in totals:
            kept = heads if self._own_keys else 1
            totals[name] = queries.new_zeros((len(queries), kept, tokens, queries.shape[1]), dtype=torch.float32)
        for total, one, own in zip(totals[name], queries, keys.expand(len(queries), -1, -1), strict=True):
            weights = _weights(one, own, heads, layer.attention.scale)
            total += weights[:, :tokens] if self._own_keys else weights.sum(dim=0, keepdim=True)

    def _finished(self, empty: bool = False) -> list[_Run]:
        """Calls of the pipeline that did not break off within their first step. Raises NotEnoughData unless `empty`."""
        runs = [run for run in self._runs if len(run.totals) == len(self._layers)]
        if not runs and not empty:
            raise NotEnoughData("no picture was made while attention was watched: call the pipeline inside `with`")
        for run in runs[1:]:
            if run.sizes != runs[0].sizes:
                raise UsageError("the pictures that were watched have different sizes: watch one size after the other")
        return runs


def _cross_attention(pipe: Any, middle: bool) -> Iterator[tuple[str, _Layer]]:
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
            f"a {type(pipe).__name__} has no cross-attention to words that could be watched: use Stable Diffusion 1, "
            f"2, XL or 3, Flux, or the studio"
        )
    yield from found


def _weights(queries: Tensor, keys: Tensor, heads: int, scale: float) -> Tensor:
    """Softmax over the tokens of (pixels, channels) and (tokens, channels): (heads, tokens, pixels).

    Tokens before pixels: on a CPU the other order takes several times as long.
    """
    q = queries.float().reshape(len(queries), heads, -1).permute(1, 2, 0)
    k = keys.float().reshape(len(keys), heads, -1).transpose(0, 1) * scale
    return torch.bmm(k, q).softmax(dim=1)


def _shaped(run: _Run, name: str) -> Tensor:
    """Sums of a layer as maps (pictures, heads or 1, tokens, h, w)."""
    total = run.totals[name]
    return total.reshape(*total.shape[:-1], *run.sizes[name])


def _mean_of_heads(run: _Run, size: tuple[int, int]) -> Maps:
    """DAAM's map (pictures, tokens, H, W): the mean over layers and heads, each at `size` and not below 0."""
    layers = [_shaped(run, name) for name in run.totals]
    large = [F.interpolate(x.flatten(0, 1), size, mode="bicubic").clamp_(min=0) for x in layers]
    sums = [one.reshape(*x.shape[:3], *size).sum(dim=1) for one, x in zip(large, layers, strict=True)]
    mean: Maps = (torch.stack(sums).sum(dim=0) / sum(x.shape[1] for x in layers)).cpu().numpy()
    return mean
