"""A run does only what is left, its batches are fixed, and its results are reproducible."""

from __future__ import annotations

import io
import json
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

sys.path.insert(0, str(Path(__file__).parents[1] / "faults"))

from doubles import (
    BRIGHT,
    OPEN,
    BrightVQA,
    MeanEmbedder,
    PatternModel,
    VectorBrightVQA,
    counted,
    small_plan,
    write,
)

from askew.environment import environment
from askew.errors import Interrupted, ModelError, RunError, UsageError
from askew.models.base import FiledPicture, Request, report_images
from askew.run.base import provider
from askew.run.budget import Budget
from askew.run.live import LiveRun, opened_run
from askew.run.progress import Event, JsonLines, Terminal, choose
from askew.store.imagefile import SINGLE_COLOR
from askew.store.store import Store
from askew.types import Missing, Picture, Question

TEXTS = ["a nurse", "a doctor", "a pilot"]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "store") as opened:
        yield opened


@pytest.fixture
def run(tmp_path: Path, store: Store) -> LiveRun:
    return LiveRun(tmp_path / "run", store, small_plan())


def present(images: dict[str, list[Picture | Missing]]) -> list[Picture]:
    return [outcome for row in images.values() for outcome in row if isinstance(outcome, Picture)]


# Images


def test_images_are_made_once(run: LiveRun) -> None:
    model = PatternModel()
    first = run.pictures(model, TEXTS, 5, 0)
    assert [len(first[text]) for text in TEXTS] == [5, 5, 5]
    assert len(model.requests) == len(set(model.requests)) == 15
    again = PatternModel()
    assert run.pictures(again, TEXTS, 5, 0) == first
    assert again.requests == []


def test_texts_named_twice_are_generated_once(run: LiveRun) -> None:
    model = PatternModel()
    pictures = run.pictures(model, ["a nurse", "a nurse"], 3, 0)
    assert list(pictures) == ["a nurse"]
    assert len(pictures["a nurse"]) == len(model.requests) == 3


def test_batches_are_fixed_slices_and_redone_whole(run: LiveRun) -> None:
    """If one image file is lost, exactly its batch is generated again, with the same requests."""
    batches: list[Sequence[Request]] = []
    model = PatternModel(batch_size=4, before=batches.append)
    images = present(run.pictures(model, TEXTS, 5, 0))
    assert [len(batch) for batch in batches] == [4, 4, 4, 3]
    first = list(batches)
    batches.clear()
    Path(images[6].path).unlink()
    assert present(run.pictures(model, TEXTS, 5, 0)) == images
    assert batches == [first[1]]


def test_settings_and_revision_make_other_images_with_the_same_seeds(run: LiveRun) -> None:
    rows = [
        present(run.pictures(model, TEXTS, 2, 0))
        for model in (PatternModel(), PatternModel(x=1), PatternModel(revision="2"))
    ]
    assert len({picture.id for row in rows for picture in row}) == 18
    seeds = set()
    for row in rows:
        seeds.add(tuple(picture.seed for picture in row))
    assert len(seeds) == 1


def test_blank_and_refused_are_missing_and_not_tried_again(run: LiveRun) -> None:
    model = PatternModel()
    pictures = run.pictures(model, ["a blank", "refuse this"], 2, 0)
    assert pictures["a blank"] == [Missing("blank_image", SINGLE_COLOR)] * 2
    assert pictures["refuse this"] == [Missing("refused", "the server said no")] * 2
    model.requests.clear()
    run.pictures(model, ["a blank", "refuse this"], 2, 0)
    assert model.requests == []


def test_a_failing_model_keeps_finished_images(run: LiveRun) -> None:
    def fail(requests: Sequence[Request]) -> None:
        if any(request.prompt == "a pilot" for request in requests):
            raise RuntimeError("CUDA out of memory")

    model = PatternModel(batch_size=5, before=fail)
    with pytest.raises(
        ModelError,
        match=r"test/pattern failed while generating images of 'a pilot'.*CUDA out of memory",
    ):
        run.pictures(model, TEXTS, 5, 0)
    calm = PatternModel(batch_size=5)
    run.pictures(calm, TEXTS, 5, 0)
    assert {request.prompt for request in calm.requests} == {"a pilot"}


