"""A run that makes what the store lacks: pictures, answers, vectors; it can stop and go on at any
point.
"""

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Unpack

import numpy as np

from askew.console import neutral
from askew.environment import environment
from askew.errors import Interrupted, RunError, UsageError
from askew.measure.base import VQA, PictureReader, VectorVQA
from askew.models.base import Collection, FiledPicture, progress_listener
from askew.options import RunOptions
from askew.plan import PLAN_FILE, RunPlan, read_plan
from askew.run.base import (
    CONTINUES,
    Answer,
    Filed,
    L,
    Maker,
    Outcome,
    Rows,
    Run,
    T,
    W,
    expect,
    provider,
)
from askew.run.progress import Event, Progress, Stage, StageName, choose, opened_log, silent, stage
from askew.run.work import SLICE, Budget, Engine, Work, lacking, unfinished, unique, wanted_files
from askew.store.files import write_file
from askew.store.keys import question_hash
from askew.store.store import PictureRequest, Store
from askew.types import Missing, Picture, Question, slices

HASH_FILE = "plan.hash"
FILES_AT_ONCE = 16
WAIT = 0.2
"""Seconds until it is asked again whether another process is done."""
engine: Engine = map
"""One item at a time, in this process, and only when its result is asked for."""

MACHINE = ("python", "platform", "packages", "device", "threads")
"""What is kept of where a picture was made."""


