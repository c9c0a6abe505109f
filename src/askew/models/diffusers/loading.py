"""From a repository to a pipeline in memory: downloaded, safetensors only, on its device, if the
machine has room.
"""

import json
import math
import os
import re
import struct
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Self

import torch
from diffusers import DiffusionPipeline

from askew.errors import MissingPackage, ModelError, UnknownName, UsageError
from askew.models.base import Setting
from askew.models.device import choose_device, choose_dtype, dtype_name
from askew.models.diffusers.repository import LIBRARY, Repository, find_repository, quiet
from askew.models.diffusers.settings import loader
from askew.models.hub import ANOTHER, CARD, explain_errors

SAFE = {"use_safetensors": True, "trust_remote_code": False}
PRIOR = "prior"
PARTS_ABSENT = re.compile(r"expected .* but only .* (?:were|was) passed", re.S)
OFFLOADS = ("none", "model", "sequential")


@dataclass(frozen=True, slots=True)
class DeviceSetup:
    """Where a pipeline works, in which number format, and what waits in main memory while it does
    not work.
    """

    device: torch.device
    dtype: torch.dtype
    offload: str

    @classmethod
    def of(cls, device: str, dtype: str, offload: Setting) -> Self:
        """As a user names it: `offload` is none, model or sequential; true means model. Raises
        UsageError, also where the package for offloading is missing; on a CPU there is nowhere to
        offload to.
        """
        chosen = choose_device(device)
        mode = str(offload)
        mode = {"True": "model", "False": "none"}.get(mode, mode)
        UnknownName.unless_known("offload", mode, OFFLOADS)
        mode = "none" if chosen.type == "cpu" else mode
        if mode != "none":
            purpose = "moving parts of a model to the GPU only while they work"
            MissingPackage.unless_installed("accelerate", "offload", purpose)
        return cls(chosen, choose_dtype(dtype, chosen), mode)

    def take(self, pipeline: Any) -> None:
        """Put a pipeline here."""
        if self.offload == "none":
            pipeline.to(self.device)
        elif self.offload == "model":
            pipeline.enable_model_cpu_offload(device=self.device)
        else:
            pipeline.enable_sequential_cpu_offload(device=self.device)

    def check_memory(self, name: str, parts: Sequence[int]) -> None:
        """Raises ModelError if the weights alone, given by component, are larger than the memory
        that is free.
        """
        needs = {self.device: sum(parts)}
        if self.offload != "none":
            needs = {self.device: max(parts, default=0), torch.device("cpu"): sum(parts)}
        for device, need in needs.items():
            free = free_bytes(device)
            if need > free and not (device == self.device and self.offload == "sequential"):
                advice = (
                    ["take half as much with -M dtype=bfloat16"]
                    if self.dtype == torch.float32
                    else []
                )
                if device.type != "cpu":
                    advice.append(
                        f"-M offload={'model' if self.offload == 'none' else 'sequential'}"
                    )
                raise ModelError(
                    f"there is not enough memory for {name!r}: its weights take {need / GB:.1f} GB in "
                    f"{dtype_name(self.dtype)}, and {free / GB:.1f} GB are free ({device}); "
                    f"{', '.join(['close other programs', *advice])}, or choose a smaller model"
                )


def all_sources(
    repository: Repository, found: type[DiffusionPipeline], variant: str
) -> list[Repository]:
    """A pipeline's own repository, then those with further parts of it, such as a prior; all of
    them complete. Raises UsageError for one that lacks something or cannot be loaded safely,
    ModelError where the Hub cannot be reached.
    """
    named: list[str] = []
    if (
        found._load_connected_pipes and CARD in repository.network.files
    ):  # such as Kandinsky's prior
        from huggingface_hub import ModelCard

        told = getattr(ModelCard.load(repository.network.folder / CARD).data, PRIOR, None) or []
        named = [told] if isinstance(told, str) else list(map(str, told))
    sources = [repository, *map(find_repository, named)]
    for source in sources:
        source.check(variant)
    return sources


