"""Load pipelines from safetensors files onto a device, after checking that the memory suffices."""

import math
import os
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Self

import torch
from diffusers import DiffusionPipeline
from diffusers.loaders.single_file_utils import SingleFileComponentError

from askew.errors import MissingPackage, ModelError, UnknownName, UsageError
from askew.models.base import Setting
from askew.models.device import choose_device, choose_dtype, dtype_name
from askew.models.diffusers.families import loader
from askew.models.diffusers.repository import LIBRARY, Repository, find_repository, quiet
from askew.models.diffusers.weights import weights_bytes
from askew.models.hub import ANOTHER, CARD, explain_errors
from askew.store.files import read_json

SAFE = {"use_safetensors": True, "trust_remote_code": False}
PRIOR = "prior"
CLIP = "CLIPTokenizer"
PARTS_ABSENT = re.compile(r"expected .* but only .* (?:were|was) passed", re.S)
OFFLOADS = ("none", "model", "sequential")


GB = 1e9

PROC = Path("/proc/meminfo")
CGROUP = Path("/sys/fs/cgroup")


@dataclass(frozen=True, slots=True)
class DeviceSetup:
    """Device and number format of a pipeline, and which parts of it are offloaded to main memory.

    Attributes
    ----------
    device
        Device on which the pipeline runs.
    dtype
        Number format of the pipeline's networks.
    offload
        Parts of the pipeline that are moved to main memory while the device does not need them:
        "none", "model" (whole networks) or "sequential" (parts of networks).
    """

    device: torch.device
    dtype: torch.dtype
    offload: str

    @classmethod
    def of(cls, device: str, dtype: str, offload: Setting) -> Self:
        """Choose the device, number format and offloading, as named in the user's settings.

        Parameters
        ----------
        device, dtype
            Names that `choose_device` and `choose_dtype` accept.
        offload
            "none", "model" or "sequential". True means "model". On a CPU, offloading has no effect.

        Raises
        ------
        UsageError
            If a name is unknown, or if the package for offloading is missing.
        """
        chosen = choose_device(device)
        mode = str(offload)
        mode = {"True": "model", "False": "none"}.get(mode, mode)
        UnknownName.unless_known("offload", mode, OFFLOADS)
        mode = "none" if chosen.type == "cpu" else mode
        if mode != "none":
            purpose = "moving parts of a model to the GPU only while they are needed"
            MissingPackage.unless_installed("accelerate", "offload", purpose)
        return cls(device=chosen, dtype=choose_dtype(dtype, chosen), offload=mode)

    def take(self, pipeline: Any) -> None:
        """Move a pipeline to the device."""
        if self.offload == "none":
            pipeline.to(self.device)
        elif self.offload == "model":
            pipeline.enable_model_cpu_offload(device=self.device)
        else:
            pipeline.enable_sequential_cpu_offload(device=self.device)

    def check_memory(self, name: str, parts: Sequence[int]) -> None:
        """Check that the devices have enough free memory for the weights.

        Parameters
        ----------
        name
            Name of the pipeline, for messages.
        parts
            Size of each component's weights in bytes.

        Raises
        ------
        ModelError
            If the weights need more memory than is free.
        """
        needs = {self.device: sum(parts)}
        if self.offload != "none":
            needs = {self.device: max(parts, default=0), torch.device("cpu"): sum(parts)}
        for device, need in needs.items():
            free = free_bytes(device)
            is_offloaded = device == self.device and self.offload == "sequential"
            if need > free and not is_offloaded:
                raise ModelError(
                    f"there is not enough memory for {name!r}: its weights need {need / GB:.1f} GB "
                    f"in {dtype_name(self.dtype)}, but {free / GB:.1f} GB are free ({device}); "
                    f"{', '.join(self._memory_advice(device))}, or choose a smaller model"
                )

    def _memory_advice(self, device: torch.device) -> list[str]:
        """Return suggestions for reducing the memory that a pipeline needs on a device."""
        advice = ["close other programs"]
        if self.dtype == torch.float32:
            advice.append("halve the memory with -M dtype=bfloat16")
        if device.type != "cpu":
            advice.append(f"use -M offload={'model' if self.offload == 'none' else 'sequential'}")
        return advice


