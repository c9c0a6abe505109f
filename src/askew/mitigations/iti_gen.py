"""ITI-GEN (Zhang et al. 2023): tokens learned from pictures, one set per value, behind the words of
the prompt.

The tokens of an axis stand in three places from the end mark on; those of further axes are added
there. They are learned so that the text of a value lies from another's in the direction in which
its pictures lie from the other's.
"""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations, product
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from askew.errors import UsageError
from askew.mitigations.steering import NetworkCall, TargetSteering
from askew.store.files import sha256, write_file

if TYPE_CHECKING:
    from torch import Tensor
    from transformers import CLIPModel, CLIPTextModel, CLIPTokenizer

PLACES = 3
"""Tokens of an axis."""

NEAR = 0.8
"""The cosine to the prompt's own text below which a loss holds the learned texts to what the prompt
says.
"""

EPOCHS = 60
STEPS = 5
RATE = 0.01

ANYBODY = "a photo of a person"
"""A further text behind which tokens are learned: one prompt alone may be learned by heart."""


class ITIGen(TargetSteering):
    """Learned tokens in the place of the end mark of every prompt's conditional text.

    tokens   by axis (values, 3, width) numbers in single precision, little-endian, as base64
    width    of the text encoder
    encoder  digest of the embeddings of the text encoder by which they were learned
    """

    method: Literal["iti-gen"] = "iti-gen"
    tokens: dict[str, str]
    width: int = Field(ge=1)
    encoder: str

    @model_validator(mode="after")
    def _whole(self) -> ITIGen:
        for axis, shares in self.targets.items():
            wanted = len(shares) * PLACES * self.width * 4
            try:
                found = len(base64.b64decode(self.tokens.get(axis, ""), validate=True))
            except ValueError:
                found = -1
            if found != wanted:
                raise ValueError(
                    f"the tokens of {axis!r} are cut or damaged: {wanted} bytes are needed"
                )
        return self

    def table(self, axis: str) -> NDArray[np.float32]:
        """The tokens of an axis, (values, 3, width)."""
        numbers = np.frombuffer(base64.b64decode(self.tokens[axis]), dtype="<f4")
        return numbers.reshape(len(self.targets[axis]), PLACES, self.width)

    def extra_files(self) -> dict[str, bytes]:
        """The tokens as safetensors, by axis."""
        from safetensors.numpy import save

        told = {axis: json.dumps([*shares]) for axis, shares in self.targets.items()} | {
            "encoder": self.encoder
        }
        return {".safetensors": save({axis: self.table(axis) for axis in self.targets}, told)}

    def inputs(self, states: Tensor, call: NetworkCall) -> Tensor:
        """The conditional half with the states of the learned tokens."""
        import torch

        learned = call.once("states", lambda: self._states(call))
        return torch.cat([states[: len(call.requests)], learned.to(states)])

    def _states(self, call: NetworkCall) -> Tensor:
        """Those of every picture's prompt with the tokens of what is asked of it."""
        import torch

        encoder = call.pipeline.text_encoder
        tokenizer = call.pipeline.tokenizer
        if hasattr(call.pipeline, "text_encoder_2") or encoder_digest(encoder) != self.encoder:
            kind = type(call.pipeline).__name__
            raise UsageError(
                f"iti-gen: these tokens were learned by another text encoder than that of {kind}"
            )
        found = []
        for request in call.requests:
            said = self.requested_values(request)
            added = sum(
                self.table(axis)[list(self.targets[axis]).index(value)]
                for axis, value in said.items()
            )
            with torch.inference_mode():
                found.append(
                    states_with_tokens(
                        encoder, tokenizer, request.prompt, torch.tensor(added)[None]
                    )[0]
                )
        return torch.cat(found)


def encoder_digest(encoder: CLIPTextModel) -> str:
    """A digest of a text encoder's token embeddings, whatever number format they are in."""
    weights = encoder.get_input_embeddings().weight.detach().float().cpu().numpy().astype("<f2")
    return sha256(np.ascontiguousarray(weights).tobytes())[:16]


def states_with_tokens(
    encoder: CLIPTextModel, tokenizer: CLIPTokenizer, prompt: str, added: Tensor
) -> tuple[Tensor, int]:
    """States (n, tokens, width) of a prompt with `added` (n, 3, width) from its end mark on, and
    where it is read out.

    Embeddings there, token and position together, are replaced; the text is read out three places
    behind its old end, where transformers' padding has an end mark (OpenAI's has a zero). Raises
    UsageError for a prompt without room.
    """
    ids = tokenizer(prompt, padding="max_length", truncation=True, return_tensors="pt").input_ids
    end = int((ids[0, 1:] == tokenizer.eos_token_id).int().argmax()) + 1
    if end + PLACES >= ids.shape[1]:
        raise UsageError(f"iti-gen: the prompt {prompt!r} leaves no room for {PLACES} tokens more")
    tower = encoder if hasattr(encoder, "embeddings") else encoder.text_model

    def replace(_: object, __: object, embedded: Tensor) -> Tensor:
        changed = embedded.repeat(len(added), 1, 1)
        changed[:, end : end + PLACES] = added.to(embedded)
        return changed

    hook = tower.embeddings.register_forward_hook(replace)
    try:
        states = tower(
            input_ids=ids.to(tower.embeddings.token_embedding.weight.device)
        ).last_hidden_state
    finally:
        hook.remove()
    return states, end + PLACES