def load(
    sources: Sequence[Repository],
    found: type[DiffusionPipeline],
    place: DeviceSetup,
    scheduler: type | None,
    variant: str,
) -> Any:
    """The pipeline, an instance of `found`, ready to be called. `sources` is what `all_sources`
    gave.

    Raises UsageError for weights that are not safetensors or incomplete, ModelError where the
    network, the disk or the memory do not suffice.
    """
    first = sources[0]
    folders = [source.fetch(variant) for source in sources]
    sizes = []
    for source, folder in zip(sources, folders, strict=True):
        for part in source.components:
            files = [folder / file for file in source.weights(part, variant)]
            sizes.append(sum(weights_bytes(file, place.dtype) for file in files if file.exists()))
    place.check_memory(first.name, sizes)
    parts: dict[str, Any] = {}
    with quiet(), explain_errors(first.name):
        if scheduler is not None:
            with explain_errors(first.name, LIBRARY, "scheduler"):
                config = first.kind("scheduler").load_config(folders[0], subfolder="scheduler")
                parts["scheduler"] = scheduler.from_config(config)  # type: ignore[attr-defined]
        for source, folder, prefix in zip(sources, folders, ("", f"{PRIOR}_"), strict=False):
            for part in source.components:
                if issubclass(source.kind(part), torch.nn.Module):
                    parts[prefix + part] = _network(source, part, folder, place.dtype, variant)
            parts |= {prefix + part: None for part in source.absent}
        with explain_errors(first.name, LIBRARY):
            try:
                read = loader(found).from_pretrained
                pipeline = read(
                    folders[0], dtype=place.dtype, variant=variant or None, **parts, **SAFE
                )
            except ValueError as error:
                if not PARTS_ABSENT.search(str(error)):
                    raise
                raise UsageError(
                    f"{first.name!r} lacks parts of a {found.__name__}: name a folder that holds the whole pipeline, "
                    f"or the model's ID on the Hugging Face Hub"
                ) from error
        pipeline.set_progress_bar_config(disable=True)
        place.take(pipeline)
    return pipeline


def _network(
    source: Repository, part: str, folder: Path, dtype: torch.dtype, variant: str
) -> torch.nn.Module:
    """diffusers and transformers would fill weights that the files lack with random numbers."""
    own = source.weights(part, variant) != source.weights(part)
    told = {"use_safetensors": True, "output_loading_info": True, "ignore_mismatched_sizes": True}
    with explain_errors(source.name, LIBRARY, part):
        read = source.kind(part).from_pretrained
        network, found = read(folder / part, dtype=dtype, variant=variant if own else None, **told)
    lacking = sorted({*found["missing_keys"], *(key for key, *_ in found["mismatched_keys"])})
    if lacking:
        raise UsageError(
            f"the {part} of {source.name!r} has weights that are absent or of another shape, such as {lacking[0]}: "
            f"{ANOTHER}"
        )
    if hasattr(network, "final_layer_norm") and not hasattr(network, "text_model"):
        network.text_model = SimpleNamespace(
            final_layer_norm=network.final_layer_norm
        )  # where clip_skip looks for it
    return network  # type: ignore[no-any-return]


GB = 1e9
FLOATS = ("F64", "F32", "F16", "BF16", "F8_E4M3", "F8_E5M2")
"""The formats that are converted when loaded; all others keep their width."""

PROC = Path("/proc/meminfo")
CGROUP = Path("/sys/fs/cgroup")


def weights_bytes(file: Path, dtype: torch.dtype) -> int:
    """Memory of the weights in a safetensors file once they are loaded as `dtype`; its header alone
    is read.
    """
    with file.open("rb") as stream:
        (length,) = struct.unpack("<Q", stream.read(8))
        header = json.loads(stream.read(length))
    header.pop("__metadata__", None)
    total = 0
    for one in header.values():
        start, end = one["data_offsets"]
        total += math.prod(one["shape"]) * dtype.itemsize if one["dtype"] in FLOATS else end - start
    return total


def free_bytes(device: torch.device) -> float:
    """Memory that is free on a device. On a CPU, the least that the system and the container leave."""
    if device.type == "cuda":
        return float(torch.cuda.mem_get_info(device)[0])
    if device.type == "mps":
        return float(torch.mps.recommended_max_memory() - torch.mps.driver_allocated_memory())
    system = container = math.inf
    with suppress(OSError, ValueError, AttributeError):  # not every system tells
        system = float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
        found = re.search(r"^MemAvailable:\s+(\d+) kB", PROC.read_text(encoding="ascii"), re.M)
        system = float(found[1]) * 1024 if found else system
    with suppress(OSError):
        limit, used, kinds = (
            (CGROUP / f"memory.{one}").read_text("ascii") for one in ("max", "current", "stat")
        )
        cached = sum(
            int(size) for size in re.findall(r"^(?:in)?active_file (\d+)$", kinds, re.M)
        )  # gives way
        container = math.inf if limit.strip() == "max" else float(limit) - float(used) + cached
    return min(system, container)