def test_model_that_gives_too_few_images(run: LiveRun) -> None:
    class IncompleteModel(PatternModel):
        def generate(self, requests: Sequence[Request]) -> list[Image.Image | Missing]:
            return super().generate(requests[1:])

    with pytest.raises(ModelError, match="returned 3 images for 4 requests"):
        run.pictures(IncompleteModel(), TEXTS, 4, 0)


def test_interrupt(run: LiveRun) -> None:
    def stop(requests: Sequence[Request]) -> None:
        if any(request.prompt == "a doctor" for request in requests):
            raise KeyboardInterrupt

    with pytest.raises(
        Interrupted,
        match=r"while generating images \(.*\): 4 of 12 images are done.*Repeat the command",
    ):
        run.pictures(PatternModel(before=stop), TEXTS, 4, 0)


def test_a_budget_stops_between_batches_and_continues(tmp_path: Path, store: Store) -> None:
    images = []
    for _ in range(2):
        model = PatternModel()
        run = LiveRun(tmp_path / "run", store, small_plan(), budget=9)
        with pytest.raises(RunError, match=r"budget of 9 images is used up.*the next prompt is"):
            run.pictures(model, TEXTS, 8, 0)
        images.append(len(model.requests))
    assert images == [8, 8]
    assert (
        len(
            LiveRun(tmp_path / "run", store, small_plan(), budget=9).pictures(
                PatternModel(), TEXTS, 8, 0
            )
        )
        == 3
    )


@pytest.mark.parametrize(
    ("given", "pictures", "seconds"),
    [
        (None, None, None),
        (0, 0, None),
        ("12", 12, None),
        ("90min", None, 5400),
        ("1.5h", None, 5400),
        ("20 s", None, 20),
    ],
)
def test_budgets_are_read(
    given: int | str | None, pictures: int | None, seconds: float | None
) -> None:
    budget = Budget.parse(given)
    assert (budget.pictures, budget.seconds) == (pictures, seconds)


@pytest.mark.parametrize("given", ["much", "5 days", "$5 at $0.02", "1..2h", "-"])
def test_budgets_that_cannot_be_read(given: str) -> None:
    with pytest.raises(UsageError, match="90min"):
        Budget.parse(given)


def test_a_time_limit_stops_before_it_is_exceeded_and_continues(
    tmp_path: Path, store: Store
) -> None:
    model = PatternModel(delay=0.1)
    begun = time.monotonic()
    with pytest.raises(RunError, match=r"budget of 0.45s is used up.*Repeat the command"):
        LiveRun(tmp_path / "run", store, small_plan(), budget="0.45s").pictures(model, TEXTS, 8, 0)
    assert time.monotonic() - begun < 0.45 + 0.1
    assert 0 < len(model.requests) < 24
    assert len(LiveRun(tmp_path / "run", store, small_plan()).pictures(model, TEXTS, 8, 0)) == 3
    assert len(model.requests) == 24


def test_a_log_has_a_level_per_line_and_is_continued(tmp_path: Path) -> None:
    for _ in range(2):
        with opened_run(
            small_plan(), tmp_path / "run", tmp_path / "store", log=tmp_path / "log"
        ) as run:
            run.pictures(PatternModel(), TEXTS, 8, 0)
            run.warn("look out")
    with (
        pytest.raises(RunError),
        opened_run(
            small_plan(9), tmp_path / "two", tmp_path / "store", budget=4, log=tmp_path / "log"
        ) as run,
    ):
        run.pictures(PatternModel(), TEXTS, 9, 0)
    lines = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    assert {line["level"] for line in lines} == {"debug", "info", "warning", "error"}
    assert [line["message"] for line in lines].count("look out") == 2
    assert all(line["time"] for line in lines)


def test_budget_below_a_batch(tmp_path: Path, store: Store) -> None:
    run = LiveRun(tmp_path / "run", store, small_plan(), budget=3)
    with pytest.raises(UsageError, match="smaller than one batch"):
        run.pictures(PatternModel(batch_size=4), TEXTS, 8, 0)
    assert len(run.pictures(PatternModel(batch_size=3), ["a nurse"], 3, 0)) == 1


