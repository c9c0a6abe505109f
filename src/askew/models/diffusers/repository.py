"""Pipelines in the diffusers layout, and checks of their files before loading."""

import re
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import torch
from diffusers import __version__, pipelines
from diffusers.pipelines.pipeline_loading_utils import simple_get_class_obj
from diffusers.utils import logging as diffusers_logging
from transformers.utils import logging as transformers_logging

from askew.errors import MissingPackage, ModelError, UsageError
from askew.models.diffusers import single_file
from askew.models.hub import (
    ANOTHER,
    NO_SAFETENSORS,
    WEIGHTS,
    Pretrained,
    explain_errors,
    find_pretrained,
)
from askew.models.pipeline_constants import INDEX
from askew.store.entries import read_bytes
from askew.store.files import read_json
from askew.store.foreign import json_value

LIBRARY = f"diffusers {__version__}"
SHARD = re.compile(r"-\d+-of-(\d+)\.")
SENTENCEPIECE = ".model"
PLAIN = re.compile(r"[^.]+\.safetensors")
"""Names of weight files without a variant: model.safetensors, but not model.fp16.safetensors."""

REFINER_BASE = "diffusers/stabilityai/stable-diffusion-xl-base-1.0"


@contextmanager
def quiet() -> Iterator[None]:
    """Let diffusers and transformers log only errors, without progress bars, in this context."""
    libraries = (diffusers_logging, transformers_logging)
    before = [
        (library, library.get_verbosity(), library.is_progress_bar_enabled())
        for library in libraries
    ]
    for library in libraries:
        library.set_verbosity_error()
        library.disable_progress_bar()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for library, level, bar in before:
            library.set_verbosity(level)
            if bar:
                library.enable_progress_bar()


@dataclass(frozen=True, slots=True)
class Repository:
    """Pipeline in a folder, a repository or a single file, before it is loaded.

    Attributes
    ----------
    network
        The pipeline's files and version.
    class_name
        Class of the pipeline, as saved in its index.
    components
        Library and class of each component, keyed by the component's name. For example, unet is
        mapped to (diffusers, UNet2DConditionModel).
    absent
        Names of components that the index lists without a class.
    single_file
        Checkpoint file that contains all weights. None if each component has its own files.
    is_distilled
        True if the index states that the pipeline generates images in few steps without guidance.
    """

    network: Pretrained
    class_name: str
    components: Mapping[str, tuple[str, str]]
    absent: tuple[str, ...] = ()
    single_file: Path | None = None
    is_distilled: bool = False

    @property
    def name(self) -> str:
        """Name of the pipeline as the user wrote it."""
        return self.network.name

    def config(self, component: str) -> dict[str, Any]:
        """Return the configuration of a network or scheduler; empty if there is none."""
        file = "scheduler_config.json" if component == "scheduler" else "config.json"
        return read_json(self.network.folder / component / file)

    def kind(self, component: str) -> Any:
        """Return the class of a component.

        Raises
        ------
        UsageError
            If the installed library does not contain the class.
        """
        library, name = self.components[component]
        try:
            kind = simple_get_class_obj(library, name)
        except AttributeError:
            kind = None
        if not isinstance(kind, type) or not hasattr(kind, "from_pretrained"):
            raise UsageError(
                f"the {component} of {self.name!r} is a {name}, which the installed {library} does "
                f"not know; try a newer version of diffusers and transformers, or {ANOTHER}"
            )
        return kind

    def files_of(self, component: str) -> list[str]:
        """Return the files of a component."""
        return [file for file in self.network.files if file.startswith(f"{component}/")]

    def weights(self, component: str, variant: str = "") -> list[str]:
        """Return the weight files of a component.

        If the component has weight files for `variant`, return only these files.
        """
        below = map(PurePosixPath, self.files_of(component))
        files = [file for file in below if file.suffix == WEIGHTS and len(file.parts) == 2]
        chosen = [file for file in files if variant and f".{variant}" in file.stem]
        if not chosen:
            chosen = [file for file in files if PLAIN.fullmatch(file.name)]
        return sorted(map(str, chosen))

    def fetch(self, variant: str = "") -> Path:
        """Download the weights if they are missing, and return the folder of the pipeline.

        For a single file, this is the folder that contains the configurations.

        Raises
        ------
        ModelError
            If the weights cannot be downloaded.
        """
        if self.single_file is not None:
            return self.network.folder
        return self.network.fetch(
            file for component in self.components for file in self.weights(component, variant)
        )

    def check(self, variant: str = "") -> None:
        """Check, based on file names, that all components are complete and safe to load.

        Raises
        ------
        UsageError
            If a component is incomplete or cannot be loaded safely.
        """
        if self.single_file is not None:
            if variant:
                raise UsageError(
                    f"{self.name!r} is a single file and has no variant {variant!r}; omit -M "
                    "variant"
                )
            return
        with explain_errors(self.name), quiet():
            for component in self.components:
                self._check(component, variant)
        stems = (PurePosixPath(file).stem for file in self.network.files)
        if variant and not any(f".{variant}" in stem for stem in stems):
            raise UsageError(
                f"{self.name!r} has no weights for the variant {variant!r}; omit -M variant"
            )

    def _check(self, component: str, variant: str) -> None:
        """Raise UsageError if a component is incomplete or cannot be loaded safely."""
        kind = self.kind(component)
        if self.components[component][0] == "diffusers":
            self._check_loading(component, kind)
        files = self.files_of(component)
        safe = [PurePosixPath(file).name for file in files if file.endswith(WEIGHTS)]
        if files and issubclass(kind, torch.nn.Module) and not safe:
            raise UsageError(f"the {component} of {self.name!r} {NO_SAFETENSORS}")
        weights = self.weights(component, variant)
        lacking = _lacking(files, weights, kind)
        if lacking:
            raise UsageError(
                f"{self.name!r} lacks {lacking} of its {component}, which its {INDEX} lists; "
                f"{ANOTHER}"
            )
        if safe and not weights:
            variants = sorted({name.split(".")[1].partition("-")[0] for name in safe})
            raise UsageError(
                f"{self.name!r} has the weights of its {component} only as a variant; add "
                f"-M variant={variants[0]}"
            )

    def _check_loading(self, component: str, kind: Any) -> None:
        """Raise MissingPackage if diffusers needs accelerate to load a network."""
        if getattr(kind, "_keep_in_fp32_modules", None) or "quantization_config" in self.config(
            component
        ):
            purpose = f"loading the {component} of {self.name!r}, a {kind.__name__},"
            MissingPackage.unless_installed("accelerate", "offload", purpose)


