"""The style checker reports each fault, and nothing in code that follows the rules."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

pytest.importorskip("radon")

PATH = Path(__file__).parents[1] / "tools" / "check_style.py"


@pytest.fixture(scope="module")
def checker() -> ModuleType:
    spec = importlib.util.spec_from_file_location("check_style", PATH)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


FAULTY = {
    "x = 1  # fmt" + ": skip\n": "formatter switched off",
    "a, b = f(1), f(2)\n": "several assignments",
    "x = [[c for c in r] for r in rows]\n": "comprehension in a comprehension",
    "x = [d for a in z for c in a for d in c]\n": "more than 2 loops",
    "x = [a for a in z if a if a > 1]\n": "more than 1 condition",
    "if (n := f()):\n    g(n)\n": "walrus",
    "x = 1 if a else 2 if b else 3\n": "conditional expression in",
    "x = 's' * (n != 1)\n": "multiplied by a truth value",
    "found = 3\n": "'found'",
    "def f(one):\n    return one\n": "'one'",
    "def told():\n    return 1\n": "'told'",
    'def f():\n    """Whether it works."""\n': "'Whether'",
}


@pytest.mark.parametrize(("text", "rule"), FAULTY.items())
def test_each_fault_is_found(text: str, rule: str, checker: ModuleType, tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    path.write_text(text, encoding="utf-8")
    faults = [str(fault) for fault in checker.faults_of_file(path)]
    assert len(faults) == 1
    assert rule in faults[0]


CLEAN = """
def total(rows):
    \"\"\"Return the sum of all cells.\"\"\"
    low, high = ends(rows)
    low, high = high, low
    while line := read():
        use(line)
    return sum(cell for row in rows for cell in row if cell)
"""


def test_code_that_follows_the_rules_has_no_fault(checker: ModuleType, tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    path.write_text(CLEAN, encoding="utf-8")
    assert list(checker.faults_of_file(path)) == []
    assert checker.main([str(tmp_path)]) == 0


def test_classes_of_the_package_have_distinct_names(checker: ModuleType, tmp_path: Path) -> None:
    folder = tmp_path / "src"
    folder.mkdir()
    for name in ("a", "b"):
        (folder / f"{name}.py").write_text("class View:\n    pass\n", encoding="utf-8")
    assert checker.main([str(folder)]) == 1


def test_complex_functions_are_named(
    checker: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    branches = "".join(f"    if x == {k}:\n        return {k}\n" for k in range(25))
    (tmp_path / "module.py").write_text(f"def branchy(x):\n{branches}", encoding="utf-8")
    assert checker.main([str(tmp_path)]) == 1
    assert "branchy: complexity 26 is above 20" in capsys.readouterr().out