# Files


class FileCollection:
    name = "folder/shelf"
    revision = "1"

    def __init__(self, paths: list[Path]) -> None:
        self._filed = [FiledPicture(path, "nurse", None, None, {"gender": "F"}) for path in paths]

    def pictures(self) -> list[FiledPicture]:
        return self._filed


def test_collection_in_order_with_broken_files(run: LiveRun, tmp_path: Path) -> None:
    paths = [tmp_path / f"{i}.png" for i in range(3)]
    for i in (0, 2):
        Image.fromarray(np.random.default_rng(i).integers(0, 256, (9, 9, 3), dtype=np.uint8)).save(
            paths[i]
        )
    paths[1].write_bytes(b"broken")
    pairs = run.collect(FileCollection(paths))
    assert [filed.path for filed, _ in pairs] == paths
    assert [isinstance(outcome, Picture) for _, outcome in pairs] == [True, False, True]
    assert pairs == run.collect(FileCollection(paths))
    work = counted(run.store, FileCollection(paths), asking=[(BrightVQA(), [BRIGHT], None)])
    assert (work.pictures, work.pictures_left, work.questions, work.model_calls) == (3, 0, 2, 0)


# Answers and vectors


def test_questions_are_asked_once(run: LiveRun) -> None:
    images = run.pictures(PatternModel(), [*TEXTS, "refuse this"], 40, 0)
    vqa = BrightVQA()
    rows = [outcome for row in images.values() for outcome in row]
    pictures = present(images)
    run.ask(vqa, pictures[:70], [OPEN])
    answers = run.ask(vqa, rows, [BRIGHT, OPEN])
    assert list(answers) == [picture.id for picture in pictures]
    assert {row[0] for row in answers.values()} <= {"yes", "no"}
    assert all(row[1] == f"a picture, What is it? {row[0] == 'yes'}" for row in answers.values())
    assert len(vqa.asked) == len(set(vqa.asked)) == 2 * len(pictures)


def test_answer_that_is_no_option(run: LiveRun) -> None:
    class OtherAnswersVQA(BrightVQA):
        def _one(self, picture: Picture, question: Question) -> str | Missing:
            return "perhaps"

    pictures = present(run.pictures(PatternModel(), TEXTS, 1, 0))
    with pytest.raises(ModelError, match="'perhaps' is not an answer to 'Is it bright"):
        run.ask(OtherAnswersVQA(), pictures, [BRIGHT])


def test_answer_that_is_no_text_is_missing(run: LiveRun) -> None:
    class InvalidTextVQA(BrightVQA):
        def _one(self, picture: Picture, question: Question) -> str | Missing:
            return "half a \ud83d"

    (answer,) = run.ask(
        InvalidTextVQA(), present(run.pictures(PatternModel(), ["a"], 1, 0)), [OPEN]
    ).values()
    assert isinstance(answer[0], Missing)
    assert answer[0].reason == "unparseable"


def test_vectors_are_made_once_and_in_order(run: LiveRun) -> None:
    pictures = present(run.pictures(PatternModel(), TEXTS, 30, 0))
    embedder = MeanEmbedder()
    vectors = run.read(embedder, pictures)
    assert vectors.shape == (90, 3)
    assert np.array_equal(vectors, MeanEmbedder().embed_pictures(pictures))
    assert np.array_equal(run.read(embedder, pictures[::-1]), vectors[::-1])
    assert len(embedder.embedded) == 90
    assert run.read(embedder, []).shape == (0, 0)


