"""From a repository to a pipeline in memory: downloaded, safetensors only, on its device.

Memory that a pipeline's weights need, against what a machine has: a refusal beats being killed half-way.
"""

from __future__ import annotations

import json
import math
import os
import re
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from diffusers import DiffusionPipeline

from askew.errors import ModelError, UsageError
from askew.models.device import dtype_name
from askew.models.diffusers.components import LIBRARY, check_components, load_networks, quiet
from askew.models.diffusers.families import loader
from askew.models.diffusers.repository import Repository, check_variant, find_repository
from askew.models.hub import CARD, explained

SAFE = {"use_safetensors": True, "trust_remote_code": False}
PRIOR = "prior"
PARTS_ABSENT = re.compile(r"expected .* but only .* (?:were|was) passed", re.S)


def all_sources(repository: Repository, found: type[DiffusionPipeline], variant: str) -> list[Repository]:
    """A pipeline's own repository, then those with further parts of it, such as a prior; all of them complete.

    Raises UsageError for one that lacks something or cannot be loaded safely, ModelError where the Hub cannot be
    reached.
    """
    named = []
    if found._load_connected_pipes and CARD in repository.network.files:  # such as Kandinsky's prior
        from huggingface_hub import ModelCard

        told = getattr(ModelCard.load(repository.network.folder / CARD).data, PRIOR, None) or []
        named = [told] if isinstance(told, str) else [str(name) for name in told]
    sources = [repository, *map(find_repository, named)]
    for source in sources:
        check_components(source, variant)
        check_variant(source, variant)
    return sources


def load(
    sources: Sequence[Repository],
    found: type[DiffusionPipeline],
    *,
    device: torch.device,
    dtype: torch.dtype,
    offload: str = "none",
    scheduler: type | None = None,
    variant: str = "",
) -> Any:
    """The pipeline, an instance of `found`, ready to be called. `sources` is what `all_sources` gave.

    Raises UsageError for weights that are not safetensors or incomplete, ModelError where the network, the disk or
    the memory do not suffice.
    """
    name, folders = sources[0].name, [source.fetch(variant) for source in sources]
    places = list(zip(sources, folders, strict=True))
    sizes = [size for source, folder in places for size in part_sizes(source, folder, dtype, variant)]
    check_memory(name, sizes, dtype, device, offload)
    with quiet(), explained(name):
        parts = _scheduler(*places[0], scheduler)
        for (source, folder), prefix in zip(places, ("", f"{PRIOR}_"), strict=False):
            networks = load_networks(source, folder, dtype, variant)
            parts |= {f"{prefix}{component}": network for component, network in networks.items()}
            parts |= {f"{prefix}{component}": None for component in source.absent}
        with explained(name, LIBRARY):
            try:
                read = loader(found).from_pretrained
                pipeline = read(folders[0], dtype=dtype, variant=variant or None, **parts, **SAFE)
            except ValueError as error:
                if not PARTS_ABSENT.search(str(error)):
                    raise
                raise UsageError(
                    f"{name!r} lacks parts of a {found.__name__}: name a folder that holds the whole pipeline, "
                    f"or the model's ID on the Hugging Face Hub"
                ) from error
        pipeline.set_progress_bar_config(disable=True)
        _place(pipeline, device, offload)
    return pipeline


def identity(sources: Sequence[Repository]) -> str:
    """What changes whenever the pipeline could: the commits or digests of all that it is made of."""
    return "+".join(source.network.identity for source in sources)


def _scheduler(repository: Repository, folder: Path, wanted: type | None) -> dict[str, Any]:
    """The scheduler that replaces the pipeline's own, with its configuration."""
    if wanted is None:
        return {}
    import diffusers

    own = getattr(diffusers, repository.components["scheduler"][1])
    with explained(repository.name, LIBRARY, "scheduler"):
        return {"scheduler": wanted.from_config(own.load_config(folder, subfolder="scheduler"))}  # type: ignore[attr-defined]


