"""A pipeline in the diffusers layout, before it is loaded: where it is, what it is made of, whether it is safe."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from askew.errors import ModelError, UsageError
from askew.models.hub import WEIGHTS, Pretrained, explained, files_at, files_below, find_pretrained

INDEX = "model_index.json"
PICKLES = (".bin", ".ckpt", ".pt", ".pth", ".pkl")
PLAIN = re.compile(r"[^.]+\.safetensors")
"""Weights that are of no variant: model.safetensors, not model.fp16.safetensors."""

SAVE_AGAIN = (
    "since other formats can run code: choose another revision or model, or load it once where you trust it and "
    "write it again with save_pretrained"
)


@dataclass(frozen=True, slots=True)
class Repository:
    """A pipeline that exists.

    pretrained   where it is, and which version of it
    components   (library, class) by name, such as unet: (diffusers, UNet2DConditionModel)
    class_name   the class of the pipeline that it was saved from
    files        all its files, as paths with slashes
    """

    pretrained: Pretrained
    class_name: str
    components: Mapping[str, tuple[str, str]]
    files: tuple[str, ...]

    @property
    def name(self) -> str:
        """As the user wrote it."""
        return self.pretrained.name

    @property
    def is_folder(self) -> bool:
        """Whether it lies on this machine as a folder of the user's."""
        return self.pretrained.revision is None

    def file(self, path: str) -> Path:
        """One of its files on this machine, downloaded if need be."""
        return _file(self.pretrained, path)

    def weights(self, component: str, variant: str = "") -> list[str]:
        """The files with the weights of a component: those of the variant, else the plain ones."""
        files = [PurePosixPath(file) for file in self.files if file.startswith(f"{component}/")]
        found = [file for file in files if file.suffix == WEIGHTS and len(file.parts) == 2]
        chosen = [file for file in found if variant and f".{variant}" in file.stem]
        return sorted(str(file) for file in chosen or [file for file in found if PLAIN.fullmatch(file.name)])

    def has_variant(self, component: str, variant: str) -> bool:
        """Whether a component has weights of the variant."""
        return bool(variant) and self.weights(component, variant) != self.weights(component)


def find_repository(name: str, revision: str | None = None) -> Repository:
    """The pipeline that `name` means: a folder, or the ID of a repository on the Hugging Face Hub.

    Downloads its list of parts and nothing else. Raises UsageError for what is not there, is no pipeline, or needs
    code or pickles to load, and ModelError where the Hub cannot be reached.
    """
    _check_path(name)
    pretrained = find_pretrained(name, revision)
    index = _read_index(pretrained)
    _refuse_code(name, index)
    parts = {part: value for part, value in index.items() if isinstance(value, list) and len(value) == 2}
    components = {part: (str(library), str(kind)) for part, (library, kind) in parts.items() if library and kind}
    repository = Repository(pretrained, str(index["_class_name"]), components, _files(pretrained))
    _refuse_pickles(repository)
    return repository


def check_variant(repository: Repository, variant: str) -> None:
    """Raises UsageError unless every component has weights of the variant, or plain ones."""
    for component in repository.components:
        files = [file for file in repository.files if file.startswith(f"{component}/") and file.endswith(WEIGHTS)]
        if files and not repository.weights(component, variant):
            kinds = sorted({PurePosixPath(file).name.split(".")[1].partition("-")[0] for file in files})
            raise UsageError(
                f"{repository.name!r} has the weights of its {component} only as a variant: add -M variant={kinds[0]}"
            )
    if variant and not any(f".{variant}" in PurePosixPath(file).stem for file in repository.files):
        raise UsageError(f"{repository.name!r} has no weights of a variant {variant!r}: leave the variant out")


def _check_path(name: str) -> None:
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


def _read_index(pretrained: Pretrained) -> dict[str, Any]:
    if INDEX not in _files(pretrained):
        raise UsageError(
            f"{pretrained.name!r} holds no {INDEX}, so it is no diffusers pipeline: look for a version of the model "
            f"in the diffusers format"
        )
    try:
        index = json.loads(_file(pretrained, INDEX).read_text(encoding="utf-8"))
    except ValueError as error:
        raise ModelError(f"the {INDEX} of {pretrained.name!r} is damaged: {error}") from error
    if not isinstance(index, dict) or "_class_name" not in index:
        raise ModelError(f"the {INDEX} of {pretrained.name!r} is damaged: it names no pipeline class")
    return index


def _file(pretrained: Pretrained, path: str) -> Path:
    if pretrained.revision is None:
        return Path(pretrained.location) / path
    from huggingface_hub import hf_hub_download

    with explained(pretrained.name):
        return Path(hf_hub_download(pretrained.location, path, revision=pretrained.revision))


def _files(pretrained: Pretrained) -> tuple[str, ...]:
    if pretrained.revision is None:
        return files_below(Path(pretrained.location))
    return files_at(pretrained.location, pretrained.revision)


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


def _refuse_pickles(repository: Repository) -> None:
    bad = []
    for component in repository.components:
        suffixes = {PurePosixPath(file).suffix for file in repository.files if file.startswith(f"{component}/")}
        if suffixes & set(PICKLES) and WEIGHTS not in suffixes:
            bad.append(component)
    if bad:
        raise UsageError(
            f"{repository.name!r} has the weights of {', '.join(bad)} only as pickles ({', '.join(PICKLES)}), and "
            f"askew loads safetensors alone, {SAVE_AGAIN}"
        )
