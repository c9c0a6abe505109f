"""Results and run folders of any method."""

from __future__ import annotations

from pathlib import Path

import pytest

import askew


@pytest.fixture
def result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> askew.AuditResult:
    monkeypatch.chdir(tmp_path)
    return askew.audit(
        "a photo of a nurse",
        model="studio/planted",
        images=4,
        axes=["gender"],
        bootstrap_samples=100,
    )


def test_a_run_folder_begins_with_its_method(result: askew.AuditResult) -> None:
    assert result.folder == Path("runs") / f"audit-a-photo-of-a-nurse-{result.plan.hash[:8]}"
    assert (result.folder / "plan.toml").exists()


def test_a_result_prints_as_a_few_sentences(result: askew.AuditResult) -> None:
    text = str(result)
    assert text == repr(result)
    assert text.startswith("<AuditResult: audit of studio/planted, 1 prompt. ")
    assert result.page.answer in text
    assert text.endswith(f"Run folder: {result.folder}>")
    assert len(text) < 600


def test_events_reach_a_function(tmp_path: Path) -> None:
    events = []
    askew.audit(
        "a photo of a nurse",
        model="studio/planted",
        images=4,
        axes=["gender"],
        bootstrap_samples=100,
        run=tmp_path / "run",
        progress=events.append,
    )
    assert {event.stage for event in events} >= {"pictures", "answers"}
    assert events[0].kind == "started"
