"""Findings of a run (records of estimates), functions to visit the estimates, and results.json.

`results.json` contains exactly the findings of a method. Reading it back validates it.
"""

import json
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Self, TypeVar, cast, get_args, get_type_hints

from pydantic import (
    Discriminator,
    PlainSerializer,
    Tag,
    TypeAdapter,
    ValidationError,
    WithJsonSchema,
)

from askew.environment import Environment
from askew.errors import RunError, UsageError
from askew.models.base import Setting
from askew.plan import RunPlan
from askew.stats.intervals import benjamini_hochberg
from askew.store.files import read_text, write_file
from askew.store.foreign import json_value
from askew.types import (
    Estimate,
    Missing,
    MissingItem,
    Picture,
    grouped,
    is_copy,
    missing_items,
    record,
)

RESULTS_FILE = "results.json"
FORMAT = 6
"""Version number of the format of results.json.

The number increases whenever a change makes askew unable to read older files.
"""

Seed = Annotated[
    int,
    PlainSerializer(str, return_type=str, when_used="json"),
    WithJsonSchema({"type": "string", "pattern": "^[0-9]+$"}),
]
"""Seed of an image, which is stored as text in results.json.

Seeds have 63 bits. JavaScript and spreadsheets would round such long numbers to 53 bits.
"""

AGAIN = (
    "repeat the run's command to write the file again; images and answers in the store are reused"
)

T = TypeVar("T")
Address = tuple[str | int, ...]
"""Path to an estimate in findings. The path consists of field names, keys and positions."""


def _kind(node: object) -> str:
    if isinstance(node, Mapping):
        return "missing" if "reason" in node else "estimate"
    return "missing" if isinstance(node, Missing) else "estimate"


E = Annotated[
    Annotated[Estimate, Tag("estimate")] | Annotated[Missing, Tag("missing")], Discriminator(_kind)
]
"""A score, or the reason why it is missing."""


@dataclass(frozen=True, slots=True)
class MappingKey:
    """Annotation that names the kind of keys in a mapping.

    For example, `Annotated[Mapping[str, E], MappingKey("value")]` contains a score for each value
    of an axis.
    """

    name: str


@dataclass(frozen=True, slots=True)
class IdentifyingField:
    """Annotation that states whether a field identifies an entry.

    Without this annotation, only text fields identify an entry. `Annotated[float,
    IdentifyingField()]` is a number that identifies its entry.
    """

    entry: bool = True


@record
class Identity:
    """The model that generated the images."""

    name: str
    revision: str
    settings: Mapping[str, Setting]


@record
class Instruments:
    """Fingerprints of all instruments, keyed by name; None for unused kinds of instruments.

    Attributes
    ----------
    vqa, embedder, llm
        Fingerprints of the VQA models, the embedders and the language models.
    objective
        User-defined function that a search optimized.
    """

    vqa: Mapping[str, str] | None = None
    embedder: Mapping[str, str] | None = None
    llm: Mapping[str, str] | None = None
    objective: Mapping[str, str] | None = None


