"""What a run found: frozen records with estimates in them, one walk over all of these, and
results.json.

`results.json` is the serialised findings of a method, nothing more; reading it back validates it.
"""

import json
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Self, TypeVar, cast, get_args, get_type_hints

from pydantic import Discriminator, Tag, TypeAdapter, ValidationError

from askew.environment import Environment
from askew.errors import RunError, UsageError
from askew.models.base import Setting
from askew.plan import RunPlan
from askew.stats.intervals import benjamini_hochberg
from askew.store.files import read_text, write_file
from askew.types import Estimate, Missing, Picture, grouped, record

RESULTS_FILE = "results.json"
FORMAT = 5
"""Of results.json: greater by one when a file of before can no longer be read."""

T = TypeVar("T")
Address = tuple[str | int, ...]
"""Where an estimate stands: names of fields, keys, positions."""


def _kind(node: object) -> str:
    found = "reason" in node if isinstance(node, Mapping) else isinstance(node, Missing)
    return "missing" if found else "estimate"


E = Annotated[
    Annotated[Estimate, Tag("estimate")] | Annotated[Missing, Tag("missing")], Discriminator(_kind)
]
"""A score, or why there is none."""


@dataclass(frozen=True, slots=True)
class MappingKey:
    """Says what the keys of a mapping are: `Annotated[Mapping[str, E], Keyed("value")]` has a score
    for every value.
    """

    name: str


@dataclass(frozen=True, slots=True)
class IdentifyingField:
    """Says whether a field tells an entry from others: `Annotated[float, Names()]`. Unless said,
    texts do alone.
    """

    entry: bool = True


@record
class Identity:
    """Who made pictures."""

    name: str
    revision: str
    settings: Mapping[str, Setting]


@record
class Instruments:
    """By name the fingerprint of every instrument that was asked; None where a kind was not.

    `objective` is a function of the user's own that a search was for.
    """

    vqa: Mapping[str, str] | None = None
    embedder: Mapping[str, str] | None = None
    llm: Mapping[str, str] | None = None
    objective: Mapping[str, str] | None = None


@record
class PictureSet:
    """Pictures, and what they were made for: `axis` and `value` are None for a prompt's own
    pictures.
    """

    prompt: str
    axis: str | None
    value: str | None
    text: str
    n: int
    missing: Mapping[str, int]
    pictures: tuple[str | None, ...]
    seeds: tuple[int | None, ...]
    model: str | None = None

    @classmethod
    def of(
        cls,
        prompt: str,
        pictures: tuple[Picture | Missing, ...] | list[Picture | Missing],
        axis: str | None = None,
        value: str | None = None,
        text: str | None = None,
        model: str | None = None,
    ) -> Self:
        """The set of these pictures; `text` is what they were made by, the prompt itself unless
        given.
        """
        lost = [one.reason for one in pictures if isinstance(one, Missing)]
        return cls(
            prompt,
            axis,
            value,
            prompt if text is None else text,
            len(pictures),
            missing={reason: lost.count(reason) for reason in sorted(set(lost))},
            pictures=tuple(one.id if isinstance(one, Picture) else None for one in pictures),
            seeds=tuple(one.seed if isinstance(one, Picture) else None for one in pictures),
            model=model,
        )


class ExtensibleRecord:
    """A record that others begin with."""

    def into(self, kind: type[T], **own: object) -> T:
        """A record of a kind that begins with this one. `own` are the fields of `kind` behind
        these.
        """
        return kind(**{one.name: getattr(self, one.name) for one in fields(self)}, **own)  # type: ignore[arg-type]


@dataclass(frozen=True)
class GatheredData(ExtensibleRecord):
    """What a gather brings: who made and read the pictures, where the model worked, and the
    pictures.

    What the score of a method needs besides, a subclass adds.
    """

    model: Identity
    device: str | None
    instruments: Instruments
    sets: tuple[PictureSet, ...]