class LiveRun(Run):
    """One plan in one folder. Everything that it makes goes to the store at once, batch by batch.

    It makes at most `budget`, as `Budget.parse` reads it, and stops with what is left. Nothing is
    written before there is something to make or results to write. Raises UsageError for a folder
    that holds another plan.
    """

    def __init__(
        self,
        folder: Path,
        store: Store,
        plan: RunPlan,
        progress: Progress = silent,
        budget: int | str | None = None,
    ) -> None:
        self.folder = folder
        self.store = store
        self.plan = plan
        self._progress = progress
        self._budget = Budget.parse(budget)
        self._spent = 0
        self.warnings: list[str] = []
        check_folder(folder, plan)

    def make(self, maker: Maker[W], wanted: Sequence[W]) -> dict[str, Outcome]:
        """Every wanted picture by its key; those that the store lacks are made, in slices of the
        maker's size.

        Batches are fixed slices of all that is wanted, whatever is stored already; one that is not
        complete is made again as a whole, so that the same machine gives the same bytes. Raises
        ModelError, Interrupted and, at the end of the budget, RunError; what was made before is
        kept each time.
        """
        stored = self.store.pictures(one.key for one in wanted)
        left = unfinished(slices(wanted, maker.batch_size), stored)
        if left and (check := getattr(maker, "check", None)):
            check()
        self.claim(wanted)  # also what another run has made already: this one needs it, too
        with self._stage("pictures", maker.name, len(stored), len(wanted)) as current:
            for part in self._turns(self._affordable(left, maker), lambda part: [part[0].key]):
                absent = sum(one.key not in stored for one in part)
                held = self.store.pictures(one.key for one in part)
                if len(held) == len(part):  # others were faster
                    stored.update(held)
                    current.advance(absent)
                    continue
                with _partwise(current, absent):
                    (made,) = engine(maker.make, [part])
                    self._spent += len(part)
                    here = environment(_fact(maker, "device"))
                    provenance = {name: getattr(here, name) for name in MACHINE} | {
                        "dtype": _fact(maker, "dtype")
                    }
                    pictures = [one.picture for one in made]
                    seen = [one.seen for one in made]
                    kept = self.store.put_pictures(part, pictures, provenance, seen)
                    stored.update(zip((one.key for one in part), kept, strict=True))
        open_ones = [one for one in wanted if one.key not in stored]
        if open_ones:
            prompts = list(dict.fromkeys(one.prompt for one in open_ones))
            left_out = (
                f"{len(open_ones)} of {len(wanted)} pictures are left, of {len(prompts)} prompts"
            )
            told = f"{left_out}, the next being {prompts[0]!r}; {CONTINUES}"
            raise RunError(f"the budget of {self._budget.told} is used up: {told}")
        return stored

    def collect(
        self, collection: Collection, chosen: Sequence[FiledPicture] | None = None
    ) -> Filed:
        """Every picture of a collection, or those that are `chosen`, in their order, imported into
        the store.
        """
        filed = collection.pictures() if chosen is None else chosen
        wanted = wanted_files(collection, filed)
        self.claim(wanted)
        outcomes: list[Picture | Missing] = []
        with self._stage("files", collection.name, 0, len(wanted)) as current:
            for part in slices(wanted, FILES_AT_ONCE):
                outcomes += self.store.add_files(part)
                current.advance(len(part))
        return list(zip(filed, outcomes, strict=True))

    def ask(
        self, vqa: VQA, pictures: Iterable[Outcome], questions: Sequence[Question]
    ) -> dict[str, list[Answer]]:
        """Answers by picture id, in the order of the questions. Only what the store lacks is asked.

        An instrument that answers from vectors gets those of the store, and its new ones are kept
        there.
        """
        present = unique(pictures)
        known = self.store.answers(vqa.fingerprint, (picture.id for picture in present), questions)
        groups = list(lacking(present, questions, known))
        vectors = dict[str, Rows]()
        left = sum(len(some) for some, _ in groups)
        if groups and isinstance(vqa, VectorVQA):
            vectors = dict(
                zip(
                    (one.id for one in present),
                    self.read(EmbeddingReader(vqa), present),
                    strict=True,
                )
            )
        with self._stage("answers", vqa.name, len(present) - left, len(present)) as current:
            for some, asked in self._turns(groups, lambda group: [vqa.fingerprint, group[0][0].id]):
                ids = [picture.id for picture in some]
                held = self.store.answers(vqa.fingerprint, ids, asked)
                if len(held) < len(ids) * len(asked):
                    rows = np.stack([vectors[one] for one in ids]) if vectors else None
                    (answers,) = engine(partial(_ask, vqa), [(some, asked, rows)])
                    held = self.store.put_answers(vqa.fingerprint, ids, asked, answers)
                known |= held
                current.advance(len(some))
        hashes = [question_hash(question) for question in questions]
        return {picture.id: [known[picture.id, key] for key in hashes] for picture in present}

    def read(
        self,
        reader: PictureReader,
        pictures: Sequence[Picture],
        stage: StageName = "vectors",
        at_once: int = SLICE,
    ) -> Rows:
        """What a reader sees in pictures, (pictures, numbers), kept as an embedder's vectors are.

        Pictures are read in slices of `at_once`, and only those slices in which the store lacks
        one.
        """
        present = unique(pictures)
        known = self.store.vectors(reader.fingerprint, (picture.id for picture in present))
        left = [
            part
            for part in slices(present, at_once)
            if any(picture.id not in known for picture in part)
        ]
        done = len(present) - sum(len(part) for part in left)
        with self._stage(stage, reader.name, done, len(present)) as current:
            for part in self._turns(left, lambda part: [reader.fingerprint, part[0].id]):
                known |= self.store.vectors(reader.fingerprint, (picture.id for picture in part))
                if any(picture.id not in known for picture in part):
                    (rows,) = engine(partial(_embed, reader), [part])
                    made = {
                        picture.id: row
                        for picture, row in zip(part, rows, strict=True)
                        if picture.id not in known
                    }
                    self.store.put_vectors(reader.fingerprint, made)
                    known |= self.store.vectors(reader.fingerprint, made)
                current.advance(len(part))
        return (
            np.stack([known[picture.id] for picture in pictures])
            if pictures
            else np.zeros((0, 0), np.float32)
        )

    def look(self, lens: Callable[[L], T], items: Sequence[L | Missing]) -> list[T | Missing]:
        """What a lens sees in each item, by the engine's workers."""
        seen = engine(lens, [one for one in items if not isinstance(one, Missing)])
        return [one if isinstance(one, Missing) else next(seen) for one in items]

    def decide(self, what: str, flow: Callable[[], T], at_most: Work, otherwise: T) -> T:
        """What follows from earlier answers."""
        return flow()

    @contextmanager
    def steps(self, name: StageName, who: str, total: int) -> Iterator[Stage]:
        """Steps of a longer way; what is made on it is not told."""
        progress = self._progress
        self._progress = silent
        try:
            with stage(progress, name, who, 0, total) as current:
                yield current
        finally:
            self._progress = progress

    def tell(self, sentence: str) -> None:
        """Say it on standard error where progress is told."""
        if self._progress is not silent:
            with suppress(OSError, ValueError):  # nobody reads it any more
                print(neutral(sentence), file=sys.stderr)

    def warn(self, *sentences: str) -> None:
        """Keep what a reader of the findings must know, each sentence once."""
        self.warnings += [
            sentence for sentence in dict.fromkeys(sentences) if sentence not in self.warnings
        ]

    def claim(self, wanted: Sequence[PictureRequest] = ()) -> None:
        """Write the plan into the folder, and note in the store what the run needs."""
        for name, text in ((PLAN_FILE, self.plan.to_toml()), (HASH_FILE, self.plan.hash + "\n")):
            if not (self.folder / name).exists():
                write_file(self.folder / name, text.encode())
        if wanted:
            self.store.plan_pictures(self.plan.hash, wanted)

    def settle(self) -> None:
        """Raises RunError unless every picture that was planned is stored, or missing with a
        reason.
        """
        planned = self.store.planned(self.plan.hash)
        left = sum(one.path is None and one.reason is None for one in planned)
        if left:
            what = f"{left} of {len(planned)} planned pictures are neither stored nor missing"
            raise RunError(f"{what}: something else changed the store meanwhile; {CONTINUES}")

    def _affordable(self, left: Sequence[Sequence[W]], maker: Maker[W]) -> list[Sequence[W]]:
        """The slices that the budget allows."""
        most = self._budget.pictures
        if most is None or not left:
            return list(left)
        if most < min(maker.batch_size, first := len(left[0])):
            raise UsageError(
                f"the budget of {self._budget.told} is smaller than one batch of {maker.name}: {first}"
            )
        sizes = np.cumsum([len(part) for part in left]) + self._spent
        return [part for part, spent in zip(left, sizes, strict=True) if spent <= most]

    def _turns(self, parts: Sequence[T], names: Callable[[T], Sequence[str]]) -> Iterator[T]:
        """Each part while no other process works on it; what others are at comes last, when they
        are done with it.
        """
        left = list(parts)
        while left:
            busy = []
            for part in left:
                with self.store.turn(*names(part)) as mine:
                    if mine:
                        with self._budget.part():
                            yield part
                    else:
                        busy.append(part)
            if len(busy) == len(left):
                time.sleep(WAIT)
            left = busy

    @contextmanager
    def _stage(self, name: StageName, who: str, done: int, total: int) -> Iterator[Stage]:
        """A stage that tells its progress, and turns Ctrl-C into Interrupted."""
        with stage(self._progress, name, who, done, total) as current:
            try:
                yield current
            except KeyboardInterrupt:
                kept = f"{current.done} of {total} pictures are done ({name}, {who})"
                raise Interrupted(f"stopped: {kept}, nothing of it is lost; {CONTINUES}") from None


