"""Providers, which turn a name such as "studio/planted" or "folder/PATH" into an object.

Any installed package can define providers as entry points in one of the `GROUPS`. The name of an
entry point is a provider ("folder") or a full name ("studio/planted"). The entry point refers to a
callable `(name: str, **settings) -> object`. Its argument `name` is the part of the full name after
the first slash. No large package is imported before a provider is used.
"""

import ast
import copyreg
import difflib
import os
import pickle
import tomllib
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from importlib.resources import files
from importlib.util import find_spec
from inspect import Parameter, signature
from pathlib import Path
from platform import node
from typing import Any, Literal, TypeVar, cast, get_type_hints

from askew.addresses import check_address, check_addresses
from askew.environment import keep_freed_memory
from askew.errors import MissingPackage, UnknownName, UsageError
from askew.measure.base import VQA, Embedder
from askew.models.base import Collection, Model, check_settings
from askew.prompts.base import Writer

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Provider:
    """Record of how an object was loaded.

    This record is sent to other processes in place of the object.

    Attributes
    ----------
    kind
        Kind of the provider, which is a key of `GROUPS`.
    string
        The name, such as "studio/planted".
    settings
        The settings.
    facts
        Properties that determine the object's results, with their values in the sending process.
    """

    kind: str
    string: str
    settings: Mapping[str, object]
    facts: Mapping[str, str] = field(default_factory=dict)

    def load(self) -> Any:
        """Return the object. It is loaded only once per process.

        Raises
        ------
        UsageError
            If the object differs from the object that was sent.
        """
        key = pickle.dumps((self.kind, self.string, sorted(self.settings.items())))
        if key not in _LOADED:
            _LOADED[key] = _load(self.kind, self.string, self.settings)
        self._check_facts(_LOADED[key])
        return _LOADED[key]

    def _check_facts(self, loaded: object) -> None:
        """Raise UsageError if this process would produce results that differ from the sender's."""
        here = deciding_facts(loaded)
        other = [name for name, value in self.facts.items() if here.get(name) != value]
        if other:
            differences = "; ".join(
                f"{name} {here.get(name)!r} in place of {self.facts[name]!r}" for name in other
            )
            option = DTYPE_OPTIONS.get(self.kind, "")
            raise UsageError(
                f"{self.kind} {self.string!r} on {node()} differs from the run: {differences}. "
                "Results from both must not be mixed. Use workers with the same devices, packages and "
                f"models{option}"
            )


DECIDING = ("fingerprint", "revision", "settings", "dtype")
"""Attributes of loaded objects that determine their results."""

DTYPE_OPTIONS = {
    "model": ", or state -M dtype=float32",
    "vqa": ", or state --vqa-arg dtype=float32",
    "embedder": ", or state --embedder-arg dtype=float32",
}
"""Advice on choosing a network's number format (dtype), keyed by kind of provider."""


def deciding_facts(loaded: object) -> dict[str, str]:
    """Return, as text, the attributes of a loaded object that determine its results."""
    facts = {}
    for name in DECIDING:
        value = getattr(loaded, name, None)
        if isinstance(value, Mapping):
            facts[name] = repr(sorted(value.items()))
        elif value is not None:
            facts[name] = str(value)
    return facts


_LOADED: dict[bytes, Any] = {}
PROVIDER = "__askew_provider__"
"""Name of the attribute that stores the `Provider` of a loaded object."""

NETWORKS = ("diffusers", "huggingface_hub", "safetensors", "tokenizers", "torch", "transformers")
"""Packages that the extra `models` installs."""

GROUPS = {
    "model": "askew.models",
    "vqa": "askew.vqa",
    "embedder": "askew.embedders",
    "llm": "askew.llms",
    "method": "askew.methods",
    "mitigation": "askew.mitigations",
}
"""Names of the entry-point groups, keyed by kind of provider."""

HUGGING_FACE = {"model": "diffusers", "vqa": "transformers"}
"""Providers that load networks from Hugging Face, keyed by kind."""

WRONG_ARGUMENTS = ("unexpected keyword argument", "multiple values for")
"""Phrases in a TypeError's message that indicate that a factory does not accept a setting."""


@lru_cache
def providers(kind: str) -> dict[str, EntryPoint]:
    """Return the entry points of one kind, such as "vqa", keyed and sorted by name."""
    points = entry_points(group=GROUPS[kind])
    return {point.name: point for point in sorted(points, key=lambda point: point.name)}


def model(string: str, **settings: object) -> Model | Collection:
    """Return the text-to-image model, or the collection of existing images, that has this name."""
    return cast("Model | Collection", _load("model", string, settings))


def opens_slowly(string: str) -> bool:
    """Check whether opening a model takes several seconds.

    A provider's module declares this with `OPENS_SLOWLY = True`. The model is not opened.
    """
    point, _ = find("model", string)
    try:
        module = import_module(point.module)
    except ModuleNotFoundError:
        return False
    return bool(getattr(module, "OPENS_SLOWLY", False))


