"""The extra `web` is small: at most 6 distributions and 5 MB beyond askew itself."""

from __future__ import annotations

import tomllib
from importlib.metadata import Distribution, distribution
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
MOST_DISTRIBUTIONS = 6
MOST_BYTES = 5_000_000


def needed(requirements: list[str]) -> dict[str, Distribution]:
    """Return the installed distributions that some requirements need, directly or indirectly."""
    distributions: dict[str, Distribution] = {}
    todo = [Requirement(text) for text in requirements]
    while todo:
        requirement = todo.pop()
        name = requirement.name.lower().replace("_", "-")
        is_wanted = requirement.marker is None or requirement.marker.evaluate({"extra": ""})
        if name in distributions or not is_wanted:
            continue
        distributions[name] = distribution(name)
        todo.extend(Requirement(text) for text in distributions[name].requires or ())
    return distributions


def size(installed: Distribution) -> int:
    """Return the number of bytes of a distribution without compiled files."""
    paths = [Path(str(file.locate())) for file in installed.files or () if file.suffix != ".pyc"]
    return sum(path.stat().st_size for path in paths if path.exists())


def test_the_extra_adds_few_and_small_distributions() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    base = needed(project["dependencies"])
    web = needed(project["optional-dependencies"]["web"])
    added = {name: size(web[name]) for name in web.keys() - base.keys()}
    assert {"starlette", "uvicorn"} <= added.keys()
    assert len(added) <= MOST_DISTRIBUTIONS, added
    assert sum(added.values()) <= MOST_BYTES, added
