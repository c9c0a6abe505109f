"""Open-vocabulary attention maps of pictures by transformer models: SD3, SD3.5, Flux dev and schnell, Chroma.

The tokens of any text, the *passive stream*, run through the text side of every block while a picture is made. They
attend to the picture and to themselves; neither the picture nor its own prompt attends to them, so that the picture
stays what it would have been, to the bit. If the text is the prompt itself, the stream is the prompt's own. A second
pass of the model would cost more and describe another picture. The pattern of attention is that of ConceptAttention
(Helbling et al., arXiv 2502.04320), with attention weights as the map.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.hooks import RemovableHandle

from askew.errors import UnknownName, UsageError
from askew.measure.attention import WATCHED, AttentionMaps
from askew.measure.attribution import encode_rows

FAMILIES = ("Chroma", "Flux", "StableDiffusion3")
PIPELINES = [f"{family}{task}Pipeline" for family in FAMILIES for task in ("", "Img2Img", "Inpaint")]
"""Pipelines whose calls of the transformer are known."""

PROJECTIONS = ("to_q", "to_k", "to_v")
BEFORE = -1
"""No step was listened to yet; a scheduler counts its first one as None."""

Softmax = Literal["text", "joint"]

Rotation = tuple[Tensor, Tensor]
"""Cosines and sines by which queries and keys turn with the place of a pixel, each (pixels, width)."""


@dataclass(frozen=True, slots=True)
class ImageSide:
    """What the pixels of the pictures bring to the attention of a block: each (pictures, heads, pixels, width)."""

    queries: Tensor
    keys: Tensor
    values: Tensor


def image_side(attn: Any, projections: Iterable[Tensor], rotation: Rotation | None) -> ImageSide:
    """The image side from plain queries, keys and values, each (pictures, pixels, heads x width): normed, then rotated.
    `rotation` is None where places are not told by turning (SD3)."""
    queries, keys, values = projections
    queries, keys = _by_head(attn, queries, attn.norm_q), _by_head(attn, keys, attn.norm_k)
    return ImageSide(_rotated(queries, rotation), _rotated(keys, rotation), _by_head(attn, values))


def joint_block(block: Any, tokens: Tensor, image: ImageSide, temb: Tensor) -> tuple[Tensor, Tensor]:
    """One block with a text side of its own: all of SD3, the first blocks of Flux and Chroma.

    `tokens` are (pictures, tokens, channels), `temb` (pictures, channels), or of Chroma (pictures, 12, channels), six
    for the picture and six for the text. Returns the keys of the tokens, (pictures, heads, tokens, width), and the
    tokens after the block; SD3's last block leaves its text as it was.
    """
    attn, temb = block.attn, temb[:, 6:] if temb.ndim == 3 else temb
    if getattr(block, "context_pre_only", False):
        return _by_head(attn, attn.add_k_proj(block.norm1_context(tokens, temb)), attn.norm_added_k), tokens
    normed, gate, shift, scale, gate_mlp = block.norm1_context(tokens, emb=temb)
    keys = _by_head(attn, attn.add_k_proj(normed), attn.norm_added_k)
    queries = _by_head(attn, attn.add_q_proj(normed), attn.norm_added_q)
    values = _by_head(attn, attn.add_v_proj(normed))
    tokens = tokens + gate[:, None] * attn.to_add_out(_attended(queries, keys, values, image))
    normed = block.norm2_context(tokens) * (1 + scale[:, None]) + shift[:, None]
    return keys, _in_range(tokens + gate_mlp[:, None] * block.ff_context(normed))


def single_block(block: Any, tokens: Tensor, image: ImageSide, temb: Tensor) -> tuple[Tensor, Tensor]:
    """One block whose weights serve text and picture alike: the later ones of Flux and Chroma. As `joint_block`."""
    attn = block.attn
    normed, gate = block.norm(tokens, emb=temb)
    queries, keys = _by_head(attn, attn.to_q(normed), attn.norm_q), _by_head(attn, attn.to_k(normed), attn.norm_k)
    gathered = _attended(queries, keys, _by_head(attn, attn.to_v(normed)), image)
    both = torch.cat([gathered, block.act_mlp(block.proj_mlp(normed))], dim=2)
    return keys, _in_range(tokens + gate[:, None] * block.proj_out(both))


def shares_among_tokens(image: ImageSide, keys: Tensor) -> Tensor:
    """How every pixel's attention divides among the tokens alone, summed over heads: (pictures, tokens, pixels)."""
    scores = torch.matmul(keys * keys.shape[-1] ** -0.5, image.queries.transpose(-1, -2))
    return scores.softmax(dim=2, dtype=torch.float32).sum(dim=1)


