"""Hostile texts in JSON and TOML, and checks of what reads them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

DEEP = 100_000
VALUES = {
    "nested lists": "[" * DEEP + "]" * DEEP,
    "nested objects": '{"a":' * DEEP + "1" + "}" * DEEP,
    "open lists": "[" * DEEP,
    "some levels": "[" * 150 + "]" * 150,
    "5,000 digits": "9" * 5000,
    "30 digits": "-" + "9" * 30,
}
"""JSON values that are not read."""

TOML = {
    "dots": "a" + ".a" * 20_000 + " = 1",
    "dots in a table": "[a" + ".a" * 20_000 + "]",
    "quoted dots": '"a"' + " . 'a'" * 7_000 + " = 1",
    "nested lists": "a = " + VALUES["nested lists"],
    "nested tables": "a = " + "{a=" * 20_000,
    "some levels": "a = " + VALUES["some levels"],
    "5,000 digits": "a = " + "9" * 5000,
    "hexadecimal": "a = 0x" + "f" * 40_000,
    "open texts": r'a = "\"' * 10_000,
    "open long text": 'a = """' + r"\"" * 20_000,
}
"""TOML documents that are not read."""


@contextmanager
def at_most_a_second() -> Iterator[None]:
    begun = time.process_time()
    yield
    assert time.process_time() - begun < 1


def is_one_sentence(error: BaseException) -> bool:
    text = str(error)
    return "\n" not in text.strip() and "Traceback" not in text and len(text) < 1000
