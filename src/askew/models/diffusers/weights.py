"""Read the headers and individual weights of safetensors files."""

import math
import struct
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open

from askew.errors import ModelError
from askew.store.foreign import json_value

FLOATS = ("F64", "F32", "F16", "BF16", "F8_E4M3", "F8_E5M2")
"""Number formats that are converted when weights are loaded.

Weights in other formats keep their size.
"""

MOST_HEADER_BYTES = 100_000_000
"""Maximum size of the header of a safetensors file. The safetensors library has the same limit."""

TOKEN_EMBEDDINGS = "token_embedding.weight"
"""Suffix of the name of CLIP's token embeddings, which is the same in every checkpoint layout."""


def weights_bytes(file: Path, dtype: torch.dtype) -> int:
    """Return the size, in bytes, of a safetensors file's weights when loaded as `dtype`.

    Only the header of the file is read.

    Raises
    ------
    ModelError
        If the header is damaged.
    """
    total = 0
    try:
        for tensor in weights_header(file).values():
            if tensor["dtype"] in FLOATS:
                total += math.prod(tensor["shape"]) * dtype.itemsize
            else:
                start, end = tensor["data_offsets"]
                total += end - start
    except (ValueError, TypeError, KeyError) as error:
        raise _damaged(file, error) from error
    return total


def weights_header(file: Path) -> Mapping[str, Mapping[str, Any]]:
    """Return the description of each tensor in a safetensors file, keyed by the tensor's name.

    Raises
    ------
    ModelError
        If the header is damaged.
    """
    try:
        with file.open("rb") as stream:
            (length,) = struct.unpack("<Q", stream.read(8))
            if length > MOST_HEADER_BYTES:
                raise ValueError(f"it states {length} bytes")
            header: dict[str, Any] = json_value(stream.read(length))
        header.pop("__metadata__", None)
    except (ValueError, TypeError, AttributeError, struct.error) as error:
        raise _damaged(file, error) from error
    return header


def find_weight(files: Iterable[Path], ending: str) -> torch.Tensor | None:
    """Read the first weight whose name ends with a given suffix; None if there is no such weight.

    Raises
    ------
    ModelError
        If the header of a file is damaged.
    """
    for file in files:
        names = [name for name in weights_header(file) if name.endswith(ending)]
        if names:
            with safe_open(file, framework="pt") as weights:
                tensor: torch.Tensor = weights.get_tensor(names[0])
            return tensor
    return None


def _damaged(file: Path, error: Exception) -> ModelError:
    return ModelError(
        f"the weights {file} are damaged: their header cannot be read ({error}). Delete the file "
        "and download it again"
    )
