"""The page in a real browser at four widths: nothing overflows, no text or column is too small."""

from __future__ import annotations

import base64
import html as text
import json
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from askew.pages import html
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
MEASURE = """<!DOCTYPE html><title>measure</title><script>addEventListener("load", () => {
 const found = [...document.querySelectorAll("iframe")].map(frame => {
  const inner = frame.contentWindow, page = inner.document, width = inner.innerWidth;
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
  const top = name => page.querySelector(name)?.getBoundingClientRect().top ?? null;
  const scrolled = all.filter(e => e.matches(".fit") && e.scrollWidth > e.clientWidth + 1).length;
  const sticking = all.filter(e =>
    !e.closest(".wide, .fit, pre, .hidden, .skip, .pin, .plane") &&
    e.getBoundingClientRect().right > width + 1);
  return {
    width: page.documentElement.scrollWidth, window: width, small, narrow, cut, outside,
    scrolled,
    sticking: sticking.map(e => e.outerHTML.slice(0, 80)).slice(0, 3),
    fetched: inner.performance.getEntriesByType("resource").map(r => r.name)
      .filter(n => !n.startsWith("data:")),
    broken: [...page.images].filter(i => i.complete && !i.naturalWidth).length,
    images: page.images.length,
    styled: inner.getComputedStyle(page.querySelector(".facts")).display,
    chart: top(".first .values, .first .grid, .first .plot-table"), image: top("img"),
    warnings: page.querySelector(".warnings")?.getBoundingClientRect().height ?? 0,
    background: inner.getComputedStyle(page.body).backgroundColor };
 });
 document.title = "measured " + btoa(unescape(encodeURIComponent(JSON.stringify(found))));
});</script>"""
FRAME = '<iframe style="width: {width}px; height: 800px; border: 0" srcdoc="{page}"></iframe>'


def measure(framed: Sequence[tuple[str, int]], folder: Path, *more: str) -> list[dict[str, Any]]:
    """Measure pages, each in a frame of its width, with all details open."""
    frame = folder / "frame.html"
    frames = "".join(FRAME.format(width=width, page=text.escape(page)) for page, width in framed)
    frame.write_text(MEASURE + frames, encoding="utf-8")
    profile = f"--user-data-dir={folder / 'profile'}"
    command = [str(CHROMIUM), *SWITCHES.split(), *more, profile, "--dump-dom", frame.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert "CONSOLE" not in done.stderr, done.stderr
    title = re.search(r"<title>measured ([\w+/=]+)</title>", done.stdout)
    assert title, done.stdout[:500]
    measured: list[dict[str, Any]] = json.loads(base64.b64decode(title[1]))
    return measured


def sound(framed: Sequence[tuple[str, int]], folder: Path) -> list[dict[str, Any]]:
    """Measure pages; assert that nothing overflows, is small, narrow, cut, outside, fetched or broken."""
    measured = measure(framed, folder)
    for k, ((_, width), page) in enumerate(zip(framed, measured, strict=True)):
        assert page["window"] == width
        assert page["width"] <= width, f"page {k} at {width}"
        names = ("sticking", "small", "narrow", "cut", "outside", "fetched", "broken")
        faults = [page[name] for name in names]
        assert faults == [[], [], [], [], [], [], 0], f"page {k} at {width}"
    return measured


def test_fits(tmp_path: Path) -> None:
    page = html.page(gallery())
    widths = (360, 390, 800, 1280, 1920)
    for measured in sound([(page, width) for width in widths], tmp_path):
        assert measured["scrolled"] == 0, measured["window"]  # plots are stacked before they scroll
        assert measured["images"] > 40
        assert measured["styled"] == "grid"  # the content policy allows the style


@pytest.mark.parametrize(
    ("scheme", "background"), [(1, "rgb(255, 255, 255)"), (0, "rgb(20, 23, 26)")]
)
def test_follows_dark_mode(tmp_path: Path, scheme: int, background: str) -> None:
    dark = f"--blink-settings=preferredColorScheme={scheme}"
    (measured,) = measure([(html.page(gallery()), 1200)], tmp_path, dark)
    assert measured["background"] == background
