"""ITI-GEN (Zhang et al. 2023): append tokens that are learned from images to prompts.

Each value of an axis has three tokens. The three tokens replace the prompt's end-of-text token and
the two positions after it. If there are several axes, the sum of their values' tokens is used.
Learning aligns the difference between the texts for two values with the difference between the
images for these values.
"""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Callable, Mapping, Sequence
from inspect import signature
from itertools import combinations, product
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from askew.errors import UsageError
from askew.mitigations.steering import (
    REPLACES_TEXT,
    NetworkCall,
    TargetSteering,
    TextInputs,
)
from askew.models.base import Model
from askew.models.pipeline_constants import LEARNED_WORDS
from askew.store.files import digest_of, sha256
from askew.store.states import StateFile

if TYPE_CHECKING:
    from torch import Tensor
    from transformers import CLIPModel, CLIPTextModel, CLIPTokenizer

PLACES = 3
"""Number of tokens for each value of an axis."""

FLOAT_BYTES = 4
"""Number of bytes that a mitigation file uses for each component of a token."""

NEAR = 0.8
"""Cosine similarity between a learned text and the prompt; the loss penalizes lower values."""

EQUAL = 1e-6
"""Distance below which two texts count as equal. The difference of equal texts has no direction."""

EPOCHS = 60
STEPS = 5
"""Number of steps per epoch. The images of each value are divided equally among the steps."""

RATE = 0.01
"""Learning rate, halved after a third of the epochs."""

ANYBODY = "a photo of a person"
"""Second prompt for learning tokens, which keeps the tokens from overfitting to a single prompt."""


