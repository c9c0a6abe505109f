"""What `import askew` offers is what `__all__` says, each name documented."""

from __future__ import annotations

import inspect
import re
from importlib.metadata import entry_points

import pytest

import askew


def test_every_method_and_every_name_for_a_type_checker_is_offered() -> None:
    methods = {point.name.replace("-", "_") for point in entry_points(group="askew.methods")}
    typed = set(re.findall(r"import (\w+) as \1$", inspect.getsource(askew), re.MULTILINE))
    assert set(askew.__all__) == typed | methods | {"__version__"}


@pytest.mark.parametrize("name", [n for n in askew.__all__ if n != "__version__"])
def test_every_public_name_is_documented(name: str) -> None:
    assert inspect.getdoc(getattr(askew, name))


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = askew.nothing
