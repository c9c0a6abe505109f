"""`import askew` offers the names of `__all__`, each documented."""

from __future__ import annotations

import inspect
import pydoc
import re
from importlib.metadata import entry_points

import pytest

import askew
from askew.options import RunOptions

PUBLIC = [name for name in askew.__all__ if name != "__version__"]
METHODS = ["audit", "classify", "edit", "interact", "map", "mine", "mitigate", "rank"]


def test_every_method_and_every_typed_name_is_public() -> None:
    source = inspect.getsource(askew)
    typed = {
        name: module
        for module, name in re.findall(r"from (\S+) import (\w+) as \2$", source, re.MULTILINE)
    }
    methods = {point.name.replace("-", "_") for point in entry_points(group="askew.methods")}
    offered = askew.MODULES | askew.COMMANDS
    assert {name: offered[name] for name in typed} == typed
    assert set(askew.__all__) == typed.keys() | methods | {"__version__"}
    assert {name for name in dir(askew) if not name.startswith("_")} == offered.keys()


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_name_is_documented(name: str) -> None:
    assert inspect.getdoc(getattr(askew, name))


@pytest.mark.parametrize("name", METHODS)
def test_help_lists_the_shared_options(name: str) -> None:
    function = getattr(askew, name)
    text = pydoc.render_doc(function, renderer=pydoc.plaintext)
    for option in (*RunOptions.__annotations__, "seed"):
        assert option in inspect.signature(function).parameters
        assert re.search(rf"^ +{option}$", text, re.MULTILINE), option
    assert "options" not in inspect.signature(function).parameters
    assert "Annotated" not in str(inspect.signature(function))
    assert function.__doc__.rindex("\nfail_if\n") < function.__doc__.index("\nRaises\n")
    assert getattr(askew, name) is function


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = askew.nothing