class ITIGen(TargetSteering):
    """Mitigation that appends learned tokens to every prompt.

    Attributes
    ----------
    tokens
        Tokens by axis. An axis's tokens are an array of shape (values, 3, width), encoded in base64
        as little-endian single-precision numbers.
    width
        Width of the text encoder's embeddings.
    encoder
        Digest of the token embeddings in the text encoder with which the tokens were learned.
    learned_digest
        Digest of the tokens and of their values. The digest is empty in files from earlier versions
        of askew. Without a digest, the tokens cannot be checked.
    """

    stage: ClassVar[int] = REPLACES_TEXT
    method: Literal["iti-gen"] = "iti-gen"
    tokens: dict[str, str]
    width: int = Field(ge=1)
    encoder: str
    learned_digest: str = ""

    @model_validator(mode="after")
    def _check_tokens(self) -> ITIGen:
        for axis, shares in self.targets.items():
            needed = len(shares) * PLACES * self.width * FLOAT_BYTES
            try:
                size = len(base64.b64decode(self.tokens.get(axis, ""), validate=True))
            except ValueError:
                size = -1
            if size != needed:
                raise ValueError(
                    f"the tokens of {axis!r} are incomplete or damaged: {needed} bytes are needed"
                )
        if self.learned_digest and self.learned_digest != self.tokens_digest:
            raise ValueError(
                "the tokens are not those that were learned for these values: the digest differs. "
                "You may edit the shares, but not the tokens or the names or order of the values. "
                "Learn the tokens again with --technique iti-gen"
            )
        return self

    @property
    def tokens_digest(self) -> str:
        """Digest of the tokens, their values and their encoder."""
        values = {axis: [*shares] for axis, shares in self.targets.items()}
        content = [self.encoder, self.width, [*values.items()], self.tokens]
        return digest_of(content)[:16]

    @property
    def fingerprint(self) -> str:
        """Digest of everything in the mitigation that affects images."""
        return digest_of(self.model_dump(mode="json", exclude={"learned_digest"}))[:16]

    def with_digest(self) -> Self:
        """Return the mitigation with the digest of its tokens."""
        return self.model_copy(update={"learned_digest": self.tokens_digest})

    def table(self, axis: str) -> NDArray[np.float32]:
        """Return the tokens of an axis as an array of shape (values, 3, width)."""
        numbers = np.frombuffer(base64.b64decode(self.tokens[axis]), dtype="<f4")
        return numbers.reshape(len(self.targets[axis]), PLACES, self.width)

    def extra_files(self) -> dict[str, bytes]:
        """Return the content of a safetensors file with all axes' tokens, keyed by file suffix."""
        from safetensors.numpy import save

        metadata = {axis: json.dumps([*shares]) for axis, shares in self.targets.items()}
        metadata["encoder"] = self.encoder
        return {".safetensors": save({axis: self.table(axis) for axis in self.targets}, metadata)}

    def check_class(self, pipeline_class: type, owner: str = "") -> None:
        """Raise UsageError if the pipeline cannot be steered or has several text encoders."""
        super().check_class(pipeline_class, owner)
        if "text_encoder_2" in signature(pipeline_class.__init__).parameters:  # type: ignore[misc]
            raise UsageError(
                "iti-gen works only with a single text encoder, but the "
                f"{pipeline_class.__name__}{owner} has more; use --technique fair-diffusion"
            )

    def wrap(self, model: Model) -> Model:
        """Return the model with a steered network.

        Raises
        ------
        UsageError
            If the network cannot be steered, or if the model has learned words.
        """
        steered = super().wrap(model)
        if model.settings.get(LEARNED_WORDS):
            raise UsageError(
                f"iti-gen: -M {LEARNED_WORDS} adds words to the text encoder of {model.name}, "
                "which then differs from the encoder with which the tokens were learned; omit -M "
                f"{LEARNED_WORDS}"
            )
        return steered

    def check_call(self, rescale: float | None, clip_skip: int | None) -> None:
        """Raise UsageError if layers of the text encoder are skipped."""
        super().check_call(rescale, clip_skip)
        if clip_skip:
            raise UsageError(
                "iti-gen learns tokens for all layers of the text encoder, but "
                f"clip_skip={clip_skip} skips some layers; omit clip_skip"
            )

    def change_texts(self, texts: TextInputs, call: NetworkCall) -> TextInputs:
        """Replace the conditional half of the texts with texts that contain the learned tokens."""
        import torch

        learned = call.once("states", lambda: self._learned_states(call))
        unconditional = texts.states[: len(call.requests)]
        states = torch.cat([unconditional, learned.to(texts.states)])
        return TextInputs(states=states, pooled=texts.pooled)

    def _learned_states(self, call: NetworkCall) -> Tensor:
        """Encode every image's prompt with the tokens of the values requested for the image."""
        import torch

        encoder = call.pipeline.text_encoder
        if encoder_digest(encoder) != self.encoder:
            kind = type(call.pipeline).__name__
            raise UsageError(
                "iti-gen: the tokens were learned with a text encoder that differs from that of "
                f"this {kind}; learn the tokens again for this model"
            )
        rows = []
        for request, prompt in zip(call.requests, call.prompts, strict=True):
            added = torch.tensor(self._added_tokens(self.requested_values(request)))[None]
            with torch.inference_mode():
                states, _ = states_with_tokens(encoder, call.pipeline.tokenizer, prompt, added)
            rows.append(states)
        return torch.cat(rows)

    def _added_tokens(self, requested: Mapping[str, str]) -> Any:
        """Return the sum of all requested values' tokens, as an array of shape (3, width)."""
        return sum(
            self.table(axis)[list(self.targets[axis]).index(value)]
            for axis, value in requested.items()
        )


def encoder_digest(encoder: CLIPTextModel) -> str:
    """Return a digest of a text encoder's token embeddings.

    The digest is the same for float16 and float32.
    """
    return _embeddings_digest(encoder.get_input_embeddings().weight)


def _embeddings_digest(embeddings: Tensor) -> str:
    rows = embeddings.detach().float().cpu().numpy().astype("<f2")
    return sha256(np.ascontiguousarray(rows).tobytes())[:16]


def check_encoder(model: Any, learning: Tensor, embedder: str) -> None:
    """Raise UsageError if a model's text encoder is not the one with which askew learns tokens.

    Parameters
    ----------
    model
        Model with a diffusers pipeline. Only the token embeddings are read. Models from other
        packages are skipped if they do not provide token embeddings.
    learning
        Token embeddings of the embedder's text encoder. askew learns tokens with this encoder.
    embedder
        Name of the embedder.
    """
    read_embeddings = getattr(model, "token_embeddings", None)
    if read_embeddings is None:
        return
    theirs = read_embeddings()
    if theirs is not None and _embeddings_digest(theirs) == _embeddings_digest(learning):
        return
    raise UsageError(
        f"--technique iti-gen learns tokens with the text encoder of the embedder {embedder!r} "
        f"({_described(learning)}), but the text encoder of {model.name} "
        f"({_described(theirs)}) has different token embeddings; use --embedder clip/ID with the ID "
        "of the CLIP model whose text encoder the pipeline has, in the same number format, or "
        "use --technique fair-diffusion"
    )