def shares_among_all(image: ImageSide, keys: Tensor) -> Tensor:
    """The part of every pixel's attention to [pixels, tokens] that falls on each token, summed over heads.

    Shaped (pictures, tokens, pixels). Attention to values that are 1 for a single token reads its share off without the
    matrix of pixels by pixels; the values of a head hold as many tokens as the head is wide.
    """
    width, tokens, pixels = keys.shape[-1], keys.shape[2], image.keys.shape[2]
    everything = torch.cat([image.keys, keys], dim=2)
    parts = []
    for start in range(0, tokens, width):
        marks = everything.new_zeros(pixels + tokens, width)
        marked = torch.arange(start, min(start + width, tokens))
        marks[pixels + marked, marked - start] = 1
        shares = functional.scaled_dot_product_attention(image.queries, everything, marks.expand_as(everything))
        parts.append(shares[..., : len(marked)].float().sum(dim=1))
    return torch.cat(parts, dim=2).transpose(1, 2)


SHARES = {"text": shares_among_tokens, "joint": shares_among_all}


def _attended(queries: Tensor, keys: Tensor, values: Tensor, image: ImageSide) -> Tensor:
    """What the tokens gather from [pixels, tokens]: (pictures, tokens, heads x width)."""
    keys, values = torch.cat([image.keys, keys], dim=2), torch.cat([image.values, values], dim=2)
    return functional.scaled_dot_product_attention(queries, keys, values).transpose(1, 2).flatten(2)


def _by_head(attn: Any, projected: Tensor, norm: nn.Module | None = None) -> Tensor:
    """(pictures, n, heads x width) -> (pictures, heads, n, width), normed."""
    by_head = projected.view(*projected.shape[:2], attn.heads, -1).transpose(1, 2)
    return by_head if norm is None else norm(by_head)


def _rotated(by_head: Tensor, rotation: Rotation | None) -> Tensor:
    """Turn neighbouring pairs of numbers by the angle of their pixel, in fp32 as Flux does."""
    if rotation is None:
        return by_head
    cosine, sine = (part[:, ::2].to(by_head.device) for part in rotation)  # every angle is written twice
    pairs = torch.view_as_complex(by_head.float().reshape(*by_head.shape[:-1], -1, 2))
    return torch.view_as_real(pairs * torch.complex(cosine, sine)).flatten(-2).to(by_head.dtype)


def _in_range(tokens: Tensor) -> Tensor:
    """Flux keeps its fp16 streams finite in this way."""
    return tokens.clip(-65504, 65504) if tokens.dtype == torch.float16 else tokens


@dataclass(slots=True)
class _Call:
    """One call of the transformer that is listened to; its maps have a pixel per patch of the latents."""

    pictures: slice
    text: int  # rows of the prompt
    size: tuple[int, int]
    tokens: Tensor
    embedded: bool = False
    block: Mapping[str, Any] = field(default_factory=dict)
    kept: dict[str, Tensor] = field(default_factory=dict)


