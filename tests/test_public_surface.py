"""What `import askew` offers is what `__all__` says, each name documented."""

from __future__ import annotations

import inspect
from importlib.metadata import entry_points

import pytest

import askew


def test_all_is_sorted_and_complete() -> None:
    homes = {name for names in askew._HOMES.values() for name in names}
    methods = {point.name.replace("-", "_") for point in entry_points(group="askew.methods")}
    assert set(askew.__all__) == homes | methods | {"__version__"}
    assert sorted(askew.__all__) == list(askew.__all__)


@pytest.mark.parametrize("name", [n for n in askew.__all__ if n != "__version__"])
def test_every_public_name_is_documented(name: str) -> None:
    assert inspect.getdoc(getattr(askew, name))


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = askew.nothing