def _described(embeddings: Tensor | None) -> str:
    """Describe the shape and number format of token embeddings."""
    if embeddings is None:
        return "not a CLIP text encoder"
    tokens, width = embeddings.shape
    format_name = str(embeddings.dtype).removeprefix("torch.")
    return f"{tokens} tokens of width {width}, {format_name}"


def states_with_tokens(
    encoder: CLIPTextModel, tokenizer: CLIPTokenizer, prompt: str, added: Tensor
) -> tuple[Tensor, int]:
    """Encode a prompt in which learned tokens replace the end-of-text token.

    The learned tokens take the place of the sums of token and position embeddings. The text's
    vector is read three positions after the original end-of-text token, because the transformers
    library pads texts with this token. (OpenAI's code pads texts with zeros.)

    Parameters
    ----------
    encoder, tokenizer
        A CLIP text encoder and its tokenizer.
    prompt
        The prompt.
    added
        Learned tokens, of shape (n, 3, width).

    Returns
    -------
    Tensor
        States, of shape (n, tokens, width).
    int
        Position at which the text's vector is read.

    Raises
    ------
    UsageError
        If the prompt leaves no room for the tokens.
    """
    ids = tokenizer(prompt, padding="max_length", truncation=True, return_tensors="pt").input_ids
    end = int((ids[0, 1:] == tokenizer.eos_token_id).int().argmax()) + 1
    if end + PLACES >= ids.shape[1]:
        raise UsageError(
            f"iti-gen: the prompt {prompt!r} leaves no room for {PLACES} tokens; shorten the prompt"
        )
    tower = encoder if hasattr(encoder, "embeddings") else encoder.text_model

    def replace_embeddings(_: object, __: object, embedded: Tensor) -> Tensor:
        changed = embedded.repeat(len(added), 1, 1)
        changed[:, end : end + PLACES] = added.to(embedded)
        return changed

    device = tower.embeddings.token_embedding.weight.device
    hook = tower.embeddings.register_forward_hook(replace_embeddings)
    try:
        states = tower(input_ids=ids.to(device)).last_hidden_state
    finally:
        hook.remove()
    return states, end + PLACES


def direction_loss(
    texts: Tensor, pictures: Sequence[Tensor], original: Tensor, axis: int, shape: Sequence[int]
) -> Tensor:
    """Compute the loss for the tokens of an axis (Zhang et al. 2023).

    Each pair (i, j) of the axis's values contributes the mean of the following term over the
    combinations of the other axes' values:

        1 - <n(f_i - f_j), n(t_i - t_j)> + max(0, 0.8 - (cos(t_i, t_0) + cos(t_j, t_0)) / 2)

    where n(v) is the vector v scaled to length 1. If the two texts of a pair are equal, as at the
    start of learning, their difference has no direction. A pair of equal texts contributes the sum
    of (1 - cos(f, t)) over its two values. The loss is the sum over all pairs, divided by K - 1.

    Parameters
    ----------
    texts
        Unit vectors t of the texts, one for each combination of values, of shape (combinations, d).
        The last axis varies fastest.
    pictures
        Mean image vector f for each of the K values of the axis, each of shape (d,).
    original
        Vector t_0 of the prompt without learned tokens, of shape (d,).
    axis
        Position of the axis in `shape`.
    shape
        Number of values that each axis has.

    Returns
    -------
    Tensor
        The loss, a scalar.
    """
    import torch

    values = texts.reshape(*shape, -1).movedim(axis, 0)
    by_value = values.reshape(shape[axis], -1, texts.shape[-1])
    losses = [
        _pair_loss(by_value, pictures, original, pair=pair)
        for pair in combinations(range(shape[axis]), 2)
    ]
    return torch.stack(losses).sum() / (shape[axis] - 1)


