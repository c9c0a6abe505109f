"""Web forms for commands, and conversion of submitted forms to command-line arguments.

Like the help in the terminal, the form fields are derived from the command's signature, docstring
and option records. A form cannot do more than a terminal command.
"""

import inspect
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import import_module
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from cyclopts import Group, Parameter

from askew import registry
from askew.errors import UnknownName, UsageError
from askew.web.sent_form import SentForm

Kind = Literal["text", "lines", "flag", "choice"]
"""Kind of a form field. The kind `lines` is for options that can be repeated."""

PROMPTS = "prompts"
OMITTED = frozenset(
    "plan save_plan run store json progress engine stop dry_run log packs shard options".split()
)
"""Parameters that have no form field, because the app sets them or a browser cannot use them."""

FIRST = ("model", "preset", "groups")
"""Options on the first page of the form, in addition to the prompts."""

FIRST_GROUP = "This command"
FUNCTION = re.compile(r"[\w.]+:[A-Za-z_]\w*")
"""Pattern for a value that names a function in a module.

The app refuses such a value, because askew would run the function.
"""

PARAMETERS = re.compile(r"Parameters\n-+\n(.*?)(?:\n\n\w+\n-+\n|\Z)", re.DOTALL)
MOST_LINES = 1000


@dataclass(frozen=True, slots=True)
class OptionField:
    """A form field for an option of a command.

    Attributes
    ----------
    name
        Name of the parameter in Python.
    spelling
        Option as written on the command line, such as --images.
    kind
        Kind of the form field.
    help
        Help text of the option.
    group
        Section of the help in which the option is listed.
    choices
        Permitted values; empty if any text is permitted.
    """

    name: str
    spelling: str
    kind: Kind
    help: str
    group: str
    choices: tuple[str, ...] = ()

    def arguments(self, values: Sequence[str]) -> list[str]:
        """Return the command-line arguments that set the option to the given values."""
        if self.kind == "flag":
            return [self.spelling] if values else []
        lines = values
        if self.kind == "lines":
            lines = [line.strip() for value in values for line in value.split("\n")]
        arguments = []
        for text in filter(None, lines):
            joined = text.startswith("-")
            arguments += [f"{self.spelling}={text}"] if joined else [self.spelling, text]
        return arguments


@dataclass(frozen=True)
class CommandForm:
    """The web form for a method's command.

    Attributes
    ----------
    method
        Name of the method.
    fields
        Form fields for the options of the command.
    takes_prompts
        Whether the command takes prompts.
    """

    method: str
    fields: tuple[OptionField, ...]
    takes_prompts: bool

    @property
    def groups(self) -> Mapping[str, list[OptionField]]:
        """Options on the second page of the form, keyed by section."""
        groups: dict[str, list[OptionField]] = {}
        for option in self.fields:
            if option.name not in FIRST:
                groups.setdefault(option.group, []).append(option)
        return groups

    def first(self) -> list[OptionField]:
        """Return the options on the first page of the form."""
        by_name = {option.name: option for option in self.fields}
        return [by_name[name] for name in FIRST if name in by_name]

    def arguments(self, sent: SentForm) -> list[str]:
        """Convert a submitted form to command-line arguments for `askew`.

        Raises
        ------
        UsageError
            If the form contains the name of a function, or a prompt looks like an option.
        """
        arguments = [self.method]
        if self.takes_prompts:
            arguments += prompts_in(sent)
        for option in self.fields:
            values = sent.texts(option.name)
            for value in values:
                if option.name == "objective" and FUNCTION.fullmatch(value):
                    raise UsageError(
                        f"{option.spelling} {value!r} names a function, and the app does not run "
                        "functions. Run the command in a terminal"
                    )
                if option.choices and value not in option.choices:
                    raise UnknownName(option.spelling, value, option.choices)
            arguments += option.arguments(values)
        return arguments


def prompts_in(sent: SentForm) -> list[str]:
    """Return the prompts in a submitted form. The form has one prompt per line.

    Raises
    ------
    UsageError
        If there are too many prompts, or a prompt looks like an option.
    """
    prompts = [line.strip() for line in sent.text(PROMPTS).split("\n") if line.strip()]
    if len(prompts) > MOST_LINES:
        raise UsageError(
            f"the form contains {len(prompts):,} prompts, and it can contain at most "
            f"{MOST_LINES:,}. Run the command in a terminal with a file of prompts (--prompts)"
        )
    for prompt in prompts:
        if prompt.startswith("-"):
            raise UsageError(f"the prompt {prompt!r} must not start with a hyphen")
    return prompts


