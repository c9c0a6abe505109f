"""The page in a real browser at several widths: nothing overflows or overlaps, no text is too small."""

from __future__ import annotations

import base64
import html as text
import json
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from askew.pages import html
from askew.pages.blocks import Page
from pages.gallery import gallery

CHROMIUM = (
    shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium on the PATH")

SWITCHES = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run "
    "--disable-background-networking --disable-component-update --disable-sync --hide-scrollbars "
    "--enable-logging=stderr"
)
OVERLAPS = """
const clipped = (e, box) => {
  let { left, right, top, bottom } = box;
  const shown = e.parentElement.closest(".wide, pre")?.getBoundingClientRect();
  if (shown) { left = Math.max(left, shown.left); right = Math.min(right, shown.right); }
  return { e, left, right, top, bottom };
};
const textBoxes = (page, e) => [...e.childNodes].filter(n => n.nodeType == 3 && n.data.trim())
  .flatMap(node => {
    const range = page.createRange(); range.selectNodeContents(node);
    return [...range.getClientRects()].map(r => clipped(e, { left: r.left, right: r.right,
      top: r.top + r.height * .2, bottom: r.bottom - r.height * .2 }));
  });
const overlaps = page => {
  const boxes = [];
  for (const e of page.body.querySelectorAll("*")) {
    if (e.closest(".hidden, .skip, title, desc, style, script")) continue;
    if (e.matches("img, image")) boxes.push(clipped(e, e.getBoundingClientRect()));
    else boxes.push(...textBoxes(page, e));
  }
  const shown = boxes.filter(b => b.right - b.left > 1 && b.bottom - b.top > 1)
    .sort((a, b) => a.top - b.top);
  const pairs = [], plane = e => e.matches("image") && e.closest(".plane");
  shown.forEach((a, k) => {
    for (let j = k + 1; j < shown.length && shown[j].top < a.bottom - 1; j++) {
      const b = shown[j];
      if (Math.min(a.right, b.right) - Math.max(a.left, b.left) <= 1) continue;
      if (Math.min(a.bottom, b.bottom) - b.top <= 1) continue;
      if (a.e.contains(b.e) || b.e.contains(a.e)) continue;
      if (plane(a.e) && plane(a.e) == plane(b.e)) continue;
      pairs.push([a, b].map(box => box.e.outerHTML.slice(0, 120)));
    }
  });
  return pairs.slice(0, 5);
};
"""
"""Function of a page to pairs of texts or images that overlap.

The box of a line of text is the middle 60 % of its height, which excludes the space for accents and
descenders. The part of a wide table beyond its region is not visible. Images that are the marks of
a plane may cover each other.
"""

MEASURE = """<!DOCTYPE html><meta charset="utf-8"><title>measure</title><script>{overlaps}
addEventListener("load", () => {
 const found = [...document.querySelectorAll("iframe")].map(frame => {
  const inner = frame.contentWindow, page = inner.document, width = inner.innerWidth;
  const top = name => page.querySelector(name)?.getBoundingClientRect().top ?? null;
  const chart = top(".first .values, .first .grid, .first .plot-table"), image = top("img");
  page.querySelectorAll("details").forEach(e => { e.open = true; });
  const all = [...page.body.querySelectorAll("*")], small = [], narrow = [], cut = [];
  for (const e of all) {
    const box = e.getBoundingClientRect();
    const own = [...e.childNodes].filter(n => n.nodeType == 3 && n.data.trim());
    if (!own.length || !box.width || e.closest(".hidden, .skip, title, desc")) continue;
    const scale = e instanceof inner.SVGElement ? e.getScreenCTM().d : 1;
    const size = parseFloat(inner.getComputedStyle(e).fontSize) * scale;
    if (size < 12) small.push(e.outerHTML.slice(0, 80));
    for (const node of own) {
      const range = page.createRange(); range.selectNodeContents(node);
      const lines = new Set([...range.getClientRects()].map(r => Math.round(r.top))).size;
      const letters = node.data.trim().length;
      if (letters > 5 && letters / lines < 3) narrow.push(node.data);
    }
  }
  for (const e of page.querySelectorAll("td, th"))
    if (!e.closest(".hidden, .skip") && e.scrollWidth > e.clientWidth + 2) cut.push(e.textContent);
  const outside = [...page.querySelectorAll(".lane line")].filter(e => {
    const mark = e.getBoundingClientRect(), plot = e.closest("svg.lane").getBoundingClientRect();
    return mark.left < plot.left - 2 || mark.right > plot.right + 2 ||
      mark.top < plot.top - 1 || mark.bottom > plot.bottom + 1;
  }).map(e => e.outerHTML);
  const scrolled = all.filter(e => e.matches(".fit") && e.scrollWidth > e.clientWidth + 1).length;
  const sticking = all.filter(e =>
    !e.closest(".wide, .fit, pre, .hidden, .skip, .pin, .plane") &&
    e.getBoundingClientRect().right > width + 1);
  return {
    width: page.documentElement.scrollWidth, window: width, small, narrow, cut, outside,
    scrolled, overlaps: overlaps(page),
    sticking: sticking.map(e => e.outerHTML.slice(0, 80)).slice(0, 3),
    fetched: inner.performance.getEntriesByType("resource").map(r => r.name)
      .filter(n => !n.startsWith("data:")),
    broken: [...page.images].filter(i => i.complete && !i.naturalWidth).length,
    images: page.images.length,
    styled: page.querySelector(".facts") && inner.getComputedStyle(page.querySelector(".facts")).display,
    headline: new Set(textBoxes(page, page.querySelector("h1 bdi"))
      .map(box => Math.round(box.top))).size,
    chart, image,
    background: inner.getComputedStyle(page.body).backgroundColor };
 });
 document.title = "measured " + btoa(unescape(encodeURIComponent(JSON.stringify(found))));
});</script>""".replace("{overlaps}", OVERLAPS)
FRAME = '<iframe style="width: {width}px; height: 800px; border: 0" srcdoc="{page}"></iframe>'


