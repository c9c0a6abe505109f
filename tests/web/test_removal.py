"""Runs are removed, plans are saved, and budgets of jobs are changed in the browser."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from askew.errors import UsageError
from askew.web.jobs_page import with_budget
from web_app import Browser, served


def id_of(browser: Browser, name: str) -> str:
    return next(run.id for run in browser.server.site.index.runs() if run.folder.name == name)


def test_a_run_is_removed_after_its_images_were_counted(runs: Path) -> None:
    with served([runs]) as browser:
        run = id_of(browser, "nurse")
        assert f'href="/runs/{run}/remove"' in browser.get(f"/runs/{run}").text
        page = browser.get(f"/runs/{run}/remove")
        assert "This removes the results for 12 images" in page.text
        assert "askew runs rm" in page.text
        assert "Other runs here also contain 12 of these images" in page.text
        assert (runs / "nurse").is_dir()
        answer = browser.post(f"/runs/{run}/remove", {})
        assert (answer.status, answer.place) == (303, "/")
        assert not (runs / "nurse").exists()
        assert browser.get(f"/runs/{run}").status == 404
        assert "nurse-again" in browser.get("/").text
        other = id_of(browser, "nurse-again")
        image = browser.server.site.index.images_of_run(other)[0]
        assert browser.get(f"/images/{image}").status == 200


def test_a_run_of_an_active_job_is_not_removed(runs: Path) -> None:
    with served([runs]) as browser:
        run = id_of(browser, "nurse")
        jobs = browser.server.site.jobs
        jobs.stop()
        jobs.add("0" * 16, ["audit", "--run", str(runs / "nurse")], runs / "nurse")
        answer = browser.post(f"/runs/{run}/remove", {})
        assert answer.status == 409
        assert "Stop the job first" in answer.text
        assert (runs / "nurse" / "results.json").is_file()


def test_a_budget_is_set_changed_and_removed() -> None:
    tail = ["--run", "runs/nurse"]
    plain = ["audit", "a nurse", *tail]
    limited = ["audit", "a nurse", "--budget", "500", *tail]
    assert with_budget(plain, "500") == limited
    assert with_budget(limited, "90min") == ["audit", "a nurse", "--budget", "90min", *tail]
    assert with_budget(["audit", "a nurse", "--budget=500", *tail], "") == plain
    with pytest.raises(UsageError, match="is not a budget"):
        with_budget(plain, "--images")


def test_the_page_of_a_stopped_job_changes_its_budget(runs: Path) -> None:
    with served([runs]) as browser:
        jobs = browser.server.site.jobs
        jobs.stop()
        arguments = ["audit", "a nurse", "--budget", "7", "--run", str(runs / "new")]
        job = jobs.add("1" * 16, arguments, runs / "new")
        jobs.interrupt(job)
        page = browser.get(f"/jobs/{job.id}").text
        assert re.search(r'name="budget"[^>]*value="7"|value="7"[^>]*name="budget"', page)
        answer = browser.post(f"/jobs/{job.id}/continue", {"budget": "9"})
        again = jobs.find(answer.place.rpartition("/")[2])
        assert again is not None
        assert again.arguments[2:4] == ("--budget", "9")
        assert browser.post(f"/jobs/{job.id}/continue", {"budget": "x y"}).status == 409


@pytest.mark.slow
def test_the_plan_of_the_form_is_saved(runs: Path) -> None:
    fields = {"command": "audit", "prompts": "a photo of a nurse", "model": "studio/planted"}
    with served([runs]) as browser:
        answer = browser.post("/new/plan.toml", {**fields, "images": "7", "axes": "gender"})
        assert answer.status == 200
        assert 'filename="plan.toml"' in answer.headers["Content-Disposition"]
        plan = tomllib.loads(answer.text)
        assert (plan["method"], plan["images"]) == ("audit", 7)
        assert plan["prompts"][0]["text"] == "a photo of a nurse"
        assert not [path for path in runs.iterdir() if path.name.startswith("audit")]
