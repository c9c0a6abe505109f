"""Attention recorder for transformers where text and image attend to each other in one sequence.

Supported models are SD3, SD3.5, Flux dev and schnell, FLUX.2 klein, Chroma, AuraFlow, Bria,
Qwen-Image and Ovis-Image. While the model generates an image, the recorder passes the tokens of a
second text, the *passive stream*, through the text side of each block. These tokens attend to the
image and to each other. Neither the image nor its prompt attends to these tokens, so not a single
bit of the image changes. If this text equals the prompt, the passive stream equals the stream of
the prompt's tokens. A second pass of the model would cost more and would describe a different
image. The attention pattern follows ConceptAttention (Helbling et al., arXiv 2502.04320), but by
default the maps are attention weights.
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
from askew.measure.attention.base import SUPPORTED_MODELS, AttentionRecorder
from askew.measure.attribution import encode_rows

FAMILIES = ("AuraFlow", "Bria", "Chroma", "Flux", "QwenImage", "StableDiffusion3")
PIPELINES = [
    f"{family}{task}Pipeline" for family in FAMILIES for task in ("", "Img2Img", "Inpaint")
]
PIPELINES += ["Flux2KleinPipeline", "OvisImagePipeline"]
"""Names of supported pipelines.

The recorder relies on how these pipelines call their transformer.
"""

BLOCKS = {
    "joint": ("transformer_blocks", "joint_transformer_blocks"),
    "single": ("single_transformer_blocks",),
}
"""Names of the attributes that contain the blocks of a transformer.

Blocks with a separate text side come first.
"""

PROJECTIONS = ("to_q", "to_k", "to_v")
OF_TEXT = ("add_q_proj", "add_k_proj", "add_v_proj")
MODULATIONS = ("temb", "temb_mod", "temb_mod_img", "temb_mod_txt")
"""Names of block arguments that have a row for each image."""

BEFORE_FIRST_STEP = -1
"""Value that indicates that no step has been recorded yet.

The value cannot be None, because the scheduler's `step_index` is None at the first step.
"""

Softmax = Literal["text", "joint"]


@dataclass(frozen=True, slots=True)
class AttentionSide:
    """Queries, keys and values of the pixels, or of the tokens, in a block's attention.

    Attributes
    ----------
    queries, keys, values
        Tensors of shape (images, heads, n, width), where n is the number of pixels or tokens.
    """

    queries: Tensor
    keys: Tensor
    values: Tensor


def side(
    attn: Any, projected: Iterable[Tensor], norms: tuple[Any, Any], rotation: Tensor | None
) -> AttentionSide:
    """Split queries, keys and values into heads. Normalize and rotate the queries and the keys.

    Parameters
    ----------
    attn
        The attention module.
    projected
        Queries, keys and values, each of shape (images, n, heads x width).
    norms
        Normalization modules for queries and for keys. None if there is no normalization.
    rotation
        Complex numbers of shape (n, width / 2) that rotate pairs of channels by position. None if
        there is no rotation.
    """
    queries, keys, values = projected
    query_norm, key_norm = norms
    return AttentionSide(
        queries=_rotated(_by_head(attn, queries, query_norm), rotation),
        keys=_rotated(_by_head(attn, keys, key_norm), rotation),
        values=_by_head(attn, values),
    )


class PassiveAttention:
    """Replacement for a block's attention. The tokens attend to the pixels and to each other.

    Parameters
    ----------
    attn
        The attention module that this object replaces.
    pixels
        Queries, keys and values of the pixels.
    rotation
        Rotation of the tokens, as in `side`.

    Attributes
    ----------
    tokens
        Queries, keys and values of the tokens, set when the object is called.
    gathered
        Attention output for the tokens before the output projection, of shape (images, tokens,
        heads x width), set when the object is called.
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
        """Run the attention on the tokens, store its result, and return its projected output."""
        attn = self._attn
        if has_text_side(attn):
            states = encoder_hidden_states
            names = OF_TEXT
            norms = (attn.norm_added_q, attn.norm_added_k)
        else:
            states = hidden_states
            names = PROJECTIONS
            norms = (attn.norm_q, attn.norm_k)
        if is_parallel(attn):
            projected, feed_forward = _split_parallel(attn, attn.to_qkv_mlp_proj(states))
        else:
            projected = [getattr(attn, name)(states) for name in names]
        self.tokens = side(attn, projected, norms, self._rotation)
        self.gathered = _attended(self.tokens, self._pixels)
        if is_parallel(attn):
            return attn.to_out(torch.cat([self.gathered, attn.mlp_act_fn(feed_forward)], dim=-1))
        if not has_text_side(attn):
            return attn.to_out[0](self.gathered) if hasattr(attn, "to_out") else self.gathered
        if attn.to_add_out is None:
            return hidden_states, self.gathered
        return hidden_states, attn.to_add_out(self.gathered)


