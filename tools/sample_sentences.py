"""Draw sentences at random from everything that a user of askew reads.

    python tools/sample_sentences.py [--count 60] [--seed 1]

A reader who did not write the sentences marks each as good technical English, as odd, or as one
that must be read twice. Sources are the documentation, the help of commands, error messages,
captions and the phrases of reports.
"""

from __future__ import annotations

import argparse
import ast
import random
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
FEWEST_WORDS = 6
MARKUP = re.compile(r"[|`*#<>{}\[\]]")
NO_ENTRY = re.compile(r" *([-*]|\d+[.)]) .*|.*[.:]")
"""Lines that are no first line of an entry of a docstring: bullets, and ends of sentences."""
ITEM_START = re.compile(r"\n\s*(?:[-*]|\d+[.)])\s+|\n\s*-{3,}\s*\n|\n\s*\n")
"""Starts of bullets, of text below an underlined section title, and of paragraphs."""
SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z“`])")


def documentation() -> Iterator[tuple[str, str]]:
    """Yield places and sentences of README and docs, without code, tables and headings."""
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
    for page in pages:
        text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
        for paragraph in re.split(r"\n\s*\n", text):
            if not paragraph.lstrip().startswith(("|", "#", "    ", "<")):
                yield from sentences(str(page.relative_to(ROOT)), paragraph)


def strings_of_source() -> Iterator[tuple[str, str]]:
    """Yield places and sentences of string literals and docstrings in the package."""
    for path in sorted((ROOT / "src").rglob("*.py")):
        place = str(path.relative_to(ROOT))
        tree = ast.parse(path.read_text(encoding="utf-8"))
        parts_of_templates = {
            id(part)
            for template in ast.walk(tree)
            if isinstance(template, ast.JoinedStr)
            for part in template.values
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.JoinedStr):
                yield from sentences(place, template_text(node))
            elif isinstance(node, ast.Constant) and id(node) not in parts_of_templates:
                yield from sentences(place, node.value if isinstance(node.value, str) else "")


def template_text(template: ast.JoinedStr) -> str:
    """Return the text of an f-string, with an ellipsis for every value."""
    return "".join(
        str(part.value) if isinstance(part, ast.Constant) else "…" for part in template.values
    )


def sentences(place: str, text: str) -> Iterator[tuple[str, str]]:
    """Yield the sentences of a text that have enough words to be judged."""
    for item in ITEM_START.split(separated_entries(text)):
        for sentence in SENTENCE_END.split(" ".join(item.split())):
            if len(MARKUP.sub(" ", sentence).split()) >= FEWEST_WORDS:
                yield place, sentence


def separated_entries(text: str) -> str:
    """Return a docstring with an empty line before each entry of a list of parameters.

    An entry is a line with a name, and lines that are indented deeper. A reader never sees two
    entries as one sentence.
    """
    lines = text.split("\n")
    separated: list[str] = []
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        is_deeper = indentation(following) == indentation(line) + 4
        is_name = bool(line.strip()) and is_deeper and NO_ENTRY.fullmatch(line) is None
        separated += ["", f"{line}:"] if is_name else [line]
    return "\n".join(separated)


def indentation(line: str) -> int:
    """Return the number of spaces before a line; 0 for an empty line."""
    return len(line) - len(line.lstrip()) if line.strip() else 0


def main() -> None:
    """Print the drawn sentences with their places."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    pool = sorted({*documentation(), *strings_of_source()})
    drawn = random.Random(options.seed).sample(pool, min(options.count, len(pool)))
    for number, (place, sentence) in enumerate(drawn, start=1):
        print(f"{number}. [{place}] {sentence}")


if __name__ == "__main__":
    main()
