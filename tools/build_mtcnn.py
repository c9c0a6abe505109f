"""Convert the weights of the package mtcnn 1.0.0 into src/askew/measure/data/mtcnn.npz.

    pip install joblib lz4
    pip download --no-deps mtcnn==1.0.0
    python -m tools.build_mtcnn mtcnn-1.0.0-py3-none-any.whl

The wheel contains compressed pickles, which can run code when they are opened. The script opens
them only if the wheel has the expected SHA-256.
"""

from __future__ import annotations

import argparse
import hashlib
import zipfile
from io import BytesIO
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

TARGET = Path(__file__).parents[1] / "src" / "askew" / "measure" / "data"
WHEEL_SHA256 = "0a96b4868e56db9ae984449519642be6dba03240e608a67e928ebb47833e9144"
WEIGHTS_ONLY = ("box", "points", "face")
"""Layers without an activation."""

LAYERS = {
    "pnet": ("conv1", "conv2", "conv3", "box", "face"),
    "rnet": ("conv1", "conv2", "conv3", "dense", "box", "face"),
    "onet": ("conv1", "conv2", "conv3", "conv4", "dense", "box", "points", "face"),
}
"""Layers of each network, in the order of the arrays in its file."""


def converted(name: str, part: str, array: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return an array in the layout of askew.measure.mtcnn.

    Parameters
    ----------
    name
        Name of the layer.
    part
        "weight", "bias" or "slope".
    array
        The array in the layout of Keras. Weights of convolutions are (rows, columns, channels,
        filters).

    Returns
    -------
    array
        Weights of convolutions as (filters, channels, rows, columns), of other layers as (inputs,
        outputs); biases and slopes as (outputs,).
    """
    if part != "weight":
        return array.reshape(-1)
    if name.startswith("conv"):
        return np.ascontiguousarray(array.transpose(3, 2, 0, 1))
    return array.reshape(-1, array.shape[-1])


def read_network(wheel: zipfile.ZipFile, network: str) -> dict[str, NDArray[np.float32]]:
    """Return the arrays of a network by network, layer and part: "pnet.conv1.weight"."""
    import joblib

    file = BytesIO(wheel.read(f"mtcnn/assets/weights/{network}.lz4"))
    values = iter(joblib.load(file))
    arrays = {}
    for name in LAYERS[network]:
        parts = ("weight", "bias") if name in WEIGHTS_ONLY else ("weight", "bias", "slope")
        for part in parts:
            array = np.asarray(next(values), dtype=np.float32)
            arrays[f"{network}.{name}.{part}"] = converted(name, part, array)
    return arrays


def main() -> None:
    """Convert the weights from the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("wheel", type=Path)
    path = parser.parse_args().wheel
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    if digest != WHEEL_SHA256:
        raise SystemExit(f"{path} has SHA-256 {digest}, not {WHEEL_SHA256}")
    arrays: dict[str, NDArray[np.float32]] = {}
    with zipfile.ZipFile(path) as wheel:
        for network in LAYERS:
            arrays |= read_network(wheel, network)
        license_text = wheel.read("mtcnn-1.0.0.dist-info/LICENSE")
    np.savez_compressed(TARGET / "mtcnn.npz", **arrays)
    (TARGET / "MTCNN-LICENSE.txt").write_bytes(license_text)


if __name__ == "__main__":
    main()