def _pair_loss(
    texts: Tensor, pictures: Sequence[Tensor], original: Tensor, pair: tuple[int, int]
) -> Tensor:
    """Return the loss for a pair of values. `texts` has the shape (values, combinations, d).

    The code indexes `texts` separately for each use, because the order in which gradients are
    summed affects their last bits.
    """
    import torch
    from torch.nn.functional import cosine_similarity, normalize

    i, j = pair
    difference = texts[i] - texts[j]
    if float(difference.detach().norm(dim=-1).min()) < EQUAL:
        distances = sum(1 - cosine_similarity(pictures[k][None], texts[k]) for k in pair)
        return torch.as_tensor(distances).mean()
    image_direction = normalize(pictures[i] - pictures[j], dim=-1)
    aligned = (image_direction * normalize(difference, dim=-1)).sum(-1)
    similarities = [cosine_similarity(texts[k], original[None]) for k in pair]
    similarity = (similarities[0] + similarities[1]) / 2
    return (1 - aligned + torch.relu(NEAR - similarity)).mean()


def learn_tokens(
    model: CLIPModel,
    tokenizer: CLIPTokenizer,
    prompts: Sequence[str],
    pictures: Mapping[str, Sequence[NDArray[np.float32]]],
    seed: int,
    checkpoint: StateFile | None = None,
    report_epochs: Callable[[int], object] = lambda epochs: None,
) -> dict[str, NDArray[np.float32]]:
    """Learn the tokens of every axis.

    The optimizer is Adam, with a learning rate of .01 that is halved after 20 of 60 epochs. An
    epoch has five steps, and each step uses a fifth of the images of each value. Axes and prompts
    take turns.

    Parameters
    ----------
    model, tokenizer
        A CLIP model that has the pipeline's text encoder, and the model's tokenizer. The model's
        weights are frozen.
    prompts
        Prompts that are used to learn the tokens.
    pictures
        For each axis, the unit vectors of the images that show each value, as arrays of shape (n,
        d).
    seed
        Seed for the order of the images.
    checkpoint
        File in which the state after the last finished epoch is saved. A repeated call resumes from
        the saved state and produces the same result. If the file is damaged, the call starts from
        the beginning.
    report_epochs
        Function that receives the number of epochs that finished since its last call.

    Returns
    -------
    dict
        Tokens of each axis, as an array of shape (values, 3, width).

    Raises
    ------
    UsageError
        If a value has no images.
    """
    for axis, values in pictures.items():
        if any(len(rows) == 0 for rows in values):
            raise UsageError(
                "iti-gen needs images of every value, but one of the values of "
                f"{axis!r} has no images"
            )
    learner = _TokenLearner(model, tokenizer, prompts, pictures, seed)
    state = checkpoint.read() if checkpoint is not None else None
    if checkpoint is not None and state is not None and not learner.restore(state):
        checkpoint.set_aside()
        learner = _TokenLearner(model, tokenizer, prompts, pictures, seed)
    if learner.epochs:
        report_epochs(learner.epochs)
    for epoch in range(learner.epochs, EPOCHS):
        learner.learn_epoch(epoch)
        if checkpoint is not None:
            checkpoint.write(learner.state())
        report_epochs(1)
    return learner.tables()


