"""Pages of the app: the list of runs, filters, comparisons, and what breaks while it is shown."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import askew
from askew.method import load
from askew.store.store import Store, default_store
from askew.web.jobs import new_identity
from web_app import PLANTED, Browser, served


def run_named(browser: Browser, name: str) -> str:
    runs = {run.folder.name: run.id for run in browser.server.site.index.runs()}
    return f"/runs/{runs[name]}"


def counted(text: str) -> int:
    match = re.search(r">(\d+) images?\.<", text)
    assert match
    return int(match[1])


def test_the_list_shows_headlines_and_finds_words(browser: Browser, made_runs: Path) -> None:
    listed = browser.get("/").text
    for name in ("nurse", "labeled"):
        assert load(made_runs / name).page.answer.partition(" of ")[0] in listed
    listed_by_search = browser.get("/?q=folder+labels&sort=name").text
    assert run_named(browser, "labeled") in listed_by_search
    assert run_named(browser, "nurse") not in listed_by_search
    assert "No run contains" in browser.get("/?q=zebra").text


def test_a_number_opens_the_images_that_it_counts(browser: Browser) -> None:
    page = browser.get(run_named(browser, "nurse")).text
    links = dict(
        re.findall(
            r'<a href="([^"]+images\?[^"]+)" title[^>]*><span[^>]*>[^<]*</span></a> \((\d+)\)', page
        )
    )
    assert len(links) >= 4
    for address, count in links.items():
        assert counted(browser.get(address.replace("&amp;", "&")).text) == int(count)


def test_a_sentence_opens_the_images_that_it_counts(browser: Browser) -> None:
    page = browser.get(run_named(browser, "nurse")).text
    in_headline = re.findall(r'<h1[^>]*><bdi><a href="([^"]+)"[^>]*><bdi>(\d+) of 12 images', page)
    assert len(in_headline) == 1
    in_sentences = re.findall(r'<a href="([^"]+)"[^>]*><bdi>[^<]+ \((\d+) of 12\)</bdi>', page)
    assert len(in_sentences) == 2
    for address, count in in_headline + in_sentences:
        assert counted(browser.get(address.replace("&amp;", "&")).text) == int(count)


def test_a_cell_of_a_matrix_opens_the_images_that_it_counts(tmp_path: Path) -> None:
    prompts = ["a photo of a nurse", "a photo of a chef"]
    run = askew.audit(prompts, images=10, run=tmp_path / "jobs", **{**PLANTED, "axes": ["gender"]})
    with served([tmp_path]) as browser:
        page = browser.get(run_named(browser, "jobs")).text
        cells = re.findall(r'class="value"><a href="([^"]+)"[^>]*><bdi>\w+ (\d+)', page)
        assert len(cells) == 3
        for (address, percent), images in zip(cells, (20, 10, 10), strict=True):
            count = counted(browser.get(address.replace("&amp;", "&")).text)
            assert 100 * count == images * int(percent)
    assert "images?" not in (run.folder / "report.html").read_text(encoding="utf-8")


def test_filters_find_disagreement(browser: Browser, made_runs: Path) -> None:
    run = run_named(browser, "labeled")
    opened = browser.server.site.opened.run(run.removeprefix("/runs/"))
    expected = 0
    for image in opened.sets[0].images:
        expected += image.labels["labels"]["gender"] != image.labels["studio"]["gender"]
    assert expected > 0
    link = f'href="{run}/images?show=disagreement">{expected} images on which instruments disagree<'
    assert link in browser.get(run).text
    assert "instruments disagree<" not in browser.get(run_named(browser, "nurse")).text
    listed = browser.get(f"{run}/images?show=disagreement").text
    assert "gender: male (labels), female (studio)" in listed
    assert counted(browser.get(f"{run}/images?show=disagreement&axis=gender").text) == expected
    by_people = browser.get(f"{run}/images?axis=gender&value=male&by=labels").text
    assert counted(by_people) == 5
    assert ">Images labeled male on gender by labels<" in by_people


def test_the_page_of_an_image_lists_prompt_seed_and_labels(
    browser: Browser, made_runs: Path
) -> None:
    image_set = load(made_runs / "nurse").findings.sets[0]
    text = browser.get(f"{run_named(browser, 'nurse')}/images/{image_set.pictures[0]}").text
    assert "a photo of a nurse" in text
    assert str(image_set.seeds[0]) in text
    assert "gender" in text
    of_other_run = browser.get(f"{run_named(browser, 'nurse')}/images/{'0' * 64}")
    assert of_other_run.status == 404


def test_runs_are_compared_on_demand(runs: Path) -> None:
    with served([runs]) as browser:
        first = run_named(browser, "nurse")[6:]
        second = run_named(browser, "nurse-again")[6:]
        compared = browser.get(f"/compare?run={first}&run={second}")
        assert compared.status == 200
        assert "askew compare" in compared.text
        refused = browser.get(f"/compare?run={first}")
        assert refused.status == 409
        assert "two or more runs" in refused.text
        other = browser.get(f"/compare?run={first}&run={run_named(browser, 'labeled')[6:]}")
        assert other.status == 409
    assert not list(runs.glob("comparison*"))


def test_suggestions_name_open_axes_and_small_groups(browser: Browser) -> None:
    text = browser.get(f"{run_named(browser, 'nurse')}/gaps").text
    assert "leaves open" in text
    assert "has no counterfactual images of gender and age" in text
    assert "fewer than 5 images" in text


def test_a_run_that_breaks_while_it_is_shown(runs: Path) -> None:
    with served([runs]) as browser:
        run = run_named(browser, "nurse")
        results = runs / "nurse" / "results.json"
        results.write_bytes(results.read_bytes()[: results.stat().st_size // 2])
        broken = browser.get(run)
        assert broken.status == 409
        assert "damaged" in broken.text
        assert browser.get(run_named(browser, "labeled")).status == 200
        shutil.rmtree(runs / "nurse")
        assert browser.get(run).status == 404
        assert run not in browser.get("/").text
        assert browser.get(run_named(browser, "labeled")).status == 200


def test_a_run_without_results_is_unfinished(runs: Path) -> None:
    (runs / "nurse" / "results.json").unlink()
    with served([runs]) as browser:
        text = browser.get(run_named(browser, "nurse")).text
        assert "has a plan, but no results" in text
        folder = runs / "nurse"
        assert f"askew audit --plan {folder}/plan.toml --run {folder}" in text
        assert '"state unfinished"' in browser.get("/").text


def test_a_run_on_which_a_command_works_is_running(runs: Path) -> None:
    folder = runs / "nurse"
    (folder / "results.json").unlink()
    with served([runs]) as browser:
        with Store(default_store(folder)) as store, store.turn_of_run(folder):
            assert '"state running"' in browser.get("/").text
            text = browser.get(run_named(browser, "nurse")).text
            assert f"Process {os.getpid()} is working on the run in {folder}" in text
            assert "askew audit --plan" not in text
        assert '"state unfinished"' in browser.get("/").text


def test_a_run_of_an_active_job_is_running_and_can_be_stopped(runs: Path) -> None:
    (runs / "nurse" / "results.json").unlink()
    with served([runs], is_read_only=True) as browser:  # starts no jobs
        site = browser.server.site
        job = site.jobs.add(new_identity(), ["models"], runs / "nurse")
        listed = browser.get("/").text
        assert f'href="/jobs/{job.id}"' in listed
        assert '"state running"' in listed
        assert f'href="/jobs/{job.id}"' in browser.get(run_named(browser, "nurse")).text
        assert "Stop<" not in browser.get("/jobs").text
        site.is_read_only = False
        assert f'action="/jobs/{job.id}/stop"' in browser.get("/jobs").text
        site.jobs.interrupt(job)
        assert '"state unfinished"' in browser.get("/").text
        assert f'action="/jobs/{job.id}/stop"' not in browser.get("/jobs").text


def test_an_index_is_made_again(runs: Path) -> None:
    with served([runs]) as browser:
        before = browser.get("/").text
    index = runs / ".web" / "web.sqlite"
    assert index.exists()
    index.write_bytes(b"not an index")
    with served([runs]) as browser:
        assert browser.get("/").text == before


def test_a_second_start_reads_no_results_again(runs: Path) -> None:
    with served([runs]) as browser:
        before = browser.get("/").text
    for results in runs.glob("*/results.json"):
        status = results.stat()
        results.write_bytes(b"x" * status.st_size)  # whoever reads this finds a damaged run
        os.utime(results, ns=(status.st_atime_ns, status.st_mtime_ns))
    with served([runs]) as browser:
        assert browser.get("/").text == before


def test_hostile_texts_are_shown_as_text(runs: Path) -> None:
    hostile = "<script>alert(1)</script>{{7*7}}\\u202e"
    for file in ("results.json", "plan.toml"):
        path = runs / "nurse" / file
        text = path.read_text(encoding="utf-8").replace("a photo of a nurse", hostile)
        path.write_text(text, encoding="utf-8")
    for file in ("SHA256SUMS", "plan.hash"):
        (runs / "nurse" / file).unlink()
    (runs / "nurse" / "report.html").write_text("<script>document.title='run'</script>")
    with served([runs]) as browser:
        pages = [browser.get("/").text, browser.get(run_named(browser, "nurse")).text]
    for page in pages:
        assert "<script" not in page
        assert "document.title" not in page
