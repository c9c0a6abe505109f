"""Signatures and docstrings that list the options that several functions share.

A command is a typed function with `**options: Unpack[SomeOptions]`. For `help()` and editors, the
public form of the function lists these options with the help texts that the command line shows.
"""

import inspect
import re
from collections.abc import Callable, Iterator
from functools import wraps
from textwrap import fill
from typing import Any, get_args, get_type_hints

from cyclopts import Parameter

WIDTH = 96
SECTION = "Parameters\n----------\n"
NEXT_SECTION = re.compile(r"\n\n(?=\w+\n-+\n)")


class Unset:
    """Default value shown in a signature for options that can be omitted."""

    def __repr__(self) -> str:
        return "..."


UNSET = Unset()


def with_listed_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function, with its shared options listed in the signature and docstring.

    Parameters
    ----------
    function
        A function that has a parameter `**options: Unpack[T]`. T is a TypedDict whose fields are
        annotated with `cyclopts.Parameter`.

    Returns
    -------
    Callable
        A function with the same behavior.
    """
    hints = get_type_hints(function, include_extras=True)
    if "options" not in hints:
        return function
    (kind,) = get_args(hints["options"])

    @wraps(function)
    def public(*args: Any, **options: Any) -> Any:
        return function(*args, **options)

    public.__module__ = "askew"
    public.__doc__ = _documented(inspect.getdoc(function) or "", kind)
    public.__signature__ = _listed(function, kind)  # type: ignore[attr-defined]
    return public


def _listed(function: Callable[..., Any], kind: type) -> inspect.Signature:
    """Return the signature with the fields of `kind` in place of `**options`, without metadata."""
    signature = inspect.signature(function)
    types = get_type_hints(function)
    parameters = [
        parameter.replace(annotation=types.get(parameter.name, parameter.annotation))
        for parameter in list(signature.parameters.values())[:-1]
    ]
    names = {parameter.name for parameter in parameters}
    for name, hint in get_type_hints(kind).items():
        if name not in names:
            parameters.append(
                inspect.Parameter(
                    name, inspect.Parameter.KEYWORD_ONLY, default=UNSET, annotation=hint
                )
            )
    return signature.replace(parameters=parameters)


def _documented(text: str, kind: type) -> str:
    """Add the fields of `kind` and their help texts to the parameters in a docstring."""
    before, section, after = text.partition(SECTION)
    if not section:
        return text
    parameters, *_ = NEXT_SECTION.split(after, maxsplit=1)
    others = after[len(parameters) :]
    options = "\n".join(_entries(kind, parameters))
    return f"{before}{section}{parameters.rstrip()}\n{options}{others}"


def _entries(kind: type, documented: str) -> Iterator[str]:
    """Yield a docstring entry for each field that is not documented yet."""
    names = {line for line in documented.splitlines() if line and not line.startswith(" ")}
    for name, hint in get_type_hints(kind, include_extras=True).items():
        if name not in names:
            text = fill(_help(hint), WIDTH, initial_indent="    ", subsequent_indent="    ")
            yield f"{name}\n{text}"


def _help(hint: Any) -> str:
    """Return the help text of an annotated field."""
    marks = getattr(hint, "__metadata__", ())
    texts = [mark.help for mark in marks if isinstance(mark, Parameter) and mark.help]
    return texts[-1] if texts else ""
