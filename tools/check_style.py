"""Check the style rules that neither the formatter nor the linter knows.

    python tools/check_style.py FOLDER ... [--figures]

The rules are those of CONTRIBUTING.md. The command prints one line per fault and exits with 1 where
there is a fault. `--figures` also prints tokens per line with code and the complexity of functions.
"""

from __future__ import annotations

import argparse
import ast
import io
import sys
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from radon.visitors import ComplexityVisitor

PRONOUNS = frozenset("one own some found made told kept said what who every among".split())
"""Names that say only that there is something."""

RELATIVE_CLAUSES = frozenset("What Whether How Who Which Where Those That By Of Every".split())
"""First words of docstrings that lead with a clause or a fragment."""

HIGHEST_COMPLEXITY = 20
USUAL_COMPLEXITY = 10
LARGEST_SHARE_ABOVE_USUAL = 0.07
MOST_LOOPS = 2
MOST_CONDITIONS = 1

COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
CODE_TOKENS = (tokenize.NAME, tokenize.NUMBER, tokenize.STRING, tokenize.OP)


@dataclass(frozen=True)
class Fault:
    """A broken rule and its place."""

    path: Path
    line: int
    rule: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.rule}"


@dataclass(frozen=True)
class Figures:
    """Sizes of the code of several files.

    Attributes
    ----------
    tokens
        Names, numbers, strings and operators.
    code_lines
        Lines on which at least one of these tokens begins.
    complexities
        Radon's cyclomatic complexity by "path:line name" of every function.
    """

    tokens: int
    code_lines: int
    complexities: dict[str, int]


def faults_of_file(path: Path) -> Iterator[Fault]:
    """Yield the faults of a file in the order of its syntax tree."""
    text = path.read_text(encoding="utf-8")
    for number, line in enumerate(text.splitlines(), start=1):
        if "# fmt" + ":" in line:
            yield Fault(path, number, "formatter switched off")
    tree = ast.parse(text)
    loop_conditions = {id(node.test) for node in ast.walk(tree) if isinstance(node, ast.While)}
    for node in ast.walk(tree):
        for rule in rules_broken(node, loop_conditions):
            yield Fault(path, getattr(node, "lineno", 1), rule)


def rules_broken(node: ast.AST, loop_conditions: set[int]) -> Iterator[str]:
    """Yield the rules that a node of the syntax tree breaks."""
    yield from statement_rules(node, loop_conditions)
    yield from name_rules(node)
    if isinstance(node, DEFINITIONS):
        first_word = (ast.get_docstring(node) or "").partition(" ")[0]
        if first_word in RELATIVE_CLAUSES:
            yield f"docstring begins with {first_word!r}; begin with a verb or a noun"


def statement_rules(node: ast.AST, loop_conditions: set[int]) -> Iterator[str]:
    """Yield the rules about statements and expressions that a node breaks."""
    if isinstance(node, ast.Assign) and is_packed(node):
        yield "several assignments in one statement"
    if isinstance(node, COMPREHENSIONS):
        yield from comprehension_rules(node)
    if isinstance(node, ast.NamedExpr) and id(node) not in loop_conditions:
        yield "walrus outside the condition of a while"
    if isinstance(node, ast.IfExp) and has_inner(node, ast.IfExp):
        yield "conditional expression in a conditional expression"
    if isinstance(node, ast.BinOp) and is_text_by_truth(node):
        yield "text multiplied by a truth value; write a conditional expression"


def comprehension_rules(node: ast.AST) -> Iterator[str]:
    """Yield the rules that a comprehension breaks."""
    generators: list[ast.comprehension] = getattr(node, "generators", [])
    if has_inner(node, COMPREHENSIONS):
        yield "comprehension in a comprehension"
    if len(generators) > MOST_LOOPS:
        yield f"comprehension with more than {MOST_LOOPS} loops"
    if sum(len(generator.ifs) for generator in generators) > MOST_CONDITIONS:
        yield f"comprehension with more than {MOST_CONDITIONS} condition"


def name_rules(node: ast.AST) -> Iterator[str]:
    """Yield the rules about names that a node breaks."""
    name = None
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        name = node.id
    elif isinstance(node, ast.arg):
        name = node.arg
    elif isinstance(node, DEFINITIONS):
        name = node.name
    if name in PRONOUNS:
        yield f"the name {name!r} does not say what the thing is; use a noun"


def is_packed(node: ast.Assign) -> bool:
    """Check whether a tuple of computed values is assigned that is not a swap."""
    target = node.targets[0]
    if not isinstance(target, ast.Tuple) or not isinstance(node.value, ast.Tuple):
        return False
    return not names_in(target) & names_in(node.value)


def names_in(node: ast.AST) -> set[str]:
    """Return the identifiers that occur in a node."""
    return {child.id for child in ast.walk(node) if isinstance(child, ast.Name)}