def has_text_side(attn: Any) -> bool:
    """Check whether an attention module has separate weights for text. Single blocks have none."""
    return getattr(attn, "add_q_proj", None) is not None


def is_parallel(attn: Any) -> bool:
    """Check whether an attention module also contains the feed-forward layer (FLUX.2)."""
    return hasattr(attn, "to_qkv_mlp_proj")


def _split_parallel(attn: Any, projected: Tensor) -> tuple[list[Tensor], Tensor]:
    """Return queries, keys and values, and the input to the feed-forward layer's activation."""
    width = attn.inner_dim
    *parts, feed_forward = projected.tensor_split([width, 2 * width, 3 * width], dim=-1)
    return parts, feed_forward


def advance(
    block: Any, arguments: Mapping[str, Any], tokens: Tensor, attention: PassiveAttention
) -> Tensor:
    """Run a block's code on the tokens, and return the new tokens.

    The last block of SD3 does not change the text.

    Parameters
    ----------
    block
        Block of the transformer.
    arguments
        Arguments that the block was called with, restricted to the recorded images.
    tokens
        Tokens before the block.
    attention
        Replacement for the block's attention.
    """
    twin = copy(block)
    twin._modules = {**block._modules, "attn": attention}
    forward = type(block).forward
    if arguments.get("encoder_hidden_states") is None:
        result: Tensor = forward(twin, **{**arguments, "hidden_states": tokens})
        return result
    # A block with a text side needs a pixel, whose result is dropped.
    pixels = arguments["hidden_states"][:, : int(has_text_side(block.attn))]
    states = {"hidden_states": pixels, "encoder_hidden_states": tokens}
    after: Tensor | None
    after, _ = forward(twin, **{**arguments, **states})
    return tokens if after is None else after


def shares_among_tokens(image: AttentionSide, keys: Tensor) -> Tensor:
    """Normalize each pixel's attention over the tokens only, and sum the shares over heads.

    Parameters
    ----------
    image
        Queries, keys and values of the pixels.
    keys
        Keys of the tokens, of shape (images, heads, tokens, width).

    Returns
    -------
    Tensor
        Shares of shape (images, tokens, pixels).
    """
    scores = torch.matmul(keys * keys.shape[-1] ** -0.5, image.queries.transpose(-1, -2))
    return scores.softmax(dim=2, dtype=torch.float32).sum(dim=1)


def shares_among_all(image: AttentionSide, keys: Tensor) -> Tensor:
    """Normalize each pixel's attention over all pixels and tokens, and return the tokens' shares.

    Shares are summed over heads and have the shape (images, tokens, pixels). If the value of one
    token is 1 and all other values are 0, the result of the attention is this token's share. This
    method avoids building a pixels x pixels matrix. The number of tokens that a head can process at
    once equals the width of the head.

    Parameters
    ----------
    image
        Queries, keys and values of the pixels.
    keys
        Keys of the tokens, of shape (images, heads, tokens, width).
    """
    width = keys.shape[-1]
    tokens = keys.shape[2]
    pixels = image.keys.shape[2]
    all_keys = torch.cat([image.keys, keys], dim=2)
    parts = []
    for start in range(0, tokens, width):
        marks = all_keys.new_zeros(pixels + tokens, width)
        marked = torch.arange(start, min(start + width, tokens))
        marks[pixels + marked, marked - start] = 1
        values = marks.expand_as(all_keys)
        shares = functional.scaled_dot_product_attention(image.queries, all_keys, values)
        parts.append(shares[..., : len(marked)].float().sum(dim=1))
    return torch.cat(parts, dim=2).transpose(1, 2)


