"""From a repository to a pipeline in memory: downloaded, safetensors only, on its device."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import torch
from diffusers import DiffusionPipeline

from askew.errors import UsageError
from askew.models.diffusers.families import loader
from askew.models.diffusers.memory import check_memory
from askew.models.diffusers.quiet import quiet
from askew.models.diffusers.repository import Repository
from askew.models.hub import bars_on_a_terminal_alone, explained, find_pretrained

SAFE = {"use_safetensors": True, "trust_remote_code": False}
CARD = "README.md"
PARTS_ABSENT = re.compile(r"expected .* but only .* (?:were|was) passed", re.S)


def load(
    repository: Repository,
    found: type[DiffusionPipeline],
    *,
    device: torch.device,
    dtype: torch.dtype,
    offload: str = "none",
    scheduler: type | None = None,
    variant: str = "",
) -> Any:
    """The pipeline, an instance of `found`, ready to be called.

    Raises UsageError for weights that are not safetensors or incomplete, ModelError where the network, the disk or
    the memory do not suffice.
    """
    with explained(repository.name):
        folder = download(repository, variant)
        check_memory(repository, folder, dtype, device, offload, variant)
        with quiet():
            pipeline = _read(repository, found, folder, dtype, variant, _scheduler(repository, folder, scheduler))
            pipeline.set_progress_bar_config(disable=True)
            _place(pipeline, device, offload)
    return pipeline


def download(repository: Repository, variant: str = "") -> Path:
    """The folder of the pipeline's files on this machine."""
    if repository.is_folder:
        return Path(repository.pretrained.location)
    with bars_on_a_terminal_alone():
        folder = DiffusionPipeline.download(
            repository.pretrained.location,
            revision=repository.pretrained.revision,
            variant=variant or None,
            load_connected_pipeline=True,
            **SAFE,
        )
    return Path(folder)


def identity(repository: Repository, found: type[DiffusionPipeline]) -> str:
    """What changes whenever the pipeline could: its commit or digest, and those of repositories that it draws on."""
    others = connected(repository) if found._load_connected_pipes else []
    return "+".join([repository.pretrained.identity, *(find_pretrained(other).identity for other in others)])


def connected(repository: Repository) -> list[str]:
    """Repositories with further parts of the pipeline, such as Kandinsky's prior: its card names them."""
    if CARD not in repository.files:
        return []
    from huggingface_hub import ModelCard

    named = getattr(ModelCard.load(repository.file(CARD)).data, "prior", None) or []
    return [named] if isinstance(named, str) else [str(name) for name in named]


def _read(
    repository: Repository,
    found: type[DiffusionPipeline],
    folder: Path,
    dtype: torch.dtype,
    variant: str,
    scheduler: dict[str, Any],
) -> Any:
    try:
        return loader(found).from_pretrained(folder, dtype=dtype, variant=variant or None, **scheduler, **SAFE)
    except ValueError as error:
        if not PARTS_ABSENT.search(str(error)):
            raise
        raise UsageError(
            f"{repository.name!r} lacks parts of a {found.__name__}: name a folder that holds the whole pipeline, "
            f"or the model's ID on the Hugging Face Hub"
        ) from error
    except ImportError as error:
        raise UsageError(f"{repository.name!r} needs another package: {' '.join(str(error).split())}") from error


def _scheduler(repository: Repository, folder: Path, wanted: type | None) -> dict[str, Any]:
    """The scheduler that replaces the pipeline's own, with its configuration."""
    if wanted is None:
        return {}
    import diffusers

    own = getattr(diffusers, repository.components["scheduler"][1])
    try:
        return {"scheduler": wanted.from_config(own.load_config(folder, subfolder="scheduler"))}  # type: ignore[attr-defined]
    except ImportError as error:
        raise UsageError(f"{wanted.__name__} needs another package: {' '.join(str(error).split())}") from error


def _place(pipeline: Any, device: torch.device, offload: str) -> None:
    """On a CPU there is nowhere to offload to, and `offload` does nothing."""
    if offload == "none" or device.type == "cpu":
        pipeline.to(device)
    elif offload == "model":
        pipeline.enable_model_cpu_offload(device=device)
    else:
        pipeline.enable_sequential_cpu_offload(device=device)
