"""A pipeline in the diffusers layout, before it is loaded: where it is, and whether it is safe and
whole.
"""

import json
import re
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import torch
from diffusers import __version__, pipelines
from diffusers.pipelines.pipeline_loading_utils import simple_get_class_obj
from diffusers.utils import logging as diffusers_logging
from transformers.utils import logging as transformers_logging

from askew.errors import ModelError, UsageError
from askew.models.hub import (
    ANOTHER,
    NO_SAFETENSORS,
    WEIGHTS,
    Pretrained,
    explain_errors,
    find_pretrained,
)
from askew.models.pipeline_constants import INDEX
from askew.store.files import read_json

LIBRARY = f"diffusers {__version__}"
SHARD = re.compile(r"-\d+-of-(\d+)\.")
SENTENCEPIECE = ".model"
PLAIN = re.compile(r"[^.]+\.safetensors")
"""Weights that are of no variant: model.safetensors, not model.fp16.safetensors."""


@contextmanager
def quiet() -> Iterator[None]:
    """No bars, and nothing less than errors, from diffusers and transformers."""
    libraries = (diffusers_logging, transformers_logging)
    before = [(one, one.get_verbosity(), one.is_progress_bar_enabled()) for one in libraries]
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
    """A pipeline that exists.

    network      where it is, and which version of it
    class_name   the class of the pipeline that it was saved from
    components   (library, class) by name, such as unet: (diffusers, UNet2DConditionModel)
    absent       names of components that it was saved without
    """

    network: Pretrained
    class_name: str
    components: Mapping[str, tuple[str, str]]
    absent: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """As the user wrote it."""
        return self.network.name

    def config(self, component: str) -> dict[str, Any]:
        """The configuration of a network or scheduler; empty where there is none."""
        file = "scheduler_config.json" if component == "scheduler" else "config.json"
        return read_json(self.network.folder / component / file)

    def kind(self, component: str) -> Any:
        """The class of a component. Raises UsageError for one that the libraries do not know."""
        library, name = self.components[component]
        try:
            found = simple_get_class_obj(library, name)
        except AttributeError:
            found = None
        if not isinstance(found, type) or not hasattr(found, "from_pretrained"):
            raise UsageError(
                f"the {component} of {self.name!r} is a {name}, which the installed {library} does not know: try a "
                f"newer version of diffusers and transformers, or {ANOTHER}"
            )
        return found

    def weights(self, component: str, variant: str = "") -> list[str]:
        """The files with the weights of a component: those of the variant, else the plain ones."""
        below = [
            PurePosixPath(file) for file in self.network.files if file.startswith(f"{component}/")
        ]
        found = [file for file in below if file.suffix == WEIGHTS and len(file.parts) == 2]
        chosen = [file for file in found if variant and f".{variant}" in file.stem]
        return sorted(
            str(file) for file in chosen or [file for file in found if PLAIN.fullmatch(file.name)]
        )

    def fetch(self, variant: str = "") -> Path:
        """The folder of the pipeline, with its weights. Raises ModelError where they cannot be
        downloaded.
        """
        return self.network.fetch(
            file for component in self.components for file in self.weights(component, variant)
        )

    def check(self, variant: str = "") -> None:
        """Raises UsageError for a component that lacks files, as far as names tell, or cannot be
        loaded safely.
        """
        with explain_errors(self.name), quiet():
            for component in self.components:
                self._check(component, variant)
        if variant and not any(
            f".{variant}" in PurePosixPath(file).stem for file in self.network.files
        ):
            raise UsageError(
                f"{self.name!r} has no weights of a variant {variant!r}: leave the variant out"
            )

    def _check(self, component: str, variant: str) -> None:
        kind = self.kind(component)
        weights = self.weights(component, variant)
        files = [file for file in self.network.files if file.startswith(f"{component}/")]
        safe = [PurePosixPath(file).name for file in files if file.endswith(WEIGHTS)]
        shards = Counter(int(found[1]) for file in weights if (found := SHARD.search(file)))
        names: dict[str, str] = getattr(kind, "vocab_files_names", {})
        vocabularies = tuple(names[key] for key in ("vocab_file", "tokenizer_file") if key in names)
        if files and issubclass(kind, torch.nn.Module) and not safe:
            raise UsageError(f"the {component} of {self.name!r} {NO_SAFETENSORS}")
        lacking = "" if files else "the folder"
        if any(present < total for total, present in shards.items()):
            lacking = "some weights"
        elif (
            files
            and vocabularies
            and not any(file.endswith((*vocabularies, SENTENCEPIECE)) for file in files)
        ):
            lacking = "the vocabulary"
        if lacking:
            raise UsageError(
                f"{self.name!r} lacks {lacking} of its {component}, which its {INDEX} lists: {ANOTHER}"
            )
        if safe and not weights:
            kinds = sorted({name.split(".")[1].partition("-")[0] for name in safe})
            raise UsageError(
                f"{self.name!r} has the weights of its {component} only as a variant: add -M variant={kinds[0]}"
            )


def find_repository(name: str, revision: str | None = None) -> Repository:
    """The pipeline that `name` means: a folder, or the ID of a repository on the Hugging Face Hub.

    Downloads its small files and nothing else. Raises UsageError for what is not there, is no
    pipeline, or needs code or pickles to load, and ModelError where the Hub cannot be reached.
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
    if index.get("requires_aesthetics_score"):
        raise UsageError(
            f"{name!r} is a refiner, which improves pictures of its base model and makes none by itself: name the base "
            f"model, such as diffusers/stabilityai/stable-diffusion-xl-base-1.0"
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
        network,
        str(index["_class_name"]),
        components,
        tuple(sorted(parts.keys() - components.keys())),
    )


def _index(network: Pretrained) -> dict[str, Any]:
    """What a pipeline's index says. Raises UsageError where that is code of its own repository."""
    if INDEX not in network.files:
        raise UsageError(
            f"{network.name!r} holds no {INDEX}, so it is no diffusers pipeline: look for a version of the model "
            f"in the diffusers format"
        )
    fault = "it names no pipeline class"
    try:
        index = json.loads((network.folder / INDEX).read_text(encoding="utf-8"))
    except ValueError as error:
        index = None
        fault = str(error)
    if not isinstance(index, dict) or "_class_name" not in index:
        raise ModelError(f"the {INDEX} of {network.name!r} is damaged: {fault}")
    own = [] if isinstance(index["_class_name"], str) else ["the pipeline"]
    for part, value in index.items():
        library = value[0] if isinstance(value, list) and value and part != "_class_name" else None
        known = library in ("diffusers", "transformers") or hasattr(pipelines, str(library))
        if isinstance(library, str) and not known:
            own.append(part)
    if own:
        raise UsageError(
            f"{network.name!r} needs code of its own repository for {', '.join(own)}, and askew runs none, since it "
            f"could do anything on this machine: choose a model that diffusers knows by itself"
        )
    return index
