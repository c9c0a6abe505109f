from __future__ import annotations

import re
from itertools import combinations
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from askew.report.formatting import interval, number, points, probability, quote, shorten
from askew.report.html import page_environment
from askew.report.plots import Mark, share_scale, signed_scale, track, unit_scale


def attribute(svg: str, element: str, kind: str, name: str) -> float:
    found = re.search(rf'<{element} class="{kind}"[^>]*? {name}="([\d.]+)%"', svg)
    assert found, svg
    return float(found[1])


def test_a_track_shows_score_interval_null_and_mark_where_they_are(make_mad: Any) -> None:
    svg = str(track(unit_scale(), make_mad(0.6, null=0.2), "gender", "MAD 0.6", marks=[Mark(0.5, "mean")]))
    assert attribute(svg, "circle", "dot", "cx") == 60
    assert attribute(svg, "line", "whisker", "x1") == 54
    assert attribute(svg, "line", "whisker", "x2") == 66
    assert attribute(svg, "rect", "null", "width") == 20
    assert attribute(svg, "line", "mark mean", "x1") == 50


def test_a_missing_score_is_no_dot(make_mad: Any) -> None:
    svg = str(track(unit_scale(), {"reason": "error", "detail": ""}, "gender", "not measured"))
    assert "circle" not in svg
    assert "not measured</text>" in svg


@given(st.lists(st.floats(-3, 3), min_size=1, max_size=5))
def test_a_signed_scale_holds_every_value_and_is_symmetric(values: list[float]) -> None:
    scale = signed_scale([{"value": v, "low": v - 0.1, "high": v + 0.1} for v in values])
    assert scale.low == -scale.high
    assert scale.high >= max(abs(v) + 0.1 for v in values) - 1e-9
    assert scale.at(0.0) == "50.00%"


@given(st.lists(st.floats(0, 1), min_size=2, max_size=6))
def test_positions_keep_the_order_of_values(values: list[float]) -> None:
    scale = share_scale()
    for a, b in combinations(sorted(values), 2):
        assert float(scale.at(a)[:-1]) <= float(scale.at(b)[:-1])


def test_text_in_a_plot_is_escaped(make_mad: Any) -> None:
    assert "<b>" not in str(track(unit_scale(), make_mad(0.5), "<b>", "<b>"))


def test_numbers() -> None:
    assert number(-0.001) == "0.00"
    assert number(-0.5) == "−0.50"
    assert number(None) == "–"
    assert points(0.123) == "+12"
    assert interval({"low": None, "high": 0.1}) == ""
    assert probability(0.0004, "q") == "q < 0.001"
    assert probability(0.003, "q") == "q = 0.003"
    assert probability(0.61) == "0.61"
    assert shorten("a  b\nc", 4) == "a b…"
    assert quote("\x1b[31m") == "“\ufffd[31m”"


def contrast(first: str, second: str) -> float:
    """The contrast ratio of two colours by WCAG 2."""

    def luminance(colour: str) -> float:
        channels = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    high, low = sorted((luminance(first), luminance(second)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_colours_can_be_told_apart_in_both_modes() -> None:
    css = page_environment().get_template("report.css").render()
    light, dark = (
        dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", block))
        for block in re.findall(r":root \{(.*?)\}", css, re.S)[:2]
    )
    assert light["paper"] != dark["paper"]
    for colours in (light, dark):
        assert contrast(colours["ink"], colours["paper"]) >= 7
        assert contrast(colours["ink"], colours["warn"]) >= 7
        for text in ("muted", "accent"):
            assert contrast(colours[text], colours["paper"]) >= 4.5
        for shape in ("other", "null-edge", "accent"):
            assert contrast(colours[shape], colours["paper"]) >= 3
        assert contrast(colours["accent"], colours["null"]) >= 3
