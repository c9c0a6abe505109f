"""Jobs of --shard make packs from which a store gets the same content as from one machine."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "faults"))

from doubles import BRIGHT, OPEN, BrightVQA, MeanEmbedder, PatternModel, small_plan

from askew.errors import ModelError, UsageError
from askew.models.base import Request
from askew.run.base import Run
from askew.run.count import CountingRun
from askew.run.inquiries import Inquiry
from askew.run.live import LiveRun
from askew.run.share import Share, ShareReport, make_share
from askew.run.work import Work
from askew.store import network
from askew.store.merge import merge_all
from askew.store.pack_folder import PackFolder
from askew.store.packs import ImagePack, unpacked
from askew.store.store import Store
from askew.types import Picture

TEXTS = ["a nurse", "a blank", "refuse this", "a pilot"]


def gather(run: Run, model: PatternModel | None = None) -> tuple[object, ...]:
    """Gather images of several prompts, with answers and vectors of some of them."""
    outcomes = run.pictures(model or PatternModel(), TEXTS, 6, 0)
    flat = [outcome for text in TEXTS for outcome in outcomes[text]]
    answers = run.ask(BrightVQA(), flat, [BRIGHT])
    further = run.ask(BrightVQA(), outcomes["a pilot"], [OPEN])
    present = [outcome for outcome in outcomes["a nurse"] if isinstance(outcome, Picture)]
    return (
        [name_of(outcome) for outcome in flat],
        answers,
        further,
        run.read(MeanEmbedder(), present),
    )


def name_of(outcome: object) -> object:
    return outcome.id if isinstance(outcome, Picture) else outcome


def share(packs: Path | str, text: str, step: Callable[[Run], object] = gather) -> ShareReport:
    return make_share(small_plan(), step, shard=text, packs=packs)


def left(folder: Path, step: Callable[[Run], object] = gather) -> Work:
    """Count the work that a store lacks."""
    with Store(folder, create=False) as store:
        run = CountingRun(store)
        step(run)
        return run.work


def merged(packs: Path, folder: Path) -> list[str]:
    """Take all packs into a store, and return absent and damaged packs."""
    with Store(folder) as store:
        report = merge_all(PackFolder(packs), store)
    return [*report.absent, *report.damaged]


def alone(tmp_path: Path, folder: str, step: Callable[[Run], object] = gather) -> object:
    """Gather on one machine with the store in a folder."""
    with Store(tmp_path / folder) as store:
        return step(LiveRun(tmp_path / "run", store, small_plan()))


def assert_equal(first: object, second: object) -> None:
    np.testing.assert_equal(first, second)


def test_three_jobs_make_what_one_machine_makes(tmp_path: Path) -> None:
    packs = tmp_path / "packs"
    reports = [share(packs, f"{number}/3") for number in (1, 2, 3)]
    assert sum(report.new for report in reports) == reports[0].wanted
    assert [report.absent for report in reports][-1] == 0 < reports[0].absent
    assert merged(packs, tmp_path / "merged") == []
    work = left(tmp_path / "merged")
    assert (work.left, work.pictures) == (0, 24)
    assert_equal(alone(tmp_path, "merged"), alone(tmp_path, "alone"))


def test_a_slice_has_at_most_two_packs(tmp_path: Path) -> None:
    share(tmp_path / "packs", "1/1")
    names = sorted(path.name for path in tmp_path.rglob("*.tar"))
    assert len([name for name in names if name.endswith("images.tar")]) == 6
    # nothing is asked about the slice whose images are all refused
    assert len([name for name in names if name.endswith("readings.tar")]) == 6


def test_a_job_flushes_only_packs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    flushed: list[Path] = []
    flush = os.fsync

    def noted(file: int) -> None:
        flushed.append(Path(os.readlink(f"/proc/self/fd/{file}")))
        flush(file)

    monkeypatch.setattr(os, "fsync", noted)
    packs = tmp_path / "packs"
    report = share(packs, "1/1")
    assert not [path for path in flushed if "store" in path.parts]
    # the list of packs is a file, too
    assert len([path for path in flushed if packs in path.parents]) == report.new + 1


def test_batches_are_those_of_one_machine(tmp_path: Path) -> None:
    """Short slices of several prompts are not joined to larger batches."""

    def batches(call: Callable[[Callable[[Run], object]], object]) -> list[list[int]]:
        seen: list[list[int]] = []

        def remember(requests: Sequence[Request]) -> None:
            seen.append([request.seed for request in requests])

        def step(run: Run) -> object:
            model = PatternModel(batch_size=16, before=remember)
            return run.pictures(model, TEXTS, 6, 0, separate_batches=True)

        call(step)
        return sorted(seen)

    shared = batches(lambda step: share(tmp_path / "packs", "1/1", step))
    assert shared == batches(lambda step: alone(tmp_path, "alone", step))
    for file in (tmp_path / "packs").rglob("*.images.tar"):
        pack = unpacked(file.read_bytes(), "images")
        assert isinstance(pack, ImagePack)
        assert "device" in pack.provenance


def inquiries(run: Run) -> object:
    """Gather the answers of several inquiries in one step."""

    def step() -> object:
        rows = run.pictures(PatternModel(), ["a nurse", "a pilot"], 4, 0)
        return run.ask_all([Inquiry(BrightVQA(), row, [BRIGHT]) for row in rows.values()])

    return run.decide("the answers", step, Work(pictures=8), None)


def test_all_inquiries_of_a_step_are_in_one_round(tmp_path: Path) -> None:
    report = share(tmp_path / "packs", "1/1", inquiries)
    assert report.round == 2
    assert (report.new, report.wanted) == (4, 0)


def test_a_job_that_fails_keeps_its_packs_and_continues(tmp_path: Path) -> None:
    packs = tmp_path / "packs"

    def fail(requests: Sequence[Request]) -> None:
        if requests[0].prompt == "a pilot":
            raise RuntimeError("killed")

    with pytest.raises(ModelError, match="killed"):
        share(packs, "1/1", lambda run: gather(run, PatternModel(before=fail)))
    model = PatternModel()
    report = share(packs, "1/1", lambda run: gather(run, model))
    assert (report.absent, len(model.requests)) == (0, 4)
    assert merged(packs, tmp_path / "merged") == []
    assert left(tmp_path / "merged").left == 0


def test_a_job_that_runs_twice_at_once_makes_the_same(tmp_path: Path) -> None:
    packs = tmp_path / "packs"
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda _: share(packs, "1/1"), range(2)))
    assert not list(packs.rglob("*.part"))
    assert merged(packs, tmp_path / "merged") == []
    assert_equal(alone(tmp_path, "merged"), alone(tmp_path, "alone"))


def test_images_of_an_unseeded_model_and_their_answers_are_those_of_one_job(tmp_path: Path) -> None:
    """A job whose pack exists already reads the images of the pack, not its own."""
    packs = tmp_path / "packs"
    changes = iter(range(100))

    def unseeded() -> PatternModel:
        model = PatternModel(batch_size=24, revision="1")
        model.seeded = False  # type: ignore[attr-defined]
        model.generate = drawn  # type: ignore[method-assign]
        return model

    def drawn(requests: Sequence[Request]) -> list[object]:
        number = next(changes)
        if number == 0:  # another job makes the same images meanwhile
            share(packs, "1/1", lambda run: gather(run, unseeded()))
        images = PatternModel(change=number).generate(requests)
        return list(images)

    share(packs, "1/1", lambda run: gather(run, unseeded()))
    assert merged(packs, tmp_path / "merged") == []
    assert left(tmp_path / "merged", lambda run: gather(run, unseeded())).left == 0


def test_damaged_packs_are_found_moved_away_and_made_again(tmp_path: Path) -> None:
    packs = tmp_path / "packs"
    share(packs, "1/1")
    files = sorted((packs / "slices").rglob("*.tar"))
    for file in files[:2]:
        data = bytearray(file.read_bytes())
        data[len(data) // 2] ^= 1
        file.write_bytes(data)
    files[2].write_bytes(files[2].read_bytes()[:700])
    files[3].unlink()
    assert len(merged(packs, tmp_path / "merged")) == 4
    assert len(list((packs / "damaged").iterdir())) == 3
    (listed,) = (packs / "plans").iterdir()
    listed.write_text(listed.read_text().replace("a", "b", 1))
    assert any(path.startswith("plans") for path in merged(packs, tmp_path / "merged"))
    assert share(packs, "1/1").new == 4
    assert merged(packs, tmp_path / "merged") == []
    assert left(tmp_path / "merged").left == 0


def rounds(run: Run) -> object:
    """Gather images whose prompt depends on the answers to earlier images, twice."""

    def further() -> object:
        text = "a doctor"
        for _ in range(2):
            pictures = run.pictures(PatternModel(), [text], 4, 0)[text]
            answers = run.ask(BrightVQA(), pictures, [BRIGHT])
            text = f"{text} {[row[0] for row in answers.values()].count('yes')}"
        return text

    gather(run)
    return run.decide("the search", further, Work(pictures=8), None, rounds=2)


def test_rounds_follow_each_other(tmp_path: Path) -> None:
    packs = tmp_path / "packs"
    first = share(packs, "1/2", rounds)
    assert first.lines()[0].startswith("shard 1/2, round 1 of at most 3: ")
    assert "start them again for the next round" in first.lines()[1]
    # the job of the last share of a round goes on with the next round
    reports = [share(packs, f"{number}/2", rounds) for number in (2, 1, 2, 1)]
    assert reports[-1].lines()[0] == "shard 1/2: all rounds are complete"
    assert merged(packs, tmp_path / "merged") == []
    assert left(tmp_path / "merged", rounds).left == 0
    assert alone(tmp_path, "merged", rounds) == alone(tmp_path, "alone", rounds)


def test_a_dry_run_counts_and_makes_nothing(tmp_path: Path) -> None:
    report = make_share(small_plan(), gather, shard="1/1", packs=tmp_path, dry_run=True)
    assert report.lines()[0] == (
        "shard 1/1: 12 of 12 packs belong to this job, with 24 of 24 images; 12 of 12 are missing"
    )
    assert list(tmp_path.iterdir()) == []


def test_a_report_names_the_next_command(tmp_path: Path) -> None:
    first = share(tmp_path, "1/2").lines()
    assert first[0].startswith("shard 1/2: ")
    assert first[1].startswith(f"when all jobs are done: askew merge {tmp_path}, then repeat")
    assert share(tmp_path, "2/2").lines()[1].startswith("all packs exist. Next: askew merge")


def test_temporary_files_on_a_network_file_system_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = tmp_path / "mounts"
    table.write_text("server:/ / nfs4 rw 0 0\n")
    monkeypatch.setattr(network, "MOUNTS", table)
    with pytest.raises(UsageError, match=r"network file system \(nfs4\). Set .* TMPDIR"):
        share(tmp_path / "packs", "1/1")


@pytest.mark.parametrize("text", ["0/3", "4/3", "3", "a/b", "1/0", "-1/3"])
def test_a_share_is_a_job_of_several(text: str) -> None:
    with pytest.raises(UsageError, match="--shard 3/16"):
        Share.parse(text)
