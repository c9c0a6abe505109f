"""results.json: strict JSON, written whole or not at all, the same bytes for the same numbers."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np

from askew.errors import RunError, UsageError
from askew.store.files import write_whole
from askew.store.index import explain_os_error
from askew.types import Estimate, Missing

RESULTS_FILE = "results.json"


def estimate_json(estimate: Estimate | Missing) -> dict[str, Any]:
    """The fields of an Estimate; or "reason" and "detail" where there was nothing to compute from."""
    return asdict(estimate)


def estimate_of(entry: Mapping[str, Any]) -> Estimate | Missing:
    """The record that `estimate_json` wrote."""
    return Missing(**entry) if "reason" in entry else Estimate(**entry)


def write_results(folder: Path, results: Mapping[str, Any]) -> Path:
    """Write `results` to the run folder and return the file's path. Errors as in `write_json`."""
    return write_json(folder / RESULTS_FILE, results)


def write_json(path: Path, content: Any) -> Path:
    """Write `content` as strict JSON and return the file's path. Keys keep their order.

    Records, tuples and NumPy numbers and arrays inside are converted. Raises RunError for a number
    that is not finite, or a thing that JSON cannot hold, with its place; and for a folder that cannot be written.
    """
    text = json.dumps(_plain(content, ""), indent=1, ensure_ascii=False, allow_nan=False)
    try:
        write_whole({path: (text + "\n").encode()})
    except OSError as error:
        raise RunError(f"the folder {path.parent} {explain_os_error(error)}") from error
    return path


def read_results(folder: Path) -> dict[str, Any]:
    """The results in a run folder. Raises UsageError if there are none, or if they are not what askew writes."""
    path = folder / RESULTS_FILE
    try:
        results = json.loads(path.read_text(encoding="utf-8"), parse_constant=_refuse)
    except FileNotFoundError as error:
        raise UsageError(f"{folder} holds no {RESULTS_FILE}: name the folder of a finished run") from error
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error
    except ValueError as error:
        raise UsageError(f"{path} is not strict JSON ({error}): run the same command again to write it anew") from error
    if not isinstance(results, dict):
        raise UsageError(f"{path} must hold a JSON object, but holds a {type(results).__name__}")
    return results


def _plain(node: Any, place: str) -> Any:
    """`node` in JSON's own types; `place` is where it stands, for errors."""
    if is_dataclass(node) and not isinstance(node, type):
        node = asdict(node)
    if isinstance(node, np.ndarray | np.generic):
        node = node.tolist()
    if isinstance(node, Mapping):
        return {_name(key, place): _plain(value, f"{place}.{key}") for key, value in node.items()}
    if isinstance(node, list | tuple):
        return [_plain(value, f"{place}.{position}") for position, value in enumerate(node)]
    if node is None or isinstance(node, str | int) or (isinstance(node, float) and math.isfinite(node)):
        return node
    raise RunError(f"results{place} is {node!r}, which strict JSON cannot hold; use null or a Missing")


def _name(key: object, place: str) -> str:
    if not isinstance(key, str):
        raise RunError(f"results{place} has the key {key!r}; a key must be text")
    return key


def _refuse(constant: str) -> float:
    raise ValueError(f"{constant} is no JSON number")