@contextmanager
def opened_run(
    plan: RunPlan, folder: Path, store: Path, /, **options: Unpack[RunOptions]
) -> Iterator[LiveRun]:
    """A run that makes what is left of a plan, on a store that is closed afterwards. Of the options
    `budget`, `progress` and `log` matter, to which what happens is added.
    """
    tell = choose() if options.get("progress") else silent
    log = options.get("log")
    with Store(store) as opened, opened_log(log) as noted:

        def both(event: Event) -> None:
            noted(event)
            tell(event)

        try:
            noted.note("info", "run", folder=str(folder), plan=plan.hash)
            live = LiveRun(folder, opened, plan, both if log else tell, options.get("budget"))
            yield live
            for sentence in live.warnings:
                noted.note("warning", sentence)
        except (Exception, KeyboardInterrupt) as error:
            noted.note("error", f"{type(error).__name__}: {error}")
            raise


def _fact(maker: object, name: str) -> str | None:
    """A fact about a provider that only some know of themselves."""
    value = getattr(getattr(maker, "model", maker), name, None)
    return None if value is None else str(value)


def check_folder(folder: Path, plan: RunPlan) -> None:
    """Raises UsageError for a folder that holds another plan."""
    if plan_hash_in(folder) in (None, plan.hash):
        return
    there = dict[str, object]()
    here = dict[str, object]()
    with suppress(UsageError):
        there, here = (
            dict(_leaves(one.model_dump(mode="json")))
            for one in (read_plan(folder / PLAN_FILE), plan)
        )
    differ = [name for name in {**there, **here} if there.get(name) != here.get(name)]
    told = ", ".join(
        f"{name} is {there.get(name)!r:.60} there and {here.get(name)!r:.60} here"
        for name in differ[:3]
    )
    told += f" and {len(differ) - 3} more" if len(differ) > 3 else ""
    raise UsageError(
        f"the run folder {folder} holds another plan{f' ({told})' if told else ''}, and a folder holds one: give the "
        f"same options, or another folder, as in --run {folder}-2. Pictures made before are used again either way"
    )


