"""A pipeline in the diffusers layout, before it is loaded: where it is, what it is made of, whether it is safe."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from askew.errors import ModelError, UsageError
from askew.models.diffusers import INDEX, read_json
from askew.models.hub import WEIGHTS, Pretrained, find_pretrained

CONFIGS = {"scheduler": "scheduler_config.json"}
"""What a component's configuration is called, other than config.json."""

PLAIN = re.compile(r"[^.]+\.safetensors")
"""Weights that are of no variant: model.safetensors, not model.fp16.safetensors."""


@dataclass(frozen=True, slots=True)
class Repository:
    """A pipeline that exists.

    network      where it is, and which version of it
    components   (library, class) by name, such as unet: (diffusers, UNet2DConditionModel)
    absent       names of components that it was saved without
    class_name   the class of the pipeline that it was saved from
    """

    network: Pretrained
    class_name: str
    components: Mapping[str, tuple[str, str]]
    absent: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """As the user wrote it."""
        return self.network.name

    def files(self, component: str) -> list[PurePosixPath]:
        """The files of a component."""
        return [PurePosixPath(file) for file in self.network.files if file.startswith(f"{component}/")]

    def config(self, component: str) -> dict[str, Any]:
        """The configuration of a network or scheduler; empty where there is none."""
        return read_json(self.network.folder / component / CONFIGS.get(component, "config.json"))

    def weights(self, component: str, variant: str = "") -> list[str]:
        """The files with the weights of a component: those of the variant, else the plain ones."""
        found = [file for file in self.files(component) if file.suffix == WEIGHTS and len(file.parts) == 2]
        chosen = [file for file in found if variant and f".{variant}" in file.stem]
        return sorted(str(file) for file in chosen or [file for file in found if PLAIN.fullmatch(file.name)])

    def has_variant(self, component: str, variant: str) -> bool:
        """Whether a component has weights of the variant."""
        return bool(variant) and self.weights(component, variant) != self.weights(component)

    def fetch(self, variant: str = "") -> Path:
        """The folder of the pipeline, with its weights. Raises ModelError where they cannot be downloaded."""
        return self.network.fetch(file for component in self.components for file in self.weights(component, variant))


def find_repository(name: str, revision: str | None = None) -> Repository:
    """The pipeline that `name` means: a folder, or the ID of a repository on the Hugging Face Hub.

    Downloads its small files and nothing else. Raises UsageError for what is not there, is no pipeline, or needs code
    or pickles to load, and ModelError where the Hub cannot be reached.
    """
    path = Path(name).expanduser()
    if path.is_file():
        raise UsageError(
            f"{name!r} is a single file, and askew reads pipelines as folders: load it once with diffusers "
            f"(from_single_file), write it with save_pretrained, and name that folder"
        )
    if name and path.is_dir() and not (path / INDEX).is_file():
        raise UsageError(
            f"the folder {name!r} holds no {INDEX}, so it is no diffusers pipeline: name the folder that "
            f"save_pretrained of a whole pipeline wrote"
        )
    network = find_pretrained(name, revision)
    index = _index(network)
    _refuse_code(name, index)
    parts = {part: value for part, value in index.items() if isinstance(value, list) and len(value) == 2}
    components = {part: (str(library), str(kind)) for part, (library, kind) in parts.items() if library and kind}
    if index.get("requires_aesthetics_score"):
        raise UsageError(
            f"{name!r} is a refiner, which improves pictures of its base model and makes none by itself: name the base "
            f"model, such as diffusers/stabilityai/stable-diffusion-xl-base-1.0"
        )
    return Repository(network, str(index["_class_name"]), components, tuple(sorted(parts.keys() - components.keys())))


def check_variant(repository: Repository, variant: str) -> None:
    """Raises UsageError unless every component has weights of the variant, or plain ones."""
    for component in repository.components:
        files = [file for file in repository.files(component) if file.suffix == WEIGHTS]
        if files and not repository.weights(component, variant):
            kinds = sorted({file.name.split(".")[1].partition("-")[0] for file in files})
            raise UsageError(
                f"{repository.name!r} has the weights of its {component} only as a variant: add -M variant={kinds[0]}"
            )
    if variant and not any(f".{variant}" in PurePosixPath(file).stem for file in repository.network.files):
        raise UsageError(f"{repository.name!r} has no weights of a variant {variant!r}: leave the variant out")


def _index(network: Pretrained) -> dict[str, Any]:
    if INDEX not in network.files:
        raise UsageError(
            f"{network.name!r} holds no {INDEX}, so it is no diffusers pipeline: look for a version of the model "
            f"in the diffusers format"
        )
    try:
        index = json.loads((network.folder / INDEX).read_text(encoding="utf-8"))
    except ValueError as error:
        raise ModelError(f"the {INDEX} of {network.name!r} is damaged: {error}") from error
    if not isinstance(index, dict) or "_class_name" not in index:
        raise ModelError(f"the {INDEX} of {network.name!r} is damaged: it names no pipeline class")
    return index


def _refuse_code(name: str, index: Mapping[str, Any]) -> None:
    from diffusers import pipelines

    known = ("diffusers", "transformers")
    own = ["the pipeline"] if not isinstance(index["_class_name"], str) else []
    for part, value in index.items():
        library = value[0] if isinstance(value, list) and value and part != "_class_name" else None
        if isinstance(library, str) and library not in known and not hasattr(pipelines, library):
            own.append(part)
    if own:
        raise UsageError(
            f"{name!r} needs code of its own repository for {', '.join(own)}, and askew runs none, since it could do "
            f"anything on this machine: choose a model that diffusers knows by itself"
        )