class TransformerAttentionMaps(AttentionMaps):
    """`AttentionMaps` of Stable Diffusion 3, 3.5, Flux or Chroma.

    definition   `ovam`: attention weights. `output`: what pixels gather from attention against what tokens gather,
                 softmax(o_x o_cᵀ) over the tokens, which ConceptAttention found to fit objects better
    softmax      of `ovam`. `text`: each pixel's attention divided among the tokens of the attribution alone, so that
                 its maps sum to steps x heads; `joint`: among all pixels and these tokens, the weights that the model
                 itself would use for them as its prompt

    Of every step the conditional rows of the first call count: neither the unconditional rows, nor the calls that true
    guidance and skip-layer guidance add.
    """

    branches, definitions = ("cond",), ("ovam", "output")
    _encode = staticmethod(encode_rows)

    def __init__(
        self, pipe: Any, attribution: str, branch: str = "cond", definition: str = "ovam", softmax: Softmax = "text"
    ) -> None:
        if type(pipe).__name__ not in PIPELINES:
            raise UsageError(f"a {type(pipe).__name__} has no attention that can be watched by its text: use {WATCHED}")
        super().__init__(pipe, attribution, branch, definition)
        if softmax not in SHARES:
            raise UnknownName("softmax", softmax, SHARES)
        self._shares, self._outputs = SHARES[softmax], definition == "output"
        blocks = layer_blocks(pipe.transformer)
        silent = {name for name, block in blocks.items() if self._outputs and getattr(block, "context_pre_only", False)}
        self._layers = {name: block for name, block in blocks.items() if name not in silent}
        self._call: _Call | None = None
        self._heard: int | None = BEFORE
        self._read_text(None, None)

    def _watch(self) -> Iterator[RemovableHandle]:
        transformer = self._pipe.transformer
        if any(_fused(block.attn) for block in layer_blocks(transformer).values()):
            raise UsageError(
                "the projections of this transformer are fused, which hides its queries and breaks SD3.5: "
                "call pipe.transformer.unfuse_qkv_projections() first"
            )
        yield transformer.register_forward_pre_hook(self._begin, with_kwargs=True)
        yield transformer.register_forward_hook(self._end)
        for name, block in self._layers.items():
            attn, shared = block.attn, not hasattr(block, "norm1_context")
            yield block.register_forward_pre_hook(self._enter, with_kwargs=True)
            for projection in PROJECTIONS:
                yield getattr(attn, projection).register_forward_hook(partial(self._keep, projection))
            outputs = {"tokens": block.proj_out} if shared else {"tokens": attn.to_add_out, "pixels": attn.to_out[0]}
            for kept, module in outputs.items() if self._outputs else ():
                yield module.register_forward_pre_hook(partial(self._keep, kept))
            yield attn.register_forward_hook(partial(self._listen, name, block))

    def __exit__(self, *_: object) -> None:
        super().__exit__()
        self._call = None

    def _begin(self, transformer: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Before the transformer: is this the conditional call of a step? It comes first, and the scheduler counts."""
        self._call = None
        if not self._begin_run() and self._pipe.scheduler.step_index == self._heard:
            return
        hidden, text = kwargs["hidden_states"], kwargs["encoder_hidden_states"]
        at_once = "img_ids" not in kwargs  # Flux and Chroma guide by a second call
        unconditional = len(hidden) // 2 if at_once and self._pipe.do_classifier_free_guidance else 0
        self._read_text(text.shape[1], getattr(self._pipe, "_clip_skip", None))
        tokens = self.text.vectors.to(text).expand(len(hidden) - unconditional, -1, -1)
        if at_once:
            height, width = (side // transformer.config.patch_size for side in hidden.shape[-2:])
        else:
            height, width = (int(kwargs["img_ids"][..., axis].max()) + 1 for axis in (1, 2))
        self._call = _Call(slice(unconditional, None), text.shape[1], (height, width), tokens)

    def _end(self, *_: Any) -> None:
        if self._call is not None:
            self._heard = self._pipe.scheduler.step_index
        self._call = None

    def _enter(self, block: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Before a block: keep what it is given. The first one embeds the tokens, where scales of LoRA hold already."""
        if self._call is None:
            return
        if not self._call.embedded:
            self._call.tokens = self._pipe.transformer.context_embedder(self._call.tokens)
            self._call.embedded = True
        self._call.block, self._call.kept = kwargs, {}

    def _keep(self, name: str, _module: Any, args: tuple[Tensor, ...], output: Tensor | None = None) -> None:
        """What a part of a block gave, or was given, at its first use: later ones are those of passive streams."""
        if self._call is not None:
            self._call.kept.setdefault(name, args[0] if output is None else output)

    def _listen(self, name: str, block: Any, _module: Any, _args: Any, output: Any) -> None:
        """After a block's attention: let the tokens attend too, and add their maps."""
        call = self._call
        if call is None:
            return
        shared, text = not hasattr(block, "norm1_context"), call.text
        rotation = call.block.get("image_rotary_emb")
        image = image_side(
            block.attn,
            (call.kept[p][call.pictures, text if shared else 0 :] for p in PROJECTIONS),
            None if rotation is None else (rotation[0][text:], rotation[1][text:]),
        )
        advance = single_block if shared else joint_block
        call.kept.pop("tokens", None)  # those of the prompt: what the passive ones gather follows
        keys, call.tokens = advance(block, call.tokens, image, call.block["temb"][call.pictures])
        if self._outputs:
            pixels = (output[:, text:] if shared else call.kept["pixels"])[call.pictures].float()
            tokens = call.kept["tokens"][..., : pixels.shape[-1]].float()
            shares = torch.matmul(tokens, pixels.mT).softmax(dim=1)
        else:
            shares = self._shares(image, keys)
        maps, run = shares.reshape(*shares.shape[:2], *call.size), self._runs[-1]
        run[name] = run[name] + maps if name in run else maps.contiguous()


def layer_blocks(transformer: Any) -> dict[str, Any]:
    """The blocks of a transformer in order of depth, called joint-1, joint-2, …, single-1, …"""
    kinds = {"joint": transformer.transformer_blocks, "single": getattr(transformer, "single_transformer_blocks", ())}
    return {f"{kind}-{k}": block for kind, blocks in kinds.items() for k, block in enumerate(blocks, start=1)}


def _fused(attn: Any) -> bool:
    from diffusers.models.attention import AttentionModuleMixin

    mixed = isinstance(attn, AttentionModuleMixin) and attn.fused_projections
    return mixed or "Fused" in type(attn.processor).__name__
