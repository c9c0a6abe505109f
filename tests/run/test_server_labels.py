"""Labels by a server in a run: several calls at once, each answer stored, its price and its log."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "faults"))

from doubles import PatternModel, small_plan

from askew.errors import RunError, ServerError, UsageError
from askew.measure.openai import HostedVQA, create
from askew.run.budget import Budget
from askew.run.count import CountingRun
from askew.run.live import LiveRun
from askew.store.store import Store
from askew.types import Picture, Question
from local_llm import fails, says, serving
from local_server import Reply

KIND = Question("Which kind?", ("a", "b"), "kind")
SIZE = Question("Which size?", ("small", "large"), "size")
OPEN = Question("What is it?", ())
IMAGES = 6


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


def run_of(tmp_path: Path, store: Store, budget: Budget | None = None) -> LiveRun:
    return LiveRun(tmp_path / "run", store, small_plan(), budget=budget)


def images_of(run: LiveRun, count: int = IMAGES) -> list[Picture]:
    outcomes = run.pictures(PatternModel(), ["a nurse"], count, 0)["a nurse"]
    return [image for image in outcomes if isinstance(image, Picture)]


def truthful(number: int, content: dict[str, Any]) -> Reply:
    """Return the option that comes first in the alphabet, whatever the order."""
    fields = content["response_format"]["json_schema"]["schema"]["properties"]
    answers = {}
    for key, field in fields.items():
        options = sorted(set(field.get("enum", ["a thing"])) - {"cannot tell"})
        answers[key] = options[0]
    return says(json.dumps(answers))


def labeler(url: str, **settings: Any) -> HostedVQA:
    return create("m", url=url, revision="1", **settings)


def test_answers_are_stored_with_their_log_and_never_paid_twice(
    tmp_path: Path, store: Store
) -> None:
    with serving(truthful) as server:
        run = run_of(tmp_path, store)
        images = images_of(run)
        answers = run.ask(labeler(server.url), images, [KIND, OPEN])
        assert len(server.requests) == 2 * IMAGES
        again = run_of(tmp_path, store).ask(labeler(server.url), images, [OPEN, KIND])
        run_of(tmp_path, store).ask(labeler(server.url), images, [KIND, SIZE])
        assert len(server.requests) == 3 * IMAGES
    assert answers == {image.id: ["a", "a thing"] for image in images}
    assert again == {image.id: ["a thing", "a"] for image in images}
    files = sorted((tmp_path / "store" / "completions").rglob("*.json"))
    assert len(files) == 3 * IMAGES
    texts = [file.read_text(encoding="utf-8") for file in files]
    assert sum(KIND.text in text for text in texts) == IMAGES
    assert not any("base64" in text for text in texts)


def test_several_calls_are_in_progress_at_once(tmp_path: Path, store: Store) -> None:
    barrier = threading.Barrier(3)

    def reply(number: int, content: dict[str, Any]) -> Reply:
        barrier.wait(20)
        return truthful(number, content)

    with serving(reply) as server:
        run = run_of(tmp_path, store)
        answers = run.ask(labeler(server.url, concurrency=3), images_of(run), [KIND])
    assert len(answers) == IMAGES


def test_a_failure_loses_no_answer_that_was_paid(tmp_path: Path, store: Store) -> None:
    def reply(number: int, content: dict[str, Any]) -> Reply:
        return fails(401, "bad key") if number >= 4 else truthful(number, content)

    run = run_of(tmp_path, store)
    images = images_of(run)
    with serving(reply) as server:
        with pytest.raises(ServerError, match="401: bad key"):
            run.ask(labeler(server.url, concurrency=2), images, [KIND])
        assert len(server.requests) <= 6
    with serving(truthful) as server:
        run_of(tmp_path, store).ask(labeler(server.url), images, [KIND])
        assert len(server.requests) == IMAGES - 4


def test_refusals_are_not_asked_again(tmp_path: Path, store: Store) -> None:
    run = run_of(tmp_path, store)
    images = images_of(run)
    with serving(lambda *_: says("", refusal="no")) as server:
        for _ in range(2):
            answers = run_of(tmp_path, store).ask(labeler(server.url), images, [KIND])
        assert len(server.requests) == IMAGES
    assert {str(answer) for (answer,) in answers.values()} == {"missing (refused: no)"}


@pytest.mark.parametrize(("together", "paid"), [(1, 4), (2, 5)])
def test_the_budget_in_dollars_ends_before_it_is_crossed(
    tmp_path: Path, store: Store, together: int, paid: int
) -> None:
    budget = Budget.parse("0.05usd", call_price=0.01)
    with serving(truthful) as server:
        run = run_of(tmp_path, store, budget)
        images = images_of(run)
        with pytest.raises(RunError, match=r"budget of \$0.05 is used up: .* not yet labeled"):
            run.ask(labeler(server.url, together=together), images, [KIND, SIZE])
        assert len(server.requests) == paid


def test_images_and_labels_share_a_budget(tmp_path: Path, store: Store) -> None:
    budget = Budget.parse("1usd", price=0.1, call_price=0.05)
    with serving(truthful) as server:
        run = run_of(tmp_path, store, budget)
        images = images_of(run, count=4)
        assert (budget.pictures_left(budget.price), budget.calls_left()) == (6, 12)
        run.ask(labeler(server.url), images, [KIND, SIZE])
        assert (budget.pictures_left(budget.price), budget.calls_left()) == (2, 4)
        with pytest.raises(RunError, match="budget"):
            images_of(run, count=12)
    assert (budget.spent, budget.calls) == (4, 8)


@pytest.mark.parametrize("budget", ["5usd", "$5"])
def test_a_budget_in_dollars_needs_the_price_of_a_call(
    tmp_path: Path, store: Store, budget: str
) -> None:
    with serving(truthful) as server:
        run = run_of(tmp_path, store, Budget.parse(budget, price=0.02))
        with pytest.raises(
            UsageError, match="price in dollars per call for openai/m, as in --vqa-price"
        ):
            run.ask(labeler(server.url), images_of(run), [KIND])
        assert not server.requests


def test_the_cost_of_all_labels_is_stated(tmp_path: Path, store: Store) -> None:
    with serving(truthful) as server:
        for _ in range(2):
            run = run_of(tmp_path, store, Budget.parse(None, call_price=0.02))
            images = images_of(run)
            run.ask(labeler(server.url), images, [KIND, SIZE])
            run.ask(labeler(server.url), images[:3], [KIND, OPEN])
            (sentence,) = run.server_sentences()
    assert sentence == "the 15 calls for labels cost about $0.30 at $0.02 per call"


def cost(store: Store, count: Callable[[CountingRun], object], **prices: float) -> list[str]:
    counted = CountingRun(store, **prices)
    count(counted)
    return [line for line in counted.lines() if line.startswith(("calls", "cost"))]


def test_a_dry_run_prints_the_calls_and_the_largest_cost(tmp_path: Path, store: Store) -> None:
    run = run_of(tmp_path, store)
    images = images_of(run)
    with serving(truthful) as server:
        vqa = labeler(server.url)
        run.ask(vqa, images[:2], [KIND])
        lines = cost(store, lambda c: c.ask(vqa, images, [KIND, SIZE, OPEN]), call_price=0.5)
        assert len(server.requests) == 2
        before = len(server.requests)
        run.ask(vqa, images, [KIND, SIZE, OPEN])
        assert len(server.requests) - before == 16
    assert lines == [
        "calls       16 (model 0, vqa 16, embedder 0)",
        "cost        at most $8.00 (16 calls for labels at $0.5)",
    ]


def test_a_dry_run_adds_the_costs_of_images_and_labels(store: Store) -> None:
    vqa = labeler("http://127.0.0.1:1/v1", together=4)

    def count(counted: CountingRun) -> None:
        images = counted.pictures(PatternModel(), ["a nurse"], 8, 0)["a nurse"]
        counted.ask(vqa, images, [KIND, SIZE, OPEN])

    lines = cost(store, count, price=0.25, call_price=0.5)
    assert lines[-1] == (
        "cost        at most $10.00 (8 images at $0.25, 16 calls for labels at $0.5)"
    )
