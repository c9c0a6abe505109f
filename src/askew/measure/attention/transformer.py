"""Open-vocabulary attention maps of pictures by transformers where text and image attend to each
other in one sequence: SD3, SD3.5, Flux dev and schnell, Chroma, AuraFlow, Qwen-Image.

The tokens of any text, the *passive stream*, run through the text side of every block while a
picture is made. They attend to the picture and to themselves; neither the picture nor its own
prompt attends to them, so that the picture stays what it would have been, to the bit. If the text
is the prompt itself, the stream is the prompt's own. A second pass of the model would cost more and
describe another picture. The pattern of attention is that of ConceptAttention (Helbling et al.,
arXiv 2502.04320), with attention weights as the map.
"""

from collections.abc import Iterable, Iterator, Mapping
from copy import copy
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.hooks import RemovableHandle

from askew.errors import UnknownName, UsageError
from askew.measure.attention.base import WATCHED, AttentionMaps
from askew.measure.attribution import encode_rows

FAMILIES = ("AuraFlow", "Chroma", "Flux", "QwenImage", "StableDiffusion3")
PIPELINES = [
    f"{family}{task}Pipeline" for family in FAMILIES for task in ("", "Img2Img", "Inpaint")
]
"""Pipelines whose calls of the transformer are known."""

BLOCKS = {
    "joint": ("transformer_blocks", "joint_transformer_blocks"),
    "single": ("single_transformer_blocks",),
}
"""Where transformers hold their blocks, those with a text side of their own first."""

PROJECTIONS = ("to_q", "to_k", "to_v")
OF_TEXT = ("add_q_proj", "add_k_proj", "add_v_proj")
BEFORE = -1
"""No step was listened to yet; a scheduler counts its first one as None."""

Softmax = Literal["text", "joint"]


@dataclass(frozen=True, slots=True)
class AttentionSide:
    """What pixels, or tokens, bring to the attention of a block: each (pictures, heads, n, width)."""

    queries: Tensor
    keys: Tensor
    values: Tensor


def side(
    attn: Any, projected: Iterable[Tensor], norms: tuple[Any, Any], rotation: Tensor | None
) -> AttentionSide:
    """From queries, keys and values as they were projected, each (pictures, n, heads x width):
    normed, then rotated. `rotation`: complex numbers (n, width / 2) by which pairs turn with their
    place; None where places are not told so.
    """
    queries, keys, values = projected
    queries, keys = (
        _by_head(attn, part, norm) for part, norm in zip((queries, keys), norms, strict=True)
    )
    return AttentionSide(
        _rotated(queries, rotation), _rotated(keys, rotation), _by_head(attn, values)
    )


class PassiveAttention:
    """What stands in a block for its attention while tokens pass: they attend to [pixels, tokens].
    Afterwards it holds their side, and what they gathered, (pictures, tokens, heads x width),
    before it is projected.
    """

    tokens: AttentionSide
    gathered: Tensor

    def __init__(self, attn: Any, pixels: AttentionSide, rotation: Tensor | None) -> None:
        self._attn = attn
        self._pixels = pixels
        self._rotation = rotation

    def __call__(
        self, hidden_states: Tensor, encoder_hidden_states: Tensor | None = None, **_: Any
    ) -> Any:
        attn = self._attn
        if has_text_side(attn):
            states = encoder_hidden_states
            names = OF_TEXT
            norms = (attn.norm_added_q, attn.norm_added_k)
        else:
            states = hidden_states
            names = PROJECTIONS
            norms = (attn.norm_q, attn.norm_k)
        self.tokens = side(
            attn, (getattr(attn, name)(states) for name in names), norms, self._rotation
        )
        self.gathered = _attended(self.tokens, self._pixels)
        if has_text_side(attn):
            return hidden_states, self.gathered if attn.to_add_out is None else attn.to_add_out(
                self.gathered
            )
        return attn.to_out[0](self.gathered) if hasattr(attn, "to_out") else self.gathered


