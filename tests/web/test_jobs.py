"""Jobs survive the app, run one at a time, and can be stopped and continued."""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import askew
from askew.cli import run
from askew.store.journal import Journal
from askew.web.jobs import Jobs, new_identity, state_of_code
from askew.web.processes import ProcessIdentity
from web_app import Browser, served

LONG = 400.0


def wait_for(condition: Callable[[], object], seconds: float = LONG) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.1)


def arguments(run: Path, images: int = 4) -> list[str]:
    return [
        "audit",
        "a photo of a nurse",
        "--model",
        "studio/planted",
        "--axes",
        "gender",
        "--counterfactuals",
        "none",
        "--embedder",
        "none",
        "--images",
        str(images),
        "--bootstrap-samples",
        "100",
        "--run",
        str(run),
    ]


def test_states_follow_from_exit_codes() -> None:
    assert [state_of_code(code) for code in (0, 3, 130, 1, 2)] == [
        "done",
        "done",
        "stopped",
        "failed",
        "failed",
    ]


def test_equal_requests_are_a_single_job(tmp_path: Path) -> None:
    jobs = Jobs(tmp_path / "jobs")
    first = jobs.add(new_identity(), ["models"], tmp_path / "a")
    assert jobs.add(first.id, ["models"], tmp_path / "a") == first
    assert jobs.add(new_identity(), ["models"], tmp_path / "a") == first
    jobs.interrupt(first)
    assert jobs.state(first) == "stopped"
    assert jobs.add(new_identity(), ["models"], tmp_path / "a") != first


def test_a_process_is_known_by_its_start() -> None:
    identity = ProcessIdentity.of(os.getpid())
    assert identity.is_alive
    assert not ProcessIdentity(pid=identity.pid, started="0").is_alive


@pytest.mark.slow
def test_jobs_run_in_order_and_survive_the_app(tmp_path: Path) -> None:
    folder = tmp_path / "jobs"
    jobs = Jobs(folder)
    first = jobs.add(new_identity(), ["models", "--json"], tmp_path / "a")
    second = jobs.add(new_identity(), ["audit"], tmp_path / "b")
    jobs.start()
    try:
        wait_for(lambda: jobs.state(first) == "done")
        assert jobs.state(second) in ("queued", "running", "failed")
        wait_for(lambda: jobs.state(second) == "failed")
    finally:
        jobs.stop()
    again = Jobs(folder)
    assert [again.state(job) for job in again.all()] == ["failed", "done"]
    assert '"option"' in again.output(first)
    assert "no prompt is given" in again.output(second)


@pytest.mark.slow
def test_a_run_is_stopped_killed_and_continued(tmp_path: Path) -> None:
    """kill -9 of the app leaves the run; kill -9 of the run is shown; going on completes it."""
    folder = tmp_path / "jobs"
    run = tmp_path / "runs" / "nurse"
    jobs = Jobs(folder)
    job = jobs.add(new_identity(), arguments(run, 400), run)
    jobs.start()
    wait_for(lambda: jobs.progress(job).stages)
    jobs.interrupt(job)
    wait_for(lambda: jobs.state(job) == "stopped")
    again = jobs.add(new_identity(), arguments(run, 400), run)
    wait_for(lambda: jobs.progress(again).stages)
    jobs.stop()
    other = Jobs(folder)
    process = other.process(again)
    assert process is not None
    assert other.state(again) == "running"
    os.kill(process.pid, signal.SIGKILL)
    wait_for(lambda: other.state(again) == "stopped", 5)
    other.start()
    last = other.add(new_identity(), arguments(run, 400), run)
    wait_for(lambda: other.state(last) == "done")
    other.stop()
    journal = Journal(run.parent / ".askew" / "journal.jsonl")
    image_keys = [row[0] for table, rows in journal.rows() if table == "pictures" for row in rows]
    assert len(image_keys) == len(set(image_keys)) == 400
    check = Jobs(tmp_path / "checks")
    checked = check.add(new_identity(), ["check", str(run)], run)
    check.start()
    wait_for(lambda: check.state(checked) == "done")
    check.stop()


def hidden(text: str, action: str) -> dict[str, str]:
    form = text.partition(f'action="{action}"')[2].partition("</form>")[0]
    return dict(re.findall(r'type="hidden" name="([^"]+)" value="([^"]*)"', form))


@pytest.mark.slow
def test_a_run_is_started_from_the_form(runs: Path) -> None:
    with served([runs]) as browser:
        steps = browser.get("/new").text
        assert "--model" in steps
        how = browser.post(
            "/new",
            {
                "step": "how",
                "command": "audit",
                "prompts": "a photo of a chef",
                "model": "studio/planted",
            },
        )
        assert "--counterfactuals" in how.text
        fields = hidden(how.text, "/new") | {
            "step": "cost",
            "images": "4",
            "axes": "gender",
            "counterfactuals": "none",
            "embedder": "none",
            "bootstrap_samples": "100",
            "folder": "chef",
        }
        cost = browser.post("/new", fields).text
        assert "askew audit &#x27;a photo of a chef&#x27;" in cost
        start = hidden(cost, "/new/start")
        first = browser.post("/new/start", start)
        second = browser.post("/new/start", start)
        assert first.status == second.status == 303
        assert first.headers["Location"] == second.headers["Location"]
        assert len(browser.server.site.jobs.all()) == 1
        wait_for(lambda: "Open the report" in browser.get(first.headers["Location"]).text)
        assert "chef" in browser.get("/").text
        assert "done" in browser.get("/jobs").text
    in_terminal = [text.replace("nurse", "chef") for text in arguments(runs / "terminal")]
    assert run(in_terminal) == 0
    first_run = runs / "chef"
    second_run = runs / "terminal"
    assert (first_run / "plan.toml").read_bytes() == (second_run / "plan.toml").read_bytes()
    findings = askew.load(first_run).findings
    same = replace(askew.load(second_run).findings, environment=findings.environment)
    assert same == findings


def test_a_request_that_cannot_be_a_run_is_explained(runs: Path) -> None:
    with served([runs]) as browser:
        refused = browser.post(
            "/new", {"step": "cost", "command": "audit", "prompts": "a nurse", "model": "nothing/x"}
        )
        assert "unknown" in refused.text
        hostile = browser.post(
            "/new", {"step": "cost", "command": "mine", "objective": "os:system"}
        )
        assert hostile.status == 409
        assert browser.post("/new", {"step": "how", "command": "rm -rf"}).status == 409
        outside = browser.post(
            "/new", {"step": "cost", "command": "audit", "prompts": "x", "folder": "../x"}
        )
        assert outside.status == 409


def test_a_read_only_app_starts_nothing(browser: Browser) -> None:
    assert browser.post("/new/start", {"command": "audit", "job": "0" * 16}).status == 403
