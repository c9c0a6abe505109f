"""Audits with TIBET's open questions: no values, no shares, concepts of free answers."""

from __future__ import annotations

from pathlib import Path

import pytest

import askew
from askew.errors import UsageError


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"until": "decided"}, "--until decided needs verdicts"),
        ({"counterfactuals": "significant"}, "--counterfactuals significant needs verdicts"),
        ({"reference": ["bls-2022"]}, "open answers have no fixed values"),
    ],
)
def test_options_about_shares_are_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        askew.audit("a photo of a nurse", open_answers=True, **options)  # type: ignore[arg-type]


@pytest.mark.slow
def test_free_answers_become_concepts_without_shares(tmp_path: Path) -> None:
    result = askew.audit(
        "a photo of a nurse",
        model="studio/planted",
        axes=["gender"],
        images=2,
        open_answers=True,
        embedder="none",
        run=str(tmp_path / "run"),
        store=str(tmp_path / "store"),
    )
    (axis,) = result.plan.prompts[0].axes
    assert axis.values == ()
    assert [question.options for question in axis.questions] == [()]
    assert 0 <= result.findings.tibet[0].axes["gender"].mad.value <= 1