def _leaves(node: object, at: str = "") -> Iterator[tuple[str, object]]:
    items = (
        node.items()
        if isinstance(node, dict)
        else enumerate(node)
        if isinstance(node, list)
        else ()
    )
    for name, child in items:
        yield from _leaves(child, f"{at}.{name}".lstrip("."))
    if not isinstance(node, dict | list):
        yield at, node


def plan_hash_in(folder: Path) -> str | None:
    """The hash of the plan that a folder holds, as it was noted, else of the plan itself; None
    where there is none. Raises RunError for a note that cannot be read, UsageError for a plan that
    cannot.
    """
    noted = folder / HASH_FILE
    plan = folder / PLAN_FILE
    try:
        if noted.exists():
            return noted.read_text(encoding="ascii").strip()
    except (OSError, ValueError) as error:
        raise RunError(f"cannot read {noted}: {error}") from error
    return read_plan(plan).hash if plan.exists() else None


@contextmanager
def _partwise(current: Stage, absent: int) -> Iterator[None]:
    """Count the `absent` pictures of a slice as their maker tells of them, and at its end; none if
    it ends badly.
    """
    told = 0

    def hear(count: int) -> None:
        nonlocal told
        more = min(count, absent - told)
        told += more
        if more:
            current.advance(more)

    try:
        with progress_listener(hear):
            yield
    except BaseException:
        current.advance(-told)
        raise
    hear(absent)


class EmbeddingReader:
    """The embedder that an instrument answers by; it travels as the instrument does."""

    def __init__(self, vqa: VectorVQA) -> None:
        self._vqa = vqa
        self.name = vqa.embedder.name
        self.fingerprint = vqa.embedder.fingerprint

    def embed_pictures(self, pictures: Sequence[Picture]) -> Rows:
        """Its vectors."""
        return self._vqa.embedder.embed_pictures(pictures)


def _ask(vqa: VQA, group: tuple[list[Picture], list[Question], Rows | None]) -> list[list[Answer]]:
    """The answers of one group, from its vectors if the instrument takes them."""
    pictures, questions, vectors = group
    with provider(vqa.name, f"answering {questions[0].text!r}"):
        if isinstance(vqa, VectorVQA) and vectors is not None:
            rows = vqa.answer_vectors(vectors, questions)
        else:
            rows = vqa.answer(pictures, questions)
        shape = {len(row) for row in rows} <= {len(questions)} and len(rows) == len(pictures)
        expect(shape, "the answers do not match the pictures and questions asked")
        for question, answer in (
            (q, one) for row in rows for q, one in zip(questions, row, strict=True)
        ):
            allowed = answer in question.options if question.options else isinstance(answer, str)
            expect(
                allowed or isinstance(answer, Missing),
                f"{answer!r} is no answer to {question.text!r}",
            )

    def readable(answer: Answer) -> Answer:
        broken = isinstance(answer, str) and any(
            "\ud800" <= letter <= "\udfff" for letter in answer
        )
        return Missing("unparseable", f"not valid Unicode: {answer!a}") if broken else answer

    return [[readable(answer) for answer in row] for row in rows]


def _embed(embedder: PictureReader, pictures: Sequence[Picture]) -> Rows:
    with provider(embedder.name, "reading pictures"):
        rows = np.asarray(embedder.embed_pictures(pictures), dtype=np.float32)
        shaped = rows.ndim == 2 and len(rows) == len(pictures)
        expect(shaped, f"vectors of shape {rows.shape} for {len(pictures)} pictures")
        expect(bool(np.isfinite(rows).all()), "a vector is not finite")
        return rows