def direction_loss(
    texts: Tensor, pictures: Sequence[Tensor], original: Tensor, axis: int, shape: Sequence[int]
) -> Tensor:
    """The loss of the tokens of one `axis`, by the mean picture f (d,) of each of its values and
    the prompt's text t_0.

    `texts` are t (product of `shape`, the axes' numbers of values; d), unit, of all combinations,
    last axis fastest. Over pairs (i, j) of its values and combinations of the other axes' values,
    the mean of 1 - <n(f_i - f_j), n(t_i - t_j)> + max(0, 0.8 - mean of cos(t_i, t_0), cos(t_j,
    t_0)), times the pairs over K - 1. Where texts of a pair are equal, as all are at the start,
    there is no direction: 1 - cos(f_i, t_i) takes its place.
    """
    import torch
    from torch.nn.functional import cosine_similarity, normalize

    own = texts.reshape(*shape, -1).movedim(axis, 0).reshape(shape[axis], -1, texts.shape[-1])
    losses = []
    for i, j in combinations(range(shape[axis]), 2):
        away = own[i] - own[j]
        if float(away.detach().norm(dim=-1).min()) < 1e-6:
            near = sum(1 - cosine_similarity(pictures[k][None], own[k]) for k in (i, j))
            losses.append(torch.as_tensor(near).mean())
            continue
        aligned = (normalize(pictures[i] - pictures[j], dim=-1) * normalize(away, dim=-1)).sum(-1)
        kept = (
            cosine_similarity(own[i], original[None]) + cosine_similarity(own[j], original[None])
        ) / 2
        losses.append((1 - aligned + torch.relu(NEAR - kept)).mean())
    return torch.stack(losses).sum() / (shape[axis] - 1)


def learn_tokens(
    model: CLIPModel,
    tokenizer: CLIPTokenizer,
    prompts: Sequence[str],
    pictures: Mapping[str, Sequence[NDArray[np.float32]]],
    seed: int,
    kept: Path | None = None,
    learned: Callable[[int], object] = lambda epochs: None,
) -> dict[str, NDArray[np.float32]]:
    """The tokens (values, 3, width) of every axis.

    Adam at .01, halved after 20 of 60 epochs of five steps; every step takes a fifth of the
    pictures of each value; axes and prompts take turns. The network, a CLIP `model` whose text
    tower is the pipeline's, stays as it is.

    `prompts` are what tokens are put behind: one alone may be learned by heart, and served badly
    by. `pictures` are by axis, for each of its values in order, the unit vectors (n, d) of its
    pictures, whose order is by `seed`. The file `kept` holds how far it has come, epoch by epoch:
    the same call goes on there, to the same bytes. `learned` is told how many epochs are done.
    Raises UsageError for a value without pictures.
    """
    import torch
    from torch.nn.functional import normalize

    shape = [len(values) for values in pictures.values()]
    for axis, values in pictures.items():
        if any(len(rows) == 0 for rows in values):
            raise UsageError(
                f"iti-gen learns from pictures of every value, and a value of {axis!r} has none"
            )
    width = int(model.text_model.embeddings.token_embedding.weight.shape[1])
    tokens = [torch.zeros(k, PLACES, width, requires_grad=True) for k in shape]
    optimizers = [torch.optim.Adam([one], lr=RATE) for one in tokens]
    rng = np.random.default_rng(seed)
    begin = 0
    if kept is not None and kept.exists():
        state = torch.load(kept, weights_only=True)
        begin = state["epochs"]
        rng.bit_generator.state = state["rng"]
        for one, optimizer, table, own in zip(
            tokens, optimizers, state["tokens"], state["adam"], strict=True
        ):
            one.data.copy_(table)
            optimizer.load_state_dict(own)
        learned(begin)

    def features(prompt: str, added: Tensor) -> Tensor:
        states, place = states_with_tokens(model, tokenizer, prompt, added)
        return normalize(model.text_projection(states[:, place]), dim=-1)

    with torch.no_grad():
        plain = tokenizer(list(prompts), padding=True, return_tensors="pt")
        originals = normalize(model.get_text_features(**plain).pooler_output, dim=-1)
    for parameter in model.parameters():
        parameter.requires_grad_(False)
    for epoch in range(begin, EPOCHS):
        for optimizer in optimizers:
            for group in optimizer.param_groups:
                group["lr"] = RATE * (0.5 if epoch >= EPOCHS // 3 else 1)
        for step in range(STEPS):
            at = (epoch * STEPS + step) % len(prompts)
            for turn, (optimizer, values) in enumerate(
                zip(optimizers, pictures.values(), strict=True)
            ):
                combos = np.array([*product(*map(range, shape))]).T
                texts = features(
                    prompts[at], torch.stack([tokens[k][v] for k, v in enumerate(combos)]).sum(0)
                )
                means = [
                    torch.tensor(
                        rows[rng.permutation(len(rows))[: max(1, len(rows) // STEPS)]].mean(axis=0)
                    )
                    for rows in values
                ]
                optimizer.zero_grad()
                direction_loss(texts, means, originals[at], turn, shape).backward()  # type: ignore[no-untyped-call]
                optimizer.step()
        if kept is not None:
            content = io.BytesIO()
            torch.save(
                {
                    "epochs": epoch + 1,
                    "rng": rng.bit_generator.state,
                    "tokens": [one.data for one in tokens],
                    "adam": [one.state_dict() for one in optimizers],
                },
                content,
            )
            write_file(kept, content.getvalue())
        learned(1)
    return {axis: one.detach().numpy() for axis, one in zip(pictures, tokens, strict=True)}


def encode_tokens(tokens: NDArray[np.float32]) -> str:
    """Tokens as they stand in a file."""
    return base64.b64encode(np.ascontiguousarray(tokens, dtype="<f4").tobytes()).decode("ascii")
