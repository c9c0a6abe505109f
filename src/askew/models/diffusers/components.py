"""The parts that a pipeline lists: whether they are there, and its networks, loaded whole.

Silence for the bars and warnings of the libraries beneath: askew has its own progress and errors.
"""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from diffusers import __version__
from diffusers.pipelines.pipeline_loading_utils import simple_get_class_obj
from diffusers.utils import logging as diffusers_logging
from transformers.utils import logging as transformers_logging

from askew.errors import UsageError
from askew.models.diffusers import INDEX
from askew.models.diffusers.repository import Repository
from askew.models.hub import ANOTHER, NO_SAFETENSORS, WEIGHTS, explained

LIBRARY = f"diffusers {__version__}"
SENTENCEPIECE = ".model"
SHARD = re.compile(r"-\d+-of-(\d+)\.")


def check_components(repository: Repository, variant: str) -> None:
    """Raises UsageError for a component that lacks its files, or is of a class that the libraries do not know."""
    with explained(repository.name), quiet():
        for component in repository.components:
            kind = _class(repository, component)
            files = repository.files(component)
            if files and issubclass(kind, torch.nn.Module) and not any(file.suffix == WEIGHTS for file in files):
                raise UsageError(f"the {component} of {repository.name!r} {NO_SAFETENSORS}")
            if lacking := _lacking(repository, component, kind, variant):
                raise UsageError(
                    f"{repository.name!r} lacks {lacking} of its {component}, which its {INDEX} lists: {ANOTHER}"
                )


def load_networks(repository: Repository, folder: Path, dtype: torch.dtype, variant: str) -> dict[str, Any]:
    """The networks among the components, by name. Raises UsageError if one cannot be loaded, or lacks weights."""
    kinds = {component: _class(repository, component) for component in repository.components}
    return {
        component: _network(repository, component, kind, folder, dtype, variant)
        for component, kind in kinds.items()
        if issubclass(kind, torch.nn.Module)
    }


def _class(repository: Repository, component: str) -> Any:
    library, name = repository.components[component]
    try:
        found = simple_get_class_obj(library, name)
    except AttributeError:
        found = None
    if not isinstance(found, type) or not hasattr(found, "from_pretrained"):
        raise UsageError(
            f"the {component} of {repository.name!r} is a {name}, which the installed {library} does not know: try a "
            f"newer version of diffusers and transformers, or {ANOTHER}"
        )
    return found


def _lacking(repository: Repository, component: str, kind: type, variant: str) -> str:
    """What of the files of a component is absent; empty if all are there, as far as their names tell."""
    files = repository.files(component)
    names: dict[str, str] = getattr(kind, "vocab_files_names", {})
    vocabularies = tuple(names[key] for key in ("vocab_file", "tokenizer_file") if key in names)
    if not files:
        return "the folder"
    shards = Counter(int(found[1]) for file in repository.weights(component, variant) if (found := SHARD.search(file)))
    if any(present < total for total, present in shards.items()):
        return "some weights"
    if vocabularies and not any(file.name.endswith((*vocabularies, SENTENCEPIECE)) for file in files):
        return "the vocabulary"
    return ""


def _network(
    repository: Repository, component: str, kind: Any, folder: Path, dtype: torch.dtype, variant: str
) -> torch.nn.Module:
    """diffusers and transformers would fill weights that the files lack with random numbers."""
    own = variant if repository.has_variant(component, variant) else None
    with explained(repository.name, LIBRARY, component):
        network, found = kind.from_pretrained(
            folder / component,
            dtype=dtype,
            variant=own,
            use_safetensors=True,
            output_loading_info=True,
            ignore_mismatched_sizes=True,
        )
    if lacking := sorted({*found["missing_keys"], *(key for key, *_ in found["mismatched_keys"])}):
        raise UsageError(
            f"the {component} of {repository.name!r} has weights that are absent or of another shape, such as "
            f"{lacking[0]}: {ANOTHER}"
        )
    loaded: torch.nn.Module = network
    return loaded


LIBRARIES = (diffusers_logging, transformers_logging)


@contextmanager
def quiet() -> Iterator[None]:
    """No bars, and nothing less than errors, from diffusers and transformers."""
    levels = [library.get_verbosity() for library in LIBRARIES]
    bars = [library.is_progress_bar_enabled() for library in LIBRARIES]
    for library in LIBRARIES:
        library.set_verbosity_error()
        library.disable_progress_bar()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for library, level, bar in zip(LIBRARIES, levels, bars, strict=True):
            library.set_verbosity(level)
            if bar:
                library.enable_progress_bar()