SHARES = {"text": shares_among_tokens, "joint": shares_among_all}


def _attended(tokens: AttentionSide, pixels: AttentionSide) -> Tensor:
    """Return the output of the tokens' attention to the pixels and to each other."""
    keys = torch.cat([pixels.keys, tokens.keys], dim=2)
    values = torch.cat([pixels.values, tokens.values], dim=2)
    by_head = functional.scaled_dot_product_attention(tokens.queries, keys, values)
    return by_head.transpose(1, 2).flatten(2)


def _by_head(attn: Any, projected: Tensor, norm: nn.Module | None = None) -> Tensor:
    """Reshape (images, n, heads x width) to (images, heads, n, width) and normalize each head."""
    by_head = projected.view(*projected.shape[:2], attn.heads, -1).transpose(1, 2)
    return by_head if norm is None else norm(by_head)


def _rotated(by_head: Tensor, rotation: Tensor | None) -> Tensor:
    """Rotate pairs of neighboring channels in 32-bit floating point, as Flux does."""
    if rotation is None:
        return by_head
    pairs = torch.view_as_complex(by_head.float().reshape(*by_head.shape[:-1], -1, 2))
    return torch.view_as_real(pairs * rotation).flatten(-2).to(by_head.dtype)


@dataclass(frozen=True, slots=True)
class _Layout:
    """Height and width of the maps, and the position-dependent rotations of pixels and tokens."""

    size: tuple[int, int]
    pixel_rotation: Tensor | None = None
    token_rotation: Tensor | None = None


@dataclass(slots=True)
class _TransformerCall:
    """One recorded call of the transformer. Maps have one pixel per patch of the latents.

    `rows` selects the recorded images of the batch, and `tokens` is the passive stream. `arguments`
    are the arguments of the current block, and `activations` are the outputs of the block's
    modules.
    """

    rows: slice
    layout: _Layout
    tokens: Tensor
    embedded: bool = False
    arguments: Mapping[str, Any] = field(default_factory=dict)
    activations: dict[str, Tensor] = field(default_factory=dict)


