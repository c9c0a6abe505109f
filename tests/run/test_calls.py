"""Calls of a hosted model: several in progress, each answer stored at once, paid for once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import date
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "faults"))

from doubles import PatternModel, small_plan

from askew.errors import Interrupted, ModelError, RunError, ServerError, UsageError
from askew.findings import PictureSet
from askew.models.base import REPORT
from askew.models.openai import create
from askew.models.planted import PlantedModel
from askew.models.prices import ListPrice, price_table
from askew.run.budget import Budget
from askew.run.count import CountingRun
from askew.run.live import LiveRun
from askew.run.progress import Event
from askew.run.server_reports import ListedImages, server_sentences
from askew.run.work import wanted_pictures
from askew.store.store import Store
from askew.studies.rank.page import have_seeds
from askew.types import Missing, Picture
from served_models import served

TEXTS = ["a nurse", "a doctor"]
CALLS = 3


class CalledModel(PatternModel):
    """A model whose calls wait for each other, as calls of a server do."""

    concurrency = CALLS
    seeded = False

    def __init__(
        self, fails_at: int | None = None, at_fifth: Callable[[], object] | None = None
    ) -> None:
        super().__init__(batch_size=1)
        self.calls = 0
        self.most = 0
        self._now = 0
        self._fails_at = fails_at
        self._at_fifth = at_fifth
        self._lock = threading.Lock()

    def generate(self, requests):  # type: ignore[no-untyped-def]
        with self._lock:
            self.calls += 1
            self._now += 1
            self.most = max(self.most, self._now)
            number = self.calls
        time.sleep(0.02)
        with self._lock:
            self._now -= 1
        if number == self._fails_at:
            raise ServerError("the server fails")
        if number == 5 and self._at_fifth is not None:
            self._at_fifth()
        (image,) = super().generate(requests)
        image.info[REPORT] = {"tokens": number}
        return [image]


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


def ids(outcomes: Sequence[Picture | Missing]) -> list[str]:
    return [image.id for image in outcomes if isinstance(image, Picture)]


def images_in(store: Store) -> int:
    return len([row for row, _ in store.index.all_rows("pictures") if row[1]])


def test_calls_are_made_at_once_and_answers_keep_their_order(tmp_path: Path, store: Store) -> None:
    model = CalledModel()
    run = LiveRun(tmp_path / "run", store, small_plan())
    called = run.pictures(model, TEXTS, 8, 0)
    assert model.most == CALLS
    expected = LiveRun(tmp_path / "other", Store(tmp_path / "direct"), small_plan()).pictures(
        PatternModel(), TEXTS, 8, 0
    )
    assert [ids(called[text]) for text in TEXTS] == [ids(expected[text]) for text in TEXTS]
    keys = [row[0] for row, _ in store.index.all_rows("pictures")]
    assert len(store.reports(keys)) == 16


def test_the_progress_shows_the_calls_in_progress(tmp_path: Path, store: Store) -> None:
    events: list[Event] = []
    run = LiveRun(tmp_path / "run", store, small_plan(), progress=events.append)
    run.pictures(CalledModel(), TEXTS, 8, 0)
    of_images = [event for event in events if event.stage == "pictures"]
    assert (of_images[1].done, of_images[1].note) == (0, "1 call in progress")
    begun = [event.note for event in of_images if event.done == 0]
    assert begun[-1] == f"{CALLS} calls in progress"
    assert (of_images[-1].kind, of_images[-1].note) == ("finished", None)


def test_images_without_seeds_are_no_pairs(tmp_path: Path, store: Store) -> None:
    sets = []
    for number, model in enumerate((CalledModel(), PatternModel())):
        run = LiveRun(tmp_path / str(number), store, small_plan())
        outcomes = run.pictures(model, TEXTS, 3, 0)
        sets.append([PictureSet.of(text, outcomes[text]) for text in TEXTS])
    unseeded, seeded = sets
    assert [of_set.seeds for of_set in unseeded] == [(None,) * 3] * 2
    assert not have_seeds([*unseeded, *seeded])
    assert have_seeds(seeded)


def test_a_failure_loses_no_paid_answer(tmp_path: Path, store: Store) -> None:
    model = CalledModel(fails_at=6)
    with pytest.raises(ServerError, match="the server fails"):
        LiveRun(tmp_path / "run", store, small_plan()).pictures(model, TEXTS, 8, 0)
    assert model.calls <= 6 + CALLS - 1
    assert images_in(store) == model.calls - 1
    again = CalledModel()
    LiveRun(tmp_path / "run", store, small_plan()).pictures(again, TEXTS, 8, 0)
    assert model.calls - 1 + again.calls == 16


def test_a_stop_waits_for_the_calls_in_progress(tmp_path: Path, store: Store) -> None:
    stop = threading.Event()
    model = CalledModel(at_fifth=stop.set)
    with pytest.raises(Interrupted, match="of 16 images are done"):
        LiveRun(tmp_path / "run", store, small_plan(), stop=stop).pictures(model, TEXTS, 8, 0)
    assert images_in(store) == model.calls < 16


@pytest.fixture
def heeded_interrupts() -> Iterator[None]:
    """Handle Ctrl-C in a test process that a shell has started in the background, too."""
    inherited = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, inherited)


@pytest.mark.usefixtures("heeded_interrupts")
def test_ctrl_c_waits_for_the_calls_in_progress(tmp_path: Path, store: Store) -> None:
    sentences: list[str] = []
    model = CalledModel(at_fifth=lambda: os.kill(os.getpid(), signal.SIGINT))
    run = LiveRun(
        tmp_path / "run",
        store,
        small_plan(),
        progress=lambda event: sentences.append(event.note or ""),
    )
    with pytest.raises(Interrupted, match="images are done"):
        run.pictures(model, TEXTS, 48, 0)
    assert images_in(store) == model.calls < 96
    assert any("Press Ctrl-C again" in sentence for sentence in sentences)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_quota_stops_at_the_first_answers(tmp_path: Path, store: Store) -> None:
    with served("studio/planted", "quota") as server:
        model = create("m", url=server.url, revision="1", concurrency=CALLS)
        with pytest.raises(ModelError, match="no money left"):
            LiveRun(tmp_path / "run", store, small_plan()).pictures(model, TEXTS, 8, 0)
        assert len(server.bodies) <= CALLS


def test_a_refused_prompt_is_not_asked_again(tmp_path: Path, store: Store) -> None:
    with served("studio/planted", "refuse:nurse") as server:
        model = create("m", url=server.url, revision="1")
        for _ in range(2):
            outcomes = LiveRun(tmp_path / "run", store, small_plan()).pictures(model, TEXTS, 4, 0)
        assert len(server.bodies) == 8
    refused = Missing("refused", "the content filter refused this prompt")
    assert outcomes["a nurse"] == [refused] * 4
    assert all(isinstance(image, Picture) for image in outcomes["a doctor"])


def test_the_budget_in_dollars_ends_before_it_is_crossed(tmp_path: Path, store: Store) -> None:
    model = CalledModel()
    budget = Budget.parse("0.5usd", price=0.08)
    with pytest.raises(RunError, match=r"budget of \$0.5 is used up"):
        LiveRun(tmp_path / "run", store, small_plan(), budget=budget).pictures(model, TEXTS, 8, 0)
    assert model.calls == 6


@pytest.mark.parametrize("model", [CalledModel(), PatternModel()])
def test_money_needs_a_price(model: PatternModel, tmp_path: Path, store: Store) -> None:
    run = LiveRun(tmp_path / "run", store, small_plan(), budget="5usd")
    with pytest.raises(UsageError, match=r"budget of \$5 needs the price.*--price"):
        run.pictures(model, TEXTS, 8, 0)
    assert not (tmp_path / "run").exists()


def test_a_price_is_above_zero() -> None:
    with pytest.raises(UsageError, match="greater than 0"):
        Budget.parse(None, -1.0)


def test_a_budget_that_allows_no_image_names_a_budget_that_does(
    tmp_path: Path, store: Store
) -> None:
    budget = Budget.parse("0.01usd", price=0.08)
    with pytest.raises(UsageError, match=r"Set --budget to 0\.08usd or more"):
        LiveRun(tmp_path / "run", store, small_plan(), budget=budget).pictures(
            CalledModel(), TEXTS, 8, 0
        )


class ListedModel(CalledModel):
    """A model whose list price is known."""

    list_price = ListPrice(dollars=0.25, date="2026-05-10", source="a price list")


def test_a_list_price_bounds_the_cost_and_a_given_price_replaces_it(
    tmp_path: Path, store: Store
) -> None:
    for price, calls in ((None, 4), (0.125, 4 + 8)):
        model = ListedModel()
        run = LiveRun(tmp_path / "run", store, small_plan(), budget=Budget.parse("1usd", price))
        with pytest.raises(RunError, match=r"budget of \$1 is used up"):
            run.pictures(model, TEXTS, 8, 0)
        assert len(store.pictures(r.key for r in wanted_pictures(model, TEXTS, 8, 0))) == calls


def test_a_dry_run_prints_the_list_price_of_what_is_left(store: Store) -> None:
    lines = {}
    for model in (ListedModel(), CalledModel(), PatternModel()):
        counted = CountingRun(store)
        for _ in range(2):
            counted.pictures(model, TEXTS, 8, 0)
        costs = [line for line in counted.lines() if line.startswith("cost")]
        lines[type(model).__name__] = " ".join(costs)
    assert lines == {
        "ListedModel": "cost        at most $4.00 "
        "(16 images at $0.25, list price as of 2026-05-10)",
        "CalledModel": "cost        of 16 images from hosted models is unknown; state the price of "
        "an image in dollars: --price 0.04",
        "PatternModel": "",
    }


def test_list_prices_hold_for_stated_sizes_on_the_server_of_the_provider() -> None:
    known = {"size": "1024x1024", "quality": "low"}
    price = create("gpt-image-1.5", **known).list_price
    assert price is not None
    assert price.dollars == 0.009
    assert price.words() == "list price as of 2026-05-10"
    for model in (
        create("gpt-image-1.5", size="1024x1024"),
        create("gpt-image-1.5", quality="auto", size="1024x1024"),
        create("other", **known),
        create("gpt-image-1.5", url="http://127.0.0.1:9/v1", **known),
    ):
        assert model.list_price is None


def test_every_price_has_a_date_and_a_source() -> None:
    for entry in price_table():
        assert date(2026, 1, 1) <= entry["date"] <= date.today()
        assert entry["source"].startswith("https://")
        assert all(0 < dollars < 1 for dollars in entry["quality"].values())


def test_rewritten_prompts_and_the_cost_are_stated() -> None:
    reports = {"a": {"revised_prompt": "a smiling nurse"}, "b": {"tokens": 3}}
    rewriting, cost = server_sentences(reports, 0.04)
    assert "1 of 2 images, for example to 'a smiling nurse'" in rewriting
    assert cost == "the 2 images cost about $0.08 at $0.04 per image"
    assert server_sentences({}, 0.04) == []
    listed = ListedImages(ListedModel.list_price, {"b", "c"})
    assert server_sentences(reports, None, [listed])[1:] == [
        "the 1 image costs about $0.25 at $0.25 per image (list price as of 2026-05-10)"
    ]


def test_a_served_model_gives_the_ids_of_the_images_made_directly(
    tmp_path: Path, store: Store
) -> None:
    texts = ["a photo of a nurse", "a photo of a doctor"]
    direct = LiveRun(tmp_path / "run", Store(tmp_path / "direct"), small_plan())
    expected = direct.pictures(PlantedModel(), texts, 6, 0)
    with served("studio/planted", "429=0.2") as server:
        model = create("m", url=server.url, revision="1", seeded=True)
        outcomes = LiveRun(tmp_path / "run", store, small_plan()).pictures(model, texts, 6, 0)
    for text in texts:
        assert ids(outcomes[text]) == ids(expected[text])
        assert len(ids(outcomes[text])) == 6


SCRIPT = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[3])
from doubles import small_plan
from askew.models.openai import create
from askew.run.live import LiveRun
from askew.run.work import wanted_pictures
from askew.store.store import Store
folder = Path(sys.argv[1])
model = create("m", url=sys.argv[2], revision="1", seeded=True, concurrency=3)
run = LiveRun(folder / "run", Store(folder / "store"), small_plan())
run.pictures(model, ["a photo of a nurse", "a photo of a doctor"], 24, 0)
"""


@pytest.mark.slow
def test_three_kills_pay_for_the_calls_in_progress_only(tmp_path: Path) -> None:
    faults = str(Path(__file__).parents[1] / "faults")
    with served() as server:
        command = [sys.executable, "-c", SCRIPT, str(tmp_path), server.url, faults]
        for paid in (8, 20, 32):
            with subprocess.Popen(command) as process:
                while len(server.bodies) < paid and process.poll() is None:
                    time.sleep(0.002)
                process.kill()
        subprocess.run(command, check=True)
        assert 48 <= len(server.bodies) <= 48 + 3 * CALLS
    assert images_in(Store(tmp_path / "store")) == 48
