"""From a string such as "studio/planted" or "folder/PATH" to the object behind it.

Providers are entry points of any installed package, in the `GROUPS`. An entry point's name is a
provider ("folder") or a full name ("studio/planted"); it loads a callable `(name: str, **settings)
-> object`, where `name` follows the provider's slash. Nothing heavy is imported before a provider
is asked for.
"""

import ast
import copyreg
import os
import pickle
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from inspect import Parameter, signature
from pathlib import Path
from typing import Any, Literal, TypeVar, cast, get_type_hints

from askew.errors import MissingPackage, UnknownName, UsageError
from askew.measure.base import VQA, Embedder
from askew.models.base import Collection, Model, check_settings
from askew.prompts.base import Writer

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Provider:
    """How an object was loaded: its kind, its string, its settings. This is what travels to other
    processes.
    """

    what: str
    string: str
    settings: Mapping[str, object]

    def load(self) -> Any:
        """The object; the same one whenever this process is asked for it."""
        key = pickle.dumps((self.what, self.string, sorted(self.settings.items())))
        return (
            _LOADED[key]
            if key in _LOADED
            else _LOADED.setdefault(key, _load(self.what, self.string, self.settings))
        )


_LOADED: dict[bytes, Any] = {}
PROVIDER = "__askew_provider__"
"""The attribute by which a loaded object knows how it was loaded."""

NETWORKS = ("diffusers", "huggingface_hub", "safetensors", "torch", "transformers")
"""Packages of the extra `models`."""

GROUPS = {
    "model": "askew.models",
    "vqa": "askew.vqa",
    "embedder": "askew.embedders",
    "llm": "askew.llms",
    "method": "askew.methods",
    "mitigation": "askew.mitigations",
}


@lru_cache
def providers(what: str) -> dict[str, EntryPoint]:
    """Entry points of one kind, such as "vqa", by name, sorted."""
    return dict(sorted((point.name, point) for point in entry_points(group=GROUPS[what])))


def model(string: str, **settings: object) -> Model | Collection:
    """The text-to-image model, or the collection of existing pictures, that `string` names."""
    return cast("Model | Collection", _load("model", string, settings))


def vqa(string: str, **settings: object) -> VQA:
    """The visual question answering that `string` names."""
    return cast(VQA, _load("vqa", string, settings))


def embedder(string: str, **settings: object) -> Embedder:
    """The embedder of pictures and texts that `string` names."""
    return cast(Embedder, _load("embedder", string, settings))


def writer(string: str, **settings: object) -> Writer:
    """The writer of axes, counterfactuals and prompts that `string` names."""
    return cast(Writer, _load("llm", string, settings))


def named(what: Literal["method", "mitigation"], name: str) -> Any:
    """The `Method`, or the kind of `Mitigation`, of that name. Raises UnknownName."""
    UnknownName.unless_known(what, name, providers(what))
    return providers(what)[name].load()


def summary(point: EntryPoint) -> str:
    """What a provider is, in one line: the first of its module's documentation, read without
    importing it.
    """
    spec = find_spec(point.module)
    if not (spec and spec.origin):
        return ""
    text = ast.get_docstring(ast.parse(Path(spec.origin).read_text(encoding="utf-8")))
    return (text or "").partition("\n")[0]


def find(what: str, string: str) -> tuple[EntryPoint, str]:
    """The entry point that serves `string`, and what follows its name's slash."""
    known = providers(what)
    if string in known:
        return known[string], ""
    provider, _, name = string.partition("/")
    if name and provider in known:
        return known[provider], name
    raise UnknownName(what, string, known)


def _check_settings(
    who: str, create: Callable[..., object], settings: Mapping[str, object]
) -> None:
    """Raises UsageError for settings that a factory does not take, or that are of the wrong kind."""
    _, *takes = signature(create).parameters.values()
    try:
        hints = get_type_hints(create.__init__ if isinstance(create, type) else create)  # type: ignore[misc]
    except (NameError, TypeError):  # somebody else's provider, whose hints cannot be read
        hints = {}
    known = {
        one.name: hints.get(one.name) for one in takes if one.kind is not Parameter.VAR_KEYWORD
    }
    others = len(known) < len(takes)
    check_settings(
        who, known, {name: one for name, one in settings.items() if name in known or not others}
    )


def _load(what: str, string: str, settings: Mapping[str, object]) -> Any:
    point, name = find(what, string)
    os.environ.setdefault(
        "OMP_WAIT_POLICY", "passive"
    )  # read with torch: spinning threads would stop other runs
    try:
        create = point.load()
        own = dict(settings)
        _check_settings(f"{what} {string!r}", create, own)
        loaded = create(name, **own)
    except ModuleNotFoundError as error:
        if error.name not in NETWORKS:
            raise
        raise MissingPackage(error.name, "models", f"the {what} {string!r}") from error
    except TypeError as error:
        if any(
            fault in str(error) for fault in ("unexpected keyword argument", "multiple values for")
        ):
            raise UsageError(f"{what} {string!r}: {str(error).split(') ')[-1]}") from error
        raise
    with suppress(
        AttributeError
    ):  # weights and connections stay behind where it is pickled; not of one with slots
        object.__setattr__(loaded, PROVIDER, Provider(what, string, settings))
        copyreg.pickle(type(loaded), _reduced)
    return loaded


def _reduced(loaded: object) -> Any:
    """What is pickled of a loaded object: how it was loaded."""
    provider = getattr(loaded, PROVIDER, None)
    return (Provider.load, (provider,)) if provider else loaded.__reduce_ex__(2)