def has_text_side(attn: Any) -> bool:
    """Whether an attention has weights for text; those of single blocks serve text and picture
    alike.
    """
    return getattr(attn, "add_q_proj", None) is not None


def advance(
    block: Any, given: Mapping[str, Any], tokens: Tensor, listening: PassiveAttention
) -> Tensor:
    """The tokens (pictures, tokens, channels) after a block, by the block's own code. `given` is
    what it was called with, of the pictures that count. SD3's last block leaves its text as it was.
    """
    twin = copy(block)
    twin._modules = {**block._modules, "attn": listening}
    after: Tensor | None
    if "encoder_hidden_states" not in given:
        after = type(block).forward(twin, **{**given, "hidden_states": tokens})
    else:
        pixels = given["hidden_states"][
            :, : int(has_text_side(block.attn))
        ]  # one that is thrown away, or none
        after, _ = type(block).forward(
            twin, **{**given, "hidden_states": pixels, "encoder_hidden_states": tokens}
        )
    return tokens if after is None else after


def shares_among_tokens(image: AttentionSide, keys: Tensor) -> Tensor:
    """How every pixel's attention divides among the tokens alone, summed over heads: (pictures,
    tokens, pixels).
    """
    scores = torch.matmul(keys * keys.shape[-1] ** -0.5, image.queries.transpose(-1, -2))
    return scores.softmax(dim=2, dtype=torch.float32).sum(dim=1)


def shares_among_all(image: AttentionSide, keys: Tensor) -> Tensor:
    """The part of every pixel's attention to [pixels, tokens] that falls on each token, summed over
    heads.

    Shaped (pictures, tokens, pixels). Attention to values that are 1 for a single token reads its
    share off without the matrix of pixels by pixels; the values of a head hold as many tokens as
    the head is wide.
    """
    width = keys.shape[-1]
    tokens = keys.shape[2]
    pixels = image.keys.shape[2]
    everything = torch.cat([image.keys, keys], dim=2)
    parts = []
    for start in range(0, tokens, width):
        marks = everything.new_zeros(pixels + tokens, width)
        marked = torch.arange(start, min(start + width, tokens))
        marks[pixels + marked, marked - start] = 1
        shares = functional.scaled_dot_product_attention(
            image.queries, everything, marks.expand_as(everything)
        )
        parts.append(shares[..., : len(marked)].float().sum(dim=1))
    return torch.cat(parts, dim=2).transpose(1, 2)


SHARES = {"text": shares_among_tokens, "joint": shares_among_all}


def _attended(tokens: AttentionSide, pixels: AttentionSide) -> Tensor:
    """What the tokens gather from [pixels, tokens]: (pictures, tokens, heads x width)."""
    keys = torch.cat([pixels.keys, tokens.keys], dim=2)
    values = torch.cat([pixels.values, tokens.values], dim=2)
    return (
        functional.scaled_dot_product_attention(tokens.queries, keys, values)
        .transpose(1, 2)
        .flatten(2)
    )


def _by_head(attn: Any, projected: Tensor, norm: nn.Module | None = None) -> Tensor:
    """(pictures, n, heads x width) -> (pictures, heads, n, width), normed."""
    by_head = projected.view(*projected.shape[:2], attn.heads, -1).transpose(1, 2)
    return by_head if norm is None else norm(by_head)


def _rotated(by_head: Tensor, rotation: Tensor | None) -> Tensor:
    """Turn neighbouring pairs of numbers, in fp32 as Flux does."""
    if rotation is None:
        return by_head
    pairs = torch.view_as_complex(by_head.float().reshape(*by_head.shape[:-1], -1, 2))
    return torch.view_as_real(pairs * rotation).flatten(-2).to(by_head.dtype)


@dataclass(slots=True)
class _TransformerCall:
    """One call of the transformer that is listened to; its maps have a pixel per patch of the
    latents.
    """

    pictures: slice
    size: tuple[int, int]
    pixel_rotation: Tensor | None
    token_rotation: Tensor | None
    tokens: Tensor
    embedded: bool = False
    block: Mapping[str, Any] = field(default_factory=dict)
    kept: dict[str, Tensor] = field(default_factory=dict)


