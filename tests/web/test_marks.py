"""Marks by hand: corrected labels change shares and verdicts, and notes enter the report."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from askew.method import load
from askew.methods.audit.findings import AuditResult
from askew.run.annotations import (
    ANNOTATIONS_FILE,
    NO_LABEL,
    add_annotations,
    corrected_label,
    flag,
    note,
    read_annotations,
)
from askew.run.folder import run_files
from askew.studies.corrections import corrected_findings
from web_app import Browser, served

IMAGE = "a" * 64


def audit_of(folder: Path) -> AuditResult:
    result = load(folder)
    assert isinstance(result, AuditResult)
    return result


@pytest.mark.parametrize("name", ["nurse", "labeled"])
def test_no_correction_changes_nothing(made_runs: Path, name: str) -> None:
    result = audit_of(made_runs / name)
    assert corrected_findings(result, {}) == result.findings


def test_corrections_change_counts_shares_and_verdicts(made_runs: Path) -> None:
    result = audit_of(made_runs / "nurse")
    image_set = result.findings.sets[0]
    assert image_set.labels is not None
    pairs = zip(image_set.pictures, image_set.labels["gender"], strict=True)
    women = [str(image) for image, label in pairs if label == "female"]
    labels = {(image, "gender"): "male" for image in women[:4]} | {(women[4], "gender"): NO_LABEL}
    before = next(entry for entry in result.findings.shares if entry.axis == "gender")
    after = next(
        entry for entry in corrected_findings(result, labels).shares if entry.axis == "gender"
    )
    assert after.counts["female"] == before.counts["female"] - 5
    assert after.counts["male"] == before.counts["male"] + 4
    assert after.missing == {"cannot_tell": 1}
    assert before.verdict is not None
    assert after.verdict is not None
    assert after.verdict.p > before.verdict.p


def test_the_latest_mark_counts_and_foreign_lines_are_skipped(tmp_path: Path) -> None:
    first = note("the whole run", "first")
    add_annotations(tmp_path, [corrected_label(IMAGE, "gender", "male"), flag(IMAGE, "odd"), first])
    with (tmp_path / ANNOTATIONS_FILE).open("a") as file:
        file.write('not JSON\n{"kind": "label", "time": "", "image": "../x"}\n[' + "[" * 500 + "\n")
    add_annotations(
        tmp_path,
        [
            corrected_label(IMAGE, "gender", "female"),
            flag(IMAGE, ""),
            note("x", "second", first.id),
        ],
    )
    marks = read_annotations(tmp_path)
    assert marks.labels == {(IMAGE, "gender"): "female"}
    assert marks.flags == {}
    assert [entry.text for entry in marks.notes.values()] == ["second"]
    assert marks.skipped == 3
    assert tmp_path / ANNOTATIONS_FILE in run_files(tmp_path)


def test_a_link_holds_no_marks(tmp_path: Path) -> None:
    add_annotations(tmp_path, [flag(IMAGE, "odd")])
    folder = tmp_path / "linked"
    folder.mkdir()
    (folder / ANNOTATIONS_FILE).symlink_to(tmp_path / ANNOTATIONS_FILE)
    assert read_annotations(folder).flags == {}


def test_notes_are_a_section_of_the_report(runs: Path) -> None:
    add_annotations(runs / "nurse", [note("gender", "Look at <b>image 3</b>")])
    load(runs / "nurse").write_report()
    text = (runs / "nurse" / "report.html").read_text(encoding="utf-8")
    assert "Look at &lt;b&gt;image 3&lt;/b&gt;" in text


def first_image(browser: Browser, name: str) -> tuple[str, str]:
    """Return the addresses of a run and of the page of its first image."""
    runs = {run.folder.name: run.id for run in browser.server.site.index.runs()}
    image = load(browser.server.site.home / name).findings.sets[0].pictures[0]
    return f"/runs/{runs[name]}", f"/runs/{runs[name]}/images/{image}"


def test_a_label_is_corrected_on_the_page(runs: Path) -> None:
    with served([runs]) as browser:
        run, image = first_image(browser, "nurse")
        before = browser.get(run).text
        sent = browser.post(image, {"label:gender": "male", "flag": "unsure", "value": "female"})
        assert sent.status == 303
        assert sent.headers["Location"] == f"{image}?value=female"
        after = browser.get(run).text
        original = browser.get(f"{run}?labels=original").text
        assert "1 correction by hand" in browser.get(run).text.replace("</a>", "")
        assert browser.post(image, {"label:gender": "unicorn"}).status == 409
        listed = browser.get(f"{run}/images?show=corrected").text
        flagged = browser.get(f"{run}/images?show=flagged").text
    lines = (runs / "nurse" / ANNOTATIONS_FILE).read_text().splitlines()
    assert [json.loads(line)["kind"] for line in lines] == ["label", "flag"]
    assert headline(before) != headline(after)
    assert headline(before) == headline(original)
    assert "1 image." in listed
    assert "1 image." in flagged


def headline(text: str) -> str:
    return text.partition("<h1")[2].partition("</h1>")[0]


def test_a_note_is_written_changed_and_deleted_on_the_page(runs: Path) -> None:
    with served([runs]) as browser:
        run, _ = first_image(browser, "nurse")
        browser.post(f"{run}/notes", {"text": "<script>alert(1)</script>", "about": "gender"})
        (identity,) = read_annotations(runs / "nurse").notes
        shown = browser.get(run).text
        browser.post(f"{run}/notes", {"text": "", "id": identity})
        assert browser.post(f"{run}/notes", {"text": "x", "id": "unknown"}).status == 404
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in shown
    assert "<script" not in shown
    assert read_annotations(runs / "nurse").notes == {}


def test_a_read_only_app_writes_nothing(browser: Browser, made_runs: Path) -> None:
    run, image = first_image(browser, "nurse")
    assert browser.post(image, {"label:gender": "male"}).status == 403
    assert browser.post(f"{run}/notes", {"text": "x"}).status == 403
    assert "Correct the labels" not in browser.get(image).text
    assert not (made_runs / ".web" / "web.sqlite").exists()