@record
class PictureSet:
    """An image set.

    Attributes
    ----------
    prompt
        The audited prompt.
    axis, value
        Axis and value of the counterfactual prompt or condition; None for the prompt's baseline
        images.
    text
        The prompt from which the images were generated.
    n
        Number of distinct images, including missing images.
    missing
        Number of missing images for each reason.
    pictures
        Ids of the images. None for missing images.
    seeds
        Seeds of the images. None for missing images and for images from files.
    model
        Name of the model if the run has several models.
    reasons
        Up to five examples of missing images for each reason.
    copies
        Number of additional images that are identical to an image in `pictures`. They do not count.
    labels
        The first instrument's labels for the first images, keyed by axis; None for an image without
        a label.
    """

    prompt: str
    axis: str | None
    value: str | None
    text: str
    n: int
    missing: Mapping[str, int]
    pictures: tuple[str | None, ...]
    seeds: tuple[Seed | None, ...]
    model: str | None = None
    copies: int = 0
    labels: Mapping[str, tuple[str | None, ...]] | None = None
    reasons: tuple[MissingItem, ...] = ()

    @property
    def name(self) -> str:
        """Name of the image set within its audit: "initial" or "AXIS: VALUE"."""
        return "initial" if self.axis is None else f"{self.axis}: {self.value}"

    @classmethod
    def of(
        cls,
        prompt: str,
        pictures: Sequence[Picture | Missing],
        axis: str | None = None,
        value: str | None = None,
        text: str | None = None,
        model: str | None = None,
    ) -> Self:
        """Create an image set from the given images. By default, `text` is the prompt."""
        distinct = [outcome for outcome in pictures if not is_copy(outcome)]
        reasons = [outcome.reason for outcome in distinct if isinstance(outcome, Missing)]
        return cls(
            prompt=prompt,
            axis=axis,
            value=value,
            text=prompt if text is None else text,
            n=len(distinct),
            missing={reason: reasons.count(reason) for reason in sorted(set(reasons))},
            pictures=tuple(
                outcome.id if isinstance(outcome, Picture) else None for outcome in distinct
            ),
            seeds=tuple(
                outcome.seed if isinstance(outcome, Picture) else None for outcome in distinct
            ),
            model=model,
            copies=len(pictures) - len(distinct),
            reasons=missing_items(
                (f"image {number}", outcome) for number, outcome in enumerate(pictures, 1)
            ),
        )


class ExtensibleRecord:
    """Base class for records whose subclasses add more fields."""

    def into(self, kind: type[T], **more: object) -> T:
        """Create a record of another type from this record's fields and the fields in `more`."""
        begin = {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]
        return kind(**begin, **more)


@dataclass(frozen=True)
class GatheredData(ExtensibleRecord):
    """Data that a method's `gather` function obtains.

    Each method adds the data that its score needs.

    Attributes
    ----------
    model
        The model that generated the images.
    device
        Device on which the model ran. None if unknown.
    instruments
        The instruments.
    sets
        The image sets.
    """

    model: Identity
    device: str | None
    instruments: Instruments
    sets: tuple[PictureSet, ...]


@record
class Head(ExtensibleRecord):
    """The beginning of every results.json. A method's findings add their own fields.

    Attributes
    ----------
    format
        Format of the file.
    askew
        Version of the package.
    version
        Version of the method's code.
    plan, plan_hash
        The plan and its hash.
    environment
        Machine and time of the run.
    warnings
        Warnings about the findings.
    model
        The model that generated the images.
    instruments
        The instruments.
    sets
        The image sets.
    """

    format: int
    askew: str
    version: int
    plan: RunPlan
    plan_hash: str
    environment: Environment
    warnings: tuple[str, ...]
    model: Identity
    instruments: Instruments
    sets: tuple[PictureSet, ...]


@dataclass(frozen=True, slots=True)
class LocatedEstimate:
    """An estimate, and its place in the findings.

    Attributes
    ----------
    score
        Name of the field that contains the estimate, such as "mad".
    address
        Address of the estimate.
    names
        Names that state what the estimate is about, such as {"prompt": "a photo of a nurse",
        "axis": "gender"}.
    estimate
        The estimate.
    """

    score: str
    address: Address
    names: Mapping[str, str]
    estimate: Estimate


def scored(node: object) -> Iterator[LocatedEstimate]:
    """Yield every estimate in a part of the findings, with its names, in field order."""
    return _walk(node, (), {}, "", None)


def with_q(node: T, family: Callable[[Address], Hashable]) -> T:
    """Return the findings with a Benjamini-Hochberg q-value for every p-value.

    Parameters
    ----------
    node
        The findings.
    family
        Function that takes the address of an estimate, and returns the estimate's family of tests.
        All tests in a family are corrected together. A test whose family is None has no q-value.
    """
    q_values: dict[Address, float] = {}
    families = grouped(scored(node), lambda located: family(located.address))
    for name, tests in families.items():
        p_values = {
            located.address: located.estimate.p
            for located in tests
            if name is not None and located.estimate.p is not None
        }
        corrected = benjamini_hochberg([*p_values.values()]).tolist()
        q_values |= dict(zip(p_values, corrected, strict=True))
    return cast("T", _rebuilt(node, (), q_values))


