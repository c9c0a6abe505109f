"""A full disk and a disk that nobody can write: runs are shown, and what cannot be saved is said."""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from processes import fork_call
from web_app import Browser, served

OWN_MOUNTS = 0x00020000
"""The flag CLONE_NEWNS of Linux: mounts of this process are its own."""

CANNOT_MOUNT = 77

NEW_RUN = {
    "step": "cost",
    "command": "audit",
    "prompts": "a photo of a chef",
    "model": "studio/planted",
    "images": "4",
    "axes": "gender",
    "counterfactuals": "none",
    "embedder": "none",
    "bootstrap_samples": "100",
    "folder": "chef",
}


def mount(place: Path, *options: str) -> None:
    done = subprocess.run(["mount", *options, str(place)], stderr=subprocess.DEVNULL, check=False)
    if done.returncode:
        sys.exit(CANNOT_MOUNT)


def fill(place: Path) -> None:
    """Write a file until the disk is full."""
    try:
        with (place / "filling").open("wb", buffering=0) as file:
            while True:
                file.write(bytes(512))
    except OSError:
        pass


def protect(place: Path) -> None:
    mount(place, "-o", "remount,ro")


def words_of(text: str) -> str:
    return re.sub(r"<[^>]+>", "", text)


def use_the_app(browser: Browser, message: str) -> None:
    """Ask for pages, which are shown, and send forms, which are refused with a sentence."""
    run = next(run for run in browser.server.site.index.runs() if run.folder.name == "nurse")
    image = browser.server.site.index.images_of_run(run.id)[0]
    base = f"/runs/{run.id}"
    for path in ("/", base, f"{base}/images?show=all", f"{base}/images/{image}", "/jobs"):
        shown = browser.get(path)
        assert shown.status == 200, (path, words_of(shown.text)[-300:])
    assert browser.get(f"/images/{image}/small").status == 200
    forms = {
        f"{base}/images/{image}": {"label:gender": "male", "flag": "odd"},
        f"{base}/notes": {"text": "a remark"},
        f"{base}/remove": {"images": "0"},
    }
    for path, fields in forms.items():
        refused = browser.post(path, fields)
        assert refused.status == 500, path
        assert message in refused.text, words_of(refused.text)[-300:]
    cost = browser.post("/new", NEW_RUN).text
    form = cost.partition('action="/new/start"')[2].partition("</form>")[0]
    start = dict(re.findall(r'type="hidden" name="([^"]+)" value="([^"]*)"', form))
    assert message in browser.post("/new/start", start).text
    assert browser.server.site.jobs.all() == []
    assert browser.get("/").status == 200


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="mounts a small disk as Linux does")
@pytest.mark.parametrize(
    ("spoil", "is_started", "message"),
    [
        (fill, False, "the disk is full"),
        (fill, True, "the disk is full"),
        (protect, False, "Read-only file system"),
    ],
    ids=["full", "full after the start", "read-only"],
)
def test_runs_are_shown_and_failures_to_save_are_said(
    spoil: Callable[[Path], None],
    is_started: bool,
    message: str,
    made_runs: Path,
    tmp_path: Path,
) -> None:
    def try_the_app() -> None:
        if ctypes.CDLL(None).unshare(OWN_MOUNTS):
            sys.exit(CANNOT_MOUNT)
        mount(tmp_path, "-t", "tmpfs", "-o", "size=9m", "tmpfs")
        runs = tmp_path / "runs"
        shutil.copytree(made_runs, runs, ignore=shutil.ignore_patterns(".web"))
        if not is_started:
            spoil(tmp_path)
        with served([runs]) as browser:
            if is_started:
                spoil(tmp_path)
            use_the_app(browser, message)
        assert not (runs / "chef").exists()
        print("done")

    process = fork_call(try_the_app)
    output, errors = process.communicate()
    if process.returncode == CANNOT_MOUNT:
        pytest.skip("needs the right to mount a file system")
    assert output.endswith("done\n"), errors
    assert "Traceback" not in errors
    assert os.listdir(tmp_path) == []
