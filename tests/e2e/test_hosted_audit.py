"""Audits of a served model whose bias is known, through the hosted path."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import askew
from askew.studio.planted import truth
from served_models import served

pytestmark = pytest.mark.slow

AUDIT: dict[str, Any] = {"images": 24, "axes": ["gender"], "seed": 0}
PROMPT = "a photo of a nurse"


def results(run: Any) -> dict[str, Any]:
    return dict(json.loads(run.numbers.read_text(encoding="utf-8")))


def hosted_audit(folder: Path, url: str, **settings: Any) -> Any:
    return askew.audit(
        PROMPT,
        model="openai/studio/planted",
        model_url=url,
        model_args={"revision": "1", **settings},
        run=folder / "run",
        **AUDIT,
    )


def test_an_audit_with_seeds_equals_the_direct_audit(tmp_path: Path) -> None:
    direct = askew.audit(PROMPT, model="studio/planted", run=tmp_path / "direct" / "run", **AUDIT)
    with served() as server:
        hosted = hosted_audit(tmp_path / "hosted", server.url, seeded=True)
        calls = len(server.bodies)
        hosted_audit(tmp_path / "hosted", server.url, seeded=True)
        assert len(server.bodies) == calls
    expected = results(direct)
    got = results(hosted)
    differing = {"plan", "plan_hash", "environment", "warnings", "model"}
    assert {key for key in expected if expected[key] != got[key]} <= differing


def test_intervals_of_audits_without_seeds_contain_the_true_share(tmp_path: Path) -> None:
    true_share = truth(PROMPT, "gender")["female"]
    containing = 0
    with served() as server:
        for number in range(20):
            run = hosted_audit(tmp_path / str(number), server.url)
            female = results(run)["shares"][0]["shares"]["female"]
            containing += female["low"] <= true_share <= female["high"]
        assert len(server.bodies) >= 20 * AUDIT["images"]
    # with a coverage of .95, fewer than 16 of 20 intervals have a probability of .003
    assert containing >= 16


def test_refusals_of_one_group_and_rewritten_prompts_are_stated(tmp_path: Path) -> None:
    with served("studio/planted", "refuse:female=0.4", "rewrite:smiling=0.5") as server:
        hosted = hosted_audit(tmp_path, server.url)
    warnings = " ".join(hosted.warnings)
    assert "images of 'a photo of a female nurse' were refused" in warnings
    assert "the server rewrote the prompts for" in warnings
    (entry,) = hosted.findings.rewriting
    assert entry.rewritten + entry.verbatim == AUDIT["images"]
    assert entry.examples == (f"{PROMPT}, smiling",)
    assert not any(entry.added.values())