def command_line(arguments: Sequence[str]) -> str:
    """Return the `askew` command with these arguments as text, quoted for a shell."""
    return shlex.join(["askew", *arguments])


def methods() -> list[str]:
    """Return the names of all methods, with `audit` first and the others in alphabetical order."""
    names = sorted(registry.providers("method"))
    return sorted(names, key=lambda name: name != "audit")


@lru_cache
def command_form(method: str) -> CommandForm:
    """Return the web form for a method's command.

    Raises
    ------
    UnknownName
        If no method has this name.
    """
    points = registry.providers("method")
    UnknownName.unless_known("command", method, points)
    name = method.replace("-", "_")
    module = import_module(f"{points[method].module}.command")
    function: Callable[..., object] = getattr(module, name)
    options = list(_fields(function))
    return CommandForm(
        method=method,
        fields=tuple(options),
        takes_prompts=PROMPTS in inspect.signature(function).parameters,
    )


def _fields(function: Callable[..., object]) -> Iterator[OptionField]:
    """Yield a form field for each option of a command.

    Options that only this command has come first.
    """
    hints = get_type_hints(function, include_extras=True)
    helps = documented_parameters(inspect.getdoc(function) or "")
    for name, hint in hints.items():
        if name not in OMITTED and name not in (PROMPTS, "return"):
            yield _field(name, hint, helps.get(name, ""))
    if "options" in hints:
        (record,) = get_args(hints["options"])
        for name, hint in get_type_hints(record, include_extras=True).items():
            if name not in OMITTED and name not in hints and _is_parsed(hint):
                yield _field(name, hint, helps.get(name, ""))


def documented_parameters(documentation: str) -> dict[str, str]:
    """Return the description of each parameter in a NumPy docstring, keyed by parameter name."""
    match = PARAMETERS.search(documentation)
    helps: dict[str, str] = {}
    name = ""
    for line in match[1].split("\n") if match else ():
        if line and not line.startswith(" "):
            name = line.strip()
            helps[name] = ""
        elif name:
            helps[name] = f"{helps[name]} {line.strip()}".strip()
    return helps


def _is_parsed(hint: object) -> bool:
    return all(mark.parse is not False for mark in _marks(hint))


def _marks(hint: object) -> list[Parameter]:
    marks = []
    while get_origin(hint) is Annotated:
        hint, *extras = get_args(hint)
        marks += [extra for extra in extras if isinstance(extra, Parameter)]
    return marks


@dataclass
class _OptionTraits:
    """Properties of an option, collected from its annotations."""

    spelling: str
    help: str = ""
    group: str = FIRST_GROUP
    is_repeated: bool = False
    choices: list[str] = field(default_factory=list)
    is_flag: bool = False


def _field(name: str, hint: object, documented: str) -> OptionField:
    settings = _OptionTraits(spelling=f"--{name.replace('_', '-')}")
    for mark in _marks(hint):
        settings.help = mark.help or settings.help
        settings.is_repeated |= mark.n_tokens == 1 and "NAME,…" not in str(mark.metavar)
        if mark.name:
            settings.spelling = next(iter(mark.name))
        for group in _groups(mark):
            settings.group = group
    for part in _parts(hint):
        if get_origin(part) is Literal:
            settings.choices += map(str, get_args(part))
        settings.is_flag |= part is bool
    kind: Kind = "lines" if settings.is_repeated else "text"
    if settings.choices:
        kind = "choice"
    elif settings.is_flag and not settings.is_repeated:
        kind = "flag"
    return OptionField(
        name=name,
        spelling=settings.spelling,
        kind=kind,
        help=documented or settings.help,
        group=settings.group,
        choices=tuple(settings.choices),
    )


def _groups(mark: Parameter) -> list[str]:
    """Return the names of the help sections that an annotation contains."""
    if isinstance(mark.group, Group):
        return [mark.group.name]
    return [group.name for group in mark.group or () if isinstance(group, Group)]


def _parts(hint: object) -> Iterator[Any]:
    """Yield the basic types in a type hint. Annotations and unions are split into their parts."""
    if get_origin(hint) is Annotated:
        yield from _parts(get_args(hint)[0])
    elif get_origin(hint) in (Union, UnionType):
        for part in get_args(hint):
            yield from _parts(part)
    else:
        yield hint