def has_inner(node: ast.AST, kinds: type[ast.AST] | tuple[type[ast.AST], ...]) -> bool:
    """Check whether a node of these kinds lies within a node."""
    return any(isinstance(child, kinds) for child in ast.walk(node) if child is not node)


def is_text_by_truth(node: ast.BinOp) -> bool:
    """Check for an expression such as `"s" * (n != 1)`."""
    if not isinstance(node.op, ast.Mult):
        return False
    sides = (node.left, node.right)
    texts = [side for side in sides if is_text(side)]
    truths = [side for side in sides if is_truth(side)]
    return bool(texts and truths)


def is_text(node: ast.expr) -> bool:
    """Check for a text literal."""
    constant = isinstance(node, ast.Constant) and isinstance(node.value, str)
    return constant or isinstance(node, ast.JoinedStr)


def is_truth(node: ast.expr) -> bool:
    """Check for an expression that is true or false."""
    negation = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)
    return negation or isinstance(node, (ast.Compare, ast.BoolOp))


def shared_class_names(paths: Sequence[Path]) -> Iterator[Fault]:
    """Yield classes that share a name, if the files belong to the package."""
    places: dict[str, list[tuple[Path, int]]] = defaultdict(list)
    for path in paths:
        if "src" not in path.parts:
            continue
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef):
                places[node.name].append((path, node.lineno))
    for name, homes in places.items():
        for path, line in homes[1:]:
            yield Fault(path, line, f"class {name} shares its name with one in {homes[0][0]}")


def measure(paths: Sequence[Path]) -> Figures:
    """Count tokens, lines with code and the complexity of functions."""
    tokens = 0
    code_lines = 0
    complexities: dict[str, int] = {}
    for path in paths:
        text = path.read_text(encoding="utf-8")
        lines_with_code = set()
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type in CODE_TOKENS:
                tokens += 1
                lines_with_code.add(token.start[0])
        code_lines += len(lines_with_code)
        complexities |= complexities_of(path, text)
    return Figures(tokens=tokens, code_lines=code_lines, complexities=complexities)


def complexities_of(path: Path, text: str) -> dict[str, int]:
    """Return radon's complexity of every function and method of a file."""
    visitor = ComplexityVisitor.from_code(text)
    functions = list(visitor.functions)
    for group in visitor.classes:
        functions += group.methods
    return {
        f"{path}:{function.lineno} {function.name}": function.complexity for function in functions
    }


def complexity_faults(complexities: dict[str, int]) -> Iterator[str]:
    """Yield sentences about functions that are too complex."""
    for place, complexity in complexities.items():
        if complexity > HIGHEST_COMPLEXITY:
            yield f"{place}: complexity {complexity} is above {HIGHEST_COMPLEXITY}"
    share = share_above_usual(complexities)
    if share > LARGEST_SHARE_ABOVE_USUAL:
        yield (
            f"{share:.1%} of functions have a complexity above {USUAL_COMPLEXITY}; "
            f"at most {LARGEST_SHARE_ABOVE_USUAL:.0%} may"
        )


def share_above_usual(complexities: dict[str, int]) -> float:
    """Return the share of functions whose complexity is above the usual limit."""
    if not complexities:
        return 0.0
    above = sum(complexity > USUAL_COMPLEXITY for complexity in complexities.values())
    return above / len(complexities)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print faults and figures; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--figures", action="store_true", help="print sizes and complexity, too")
    options = parser.parse_args(arguments)
    paths = [path for folder in options.folders for path in sorted(folder.rglob("*.py"))]
    faults = all_faults(paths)
    print("\n".join(map(str, faults)), end="\n" if faults else "")
    figures = measure(paths)
    too_complex = list(complexity_faults(figures.complexities))
    for sentence in too_complex:
        print(sentence)
    if options.figures:
        print_figures(figures, Counter(fault.rule for fault in faults))
    return 1 if faults or too_complex else 0


def all_faults(paths: Sequence[Path]) -> list[Fault]:
    """Return the faults of all files."""
    faults = [fault for path in paths for fault in faults_of_file(path)]
    return [*faults, *shared_class_names(paths)]


def print_figures(figures: Figures, faults_by_rule: Counter[str]) -> None:
    """Print how many faults there are of each kind, and the sizes."""
    for rule, count in faults_by_rule.most_common():
        print(f"{count:6}  {rule}")
    per_line = figures.tokens / max(figures.code_lines, 1)
    print(f"{figures.tokens:,} tokens, {per_line:.1f} per line with code")
    share = share_above_usual(figures.complexities)
    print(f"{share:.1%} of {len(figures.complexities):,} functions above {USUAL_COMPLEXITY}")


if __name__ == "__main__":
    sys.exit(main())