def _place(pipeline: Any, device: torch.device, offload: str) -> None:
    """On a CPU there is nowhere to offload to, and `offload` does nothing."""
    if offload == "none" or device.type == "cpu":
        pipeline.to(device)
    elif offload == "model":
        pipeline.enable_model_cpu_offload(device=device)
    else:
        pipeline.enable_sequential_cpu_offload(device=device)


GB = 1e9
WIDTHS = ("F64", "F32", "F16", "BF16", "F8_E4M3", "F8_E5M2")
"""The floating-point formats, which are converted when loaded; all others keep their width."""

PROC = Path("/proc/meminfo")
CGROUP = Path("/sys/fs/cgroup")
CGROUP_FILES = ("max", "current", "stat")


def part_sizes(repository: Repository, folder: Path, dtype: torch.dtype, variant: str) -> list[int]:
    """Memory of the weights of each component of a repository that was downloaded to `folder`."""
    files = [[folder / file for file in repository.weights(part, variant)] for part in repository.components]
    return [sum(weights_bytes(file, dtype) for file in part if file.exists()) for part in files]


def check_memory(name: str, parts: Sequence[int], dtype: torch.dtype, device: torch.device, offload: str) -> None:
    """Raises ModelError if the weights alone, given by component, are larger than the memory that is free."""
    moved = offload != "none" and device.type != "cpu"
    needs = {device: max(parts, default=0) if moved else sum(parts)}
    if moved:
        needs[torch.device("cpu")] = sum(parts)
    for place, need in needs.items():
        free = free_bytes(place)
        if need > free and not (place == device and offload == "sequential"):
            raise ModelError(
                f"there is not enough memory for {name!r}: its weights take {need / GB:.1f} GB in "
                f"{dtype_name(dtype)}, and {free / GB:.1f} GB are free ({place}); {_advice(place, dtype, offload)}"
            )


def weights_bytes(file: Path, dtype: torch.dtype) -> int:
    """Memory of the weights in a safetensors file once they are loaded as `dtype`; its header alone is read."""
    with file.open("rb") as stream:
        (length,) = struct.unpack("<Q", stream.read(8))
        header = json.loads(stream.read(length))
    header.pop("__metadata__", None)
    return sum(
        math.prod(one["shape"]) * dtype.itemsize if one["dtype"] in WIDTHS
        else one["data_offsets"][1] - one["data_offsets"][0]
        for one in header.values()
    )  # fmt: skip


def free_bytes(device: torch.device) -> float:
    """Memory that is free on a device. On a CPU, the least that the system and the container leave."""
    if device.type == "cuda":
        return float(torch.cuda.mem_get_info(device)[0])
    if device.type == "mps":
        return float(torch.mps.recommended_max_memory() - torch.mps.driver_allocated_memory())
    return min(_free_in_system(), _free_in_container())


def _free_in_system() -> float:
    try:
        found = re.search(r"^MemAvailable:\s+(\d+) kB", PROC.read_text(encoding="ascii"), re.M)
    except OSError:
        found = None
    if found:
        return float(found[1]) * 1024
    try:
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (ValueError, OSError, AttributeError):  # not every system tells
        return math.inf


def _free_in_container() -> float:
    """Files that the kernel keeps in memory count as used, but give way."""
    try:
        limit, used, kinds = ((CGROUP / f"memory.{name}").read_text(encoding="ascii") for name in CGROUP_FILES)
    except OSError:
        return math.inf
    cached = sum(int(size) for size in re.findall(r"^(?:in)?active_file (\d+)$", kinds, re.M))
    return math.inf if limit.strip() == "max" else float(limit) - float(used) + cached


def _advice(place: torch.device, dtype: torch.dtype, offload: str) -> str:
    advice = ["close other programs"]
    if dtype == torch.float32:
        advice.append("take half as much with -M dtype=bfloat16")
    if place.type != "cpu":
        advice.append("-M offload=model" if offload == "none" else "-M offload=sequential")
    return ", ".join(advice) + ", or choose a smaller model"