def pattern(address: Address) -> Address:
    """Return an estimate's address without positions in lists.

    The result is the same for corresponding estimates in different entries of a list.
    """
    return tuple(part for part in address if isinstance(part, str))


def score_names(kind: type) -> list[str]:
    """Return the names of all estimates that this type of findings can contain, in field order."""
    return list(dict.fromkeys(_score_names(kind, "")))


def _score_names(kind: object, name: str) -> Iterator[str]:
    if kind is Estimate:
        yield name
    elif isinstance(kind, type) and is_dataclass(kind):
        for field, hint in get_type_hints(kind, include_extras=True).items():
            yield from _score_names(hint, field)
    else:
        for part in get_args(kind):
            yield from _score_names(part, name)


adapter: Callable[[Any], TypeAdapter[Any]] = lru_cache(TypeAdapter)
"""Return the adapter that reads and writes records of this type, and exports their JSON Schema.
"""


def written(findings: object, kind: Any = None) -> bytes:
    """Return the bytes of results.json.

    Parameters
    ----------
    findings
        The findings.
    kind
        Type of the findings; only needed if the findings are not a record.

    Raises
    ------
    RunError
        If a number is not finite.
    """
    kind_adapter = adapter(kind or type(findings))
    text: bytes = kind_adapter.dump_json(findings, indent=1, by_alias=True)
    try:
        kind_adapter.validate_json(text)
    except ValidationError as error:
        raise RunError(
            f"cannot write the findings: {_fault(error)}. A score without a number must be Missing"
        ) from error
    return text + b"\n"


def write(findings: object, path: Path, kind: Any = None) -> Path:
    """Write findings as strict JSON, and return the path.

    An incomplete file is never left behind.
    """
    return write_file(path, written(findings, kind))


def read(kind: type[T], path: Path) -> T:
    """Read findings from a file.

    Raises
    ------
    UsageError
        If this version of askew cannot read the file. The message states which part is wrong, and
        what to do.
    """
    text = results_text(path)
    data = _strict_object(text, path)
    file_format = data.get("format")
    if isinstance(file_format, int) and file_format > FORMAT:
        raise UsageError(
            f"{path} was written by a newer askew (format {file_format}, this version reads "
            f"{FORMAT}): upgrade askew"
        )
    if file_format != FORMAT:
        raise UsageError(f"{path} was written by an older askew: {AGAIN}")
    return _validated(kind, text, path)


def read_records(kind: type[T], path: Path) -> T:
    """Read records from a file that does not begin with a `Head`.

    Raises
    ------
    UsageError
        If the file is missing or invalid; the message states the first error and its location.
    """
    text = results_text(path)
    _strict_json(text, path)
    return _validated(kind, text, path)


def read_field(kind: type[T], path: Path, name: str) -> T:
    """Read a list field from the results of any method; return an empty list if it is missing.

    Parameters
    ----------
    kind
        Type of the list, which is a tuple of records.
    path
        The results.
    name
        Name of the field that contains the list.

    Raises
    ------
    UsageError
        If the file is missing or invalid; the message states the first error and its location.
    """
    content = _strict_object(results_text(path), path)
    return _validated(kind, json.dumps(content.get(name) or []), path)


def _strict_object(text: str, path: Path) -> dict[str, Any]:
    """Parse text as a strict JSON object, or raise UsageError."""
    data = _strict_json(text, path)
    if not isinstance(data, dict):
        raise UsageError(
            f"{path} must contain a JSON object, but contains a {type(data).__name__}: {AGAIN}"
        )
    return data


def _strict_json(text: str, path: Path) -> Any:
    """Parse text as strict JSON, or raise UsageError."""
    try:
        return json_value(text, _refuse)
    except ValueError as error:
        raise UsageError(f"{path} is not strict JSON ({error}): {AGAIN}") from error


def _validated(kind: type[T], text: str, path: Path) -> T:
    """Parse records from text, or raise a UsageError that describes the first error."""
    try:
        records: T = adapter(kind).validate_json(text)
    except ValidationError as error:
        raise UsageError(f"{path}: {_fault(error)}: {AGAIN}") from error
    return records