def _lacking(files: Sequence[str], weights: Sequence[str], kind: type) -> str:
    """Return a phrase that describes a component's missing files; empty if no file is missing."""
    if not files:
        return "the folder"
    shards = Counter[int]()
    for file in weights:
        shard = SHARD.search(file)
        if shard:
            shards[int(shard[1])] += 1
    if any(present < total for total, present in shards.items()):
        return "some weights"
    names: dict[str, str] = getattr(kind, "vocab_files_names", {})
    vocabularies = tuple(names[key] for key in ("vocab_file", "tokenizer_file") if key in names)
    accepted = (*vocabularies, SENTENCEPIECE)
    if vocabularies and not any(file.endswith(accepted) for file in files):
        return "the vocabulary"
    return ""


def find_repository(name: str, revision: str | None = None, config: str = "") -> Repository:
    """Find the pipeline with a given name.

    Only the pipeline's small files are downloaded.

    Parameters
    ----------
    name
        A folder, the ID of a repository on the Hugging Face Hub, or a single checkpoint file.
    revision
        Branch, tag or commit of a repository.
    config
        For a single file: folder or ID of a pipeline with the same layout. If "", askew recognizes
        the layout by the names of the weights.

    Raises
    ------
    UsageError
        If nothing has this name, if the name does not refer to a pipeline, or if loading the
        pipeline requires code or pickles.
    ModelError
        If the Hub cannot be reached.
    """
    path = Path(name).expanduser()
    if name and path.is_file():
        network = single_file.find(name, path, revision, config)
    else:
        _check_folder(name, config)
        network = find_pretrained(name, revision)
    index = _read_index(network)
    if index.get("requires_aesthetics_score"):
        raise UsageError(
            f"{name!r} is a refiner, which improves images from its base model and cannot make "
            f"images on its own; use the base model, such as {REFINER_BASE}"
        )
    parts = {
        part: value for part, value in index.items() if isinstance(value, list) and len(value) == 2
    }
    components = {
        part: (str(library), str(kind))
        for part, (library, kind) in parts.items()
        if library and kind
    }
    return Repository(
        network=network,
        class_name=str(index["_class_name"]),
        components=components,
        absent=tuple(sorted(parts.keys() - components.keys())),
        single_file=path if path.is_file() else None,
        is_distilled=index.get("is_distilled") is True,
    )


def _check_folder(name: str, config: str) -> None:
    """Raise UsageError if a folder is not a pipeline, or if `config` is given for a folder."""
    if config:
        raise UsageError(
            f"{name!r} is not a single checkpoint file, so -M config does not apply; omit -M config"
        )
    path = Path(name).expanduser()
    if name and path.is_dir() and not (path / INDEX).is_file():
        raise UsageError(
            f"the folder {name!r} contains no {INDEX}, so it is not a diffusers pipeline; give a "
            "folder that a pipeline's save_pretrained wrote, or a single checkpoint file"
        )


def _read_index(network: Pretrained) -> dict[str, Any]:
    """Return a pipeline's index; raise UsageError if the pipeline needs its repository's code."""
    if INDEX not in network.files:
        raise UsageError(
            f"{network.name!r} contains no {INDEX}, so it is not a diffusers pipeline; look for a "
            "version of the model in the diffusers format"
        )
    fault = "it names no pipeline class"
    try:
        index = json_value(read_bytes(network.folder / INDEX))
    except (OSError, ValueError) as error:
        index = None
        fault = str(error)
    if not isinstance(index, dict) or "_class_name" not in index:
        raise ModelError(f"the {INDEX} of {network.name!r} is damaged: {fault}")
    with_code = _parts_with_code(index)
    if with_code:
        raise UsageError(
            f"{network.name!r} needs code from its own repository for {', '.join(with_code)}. "
            "askew does not run code from repositories, because such code could do anything on "
            "this machine; choose a model that diffusers supports"
        )
    return index


def _parts_with_code(index: Mapping[str, Any]) -> list[str]:
    """Return the components of a pipeline that need code from the pipeline's repository."""
    parts = [] if isinstance(index["_class_name"], str) else ["the pipeline"]
    for part, value in index.items():
        library = value[0] if isinstance(value, list) and value and part != "_class_name" else None
        known = library in ("diffusers", "transformers") or hasattr(pipelines, str(library))
        if isinstance(library, str) and not known:
            parts.append(part)
    return parts
