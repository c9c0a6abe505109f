"""Reading JSON and TOML from untrusted sources, with limits on size and nesting.

Python's parsers accept content that takes minutes to read, such as keys with thousands of parts.
They also accept content that later code cannot handle, such as lists nested beyond the recursion
limit, or integers too long to print.
"""

import json
import re
import tomllib
from collections.abc import Callable
from typing import Any

MOST_BYTES = 2**28
"""Maximum size of a JSON document: 256 MB."""

MOST_TOML = 2**26
"""Maximum number of characters in a TOML document."""

MOST_HEAD = 2**18
"""Maximum number of characters before the first table of a TOML document, used by `toml_head`."""

MOST_LEVELS = 100
"""Maximum nesting depth of lists and objects."""

MOST_DIGITS = 20
"""Maximum number of digits in an integer. No 64-bit integer exceeds this limit."""

MOST_KEY_PARTS = 16
"""Maximum number of parts in a TOML key. Parsing time is quadratic in the number of parts."""

_FIRST_LONG_INTEGER = 10**MOST_DIGITS

_TEXT = (
    r'"""(?s:\\.|[^\\])*?(?:"""|\Z)'
    r"|'''(?s:.)*?(?:'''|\Z)"
)
_PART = r"""(?:[A-Za-z0-9_-]++|"(?:\\.|[^"\\\n])*+"?|'[^'\n]*+'?)"""

_LONG_KEY = re.compile(
    rf"#[^\n]*+|{_TEXT}|(?P<long>{_PART}(?:[ \t]*+\.[ \t]*+{_PART}){{{MOST_KEY_PARTS}}})|{_PART}"
)
"""Pattern for comments, strings, keys and values.

The group `long` matches keys with too many parts.
"""

_BRACKET = re.compile(
    rf"#[^\n]*+|{_TEXT}|(?m:^[ \t]*+(?P<line>\[))|{_PART}|(?P<open>[\[{{])|(?P<close>[\]}}])"
)
"""Pattern for comments, strings, names and brackets.

`line` matches a bracket that begins a line.
"""


class LimitError(ValueError):
    """Raised for content that exceeds a limit.

    The message begins with "it", which stands for the content, as in "it has more than … levels of
    nesting".
    """


def json_value(content: str | bytes, refuse_constant: Callable[[str], float] | None = None) -> Any:
    """Return the value of a JSON document.

    Parameters
    ----------
    content
        The document.
    refuse_constant
        Function that raises ValueError for NaN, Infinity and -Infinity. By default, these values
        are accepted.

    Raises
    ------
    ValueError
        If the document is not valid JSON, or exceeds a limit (a LimitError).
    """
    if len(content) > MOST_BYTES:
        raise LimitError(f"it is larger than {MOST_BYTES // 2**20} MB")

    def parse() -> Any:
        return json.loads(content, parse_constant=refuse_constant)

    return _parsed(parse)


def toml_table(text: str) -> dict[str, Any]:
    """Return the content of a TOML document.

    Raises
    ------
    ValueError
        If the document is not valid TOML, or exceeds a limit (a LimitError).
    """
    if len(text) > MOST_TOML:
        raise LimitError(f"it is longer than {MOST_TOML // 2**20} million characters")
    if any(match["long"] for match in _LONG_KEY.finditer(text)):
        raise LimitError(f"it has a key of more than {MOST_KEY_PARTS} parts")
    table: dict[str, Any] = _parsed(lambda: tomllib.loads(text))
    return table


def toml_head(text: str) -> dict[str, Any]:
    """Parse a TOML document up to its first table, and return the keys before this table.

    Raises
    ------
    ValueError
        If the text before the first table is not valid TOML, or exceeds a limit (a LimitError).
    """
    head = text[:MOST_HEAD]
    end = _start_of_tables(head)
    if end == MOST_HEAD < len(text):
        raise LimitError(f"it has no table in its first {MOST_HEAD} characters")
    return toml_table(head[:end])


def _start_of_tables(text: str) -> int:
    """Return the position of the bracket where the first table of a TOML document begins."""
    depth = 0
    for match in _BRACKET.finditer(text):
        if match["line"] and depth == 0:
            return match.start("line")
        if match["line"] or match["open"]:
            depth += 1
        elif match["close"]:
            depth -= 1
    return len(text)


_TOO_DEEP = f"it has more than {MOST_LEVELS} levels of nesting"
_TOO_LONG = f"it contains an integer of more than {MOST_DIGITS} digits"


def _parsed(parse: Callable[[], Any]) -> Any:
    """Call a parser, check that the content is within the limits, and return the content."""
    try:
        content = parse()
    except RecursionError as error:
        raise LimitError(_TOO_DEEP) from error
    except ValueError as error:
        if type(error) is ValueError and "integer string conversion" in str(error):
            raise LimitError(_TOO_LONG) from error
        raise
    check_limits(content)
    return content


def check_limits(content: object) -> None:
    """Raise LimitError if content is nested too deeply or contains an integer that is too long."""
    level: list[Any] = [[content]]
    for _ in range(MOST_LEVELS + 1):
        level = [child for node in level for child in _children(node)]
        if not level:
            return
    raise LimitError(_TOO_DEEP)


def _children(node: Any) -> list[object]:
    """Return the lists and objects nested in a value.

    Raise LimitError for integers that are too long.
    """
    values = node.values() if isinstance(node, dict) else node
    for value in values:
        if isinstance(value, int) and abs(value) >= _FIRST_LONG_INTEGER:
            raise LimitError(_TOO_LONG)
    return [value for value in values if isinstance(value, dict | list | tuple | set)]