class TransformerAttentionMaps(AttentionMaps):
    """`AttentionMaps` of Stable Diffusion 3, 3.5, Flux, Chroma, AuraFlow or Qwen-Image.

    definition   `ovam`: attention weights. `output`: what pixels gather from attention against what tokens gather,
                 softmax(o_x o_cᵀ) over the tokens, which ConceptAttention found to fit objects
                 better
    softmax      of `ovam`. `text`: each pixel's attention divided among the tokens of the attribution alone, so that
                 its maps sum to steps x heads; `joint`: among all pixels and these tokens, the
                 weights that the model itself would use for them as its prompt

    Of every step the conditional rows of the first call count: neither the unconditional rows, nor
    the calls that true guidance and skip-layer guidance add. AuraFlow sets registers before every
    text, which are tokens here too.
    """

    branches = ("cond",)
    definitions = ("ovam", "output")
    _encode = staticmethod(encode_rows)

    def __init__(
        self,
        pipe: Any,
        attribution: str,
        branch: str = "cond",
        definition: str = "ovam",
        softmax: Softmax = "text",
    ) -> None:
        if type(pipe).__name__ not in PIPELINES:
            raise UsageError(
                f"a {type(pipe).__name__} has no attention that can be watched by its text: use {WATCHED}"
            )
        super().__init__(pipe, attribution, branch, definition)
        UnknownName.unless_known("softmax", softmax, SHARES)
        self._shares = SHARES[softmax]
        self._outputs = definition == "output"
        blocks = layer_blocks(pipe.transformer)
        silent = {
            name
            for name, block in blocks.items()
            if self._outputs and getattr(block, "context_pre_only", False)
        }
        self._layers = {name: block for name, block in blocks.items() if name not in silent}
        self._call: _TransformerCall | None = None
        self._heard: int | None = BEFORE
        registers = getattr(pipe.transformer, "register_tokens", None)
        self._registers = 0 if registers is None else registers.shape[1]
        self._read_text(None, None)

    @property
    def tokens(self) -> list[str]:
        """The tokens of the attribution prompt; of AuraFlow, its registers come first."""
        return ["<register>"] * self._registers + super().tokens

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
            attn = block.attn
            yield block.register_forward_pre_hook(self._enter, with_kwargs=True)
            for projection in PROJECTIONS:
                yield getattr(attn, projection).register_forward_hook(
                    partial(self._keep, projection)
                )
            if self._outputs and hasattr(attn, "to_out"):
                yield attn.to_out[0].register_forward_pre_hook(partial(self._keep, "pixels"))
            yield attn.register_forward_hook(partial(self._listen, name, block))

    def __exit__(self, *_: object) -> None:
        super().__exit__()
        self._call = None

    def _begin(self, transformer: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Before the transformer: is this the conditional call of a step? It comes first, and the
        scheduler counts.
        """
        self._call = None
        if not self._begin_run() and self._pipe.scheduler.step_index == self._heard:
            return
        hidden = args[0] if args else kwargs["hidden_states"]
        text = kwargs["encoder_hidden_states"]
        whole = (
            hidden.ndim == 4
        )  # not packed into patches: SD3 and AuraFlow, which guide within one call
        unconditional = len(hidden) // 2 if whole and self._pipe.guidance_scale > 1 else 0
        # Qwen-Image's text is as long as the longest prompt of a batch, not of a given length.
        length = None if "img_shapes" in kwargs else text.shape[1]
        self._read_text(length, getattr(self._pipe, "_clip_skip", None))
        tokens = self.text.vectors.to(text).expand(len(hidden) - unconditional, -1, -1)
        places = _places(transformer, hidden, kwargs, tokens.shape[1])
        self._call = _TransformerCall(slice(unconditional, None), *places, tokens)

    def _end(self, *_: Any) -> None:
        if self._call is not None:
            self._heard = self._pipe.scheduler.step_index
        self._call = None

    def _enter(self, block: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Before a block: keep what it is given. The first one embeds the tokens, where scales of
        LoRA hold already.
        """
        if self._call is None:
            return
        if not self._call.embedded:
            self._call.tokens = _embedded(self._pipe.transformer, self._call.tokens)
            self._call.embedded = True
        rows = {name: kwargs[name][self._call.pictures] for name in ("hidden_states", "temb")}
        self._call.block = {
            name: kwargs[name] for name in kwargs if name != "attention_mask"
        } | rows  # none is padding
        self._call.kept = {}

    def _keep(
        self, name: str, _module: Any, args: tuple[Tensor, ...], output: Tensor | None = None
    ) -> None:
        """What a part of a block gave, or was given, at its first use: later ones are those of
        passive streams.
        """
        if self._call is not None:
            self._call.kept.setdefault(name, args[0] if output is None else output)

    def _listen(self, name: str, block: Any, attn: Any, _args: Any, output: Any) -> None:
        """After a block's attention: let the tokens attend too, and add their maps."""
        call = self._call
        if call is None:
            return
        pixels = slice(
            -call.size[0] * call.size[1], None
        )  # text comes first, where it has no side of its own
        projected = (call.kept[projection][call.pictures, pixels] for projection in PROJECTIONS)
        image = side(attn, projected, (attn.norm_q, attn.norm_k), call.pixel_rotation)
        listening = PassiveAttention(attn, image, call.token_rotation)
        call.tokens = advance(block, call.block, call.tokens, listening)
        if self._outputs:
            gathered = call.kept.get("pixels", output)[call.pictures, pixels].float()
            shares = torch.matmul(listening.gathered.float(), gathered.mT).softmax(dim=1)
        else:
            shares = self._shares(image, listening.tokens.keys)
        maps = shares.reshape(*shares.shape[:2], *call.size)
        run = self._runs[-1]
        run[name] = run[name] + maps if name in run else maps.contiguous()


def _places(
    transformer: Any, hidden: Tensor, call: Mapping[str, Any], tokens: int
) -> tuple[tuple[int, int], Tensor | None, Tensor | None]:
    """Height and width of the maps, and the rotations that tell the places of pixels and of tokens."""
    if "img_shapes" in call:
        ((_, height, width),) = call["img_shapes"][0]
        turned = transformer.pos_embed(
            call["img_shapes"], max_txt_seq_len=tokens, device=hidden.device
        )
        return (height, width), *turned
    if "img_ids" in call:
        height, width = (int(call["img_ids"][..., axis].max()) + 1 for axis in (1, 2))
        cosines, sines = transformer.pos_embed(call["img_ids"])  # every angle twice
        return (height, width), torch.complex(cosines[:, ::2], sines[:, ::2]), None
    height, width = (side // transformer.config.patch_size for side in hidden.shape[-2:])
    return (height, width), None, None


def _embedded(transformer: Any, tokens: Tensor) -> Tensor:
    """Tokens as the first block is given them."""
    embedder = getattr(transformer, "context_embedder", None)
    embedded: Tensor = (
        embedder(tokens) if embedder else transformer.txt_in(transformer.txt_norm(tokens))
    )
    registers = getattr(transformer, "register_tokens", embedded[:1, :0])
    return torch.cat([registers.to(embedded).expand(len(embedded), -1, -1), embedded], dim=1)


def layer_blocks(transformer: Any) -> dict[str, Any]:
    """The blocks of a transformer in order of depth, called joint-1, joint-2, …, single-1, …"""
    return {
        f"{kind}-{k}": block
        for kind, names in BLOCKS.items()
        for name in names
        for k, block in enumerate(getattr(transformer, name, ()), start=1)
    }


def _fused(attn: Any) -> bool:
    from diffusers.models.attention import AttentionModuleMixin

    mixed = isinstance(attn, AttentionModuleMixin) and attn.fused_projections
    return mixed or "Fused" in type(attn.processor).__name__