def vqa(string: str, **settings: object) -> VQA:
    """Return the VQA instrument with this name."""
    return cast(VQA, _load("vqa", string, settings))


def embedder(string: str, **settings: object) -> Embedder:
    """Return the embedder for images and text with this name."""
    return cast(Embedder, _load("embedder", string, settings))


def writer(string: str, **settings: object) -> Writer:
    """Return the prompt generator with this name."""
    return cast(Writer, _load("llm", string, settings))


def named(kind: Literal["method", "mitigation"], name: str) -> Any:
    """Return the `Method` or the subclass of `Mitigation` that has this name.

    Raises
    ------
    UnknownName
        If there is no such method or mitigation.
    """
    UnknownName.unless_known(kind, name, providers(kind))
    return providers(kind)[name].load()


def summary(point: EntryPoint) -> str:
    """Return the first docstring line of a provider's module, without importing the module."""
    spec = find_spec(point.module)
    if not (spec and spec.origin):
        return ""
    text = ast.get_docstring(ast.parse(Path(spec.origin).read_text(encoding="utf-8")))
    return text.partition("\n")[0] if text else ""


def find(kind: str, string: str) -> tuple[EntryPoint, str]:
    """Return the entry point for `string`, and the part of `string` after the first slash.

    Raises
    ------
    UnknownName
        If no entry point exists for `string`.
    """
    known = providers(kind)
    if string in known:
        return known[string], ""
    provider, _, name = string.partition("/")
    if name and provider in known:
        return known[provider], name
    raise UnknownName(kind, string, known, _advice(kind, string))


def _advice(kind: str, string: str) -> str:
    """Return a hint on how to specify a model from Hugging Face, including the nearest preset."""
    provider = HUGGING_FACE.get(kind)
    if provider is None:
        return ""
    advice = f"For a model from Hugging Face, write --{kind} {provider}/ID."
    near = difflib.get_close_matches(string, preset_names(), n=1, cutoff=0.3)
    if kind == "model" and near:
        advice += f" The nearest preset is --preset {near[0]}."
    return advice


@lru_cache
def preset_names() -> tuple[str, ...]:
    """Return the names of all presets, without building the presets."""
    text = files("askew").joinpath("presets.toml").read_text(encoding="utf-8")
    return tuple(tomllib.loads(text)["presets"])


def _load(kind: str, string: str, settings: Mapping[str, object]) -> Any:
    point, name = find(kind, string)
    check_address(f"the name of the {kind}", name)
    check_addresses(settings)
    # torch reads this when it is loaded: threads that spin would stop other runs
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    keep_freed_memory()
    try:
        create = point.load()
        _check_settings(f"{kind} {string!r}", create, settings)
        loaded = create(name, **settings)
    except ModuleNotFoundError as error:
        if error.name not in NETWORKS:
            raise
        raise MissingPackage(error.name, "models", f"the {kind} {string!r}") from error
    except TypeError as error:
        if not any(fault in str(error) for fault in WRONG_ARGUMENTS):
            raise
        raise UsageError(f"{kind} {string!r}: {str(error).split(') ')[-1]}") from error
    _make_sendable(loaded, Provider(kind, string, settings))
    return loaded


def _check_settings(
    where: str, create: Callable[..., object], settings: Mapping[str, object]
) -> None:
    """Raise UsageError if a factory does not accept a setting, or a setting has the wrong type."""
    _, *parameters = signature(create).parameters.values()
    factory: Any = create.__init__ if isinstance(create, type) else create  # type: ignore[misc]
    try:
        hints = get_type_hints(factory)
    except (NameError, TypeError):  # a provider of another package, whose hints cannot be read
        hints = {}
    named_parameters = [p for p in parameters if p.kind is not Parameter.VAR_KEYWORD]
    known = {parameter.name: hints.get(parameter.name) for parameter in named_parameters}
    takes_any = len(named_parameters) < len(parameters)
    to_check = {name: value for name, value in settings.items() if name in known or not takes_any}
    check_settings(where, known, to_check)


def _make_sendable(loaded: object, provider: Provider) -> None:
    """Make an object pickle as its `Provider`, so that weights and connections are not sent.

    Objects with slots are pickled unchanged.
    """
    with suppress(AttributeError):
        object.__setattr__(loaded, PROVIDER, provider)
        copyreg.pickle(type(loaded), _reduced)


def _reduced(loaded: object) -> Any:
    """Return the record that is pickled in place of a loaded object."""
    provider = getattr(loaded, PROVIDER, None)
    if provider is None:
        return loaded.__reduce_ex__(2)
    return Provider.load, (replace(provider, facts=deciding_facts(loaded)),)