def results_text(path: Path) -> str:
    """Read the text of a results file.

    Raises
    ------
    UsageError
        If there is no such file.
    """
    if not path.exists():
        raise UsageError(
            f"{path.parent} contains no {path.name}: name the folder of a finished run"
        )
    return read_text(path, "the results", follow=False)


def _refuse(constant: str) -> float:
    raise ValueError(f"{constant} is not a JSON number")


def _fault(error: ValidationError) -> str:
    """Describe the first error in a file and its location, omitting the names of union members."""
    first = error.errors()[0]
    place = ".".join(str(part) for part in first["loc"] if part not in ("estimate", "missing"))
    return f"{place} is {first['input']!r:.60}: {first['msg']}"


def _walk(
    node: object, address: Address, names: Mapping[str, str], score: str, key_name: str | None
) -> Iterator[LocatedEstimate]:
    """Yield the estimates in a part of the findings.

    If `node` is a mapping, `key_name` states what its keys are, such as "value".
    """
    if isinstance(node, Estimate):
        yield LocatedEstimate(score=score, address=address, names=names, estimate=node)
    elif isinstance(node, Missing | Environment | Identity | PictureSet):
        return
    elif is_dataclass(node):
        key_names, identifying = _annotations(type(node))  # type: ignore[arg-type]
        if not isinstance(node, Head):
            names = {**names, **_identifying_fields(node, identifying)}
        for field, child in _children(node):
            name = str(field)
            yield from _walk(child, (*address, name), names, name, key_names.get(name))
    elif isinstance(node, Mapping):
        for key, child in node.items():
            child_names = {**names, key_name or "key": str(key)}
            yield from _walk(child, (*address, key), child_names, score, None)
    else:
        for position, child in _children(node):
            yield from _walk(child, (*address, position), names, score, key_name)


def _identifying_fields(node: object, identifying: Mapping[str, bool]) -> Mapping[str, str]:
    """Return, as text, the values of the fields that identify a record."""
    texts = {}
    for field, value in _children(node):
        name = str(field)
        if value is not None and identifying.get(name, isinstance(value, str)):
            texts[name] = f"{value:g}" if isinstance(value, float) else str(value)
    return texts


@lru_cache
def _annotations(kind: type) -> tuple[Mapping[str, str], Mapping[str, bool]]:
    """Return two dictionaries with the annotations of a record's fields, keyed by field name.

    The first dictionary names the kind of keys in a field's mapping. The second dictionary
    states whether a field identifies its entry. A field without an annotation is omitted.
    """
    key_names = {}
    identifying = {}
    for field, hint in get_type_hints(kind, include_extras=True).items():
        key_name = _key_name(hint)
        if key_name:
            key_names[field] = key_name
        for mark in getattr(hint, "__metadata__", ()):
            if isinstance(mark, IdentifyingField):
                identifying[field] = mark.entry
    return key_names, identifying


def _key_name(hint: object) -> str | None:
    """Return the annotated name of a mapping's keys; None if the type has no such annotation."""
    for mark in getattr(hint, "__metadata__", ()):
        if isinstance(mark, MappingKey):
            return mark.name
    for part in get_args(hint):
        key_name = _key_name(part)
        if key_name:
            return key_name
    return None


def _rebuilt(node: Any, address: Address, q_values: Mapping[Address, float]) -> Any:
    """Return a copy of the findings that adds q-values to the estimates at these addresses."""
    if isinstance(node, Estimate):
        return replace(node, q=q_values[address]) if address in q_values else node
    children = _children(node)
    if isinstance(node, Missing) or not children:
        return node
    copies: dict[Any, Any] = {
        name: _rebuilt(child, (*address, name), q_values) for name, child in children
    }
    if is_dataclass(node) and not isinstance(node, type):
        return replace(node, **copies)
    return copies if isinstance(node, Mapping) else type(node)(copies.values())


def _children(node: object) -> list[tuple[str | int, Any]]:
    """Return a node's fields, items or elements, each with its name, key or position."""
    if is_dataclass(node):
        return [(field.name, getattr(node, field.name)) for field in fields(node)]
    if isinstance(node, Mapping):
        return list(node.items())
    return list(enumerate(node)) if isinstance(node, tuple | list) else []
