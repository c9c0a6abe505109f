"""No kind of page runs scripts in prompts, labels, file names, or models' names and words.

The pages are opened without their content policy, which could only hide a fault.
"""

from __future__ import annotations

import re
import shutil
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from askew.cli import run

CHROMIUM = (
    shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium on the PATH")

SWITCHES = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --virtual-time-budget=2000"
)
RUNS = "document.title='owned'"
PLACES = (
    "{}",
    '"{}',
    "'{}",
    "</title>{}",
    "</style>{}",
    "-->{}",
    "]]>{}",
    "</textarea>{}",
    "</svg>{}",
    "`{}",
    "\\{}",
)
SCRIPTS = (
    "<script>{run}</script>",
    "<img src=x onerror={run}>",
    "<svg onload={run}>",
    '<a href="javascript:{run}" autofocus onfocus={run}>x</a>',
    '<iframe srcdoc="<script>parent.{run}</script>"></iframe>',
    "<link rel=stylesheet href={url}>",
)
"""Scripts to inject. {run} marks that a script ran; {url} receives anything that is fetched."""


def payloads(url: str) -> list[str]:
    """Combine each script with each kind of place in a page: 66 texts."""
    return [
        place.format(script.format(run=RUNS, url=url)) for place in PLACES for script in SCRIPTS
    ]


@contextmanager
def listening() -> Iterator[tuple[str, list[bytes]]]:
    """Yield an address on this machine and a list that collects the requests to it."""
    heard: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def listen() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                with connection:
                    heard.append(connection.recv(200))

        threading.Thread(target=listen, daemon=True).start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}/", heard


def pictures(folder: Path, texts: list[str]) -> list[str]:
    """Write a folder of labeled images whose prompts, groups, labels and conditions are `texts`."""
    folder.mkdir()
    rng = np.random.default_rng(0)
    rows = ["file,prompt,condition,gender"]
    for k, text in enumerate(texts):
        for j in range(2):
            name = f"{k} {j} <img src=x onerror={RUNS}>.png".replace("/", "")
            Image.fromarray(rng.integers(0, 256, (24, 24, 3), dtype=np.uint8)).save(folder / name)
            prompt, label = (part.replace('"', '""') for part in (text, texts[(k + j) % 6]))
            rows.append(f'"{name}","{prompt} nurse","{"plain" if j else label}","{label}"')
    (folder / "manifest.csv").write_text("\n".join([*rows, ""]), encoding="utf-8")
    return [
        "--model",
        f"folder/{folder}",
        "--condition",
        "condition",
        "--baseline-condition",
        "plain",
    ]


