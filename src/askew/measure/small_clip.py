"""PyTorch-only version of the studio's CLIPModel, with the same results as transformers.

Importing the `transformers` package takes twice as long as everything else that an audit needs.
"""

import json
from collections.abc import Sequence
from pathlib import Path

import torch
from safetensors.torch import load_file
from tokenizers import Tokenizer
from torch import Tensor
from torch.nn import functional

Weights = dict[str, Tensor]


class SmallClip:
    """The image network and the text network of a saved CLIPModel, in float32 on the CPU.

    Parameters
    ----------
    folder
        Folder of a model saved by transformers, with its tokenizer.
    """

    def __init__(self, folder: Path) -> None:
        config = json.loads((folder / "config.json").read_text())
        weights = load_file(folder / "model.safetensors")
        self._weights = {name: weight.float() for name, weight in weights.items()}
        self._heads = {
            kind: config[f"{kind}_config"]["num_attention_heads"] for kind in ("vision", "text")
        }
        self._layers = {
            "vision": config["vision_config"]["num_hidden_layers"],
            "text": config["text_config"]["num_hidden_layers"],
        }
        text = config["text_config"]
        self._end = text["eos_token_id"]
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.enable_truncation(text["max_position_embeddings"])
        self._tokenizer.enable_padding(
            pad_id=text["pad_token_id"],
            pad_token=self._tokenizer.id_to_token(text["pad_token_id"]),
        )

    def images(self, pixels: Tensor) -> Tensor:
        """Return the projected vector of each image."""
        weights = self._weights
        start = "vision_model.embeddings."
        kernel = weights[f"{start}patch_embedding.weight"]
        patches = (
            functional.conv2d(pixels, kernel, stride=kernel.shape[-1]).flatten(2).transpose(1, 2)
        )
        first = weights[f"{start}class_embedding"].expand(len(pixels), 1, -1)
        states = torch.cat([first, patches], dim=1)
        states = states + weights[f"{start}position_embedding.weight"]
        states = self._normed(states, "vision_model.pre_layrnorm")
        states = self._encoded(states, "vision", None, causal=False)
        states = self._normed(states[:, 0], "vision_model.post_layernorm")
        return functional.linear(states, weights["visual_projection.weight"])

    def texts(self, texts: Sequence[str]) -> Tensor:
        """Return projected vectors (texts, dimensions)."""
        weights = self._weights
        encoded = self._tokenizer.encode_batch(list(texts))
        tokens = torch.tensor([row.ids for row in encoded])
        mask = torch.tensor([row.attention_mask for row in encoded]).bool()
        start = "text_model.embeddings."
        states = functional.embedding(tokens, weights[f"{start}token_embedding.weight"])
        states = states + weights[f"{start}position_embedding.weight"][: tokens.shape[1]]
        if mask.all():
            states = self._encoded(states, "text", None, causal=True)
        else:
            length = tokens.shape[1]
            before = torch.ones(length, length, dtype=torch.bool).tril()
            states = self._encoded(states, "text", before & mask[:, None, None, :], causal=False)
        states = self._normed(states, "text_model.final_layer_norm")
        ends = (tokens == self._end).int().argmax(dim=-1)
        return functional.linear(
            states[torch.arange(len(states)), ends], weights["text_projection.weight"]
        )

    def _encoded(self, states: Tensor, kind: str, mask: Tensor | None, causal: bool) -> Tensor:
        for layer in range(self._layers[kind]):
            start = f"{kind}_model.encoder.layers.{layer}."
            normed = self._normed(states, f"{start}layer_norm1")
            attended = self._attended(normed, f"{start}self_attn.", self._heads[kind], mask, causal)
            states = states + attended
            hidden = self._mapped(self._normed(states, f"{start}layer_norm2"), f"{start}mlp.fc1")
            states = states + self._mapped(
                hidden * torch.sigmoid(1.702 * hidden), f"{start}mlp.fc2"
            )
        return states

    def _attended(
        self, states: Tensor, start: str, heads: int, mask: Tensor | None, causal: bool
    ) -> Tensor:
        queries, keys, values = (
            self._mapped(states, f"{start}{name}_proj")
            .view(*states.shape[:2], heads, -1)
            .transpose(1, 2)
            for name in "qkv"
        )
        mixed = functional.scaled_dot_product_attention(
            queries, keys, values, mask, is_causal=causal
        )
        return self._mapped(mixed.transpose(1, 2).reshape(states.shape), f"{start}out_proj")

    def _mapped(self, states: Tensor, name: str) -> Tensor:
        return functional.linear(
            states, self._weights[f"{name}.weight"], self._weights[f"{name}.bias"]
        )

    def _normed(self, states: Tensor, name: str) -> Tensor:
        weight = self._weights[f"{name}.weight"]
        return functional.layer_norm(states, weight.shape, weight, self._weights[f"{name}.bias"])
