"""The same images have the same verdict in all methods."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import askew
from askew.store.keys import derived_seed

PROMPTS = ["a photo of a nurse", "a photo of a plumber"]
AXES = ["gender", "age"]
Verdicts = dict[tuple[str, str], Any]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("store")


@pytest.fixture(scope="module")
def options(store: Path) -> dict[str, Any]:
    return {
        "model": "studio/planted",
        "vqa": "studio",
        "axes": AXES,
        "images": 8,
        "seed": 3,
        "bootstrap_samples": 100,
        "store": store,
    }


@pytest.fixture(scope="module")
def audited(options: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("audit") / "run"
    return askew.audit(PROMPTS, **options, embedder="none", run=folder).findings


def verdicts(entries: Any) -> Verdicts:
    return {
        (entry.prompt, entry.axis): entry.verdict
        for entry in entries
        if entry.set == "initial" and entry.verdict
    }


@pytest.mark.slow
def test_interact_gives_the_verdicts_of_audit(
    options: dict[str, Any], audited: Any, tmp_path: Path
) -> None:
    interactions = askew.interact(PROMPTS, **options, run=tmp_path / "run").findings
    assert len(verdicts(audited.shares)) == 4
    assert verdicts(interactions.shares) == verdicts(audited.shares)
    assert len(audited.shares_over_prompts) == 2
    assert verdicts(interactions.shares_over_prompts) == verdicts(audited.shares_over_prompts)


@pytest.mark.slow
def test_rank_gives_the_verdicts_of_audit(
    options: dict[str, Any], audited: Any, tmp_path: Path
) -> None:
    """The verdicts on the images of a model do not depend on the other models."""
    ranking = askew.rank(*PROMPTS, **options, vary={"bias": [1, 0]}, run=tmp_path / "run").findings
    planted = [prompt for prompt in ranking.ranked if prompt.model == "bias=1"]
    assert verdicts(prompt.shares for prompt in planted) == verdicts(audited.shares)
    together = [entry for entry in ranking.shares_over_prompts if entry.model == "bias=1"]
    assert verdicts(entry.shares for entry in together) == verdicts(audited.shares_over_prompts)
    assert [prompt.score.q for prompt in ranking.ranked] == [
        prompt.shares.verdict.q for prompt in ranking.ranked
    ]


@pytest.mark.slow
def test_mitigation_gives_the_verdicts_of_an_audit_of_its_images(
    options: dict[str, Any], tmp_path: Path
) -> None:
    settings = {**options, "axes": ["gender"]}
    mitigation = askew.mitigate(
        PROMPTS,
        **settings,
        monitor=["age"],
        techniques="prompts",
        eval_images=8,
        embedder="none",
        run=tmp_path / "mitigation",
    ).findings
    held_out = {**options, "seed": derived_seed(options["seed"], "confirm")}
    audit = askew.audit(PROMPTS, **held_out, embedder="none", run=tmp_path / "audit").findings
    assert len(verdicts(audit.shares)) == 4
    assert verdicts(mitigation.shares) == verdicts(audit.shares)
    assert verdicts(mitigation.shares_over_prompts) == verdicts(audit.shares_over_prompts)


@pytest.mark.slow
def test_a_search_gives_the_verdicts_of_an_audit_of_its_best_prompts(
    options: dict[str, Any], tmp_path: Path
) -> None:
    settings = {**options, "axes": ["gender"]}
    search = askew.mine(
        topic="people",
        **{**settings, "images": 2},
        eval_images=8,
        iterations=1,
        population=4,
        selected=2,
        random_search=False,
        run=tmp_path / "search",
    ).findings.minethegap
    best = {prompt.prompt: prompt for prompt in search.best if prompt.shares}
    held_out = {**settings, "seed": derived_seed(options["seed"], "fresh")}
    audit = askew.audit(list(best), **held_out, embedder="none", run=tmp_path / "audit").findings
    assert len(best) > 1
    assert verdicts(prompt.shares for prompt in best.values()) == verdicts(audit.shares)
    assert verdicts(search.shares_over_prompts) == verdicts(audit.shares_over_prompts)
    for prompt in best.values():
        assert prompt.held_out_score.q == prompt.shares.verdict.q
