"""Labels of a study as an instrument, without editing anything by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import askew
from askew import registry
from askew.cli import run
from askew.errors import UsageError
from askew.measure.base import RatedInstrument, SampledLabels
from askew.people.folder import StudyFolder
from askew.people.records import AnswerRecord
from askew.stats.confusion import corrected_share_intervals
from askew.types import Axis, Missing, Picture, Question
from planted_raters import INSTRUMENT, answers, planted_study

GENDER = Axis(
    "gender", ("male", "female"), questions=(Question("?", ("male", "female"), "gender"),)
)


def test_corrected_shares_hold_the_planted_share(tmp_path: Path) -> None:
    rng = np.random.default_rng(8)
    folder, truth = planted_study(tmp_path / "study", rng, images=3000, labeled=300, share=0.3)
    folder.write_answers(answers(folder, truth, rng, always_first=("r002",)))
    vqa = registry.vqa(f"study/{folder.path}")
    assert isinstance(vqa, RatedInstrument)
    assert isinstance(vqa, SampledLabels)
    assert "r002" not in vqa.raters("gender")
    labels = {entry.id: entry.labels["gender"][INSTRUMENT] for entry in folder.frame}
    counts = vqa.labeling_errors(GENDER, labels)
    assert counts is not None
    observed = [list(labels.values()).count(value) for value in GENDER.values]
    assert observed[1] / 3000 == pytest.approx(0.311, abs=0.02)
    _, share = corrected_share_intervals(observed, counts, rng=rng, draws=500)
    assert share.low is not None
    assert share.high is not None
    assert share.low <= np.mean([value == "female" for value in truth.values()]) <= share.high


def test_answers_are_majorities_and_change_the_fingerprint(tmp_path: Path) -> None:
    rng = np.random.default_rng(9)
    folder, truth = planted_study(tmp_path / "study", rng, images=40, labeled=40, raters=3)
    with pytest.raises(UsageError, match="from excluded raters"):
        registry.vqa(f"study/{folder.path}")
    folder.write_answers(answers(folder, truth, rng, error=0.0, bias=0.0))
    vqa = registry.vqa(f"study/{folder.path}")
    pictures = [Picture(digest, "p", "p") for digest in truth]
    given = [row[0] for row in vqa.answer(pictures, list(GENDER.questions))]
    assert given == list(truth.values())
    (other,) = vqa.answer([Picture("f" * 64, "p", "p")], list(GENDER.questions))
    assert isinstance(other[0], Missing)
    item = next(name for name in folder.raters()[0].items if name.startswith("i"))
    changed = StudyFolder.opened(folder.path)
    changed.append(AnswerRecord("r001", item, 1, (":cannot_tell",)))
    later = registry.vqa(f"study/{folder.path}/")
    assert later.fingerprint != vqa.fingerprint


def test_an_audit_uses_the_labels_of_its_study(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = {"model": "studio/planted", "axes": ["gender"], "counterfactuals": "none"}
    base = askew.audit("a photo of a nurse", images=24, run=tmp_path / "runs/base", **options)
    study = tmp_path / "study"
    assert run(["study", "new", "label", "--from", str(base.folder), "--output", str(study)]) == 0
    text = capsys.readouterr().out
    assert "3 per image" in text
    assert "expected half-width" in text
    folder = StudyFolder.opened(study)
    labels = {entry.id: entry.labels["gender"]["studio"] for entry in folder.frame}
    folder.write_answers(answers(folder, labels, np.random.default_rng(0), 0.0, 0.0))
    corrected = askew.audit(
        "a photo of a nurse",
        images=24,
        vqa=f"studio,study/{study}",
        run=tmp_path / "runs/corrected",
        **options,
    )
    (confusion,) = corrected.findings.confusion
    assert confusion.truth == f"study/{study}"
    assert confusion.instrument == "studio"
    entry = next(each for each in corrected.findings.shares if each.instrument == "studio")
    assert entry.instrument_corrected is not None
    assert corrected.findings.agreement[0].coefficient == "alpha"


def test_folders_without_a_study_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"is not a study.*askew study new label"):
        registry.vqa(f"study/{tmp_path}")
    with pytest.raises(UsageError, match="--vqa study/DIR"):
        registry.vqa("study")