def all_sources(
    repository: Repository, family: type[DiffusionPipeline], variant: str
) -> list[Repository]:
    """Find all repositories that contain parts of a pipeline; `repository` comes first.

    Parameters
    ----------
    repository
        The repository that the user named.
    family
        Class of the pipeline.
    variant
        Variant of the weights, such as fp16; empty for the default weights.

    Raises
    ------
    UsageError
        If a repository is incomplete or cannot be loaded safely.
    ModelError
        If the Hub cannot be reached.
    """
    names: list[str] = []
    # Some model cards name a further repository, such as Kandinsky's prior.
    if family._load_connected_pipes and CARD in repository.network.files:
        from huggingface_hub import ModelCard

        card = ModelCard.load(repository.network.folder / CARD).data
        priors = getattr(card, PRIOR, None) or []
        names = [priors] if isinstance(priors, str) else list(map(str, priors))
    sources = [repository, *map(find_repository, names)]
    for source in sources:
        source.check(variant)
    return sources


def load(
    sources: Sequence[Repository],
    family: type[DiffusionPipeline],
    place: DeviceSetup,
    scheduler: type | None,
    variant: str,
    change: Callable[[Any], None] = lambda _: None,
) -> Any:
    """Load a pipeline onto its device.

    Parameters
    ----------
    sources
        Repositories that contain the pipeline's parts, as returned by `all_sources`.
    family
        Class of the pipeline.
    place
        Device and number format of the pipeline.
    scheduler
        Class that replaces the pipeline's own scheduler, or None.
    variant
        Variant of the weights, such as fp16; empty for the default weights.
    change
        Function that modifies the pipeline before the pipeline is moved to its device.

    Returns
    -------
    DiffusionPipeline
        An instance of `family`, ready to be called.

    Raises
    ------
    UsageError
        If weights are incomplete or not in the safetensors format.
    ModelError
        If the download fails, or if there is not enough disk space or memory.
    """
    first = sources[0]
    folders = [source.fetch(variant) for source in sources]
    place.check_memory(first.name, _part_sizes(sources, folders, place.dtype, variant))
    for source, folder in zip(sources, folders, strict=True):
        _check_tokenizers(source, folder)
    parts: dict[str, Any] = {}
    with quiet(), explain_errors(first.name):
        if scheduler is not None:
            with explain_errors(first.name, LIBRARY, "scheduler"):
                config = first.kind("scheduler").load_config(folders[0], subfolder="scheduler")
                parts["scheduler"] = scheduler.from_config(config)  # type: ignore[attr-defined]
        if first.single_file is not None:
            pipeline = _from_single_file(first, family, place.dtype, parts)
        else:
            for source, folder, prefix in zip(sources, folders, ("", f"{PRIOR}_"), strict=False):
                for part in source.components:
                    if issubclass(source.kind(part), torch.nn.Module):
                        parts[prefix + part] = _network(source, part, folder, place.dtype, variant)
                parts |= {prefix + part: None for part in source.absent}
            pipeline = _assemble(first.name, family, folders[0], place.dtype, variant, parts)
        pipeline.set_progress_bar_config(disable=True)
        change(pipeline)
        place.take(pipeline)
    return pipeline


def _check_tokenizers(source: Repository, folder: Path) -> None:
    """Raise UsageError if a CLIP tokenizer's configuration does not state a maximum text length."""
    for name in source.components:
        file = folder / name / "tokenizer_config.json"
        if not name.startswith("tokenizer") or not file.exists():
            continue
        is_clip = source.components[name][1].startswith(CLIP)
        if is_clip and "model_max_length" not in read_json(file):
            raise UsageError(
                f"{source.name!r}: {name}/{file.name} has no model_max_length, so askew does "
                "not know how many tokens the text encoder accepts; add "
                '"model_max_length": 77, or the value of max_position_embeddings in the text '
                "encoder's config.json"
            )


def _part_sizes(
    sources: Sequence[Repository], folders: Sequence[Path], dtype: torch.dtype, variant: str
) -> list[int]:
    """Return the size, in bytes, of each component's weights after loading."""
    sizes = []
    for source, folder in zip(sources, folders, strict=True):
        if source.single_file is not None:
            sizes.append(weights_bytes(source.single_file, dtype))
            continue
        for part in source.components:
            files = [folder / file for file in source.weights(part, variant)]
            sizes.append(sum(weights_bytes(file, dtype) for file in files if file.exists()))
    return sizes