FAULTS = ("sticking", "small", "narrow", "cut", "outside", "overlaps", "fetched", "broken")
"""Measured lists of faults, and number of broken images."""


def measure(framed: Sequence[tuple[str, int]], folder: Path, *more: str) -> list[dict[str, Any]]:
    """Measure pages, each in a frame of its width, with all details open."""
    frame = folder / "frame.html"
    frames = "".join(FRAME.format(width=width, page=text.escape(page)) for page, width in framed)
    frame.write_text(MEASURE + frames, encoding="utf-8")
    profile = f"--user-data-dir={folder / 'profile'}"
    command = [str(CHROMIUM), *SWITCHES.split(), *more, profile, "--dump-dom", frame.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    assert "CONSOLE" not in done.stderr, done.stderr
    title = re.search(r"<title>measured ([\w+/=]+)</title>", done.stdout)
    assert title, done.stdout[:500]
    measured: list[dict[str, Any]] = json.loads(base64.b64decode(title[1]))
    return measured


def sound(framed: Sequence[tuple[str, int]], folder: Path, *more: str) -> list[dict[str, Any]]:
    """Measure pages, and assert that they have no sideways scroll and none of the faults."""
    measured = measure(framed, folder, *more)
    for k, ((_, width), page) in enumerate(zip(framed, measured, strict=True)):
        assert page["window"] == width
        assert page["width"] <= width, f"page {k} at {width}"
        faults = {name: page[name] for name in FAULTS if page[name]}
        assert faults == {}, f"page {k} at {width}"
    return measured


@pytest.mark.slow
def test_fits(tmp_path: Path) -> None:
    page = html.page(gallery())
    for measured in sound([(page, width) for width in (360, 390, 800, 1280, 1920)], tmp_path):
        assert measured["scrolled"] == 0, measured["window"]  # plots are stacked before they scroll
        assert measured["images"] > 40
        assert measured["styled"] == "grid"  # the content policy allows the style


def test_texts_and_images_that_overlap_are_found(tmp_path: Path) -> None:
    page = html.page(Page(kicker="audit", title="nurse", answer="A headline", meta="", sections=()))
    texts = '<svg><text x="0" y="20">first</text><text x="4" y="24">second</text></svg>'
    image = '<svg><text x="0" y="20">third</text><image x="9" y="9" width="30" height="30"/></svg>'
    apart = '<svg><text x="0" y="20">fourth</text><text x="0" y="40">fifth</text></svg>'
    (measured,) = measure(
        [(page.replace("</main>", f"{texts}{image}{apart}</main>"), 390)], tmp_path
    )
    pairs = [
        re.findall("first|second|third|<image|fourth|fifth", "".join(pair))
        for pair in measured["overlaps"]
    ]
    assert sorted(map(sorted, pairs)) == [["<image", "third"], ["first", "second"]]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("scheme", "background"), [(1, "rgb(255, 255, 255)"), (0, "rgb(20, 23, 26)")]
)
def test_follows_dark_mode(tmp_path: Path, scheme: int, background: str) -> None:
    dark = f"--blink-settings=preferredColorScheme={scheme}"
    page = html.page(replace(gallery(), sections=()))
    (measured,) = measure([(page, 1200)], tmp_path, dark)
    assert measured["background"] == background
