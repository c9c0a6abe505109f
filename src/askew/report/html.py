"""The report: one HTML file that needs nothing else, made from results.json and the pictures."""

from __future__ import annotations

import re
from collections.abc import Mapping

from jinja2 import Environment, PackageLoader, StrictUndefined

from askew.report import formatting, sentences
from askew.report.reading import Reading, is_estimate


def missing_rows(reading: Reading) -> list[tuple[str, str, int, Mapping[str, int]]]:
    """What is missing: (what, where, of how many, {reason: count}), only where something is."""
    rows = [
        ("pictures", _where(s["prompt"], s["axis"], s["value"]), len(s["pictures"]), s["missing"])
        for s in reading.part("sets")
    ]
    for s in reading.part("shares"):
        absent = s.get("missing") or {}
        asked = sum((s.get("counts") or {}).values()) + sum(absent.values())
        where = f"{formatting.shorten(s['prompt'], 60)} – {sentences.set_label(s['set'])}"
        rows.append((f"{formatting.perceived(s['axis'])} by {s['instrument']}", where, asked, absent))
    return [row for row in rows if any((row[3] or {}).values())]


def _where(prompt: str, axis: str | None, value: str | None) -> str:
    picture_set = "initial" if axis is None else f"{axis}: {value}"
    return f"{formatting.shorten(prompt, 60)} – {sentences.set_label(picture_set)}"


class Anchors:
    """Readable anchors, each used once."""

    def __init__(self) -> None:
        self._used: set[str] = set()

    def make(self, text: str) -> str:
        stem = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:60] or "section"
        name, k = f"p-{stem.removeprefix('p-')}", 2
        while name in self._used:
            name, k = f"p-{stem.removeprefix('p-')}-{k}", k + 1
        self._used.add(name)
        return name


def page_environment() -> Environment:
    """Templates, with the filters that write numbers and names."""
    environment = Environment(
        loader=PackageLoader("askew.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=False,
    )
    for name in (
        "axis_label",
        "capital",
        "interval",
        "listing",
        "measured",
        "number",
        "perceived",
        "percent",
        "plural",
    ):
        environment.filters[name] = getattr(formatting, name)
    for name in ("probability", "quote", "reason", "shorten", "thousands"):
        environment.filters[name] = getattr(formatting, name)
    environment.filters["set_label"] = sentences.set_label
    environment.filters["missing_pictures_sentence"] = sentences.missing_pictures_sentence
    environment.tests["estimate"] = is_estimate
    return environment