def _from_single_file(
    source: Repository, family: type[DiffusionPipeline], dtype: torch.dtype, parts: dict[str, Any]
) -> Any:
    """Load a pipeline from a single checkpoint file, without a safety checker.

    The accelerate package is needed to detect weights that are missing from the file: without it,
    diffusers would set them to random values.
    """
    MissingPackage.unless_installed("accelerate", "offload", "loading a single checkpoint file")
    if not hasattr(family, "from_single_file"):
        raise UsageError(
            f"{source.name!r}: diffusers cannot load a {family.__name__} from a single file; give "
            "a folder that save_pretrained wrote"
        )
    with explain_errors(source.name, LIBRARY):
        try:
            pipeline = family.from_single_file(
                str(source.single_file),
                config=str(source.network.folder),
                torch_dtype=dtype,
                local_files_only=True,
                **parts,
            )
        except SingleFileComponentError as error:
            lacking = re.search(r"load (\w+)", str(error))
            raise UsageError(
                f"the file {source.name!r} contains no weights for a "
                f"{lacking[1] if lacking else 'part'}; give a folder that contains these weights, "
                "as in -M config=FOLDER"
            ) from error
        except (RuntimeError, ValueError, KeyError) as error:
            raise _another_layout(source.name) from error
    networks = [part for part in pipeline.components.values() if isinstance(part, torch.nn.Module)]
    if any(weights.is_meta for network in networks for weights in network.parameters()):
        raise _another_layout(source.name)
    return pipeline


def _another_layout(name: str) -> UsageError:
    return UsageError(
        f"the file {name!r} does not contain all weights that its configuration lists, or has "
        "another layout; use a complete file, or give the folder or ID of a pipeline with the "
        "same layout, as in -M config=FOLDER"
    )


def _assemble(
    name: str,
    family: type[DiffusionPipeline],
    folder: Path,
    dtype: torch.dtype,
    variant: str,
    parts: Mapping[str, Any],
) -> Any:
    """Assemble a pipeline from loaded parts, and load the remaining parts from a folder."""
    with explain_errors(name, LIBRARY):
        try:
            return loader(family).from_pretrained(
                folder, dtype=dtype, variant=variant or None, **parts, **SAFE
            )
        except ValueError as error:
            if not PARTS_ABSENT.search(str(error)):
                raise
            raise UsageError(
                f"parts of a {family.__name__} are missing from {name!r}; give a folder "
                "with the complete pipeline, or the model's ID on the Hugging Face Hub"
            ) from error


def _network(
    source: Repository, part: str, folder: Path, dtype: torch.dtype, variant: str
) -> torch.nn.Module:
    """Load a network, and check that the files contain all its weights.

    diffusers and transformers would replace missing weights with random numbers.
    """
    has_variant = source.weights(part, variant) != source.weights(part)
    with explain_errors(source.name, LIBRARY, part):
        network, report = source.kind(part).from_pretrained(
            folder / part,
            dtype=dtype,
            variant=variant if has_variant else None,
            use_safetensors=True,
            output_loading_info=True,
            ignore_mismatched_sizes=True,
        )
    mismatched = [key for key, *_ in report["mismatched_keys"]]
    lacking = sorted({*report["missing_keys"], *mismatched})
    if lacking:
        raise UsageError(
            f"the {part} of {source.name!r} does not contain all weights, or has weights with an "
            f"unexpected shape, such as {lacking[0]}; {ANOTHER}"
        )
    if hasattr(network, "final_layer_norm") and not hasattr(network, "text_model"):
        # Pipelines with clip_skip look for the norm in this place.
        network.text_model = SimpleNamespace(final_layer_norm=network.final_layer_norm)
    return network  # type: ignore[no-any-return]


def free_bytes(device: torch.device) -> float:
    """Return the free memory of a device in bytes.

    On a CPU, the result is the free memory of the system or of the container, whichever is smaller.
    """
    if device.type == "cuda":
        return float(torch.cuda.mem_get_info(device)[0])
    if device.type == "mps":
        return float(torch.mps.recommended_max_memory() - torch.mps.driver_allocated_memory())
    return min(_free_system_bytes(), _free_container_bytes())


def _free_system_bytes() -> float:
    """Return the free main memory in bytes; infinite if the system does not report it."""
    free = math.inf
    with suppress(OSError, ValueError, AttributeError):
        free = float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
        reported = re.search(r"^MemAvailable:\s+(\d+) kB", PROC.read_text(encoding="ascii"), re.M)
        if reported:
            free = float(reported[1]) * 1024
    return free


def _free_container_bytes() -> float:
    """Return the free memory of the container in bytes; infinite if the container has no limit."""
    with suppress(OSError):
        limit, used, kinds = (
            (CGROUP / f"memory.{name}").read_text("ascii") for name in ("max", "current", "stat")
        )
        if limit.strip() == "max":
            return math.inf
        # Cached files give way to other needs.
        cached = re.findall(r"^(?:in)?active_file (\d+)$", kinds, re.M)
        return float(limit) - float(used) + sum(map(int, cached))
    return math.inf
