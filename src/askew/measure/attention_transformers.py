"""Open-vocabulary attention maps of pictures by transformer models: SD3, SD3.5, Flux dev and schnell.

Hooks let the tokens of an attribution prompt listen in every block while a picture is made (`measure.passive_stream`);
nothing of the model is replaced, and the picture is the same to the bit. A second pass of the model would cost more and
describe another picture. After ConceptAttention (Helbling et al., arXiv 2502.04320), with attention weights as the map.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from types import TracebackType
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from torch import Tensor
from torch.utils.hooks import RemovableHandle

from askew.errors import NotEnoughData, UnknownName, UsageError
from askew.measure.passive_stream import SHARES, AttributionText, image_side, joint_block, single_block

PIPELINES = (
    "FluxImg2ImgPipeline",
    "FluxInpaintPipeline",
    "FluxPipeline",
    "StableDiffusion3Img2ImgPipeline",
    "StableDiffusion3InpaintPipeline",
    "StableDiffusion3Pipeline",
)
"""Pipelines whose calls of the transformer are known."""

PROJECTIONS = ("to_q", "to_k", "to_v")
BEFORE = -1
"""No step was listened to yet; a scheduler counts its first one as None."""

Softmax = Literal["text", "joint"]


@dataclass(slots=True)
class _Call:
    """One call of the transformer that is listened to."""

    pictures: slice
    size: tuple[int, int]
    tokens: Tensor
    embedded: bool = False
    block: Mapping[str, Any] = field(default_factory=dict)
    image: dict[str, Tensor] = field(default_factory=dict)


class TransformerAttentionMaps:
    """Maps of where the tokens of `attribution` are attended to, taken while `pipe(...)` runs inside the context.

    pipe         a Stable Diffusion 3, 3.5 or Flux pipeline of diffusers
    attribution  any text; all of its tokens get a map
    softmax      `text`: each pixel's attention divided among the tokens of the attribution alone; `joint`: among all
                 pixels and these tokens, the weights that the model itself would use for them as its prompt

    Of every step the conditional rows of the first call count: neither the unconditional rows, nor the calls that true
    guidance and skip-layer guidance add. Several calls of the pipeline append their pictures, if all have one size.
    Contexts may be nested. Raises UsageError for what cannot be met.
    """

    def __init__(
        self, pipe: Any, attribution: str, branch: str = "cond", definition: str = "ovam", softmax: Softmax = "text"
    ) -> None:
        _check(pipe, branch, definition, softmax)
        self._pipe, self._shares = pipe, SHARES[softmax]
        self._text = AttributionText(pipe, attribution)
        self._layers = layer_blocks(pipe.transformer)
        self._hooks: list[RemovableHandle] = []
        self._runs: list[dict[str, Tensor]] = []
        self._call: _Call | None = None
        self._timesteps: Tensor | None = None  # of the pipeline's latest call: every call sets new ones
        self._heard: int | None = BEFORE

    @property
    def tokens(self) -> list[str]:
        """The tokens of the attribution prompt as their tokenizer writes them, special ones kept.

        SD3 reads every text twice: the CLIP tokens come first, then those of T5, if the pipeline has T5.
        """
        return list(self._text.tokens)

    def layers(self) -> dict[str, NDArray[np.float32]]:
        """By name of the block, in order of depth, maps (pictures, tokens, h, w): sums over steps and heads.

        With softmax="text" the maps of a pixel sum to steps x heads over the tokens; with "joint" to less. Raises
        NotEnoughData before a picture was made.
        """
        runs = self._finished()
        if not runs:
            raise NotEnoughData("no picture was made while attention was watched: call the pipeline inside `with`")
        return {name: np.concatenate([run[name].cpu().numpy() for run in runs]) for name in self._layers}

    def aggregate(self) -> NDArray[np.float32]:
        """The sum of all blocks' maps, (pictures, tokens, h, w): every block has the same size."""
        total: NDArray[np.float32] = np.sum(list(self.layers().values()), axis=0, dtype=np.float32)
        return total

    def __enter__(self) -> TransformerAttentionMaps:
        transformer = self._pipe.transformer
        _refuse_fused(transformer)
        self._text.embedded()  # now, while the text encoders have the memory for themselves
        self._hooks = [
            transformer.register_forward_pre_hook(self._begin, with_kwargs=True),
            transformer.register_forward_hook(self._end),
        ]
        for name, block in self._layers.items():
            self._hooks.append(block.register_forward_pre_hook(self._enter, with_kwargs=True))
            self._hooks += [getattr(block.attn, p).register_forward_hook(partial(self._keep, p)) for p in PROJECTIONS]
            self._hooks.append(block.attn.register_forward_hook(partial(self._listen, name, block)))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for hook in self._hooks:
            hook.remove()
        self._hooks, self._call = [], None

    def _begin(self, transformer: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Before the transformer: is this the conditional call of a step? It comes first, and the scheduler counts."""
        scheduler = self._pipe.scheduler
        again = scheduler.timesteps is self._timesteps
        self._call = None
        if again and scheduler.step_index == self._heard:
            return
        hidden, text = kwargs["hidden_states"], kwargs["encoder_hidden_states"]
        guided = getattr(self._pipe, "do_classifier_free_guidance", False)
        unconditional = len(hidden) // 2 if guided else 0
        tokens = self._text.embedded(text.shape[1], getattr(self._pipe, "_clip_skip", None))
        tokens = tokens.to(text).expand(len(hidden) - unconditional, -1, -1)
        self._call = _Call(slice(unconditional, None), _size(transformer, kwargs), tokens)
        if not again:
            self._start_run(self._call.size)
            self._timesteps = scheduler.timesteps

    def _start_run(self, size: tuple[int, int]) -> None:
        self._runs = self._finished()
        if self._runs and (earlier := next(iter(self._runs[0].values())).shape[-2:]) != size:
            raise UsageError(
                f"the attention maps of earlier pictures are {earlier[1]} x {earlier[0]} and those of this one "
                f"{size[1]} x {size[0]}: watch pictures of different sizes one after the other"
            )
        self._runs.append({})

    def _finished(self) -> list[dict[str, Tensor]]:
        """Without a call of the pipeline that broke off within its first step."""
        return [run for run in self._runs if len(run) == len(self._layers)]

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
        self._call.block, self._call.image = kwargs, {}

    def _keep(self, projection: str, _module: Any, _args: Any, output: Tensor) -> None:
        """The image side of a block; only its first use, since later ones are those of passive streams."""
        if self._call is not None:
            self._call.image.setdefault(projection, output)

    def _listen(self, name: str, block: Any, *_: Any) -> None:
        """After a block's attention: let the tokens attend too, and add their maps."""
        call = self._call
        if call is None:
            return
        shared = not hasattr(block, "norm1_context")
        text = call.block["encoder_hidden_states"].shape[1]
        rotation = call.block.get("image_rotary_emb")
        image = image_side(
            block.attn,
            (call.image[p][call.pictures, text if shared else 0 :] for p in PROJECTIONS),
            None if rotation is None else (rotation[0][text:], rotation[1][text:]),
        )
        advance = single_block if shared else joint_block
        keys, call.tokens = advance(block, call.tokens, image, call.block["temb"][call.pictures])
        call.image = {}
        shares = self._shares(image, keys)
        self._add(name, shares.reshape(*shares.shape[:2], *call.size))

    def _add(self, name: str, maps: Tensor) -> None:
        run = self._runs[-1]
        if name in run:
            run[name] += maps
        else:
            run[name] = maps.contiguous()


def layer_blocks(transformer: Any) -> dict[str, Any]:
    """The blocks of a transformer in order of depth, called joint-1, joint-2, …, single-1, …"""
    kinds = {"joint": transformer.transformer_blocks, "single": getattr(transformer, "single_transformer_blocks", ())}
    return {f"{kind}-{k}": block for kind, blocks in kinds.items() for k, block in enumerate(blocks, start=1)}


def _size(transformer: Any, kwargs: Mapping[str, Any]) -> tuple[int, int]:
    """Height and width of the maps in pixels, each a patch of the latents."""
    if "img_ids" in kwargs:
        height, width = (int(kwargs["img_ids"][..., axis].max()) + 1 for axis in (1, 2))
    else:
        height, width = (side // transformer.config.patch_size for side in kwargs["hidden_states"].shape[-2:])
    return height, width


def _check(pipe: Any, branch: str, definition: str, softmax: str) -> None:
    if type(pipe).__name__ not in PIPELINES:
        raise UsageError(
            f"a {type(pipe).__name__} has no attention that can be watched by its text; "
            f"of transformer models this works with {', '.join(PIPELINES)}"
        )
    if branch != "cond":
        raise UsageError(f"branch is {branch!r}; transformer models have maps of the conditional branch 'cond' alone")
    if definition != "ovam":
        raise UsageError(f"definition is {definition!r}; transformer models have maps by 'ovam' alone")
    if softmax not in SHARES:
        raise UnknownName("softmax", softmax, SHARES)


def _refuse_fused(transformer: Any) -> None:
    from diffusers.models.attention import AttentionModuleMixin

    for block in layer_blocks(transformer).values():
        attn = block.attn
        fused = isinstance(attn, AttentionModuleMixin) and attn.fused_projections
        if fused or "Fused" in type(attn.processor).__name__:
            raise UsageError(
                "the projections of this transformer are fused, which hides its queries and breaks SD3.5: "
                "call pipe.transformer.unfuse_qkv_projections() first"
            )