def test_an_instrument_that_answers_from_vectors_reads_no_image_twice(tmp_path: Path) -> None:
    """A later process reads no image either to ask something new or to embed."""
    with Store(tmp_path / "store") as store:
        run = LiveRun(tmp_path / "run", store, small_plan())
        pictures = present(run.pictures(PatternModel(), TEXTS, 30, 0))
        vqa = VectorBrightVQA(MeanEmbedder())
        first = run.ask(vqa, pictures, [BRIGHT])
        assert vqa.embedder.embedded == [picture.id for picture in pictures]
    with Store(tmp_path / "store") as store:
        later = VectorBrightVQA(MeanEmbedder())
        run = LiveRun(tmp_path / "run", store, small_plan())
        second = run.ask(later, pictures[::-1], [OPEN, BRIGHT])
        vectors = run.read(later.embedder, pictures)
        assert later.embedder.embedded == []
        assert (
            counted(run.store, PatternModel(), TEXTS, 30, [], later.embedder).embeddings_left == 0
        )
    assert {key: row[1:] for key, row in second.items()} == first
    assert [row[0] for row in second.values()][::-1] == [str(vector) for vector in vectors]
    assert first == {
        p.id: row for p, row in zip(pictures, vqa.answer(pictures, [BRIGHT]), strict=True)
    }


# Work


@pytest.mark.parametrize(
    ("done", "answered", "embedded"), [(0, 0, 0), (3, 2, 0), (7, 9, 10), (12, 24, 20)]
)
def test_the_counted_work_is_then_done(
    tmp_path: Path, done: int, answered: int, embedded: int
) -> None:
    """The numbers of a dry run equal those counted during the run."""
    calls: list[int] = []
    with Store(tmp_path / "store") as store:
        run = LiveRun(tmp_path / "run", store, small_plan())
        model = PatternModel()
        vqa = BrightVQA()
        embedder = MeanEmbedder()
        group = present(run.pictures(model, ["a", "b"], done, 0)) if done else []
        run.ask(vqa, group[:answered], [BRIGHT])
        run.read(embedder, group[:embedded])
        asking = [(vqa, [BRIGHT, OPEN], None), (vqa, [OPEN], ["a"])]
        work = counted(run.store, model, ["a", "b", "a"], 10, asking, embedder)
        model = PatternModel(before=lambda requests: calls.append(len(requests)))
        vqa.asked.clear()
        embedder.embedded.clear()
        pictures = run.pictures(model, ["a", "b"], 10, 0)
        run.ask(vqa, present(pictures), [BRIGHT, OPEN])
        run.ask(vqa, pictures["a"], [OPEN])
        run.read(embedder, present(pictures))
        again = counted(run.store, model, ["a", "b"], 10, asking, embedder)
    assert (work.prompts, work.pictures, work.questions, work.embeddings) == (2, 20, 40, 20)
    assert work.pictures_left == 20 - 2 * min(done, 10)
    assert (work.model_calls, work.questions_left) == (len(calls), len(vqa.asked))
    assert (work.embeddings_left > 0) == bool(embedder.embedded)
    assert (again.left, again.model_calls, again.vqa_calls, again.embedder_calls) == (0, 0, 0, 0)


def test_dry_run_writes_nothing(tmp_path: Path) -> None:
    with Store(tmp_path / "store", create=False) as store:
        run = LiveRun(tmp_path / "run", store, small_plan())
        work = counted(
            run.store, PatternModel(), TEXTS, 10, [(BrightVQA(), [BRIGHT], None)], MeanEmbedder()
        )
    assert (work.model_calls, work.vqa_calls, work.embedder_calls) == (8, 1, 1)
    assert list(tmp_path.iterdir()) == []
    assert "images      30 (0 stored, 30 left)" in work.lines()


# The folder


def test_one_plan_per_folder(tmp_path: Path, store: Store) -> None:
    write(LiveRun(tmp_path / "run", store, small_plan(6)), {"a": 1})
    LiveRun(tmp_path / "run", store, small_plan(6))
    with pytest.raises(UsageError, match=r"contains another plan.*another folder, as in --run"):
        LiveRun(tmp_path / "run", store, small_plan(7))


def test_folder_that_holds_only_a_plan(tmp_path: Path, store: Store) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "plan.toml").write_text("# mine\n" + small_plan(6).to_toml())
    write(LiveRun(tmp_path / "run", store, small_plan(6)), {})
    assert (tmp_path / "run" / "plan.toml").read_text().startswith("# mine")
    (tmp_path / "run" / "plan.hash").unlink()
    with pytest.raises(UsageError, match="contains another plan"):
        LiveRun(tmp_path / "run", store, small_plan(7))


