"""The report in a real browser: nothing is fetched, nothing fails, nothing sticks out of a phone's screen."""

from __future__ import annotations

import base64
import html
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium on the PATH")

SWITCHES = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --hide-scrollbars --enable-logging=stderr"
)
MEASURE = """<!DOCTYPE html><title>measure</title><script>addEventListener("load", () => {
  const inner = document.querySelector("iframe").contentWindow, page = inner.document, width = inner.innerWidth;
  const sticking = [...page.querySelectorAll("main *")].filter(e =>
    !e.closest(".wide, pre, svg, .hidden") && e.getBoundingClientRect().right > width + 1);
  document.title = "measured " + btoa(JSON.stringify({
    width: page.documentElement.scrollWidth, window: width,
    sticking: sticking.map(e => e.className || e.tagName).slice(0, 3),
    fetched: inner.performance.getEntriesByType("resource").map(r => r.name).filter(n => !n.startsWith("data:")),
    broken: [...page.images].filter(i => i.complete && !i.naturalWidth).length,
    background: inner.getComputedStyle(page.body).backgroundColor }));
});</script><iframe style="width: WIDTHpx; height: 800px; border: 0" srcdoc="PAGE"></iframe>"""


def measure(page: Path, folder: Path, width: int, *more: str) -> dict[str, Any]:
    """What the page looks like from inside a frame of this width; narrower than a window can be."""
    frame = folder / "frame.html"
    inner = html.escape(page.read_text(encoding="utf-8"))
    frame.write_text(MEASURE.replace("WIDTH", str(width)).replace("PAGE", inner), encoding="utf-8")
    profile = f"--user-data-dir={folder / 'profile'}"
    command = [str(CHROMIUM), *SWITCHES.split(), *more, profile, "--dump-dom", frame.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert "CONSOLE" not in done.stderr, done.stderr
    found = re.search(r"<title>measured ([\w+/=]+)</title>", done.stdout)
    assert found, done.stdout[:500]
    measured: dict[str, Any] = json.loads(base64.b64decode(found[1]))
    return measured


@pytest.mark.parametrize("name", ["comparison", "hostile comparison"])
def test_fits_a_phone_and_fetches_nothing(report_pages: dict[str, Path], tmp_path: Path, name: str) -> None:
    measured = measure(report_pages[name], tmp_path, 360)
    assert measured["window"] == 360
    assert measured["width"] <= 360
    assert measured["sticking"] == []
    assert measured["fetched"] == []
    assert measured["broken"] == 0


@pytest.mark.parametrize(("scheme", "background"), [(1, "rgb(255, 255, 255)"), (0, "rgb(21, 24, 27)")])
def test_follows_dark_mode(report_pages: dict[str, Path], tmp_path: Path, scheme: int, background: str) -> None:
    measured = measure(
        report_pages["comparison of nothing"], tmp_path, 1200, f"--blink-settings=preferredColorScheme={scheme}"
    )
    assert measured["background"] == background
