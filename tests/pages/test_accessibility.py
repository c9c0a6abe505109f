"""Pages have no serious fault that axe-core finds, and no element that covers another."""

from __future__ import annotations

import base64
import json
import re
import subprocess
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from askew.pages import html
from pages.gallery import gallery
from pages.test_browser import CHROMIUM, SWITCHES

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium on the PATH")

POLICY = re.compile(r'<meta http-equiv="Content-Security-Policy"[^>]*>')
CHECK = """<script>{axe}</script><script>addEventListener("load", async () => {{
 document.querySelectorAll("details").forEach(e => {{ e.open = true; }});
 const result = await axe.run(document, {{ resultTypes: ["violations"] }});
 const faults = result.violations.map(fault => ({{ id: fault.id, impact: fault.impact,
   nodes: fault.nodes.slice(0, 3).map(node => node.html.slice(0, 160)) }}));
 document.title = "checked " + btoa(unescape(encodeURIComponent(JSON.stringify(faults))));
}});</script>"""
SERIOUS = ("serious", "critical")


def faults(page: str, folder: Path, *switches: str) -> list[dict[str, Any]]:
    """Return the faults that axe-core finds in a page whose details are open.

    The policy of the page is removed, because it forbids the script of the check.
    """
    axe = pytest.importorskip("axe_core_python")
    script = resources.files(axe).joinpath("axe.min.js").read_text(encoding="utf-8")
    body = POLICY.sub("", page).replace("</body>", CHECK.format(axe=script) + "</body>")
    file = folder / "checked.html"
    file.write_text(body, encoding="utf-8")
    profile = f"--user-data-dir={folder / 'axe-profile'}"
    command = [
        str(CHROMIUM),
        *SWITCHES.split(),
        *switches,
        profile,
        "--virtual-time-budget=60000",
        "--dump-dom",
        file.as_uri(),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=180, check=True)
    title = re.search(r"<title>checked ([\w+/=]+)</title>", done.stdout)
    assert title, done.stderr[-500:]
    violations: list[dict[str, Any]] = json.loads(base64.b64decode(title[1]))
    return violations


@pytest.mark.slow
@pytest.mark.parametrize("scheme", [0, 1], ids=["dark", "light"])
def test_axe_finds_nothing_serious(tmp_path: Path, scheme: int) -> None:
    violations = faults(
        html.page(gallery()), tmp_path, f"--blink-settings=preferredColorScheme={scheme}"
    )
    assert [fault for fault in violations if fault["impact"] in SERIOUS] == []


@pytest.mark.slow
def test_only_the_added_fault_of_a_first_screen_is_found(tmp_path: Path) -> None:
    page = html.page(replace(gallery(), sections=()))
    page = page.replace("</main>", '<img src="data:,"></main>', 1)
    violations = [fault for fault in faults(page, tmp_path) if fault["impact"] in SERIOUS]
    assert [fault["id"] for fault in violations] == ["image-alt"]