def kinds(place: Path, texts: list[str]) -> dict[str, list[list[str]]]:
    """Return the commands by kind of page; the last command of a kind writes the page."""
    small = ["--bootstrap-samples", "100"]
    named = place / f"a {RUNS} <svg onload={RUNS}>".replace("/", "")
    given = pictures(named, texts)
    prompts = place / "prompts.txt"
    of_each_place = texts[:: len(SCRIPTS) + 1]
    prompts.write_text("\n".join(f"{text} nurse" for text in of_each_place), encoding="utf-8")
    planted = ["--model", "studio/planted"]
    two = [*(f"{text} nurse" for text in texts[:2])]
    few = pictures(place / f"few {named.name}", of_each_place)
    labels = ["--vqa", "labels", "--label", "probe=gender", *small]
    return {
        "audit": [["audit", *few, *labels]],
        "audit of all": [["audit", *given, *labels]],
        "compare": [
            [
                "audit",
                *two,
                *planted,
                "--images",
                "2",
                "--axes",
                "gender",
                *small,
                "--run",
                str(place / name),
            ]
            + ([] if name == "a" else ["-M", "bias=0"])
            for name in ("a", "b")
        ]
        + [["compare", str(place / "a"), str(place / "b"), "--names", f"{texts[1]},{texts[2]}"]],
        "interact": [["interact", *two, *planted, "--images", "2", "--axes", "gender,age", *small]],
        "rank": [
            [
                "rank",
                "--prompts",
                str(prompts),
                *planted,
                "--images",
                "2",
                "--axes",
                "gender",
                *small,
            ]
        ],
        "mine": [
            [
                "mine",
                *planted,
                "--objective",
                "color:blue",
                "--iterations",
                "1",
                "--population",
                "2",
                "--selected",
                "1",
                "--mutations",
                "1",
                "--images",
                "2",
                "--top",
                "1",
                *small,
            ]
        ],
        "map": [
            [
                "map",
                f"{texts[2]} nurse",
                "--concept",
                "<b id=x>",
                "--against",
                "nurse",
                "--images",
                "2",
                "-M",
                "num_inference_steps=2",
                *small,
            ]
        ],
        "edit": [
            [
                "edit",
                texts[1],
                "--sources",
                "studio/planted",
                "--images",
                "2",
                "--strengths",
                "0.5",
                "--edit-prompts",
                "<script>0</script>=nurse,chef",
                "--edit-arg",
                "num_inference_steps=2",
                *small,
            ]
        ],
        "classify": [
            [
                "classify",
                texts[1],
                "--sources",
                "studio/planted",
                "--images",
                "2",
                "--samples",
                "1",
                *small,
            ]
        ],
        "mitigate": [
            [
                "mitigate",
                two[0],
                *planted,
                "--axes",
                "gender",
                "--images",
                "6",
                "--eval-images",
                "8",
                *small,
            ]
        ],
    }


def opened(page: Path, folder: Path) -> str:
    """Return the page's HTML after its scripts, if there are any, have run."""
    profile = f"--user-data-dir={folder / 'profile'}"
    command = [str(CHROMIUM), *SWITCHES.split(), profile, "--dump-dom", page.as_uri()]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout


def test_the_probe_detects_scripts_and_requests(tmp_path: Path) -> None:
    with listening() as (url, heard):
        page = tmp_path / "page.html"
        page.write_text(f"<title>x</title><body>{''.join(payloads(url)[:6])}", encoding="utf-8")
        assert "<title>owned" in opened(page, tmp_path)
        assert heard


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind",
    [
        "audit",
        "audit of all",
        "mitigate",
        "compare",
        "interact",
        "rank",
        "mine",
        "map",
        "edit",
        "classify",
    ],
)
def test_no_page_runs_or_fetches_anything(
    kind: str, page_of: Callable[[str], Path], tmp_path: Path, heard: list[bytes]
) -> None:
    text = page_of(kind).read_text(encoding="utf-8")
    assert kind == "mine" or "&lt;" in text  # the page contains foreign text
    text, removed = re.subn(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", text)
    assert removed == 1
    page = tmp_path / "page.html"
    page.write_text(text, encoding="utf-8")
    assert "owned</title>" not in opened(page, tmp_path)
    assert heard == []


@pytest.fixture(scope="module")
def heard() -> Iterator[list[bytes]]:
    with listening() as (url, words):
        words.append(url.encode())
        yield words


@pytest.fixture(scope="module")
def page_of(tmp_path_factory: pytest.TempPathFactory, heard: list[bytes]) -> Callable[[str], Path]:
    """Return a function from a kind of page to its file; each page is written once."""
    place = tmp_path_factory.mktemp("pages")
    commands = kinds(place, payloads(heard.pop().decode()))
    pages: dict[str, Path] = {}

    def page(kind: str) -> Path:
        if kind not in pages:
            for arguments in commands[kind]:
                option = "--output" if kind == "compare" else "--run"
                output = [] if "--run" in arguments else [option, str(place / kind)]
                assert run([*arguments, *output]) == 0, arguments
            (pages[kind],) = (place / kind).glob("*.html")
        return pages[kind]

    return page