@record
class Head(ExtensibleRecord):
    """What every results.json begins with. A method's findings are a subclass with its own fields
    behind these.

    `format` is that of the file, `askew` and `version` are those of the package and of the method's
    code.
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
    """An estimate with its place: the field that holds it, such as "mad", its address, and what it
    is about.

    `names` are by the field or key: {"prompt": "a photo of a nurse", "axis": "gender"}.
    """

    score: str
    at: Address
    names: Mapping[str, str]
    estimate: Estimate


def scored(node: object) -> Iterator[LocatedEstimate]:
    """Every estimate below a node, in the order of fields, with what the records around it say it
    is about.
    """
    return _scored(node, (), {}, "", None)


def with_q(node: T, family: Callable[[Address], Hashable]) -> T:
    """The findings with a Benjamini-Hochberg q beside every p.

    Tests of one family are adjusted together; those of the family None keep no q.
    """
    found: dict[Address, float] = {}
    for name, tests in grouped(scored(node), lambda one: family(one.at)).items():
        p = {
            one.at: one.estimate.p
            for one in tests
            if name is not None and one.estimate.p is not None
        }
        found |= dict(zip(p, benjamini_hochberg([*p.values()]).tolist(), strict=True))
    return cast("T", _rebuilt(node, (), found))


def pattern(at: Address) -> Address:
    """An address without positions: all entries of a list are alike."""
    return tuple(part for part in at if isinstance(part, str))


def score_names(kind: type) -> list[str]:
    """The names of all estimates that findings of a kind can hold, in the order of fields."""

    def below(kind: object, name: str) -> Iterator[str]:
        if kind is Estimate:
            yield name
        elif isinstance(kind, type) and is_dataclass(kind):
            for field, hint in get_type_hints(kind, include_extras=True).items():
                yield from below(hint, field)
        else:
            for part in get_args(kind):
                yield from below(part, name)

    return list(dict.fromkeys(below(kind, "")))


adapter: Callable[[Any], TypeAdapter[Any]] = lru_cache(TypeAdapter)
"""How records of a kind are written, read and described as JSON Schema."""


def written(findings: object, kind: Any = None) -> bytes:
    """The bytes of results.json; `kind` for what is no record. Raises RunError for a number that is
    not finite.
    """
    of = adapter(kind or type(findings))
    text: bytes = of.dump_json(findings, indent=1, by_alias=True)
    try:
        of.validate_json(text)
    except ValidationError as error:
        raise RunError(
            f"cannot write the findings: {_fault(error)}; what is not a number must be Missing"
        ) from error
    return text + b"\n"


def write(findings: object, path: Path, kind: Any = None) -> Path:
    """Write findings as strict JSON, whole or not at all, and return the path."""
    return write_file(path, written(findings, kind))


def read(kind: type[T], path: Path) -> T:
    """Findings from a file. Raises UsageError that says where it is not what askew writes, and what
    to do.
    """
    text = results_text(path)
    try:
        data = json.loads(text, parse_constant=_refuse)
    except ValueError as error:
        raise UsageError(f"{path} is not strict JSON ({error}): {AGAIN}") from error
    if not isinstance(data, dict):
        raise UsageError(
            f"{path} must hold a JSON object, but holds a {type(data).__name__}: {AGAIN}"
        )
    written_as = data.get("format")
    if isinstance(written_as, int) and written_as > FORMAT:
        raise UsageError(
            f"{path} was written by a newer askew (format {written_as}, this one reads {FORMAT}): upgrade askew"
        )
    if written_as != FORMAT:
        raise UsageError(f"{path} was written by an older askew: {AGAIN}")
    return valid(kind, text, path)


def valid(kind: type[T], text: str, path: Path) -> T:
    """Records of a kind from the text of a file. Raises UsageError that says what is wrong and
    where.
    """
    try:
        found: T = adapter(kind).validate_json(text)
    except ValidationError as error:
        raise UsageError(f"{path}: {_fault(error)}: {AGAIN}") from error
    return found


def results_text(path: Path) -> str:
    """The text of a results file. Raises UsageError where there is none."""
    if not path.exists():
        raise UsageError(f"{path.parent} holds no {path.name}: name the folder of a finished run")
    return read_text(path, "the results")


AGAIN = (
    "run the same command again to write it anew; pictures and answers in the store are used again"
)


def _refuse(constant: str) -> float:
    raise ValueError(f"{constant} is no JSON number")


def _fault(error: ValidationError) -> str:
    """The first fault and its place, without the tags of unions."""
    first = error.errors()[0]
    place = ".".join(str(part) for part in first["loc"] if part not in ("estimate", "missing"))
    return f"{place} is {first['input']!r:.60}: {first['msg']}"


def _scored(
    node: object, at: Address, names: Mapping[str, str], score: str, keyed: str | None
) -> Iterator[LocatedEstimate]:
    if isinstance(node, Estimate):
        yield LocatedEstimate(score, at, names, node)
        return
    if is_dataclass(node) and not isinstance(node, Missing | Environment | Identity | PictureSet):
        keys, entry = _marks(type(node))  # type: ignore[arg-type]
        names = names if isinstance(node, Head) else {**names, **_told(node, entry)}
        for name, child in _children(node):
            yield from _scored(child, (*at, name), names, str(name), keys.get(str(name)))
    elif isinstance(node, Mapping):
        for key, child in node.items():
            own = {**names, keyed or "key": str(key)}
            yield from _scored(child, (*at, key), own, score, None)
    elif isinstance(node, tuple | list):
        for k, child in enumerate(node):
            yield from _scored(child, (*at, k), names, score, keyed)


def _told(node: object, entry: Mapping[str, bool]) -> Mapping[str, str]:
    """The fields of a record that say what it is about."""
    told = (
        (str(name), value)
        for name, value in _children(node)
        if entry.get(str(name), isinstance(value, str))
    )
    return {
        name: f"{value:g}" if isinstance(value, float) else str(value)
        for name, value in told
        if value is not None
    }


@lru_cache
def _marks(kind: type) -> tuple[Mapping[str, str], Mapping[str, bool]]:
    """By field what the keys of its mapping are, and whether it names an entry, where that is said."""
    hints = get_type_hints(kind, include_extras=True)
    keys = {name: key for name, hint in hints.items() if (key := _keyed(hint))}
    marks = (
        (name, mark) for name, hint in hints.items() for mark in getattr(hint, "__metadata__", ())
    )
    return keys, {name: mark.entry for name, mark in marks if isinstance(mark, IdentifyingField)}


def _keyed(hint: object) -> str | None:
    marks = [
        mark.name for mark in getattr(hint, "__metadata__", ()) if isinstance(mark, MappingKey)
    ]
    inner = (found for part in get_args(hint) if (found := _keyed(part)))
    return marks[0] if marks else next(inner, None)


def _rebuilt(node: Any, at: Address, q: Mapping[Address, float]) -> Any:
    if isinstance(node, Estimate):
        return replace(node, q=q[at]) if at in q else node
    if isinstance(node, Missing) or not _children(node):
        return node
    changed = {name: _rebuilt(child, (*at, name), q) for name, child in _children(node)}
    if is_dataclass(node) and not isinstance(node, type):
        return replace(node, **cast("dict[str, Any]", changed))
    return changed if isinstance(node, Mapping) else type(node)(changed.values())


def _children(node: object) -> list[tuple[str | int, Any]]:
    if is_dataclass(node):
        return [(field.name, getattr(node, field.name)) for field in fields(node)]
    if isinstance(node, Mapping):
        return list(node.items())
    return list(enumerate(node)) if isinstance(node, tuple | list) else []