def test_folder_that_is_a_file(tmp_path: Path, store: Store) -> None:
    (tmp_path / "run").write_text("")
    with pytest.raises(RunError, match="must be a folder"):
        write(LiveRun(tmp_path / "run", store, small_plan()), {})


# Environment


def test_the_environment_lists_what_results_depend_on() -> None:
    result = environment("cpu")
    assert result.packages["numpy"] == np.__version__
    assert result.device == "cpu"
    assert result.threads >= 1


# Progress


def test_progress_counts_images(tmp_path: Path, store: Store) -> None:
    events: list[Event] = []
    run = LiveRun(tmp_path / "run", store, small_plan(), progress=events.append)
    run.pictures(PatternModel(), TEXTS[:1], 4, 0)
    run.pictures(PatternModel(), TEXTS, 4, 0)
    run.pictures(PatternModel(), TEXTS, 4, 0)  # nothing to do, so no progress
    steps = [(event.kind, event.done, event.total) for event in events]
    assert steps[:3] == [("started", 0, 4), ("batch", 4, 4), ("finished", 4, 4)]
    assert steps[3:] == [
        ("started", 4, 12),
        ("batch", 8, 12),
        ("batch", 12, 12),
        ("finished", 12, 12),
    ]
    assert events[5].rate is not None
    assert events[5].eta == 0


class ReportingModel(PatternModel):
    """A model that reports each image, and stops in the middle of a batch on request."""

    def generate(self, requests: Sequence[Request]) -> list[Image.Image | Missing]:
        images = []
        for request in requests:
            if request.prompt == "a pilot, stopped":
                raise KeyboardInterrupt
            images += super().generate([request])
            report_images(1)
        return images


def test_progress_advances_by_image_if_a_model_reports_each(tmp_path: Path, store: Store) -> None:
    events: list[Event] = []
    run = LiveRun(tmp_path / "run", store, small_plan(), progress=events.append)
    pictures = run.pictures(ReportingModel(batch_size=3), TEXTS[:2], 2, 0)
    assert [event.done for event in events] == [0, 1, 2, 3, 4, 4]
    events.clear()
    Path(present(pictures)[1].path).unlink()
    assert run.pictures(ReportingModel(batch_size=3), TEXTS[:2], 2, 0) == pictures
    assert [event.done for event in events] == [3, 4, 4], "two of the batch of three were there"


def test_reported_images_that_are_not_stored_do_not_count_as_done(
    tmp_path: Path, store: Store
) -> None:
    events: list[Event] = []
    run = LiveRun(tmp_path / "run", store, small_plan(), progress=events.append)
    with pytest.raises(Interrupted, match="4 of 8 images are done"):
        run.pictures(
            ReportingModel(batch_size=4),
            ["a nurse", "a doctor", "a chef", "a pilot, stopped"],
            2,
            0,
        )
    assert [(event.kind, event.done) for event in events[-3:]] == [
        ("batch", 5),
        ("batch", 6),
        ("stopped", 4),
    ]


def test_json_lines_and_bars() -> None:
    stream = io.StringIO()
    assert isinstance(choose(stream), JsonLines)
    choose(stream)(Event("started", "pictures", "m", 0, 3))
    assert json.loads(stream.getvalue())["total"] == 3
    bars = Terminal(stream)
    for kind, done in (("started", 0), ("batch", 2), ("finished", 3)):
        bars(Event(kind, "pictures", "studio", done, 3, 1.5, 2.0))  # type: ignore[arg-type]
    assert "Generating images: studio" in stream.getvalue()
    assert "3/3" in stream.getvalue()


@pytest.mark.parametrize(
    ("error", "ending"),
    [
        (RuntimeError("CUDA out of memory"), "Repeat the command to continue"),
        (OSError("connection reset"), "Repeat the command to continue"),
        (
            TypeError("__call__() got an unexpected keyword"),
            "the same request would fail again",
        ),
        (ValueError("another number of images"), "Change the settings, or choose another model"),
    ],
)
def test_only_errors_that_may_pass_advise_to_repeat_the_command(
    error: Exception, ending: str
) -> None:
    with pytest.raises(ModelError, match=ending), provider("test/pattern", "generating images"):
        raise error