class _TokenLearner:
    """State of the learning process: all axes' tokens, the optimizers and the random generator."""

    def __init__(
        self,
        model: CLIPModel,
        tokenizer: CLIPTokenizer,
        prompts: Sequence[str],
        pictures: Mapping[str, Sequence[NDArray[np.float32]]],
        seed: int,
    ) -> None:
        import torch

        self.model = model
        self.tokenizer = tokenizer
        self.prompts = prompts
        self.pictures = pictures
        self.shape = [len(values) for values in pictures.values()]
        width = int(model.text_model.embeddings.token_embedding.weight.shape[1])
        self.tokens = [torch.zeros(k, PLACES, width, requires_grad=True) for k in self.shape]
        self.optimizers = [torch.optim.Adam([tokens], lr=RATE) for tokens in self.tokens]
        self.rng = np.random.default_rng(seed)
        self.epochs = 0
        self.originals = self._original_vectors()
        for parameter in model.parameters():
            parameter.requires_grad_(False)

    def _original_vectors(self) -> Tensor:
        """Return unit vectors of the prompts without learned tokens, of shape (prompts, d)."""
        import torch
        from torch.nn.functional import normalize

        with torch.no_grad():
            plain = self.tokenizer(list(self.prompts), padding=True, return_tensors="pt")
            return normalize(self.model.get_text_features(**plain).pooler_output, dim=-1)

    def restore(self, state: bytes) -> bool:
        """Restore a saved state; return False if the state belongs to another computation.

        If the method returns False, the learner must no longer be used.
        """
        import torch

        try:
            content = torch.load(io.BytesIO(state), weights_only=True)
            self.rng.bit_generator.state = content["rng"]
            for tokens, table in zip(self.tokens, content["tokens"], strict=True):
                tokens.data.copy_(table)
            for optimizer, optimizer_state in zip(self.optimizers, content["adam"], strict=True):
                optimizer.load_state_dict(optimizer_state)
            self.epochs = int(content["epochs"])
        except Exception:  # torch raises all kinds of exceptions on foreign content
            return False
        return 0 <= self.epochs <= EPOCHS

    def state(self) -> bytes:
        """Return the state after the finished epochs."""
        import torch

        content = {
            "epochs": self.epochs,
            "rng": self.rng.bit_generator.state,
            "tokens": [tokens.data for tokens in self.tokens],
            "adam": [optimizer.state_dict() for optimizer in self.optimizers],
        }
        stream = io.BytesIO()
        torch.save(content, stream)
        return stream.getvalue()

    def learn_epoch(self, epoch: int) -> None:
        """Run all steps of an epoch.

        Each step improves the tokens of all axes, one axis at a time.
        """
        rate = RATE * (0.5 if epoch >= EPOCHS // 3 else 1)
        for optimizer in self.optimizers:
            for group in optimizer.param_groups:
                group["lr"] = rate
        for step in range(STEPS):
            prompt = (epoch * STEPS + step) % len(self.prompts)
            for axis, values in enumerate(self.pictures.values()):
                self._take_step(prompt, axis, values)
        self.epochs = epoch + 1

    def _take_step(self, prompt: int, axis: int, values: Sequence[NDArray[np.float32]]) -> None:
        """Improve an axis's tokens in one optimizer step. `axis` and `prompt` are positions."""
        texts = self._text_vectors(self.prompts[prompt])
        means = [self._mean_of_part(rows) for rows in values]
        optimizer = self.optimizers[axis]
        optimizer.zero_grad()
        loss = direction_loss(texts, means, self.originals[prompt], axis=axis, shape=self.shape)
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()

    def _text_vectors(self, prompt: str) -> Tensor:
        """Return a unit vector for the prompt with the tokens of each combination of values."""
        import torch
        from torch.nn.functional import normalize

        # Row k holds the value of axis k in each combination; the last axis varies fastest.
        combos = np.array([*product(*map(range, self.shape))]).T
        added = torch.stack([self.tokens[k][values] for k, values in enumerate(combos)]).sum(0)
        states, position = states_with_tokens(self.model, self.tokenizer, prompt, added)
        return normalize(self.model.text_projection(states[:, position]), dim=-1)

    def _mean_of_part(self, rows: NDArray[np.float32]) -> Tensor:
        """Return the mean vector of a random sample of the images that show a value."""
        import torch

        size = max(1, len(rows) // STEPS)
        return torch.tensor(rows[self.rng.permutation(len(rows))[:size]].mean(axis=0))

    def tables(self) -> dict[str, NDArray[np.float32]]:
        """Return the tokens of each axis, as arrays of shape (values, 3, width)."""
        return {
            axis: tokens.detach().numpy()
            for axis, tokens in zip(self.pictures, self.tokens, strict=True)
        }


def encode_tokens(tokens: NDArray[np.float32]) -> str:
    """Encode tokens in base64, which is the format in mitigation files."""
    return base64.b64encode(np.ascontiguousarray(tokens, dtype="<f4").tobytes()).decode("ascii")
