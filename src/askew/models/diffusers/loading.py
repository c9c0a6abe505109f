"""From a repository to a pipeline in memory: downloaded, safetensors only, on its device."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from diffusers import DiffusionPipeline

from askew.errors import UsageError
from askew.models.diffusers.components import LIBRARY, check_components, load_networks
from askew.models.diffusers.families import loader
from askew.models.diffusers.memory import check_memory, part_sizes
from askew.models.diffusers.quiet import quiet
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
    others = [find_repository(name) for name in _connected(repository)] if found._load_connected_pipes else []
    sources = [repository, *others]
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
        pipeline = _read(name, found, folders[0], dtype, variant, parts)
        pipeline.set_progress_bar_config(disable=True)
        _place(pipeline, device, offload)
    return pipeline


def identity(sources: Sequence[Repository]) -> str:
    """What changes whenever the pipeline could: the commits or digests of all that it is made of."""
    return "+".join(source.network.identity for source in sources)


def _connected(repository: Repository) -> list[str]:
    """Repositories with further parts of the pipeline, such as Kandinsky's prior: its card names them."""
    if CARD not in repository.network.files:
        return []
    from huggingface_hub import ModelCard

    named = getattr(ModelCard.load(repository.network.folder / CARD).data, PRIOR, None) or []
    return [named] if isinstance(named, str) else [str(name) for name in named]


def _read(
    name: str,
    found: type[DiffusionPipeline],
    folder: Path,
    dtype: torch.dtype,
    variant: str,
    parts: dict[str, Any],
) -> Any:
    """The pipeline of a folder, with `parts` that are loaded already."""
    with explained(name, LIBRARY):
        try:
            return loader(found).from_pretrained(folder, dtype=dtype, variant=variant or None, **parts, **SAFE)
        except ValueError as error:
            if not PARTS_ABSENT.search(str(error)):
                raise
            raise UsageError(
                f"{name!r} lacks parts of a {found.__name__}: name a folder that holds the whole pipeline, "
                f"or the model's ID on the Hugging Face Hub"
            ) from error


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
