"""Vision towers of VQA models. A tower runs once per image, for all questions about the image.

Most models that generate text from images accept the outputs of their vision tower in place of the
pixels. BLIP does not. Therefore, during a call, askew replaces BLIP's tower with a function that
returns previously computed outputs.
"""

import inspect
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor
from transformers.modeling_outputs import BaseModelOutput, BaseModelOutputWithPooling

PIXELS = "pixel_values"
BLIP = "blip"

GENERATORS = frozenset(("llava", "qwen2_vl", "qwen2_5_vl"))
"""Model types whose vision tower does not depend on the question.

For these model types, tests compare the answers with and without reuse of the tower's outputs.
"""


@dataclass(frozen=True, slots=True)
class ImageFeatures:
    """Output of a vision tower for one image.

    Attributes
    ----------
    parts
        Features of the image, or of each tile if the processor divides the image into tiles. Each
        array has the shape (tokens, width).
    stacked
        Whether the model expects the features of all images in a single array.
    """

    parts: Sequence[Tensor]
    stacked: bool


class VisionTower(Protocol):
    """Vision tower of a model."""

    def encode(self, inputs: Mapping[str, Any]) -> list[ImageFeatures]:
        """Return the features of each image in a batch.

        Parameters
        ----------
        inputs
            The model's inputs for a batch; each row of the batch has one image and one text.
        """

    def call_arguments(
        self, inputs: Mapping[str, Any], features: Sequence[ImageFeatures]
    ) -> AbstractContextManager[dict[str, Any]]:
        """Return a context manager that yields the arguments with which to call the model.

        Parameters
        ----------
        inputs
            The model's inputs, with or without pixels.
        features
            Features of each row's image.
        """


class GeneratorTower:
    """Vision tower of a model that accepts the tower's outputs as `mm_encoder_outputs`.

    Parameters
    ----------
    model
        The model.
    """

    def __init__(self, model: Any) -> None:
        self._encode = model.base_model.get_image_features
        self._image_token = model.config.image_token_id

    def encode(self, inputs: Mapping[str, Any]) -> list[ImageFeatures]:
        """Return the features of each image in a batch. See `VisionTower.encode`."""
        known = inspect.signature(self._encode).parameters
        arguments = {name: value for name, value in inputs.items() if name in known}
        outputs = self._encode(**arguments, return_dict=True).pooler_output
        stacked = isinstance(outputs, Tensor)
        tokens = (inputs["input_ids"] == self._image_token).sum(dim=1).tolist()
        return [
            ImageFeatures(parts=parts, stacked=stacked) for parts in _parts_of_rows(outputs, tokens)
        ]

    @contextmanager
    def call_arguments(
        self, inputs: Mapping[str, Any], features: Sequence[ImageFeatures]
    ) -> Iterator[dict[str, Any]]:
        """Yield the model's arguments. See `VisionTower.call_arguments`."""
        parts: Any = [part for image in features for part in image.parts]
        if features[0].stacked:
            parts = torch.stack(parts)
        arguments = {name: value for name, value in inputs.items() if name != PIXELS}
        yield {
            **arguments,
            "mm_encoder_outputs": {"image": BaseModelOutputWithPooling(pooler_output=parts)},
        }


class BlipTower:
    """Vision tower of a BLIP model that answers questions.

    Parameters
    ----------
    model
        The model.
    """

    def __init__(self, model: Any) -> None:
        self._tower = model.vision_model

    def encode(self, inputs: Mapping[str, Any]) -> list[ImageFeatures]:
        """Return the features of each image in a batch. See `VisionTower.encode`."""
        outputs = self._tower(pixel_values=inputs[PIXELS]).last_hidden_state
        return [ImageFeatures(parts=[image], stacked=True) for image in outputs]

    @contextmanager
    def call_arguments(
        self, inputs: Mapping[str, Any], features: Sequence[ImageFeatures]
    ) -> Iterator[dict[str, Any]]:
        """Yield the model's arguments. See `VisionTower.call_arguments`."""
        outputs = torch.stack([image.parts[0] for image in features])

        def forward(**_: Any) -> BaseModelOutput:
            return BaseModelOutput(last_hidden_state=outputs)

        self._tower.forward = forward
        try:
            yield {**inputs, PIXELS: None}
        finally:
            del self._tower.forward


def vision_tower(model: Any) -> VisionTower | None:
    """Return the vision tower of a VQA model, or None if the tower must run for each question."""
    if model.config.model_type == BLIP:
        return BlipTower(model)
    if model.config.model_type in GENERATORS:
        return GeneratorTower(model)
    return None


def _parts_of_rows(outputs: Sequence[Tensor], tokens: Sequence[int]) -> list[list[Tensor]]:
    """Split a tower's outputs into rows, based on the number of image tokens in each row."""
    rows = []
    start = 0
    for count in tokens:
        end = start
        while end < len(outputs) and sum(map(len, outputs[start:end])) < count:
            end += 1
        rows.append(list(outputs[start:end]))
        start = end
    return rows