class TransformerAttentionRecorder(AttentionRecorder):
    """Attention recorder for transformers where text and image attend to each other.

    Only the conditional rows of the first call of each step are recorded. The unconditional rows,
    and further calls for true guidance and skip-layer guidance, are ignored. AuraFlow puts
    registers before each text. These registers also count as tokens here.

    Parameters
    ----------
    pipe, attribution, branch
        As in `AttentionMaps`.
    definition
        With `ovam`, the maps are attention weights. With `output`, the maps compare the attention
        outputs o_x of the pixels with the attention outputs o_c of the tokens: softmax(o_x o_cᵀ)
        over the tokens. According to the ConceptAttention paper, maps with `output` match objects
        better.
    softmax
        Normalization of `ovam`. With `text`, each pixel's attention is normalized over the tokens
        of the attribution prompt only, so the maps sum to steps x heads at each pixel. With
        `joint`, each pixel's attention is normalized over all pixels and the tokens of the
        attribution prompt, as if the attribution prompt were the model's prompt.
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
                f"{type(pipe).__name__} has no attention to text that askew can record; "
                f"use {SUPPORTED_MODELS}"
            )
        super().__init__(pipe, attribution, branch, definition)
        UnknownName.unless_known("softmax", softmax, SHARES)
        self._shares = SHARES[softmax]
        self._compares_outputs = definition == "output"
        self._layers = {
            name: block
            for name, block in layer_blocks(pipe.transformer).items()
            if not (self._compares_outputs and getattr(block, "context_pre_only", False))
        }
        self._call: _TransformerCall | None = None
        self._last_step: int | None = BEFORE_FIRST_STEP
        registers = getattr(pipe.transformer, "register_tokens", None)
        self._registers = 0 if registers is None else registers.shape[1]
        self._read_text(None, None)

    @property
    def tokens(self) -> list[str]:
        """Return the tokens of the attribution prompt. In AuraFlow, the registers come first."""
        return ["<register>"] * self._registers + super().tokens

    def _watch(self) -> Iterator[RemovableHandle]:
        transformer = self._pipe.transformer
        if any(_fused(block.attn) for block in layer_blocks(transformer).values()):
            raise UsageError(
                "the projections of this transformer are fused, so its queries cannot be read; "
                "call pipe.transformer.unfuse_qkv_projections() first"
            )
        yield transformer.register_forward_pre_hook(self._begin, with_kwargs=True)
        yield transformer.register_forward_hook(self._end)
        for name, block in self._layers.items():
            yield from self._watch_block(name, block)

    def _watch_block(self, name: str, block: Any) -> Iterator[RemovableHandle]:
        attn = block.attn
        yield block.register_forward_pre_hook(self._enter, with_kwargs=True)
        if is_parallel(attn):
            keep_parallel = partial(self._keep_parallel, attn)
            yield attn.to_qkv_mlp_proj.register_forward_hook(keep_parallel)
            if self._compares_outputs:
                keep_attended = partial(self._keep_attended, attn)
                yield attn.to_out.register_forward_pre_hook(keep_attended)
            yield attn.register_forward_hook(partial(self._pass_tokens, name, block))
            return
        for projection in PROJECTIONS:
            keep = partial(self._keep, projection)
            yield getattr(attn, projection).register_forward_hook(keep)
        if self._compares_outputs and hasattr(attn, "to_out"):
            yield attn.to_out[0].register_forward_pre_hook(partial(self._keep, "pixels"))
        yield attn.register_forward_hook(partial(self._pass_tokens, name, block))

    def __exit__(self, *_: object) -> None:
        super().__exit__()
        self._call = None

    def _begin(self, transformer: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Start recording a call of the transformer if it is the first call of its step.

        The first call is the conditional call.
        """
        self._call = None
        if not self._begin_run() and self._pipe.scheduler.step_index == self._last_step:
            return
        hidden = args[0] if args else kwargs["hidden_states"]
        text = kwargs["encoder_hidden_states"]
        # SD3 and AuraFlow, which do not pack latents into patches, and Bria guide within one call.
        guides_at_once = hidden.ndim == 4 or type(self._pipe).__name__.startswith("Bria")
        guided = guides_at_once and self._pipe.guidance_scale > 1
        unconditional = len(hidden) // 2 if guided else 0
        # Qwen-Image's text is as long as the longest prompt of a batch, not of a given length.
        length = None if "img_shapes" in kwargs else text.shape[1]
        self._read_text(length, getattr(self._pipe, "_clip_skip", None))
        tokens = self.text.vectors.to(text).expand(len(hidden) - unconditional, -1, -1)
        self._call = _TransformerCall(
            # Behind the conditional rows, a mitigation may add rows of further texts.
            rows=slice(unconditional, len(hidden)),
            layout=_layout(transformer, hidden, kwargs, tokens.shape[1]),
            tokens=tokens,
        )

    def _end(self, *_: Any) -> None:
        if self._call is not None:
            self._last_step = self._pipe.scheduler.step_index
        self._call = None

    def _enter(self, block: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Record a block's arguments before it runs.

        The tokens are embedded just before the first block runs, because LoRA scales are in effect
        by then.
        """
        call = self._call
        if call is None:
            return
        if not call.embedded:
            call.tokens = _embedded(self._pipe.transformer, call.tokens)
            call.embedded = True
        # No token is padding, so the attention mask is left out.
        arguments = {name: value for name, value in kwargs.items() if name != "attention_mask"}
        for name in ("hidden_states", *MODULATIONS):
            if name in kwargs:
                arguments[name] = kwargs[name][call.rows]
        call.arguments = arguments
        call.activations = {}

    def _keep(
        self, name: str, _module: Any, args: tuple[Tensor, ...], output: Tensor | None = None
    ) -> None:
        """Store a module's output or input for the passive stream."""
        if self._call is not None:
            self._call.activations.setdefault(name, args[0] if output is None else output)

    def _keep_parallel(self, attn: Any, _module: Any, _args: Any, output: Tensor) -> None:
        """Store queries, keys and values of an attention module with a feed-forward layer."""
        parts, _ = _split_parallel(attn, output)
        for name, part in zip(PROJECTIONS, parts, strict=True):
            self._keep(name, None, (), part)

    def _keep_attended(self, attn: Any, module: Any, args: tuple[Tensor, ...]) -> None:
        """Store the output of an attention module that includes the feed-forward layer."""
        self._keep("pixels", module, (args[0][..., : attn.inner_dim],))

    def _pass_tokens(self, name: str, block: Any, attn: Any, _args: Any, output: Any) -> None:
        """After a block has run on the image, run it on the passive stream, and add its maps."""
        call = self._call
        if call is None:
            return
        layout = call.layout
        height, width = layout.size
        # Text comes first where it has no side of its own.
        pixels = slice(-height * width, None)
        projected = (call.activations[projection][call.rows, pixels] for projection in PROJECTIONS)
        image = side(attn, projected, (attn.norm_q, attn.norm_k), layout.pixel_rotation)
        attention = PassiveAttention(attn, image, layout.token_rotation)
        call.tokens = advance(block, call.arguments, call.tokens, attention)
        if self._compares_outputs:
            gathered = call.activations.get("pixels", output)[call.rows, pixels].float()
            shares = torch.matmul(attention.gathered.float(), gathered.mT).softmax(dim=1)
        else:
            shares = self._shares(image, attention.tokens.keys)
        maps = shares.reshape(*shares.shape[:2], height, width)
        run = self._runs[-1]
        run[name] = run[name] + maps if name in run else maps.contiguous()


def _layout(transformer: Any, hidden: Tensor, arguments: Mapping[str, Any], tokens: int) -> _Layout:
    """Return the map size and the rotations for a call of the transformer."""
    if "img_shapes" in arguments:
        ((_, height, width),) = arguments["img_shapes"][0]
        pixel_rotation, token_rotation = transformer.pos_embed(
            arguments["img_shapes"], max_txt_seq_len=tokens, device=hidden.device
        )
        return _Layout((height, width), pixel_rotation, token_rotation)
    if "img_ids" in arguments:
        places = _unbatched(arguments["img_ids"])
        height, width = (int(places[:, axis].max()) + 1 for axis in (1, 2))
        if len(places) != height * width:
            raise UsageError(
                "attention maps cannot be recorded with reference images; omit the argument `image`"
            )
        text_places = _unbatched(arguments["txt_ids"])[:tokens]
        return _Layout(
            size=(height, width),
            pixel_rotation=_rotation(transformer, places),
            # Most families put all tokens at the origin, where nothing rotates.
            token_rotation=_rotation(transformer, text_places) if text_places.any() else None,
        )
    height, width = (length // transformer.config.patch_size for length in hidden.shape[-2:])
    return _Layout((height, width))


def _unbatched(places: Tensor) -> Tensor:
    """Return the positions of one image, because all images in a batch have the same positions."""
    return places[0] if places.ndim == 3 else places


def _rotation(transformer: Any, places: Tensor) -> Tensor:
    """Return the rotation at each position. The network's output contains each angle twice."""
    cosines, sines = transformer.pos_embed(places)
    return torch.complex(cosines[:, ::2], sines[:, ::2])


def _embedded(transformer: Any, tokens: Tensor) -> Tensor:
    """Embed the tokens as input for the first block."""
    embedder = getattr(transformer, "context_embedder", None)
    norm = getattr(transformer, "context_embedder_norm", None)
    if embedder:
        embedded: Tensor = embedder(tokens if norm is None else norm(tokens))
    else:
        embedded = transformer.txt_in(transformer.txt_norm(tokens))
    registers = getattr(transformer, "register_tokens", embedded[:1, :0])
    return torch.cat([registers.to(embedded).expand(len(embedded), -1, -1), embedded], dim=1)


def layer_blocks(transformer: Any) -> dict[str, Any]:
    """Return a transformer's blocks in order of depth, named joint-1, …, then single-1, …."""
    blocks = {}
    for kind, names in BLOCKS.items():
        for name in names:
            for k, block in enumerate(getattr(transformer, name, ()), start=1):
                blocks[f"{kind}-{k}"] = block
    return blocks


def _fused(attn: Any) -> bool:
    from diffusers.models.attention import AttentionModuleMixin

    mixed = isinstance(attn, AttentionModuleMixin) and attn.fused_projections
    return mixed or "Fused" in type(attn.processor).__name__
