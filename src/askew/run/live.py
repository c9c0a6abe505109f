"""A run that generates the images, answers and vectors that are missing from the store.

The run can be stopped at any point. Repeating the command continues the run.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from operator import attrgetter
from pathlib import Path
from threading import Event as Flag
from typing import Any, Unpack

import numpy as np

from askew.engine.base import Engine, Failure
from askew.engine.local import LocalEngine
from askew.engine.opened import opened_engine
from askew.engine.threads import ThreadEngine
from askew.errors import RESUME, AskewError, Interrupted, RunError, UsageError
from askew.measure.base import VQA, CalledVQA, PictureReader, VectorVQA
from askew.messages import message_listener
from askew.models.base import Collection, FiledPicture
from askew.models.file_memory import file_memory
from askew.models.hardware import Hardware, hardware_of_workers, local_hardware
from askew.models.prices import ListPrice
from askew.options import RunOptions
from askew.plan import PLAN_FILE, RunPlan, read_plan
from askew.run.base import (
    Answer,
    FiledOutcomes,
    L,
    Maker,
    Outcome,
    Rows,
    Run,
    T,
    W,
)
from askew.run.budget import Budget
from askew.run.dispatch import Dispatcher, Job, Parts, interruption, work_on
from askew.run.folder import HASH_FILE, check_folder
from askew.run.inquiries import (
    Inquiry,
    Reading,
    unanswered,
    unfinished_batches,
    unread_slices,
)
from askew.run.interrupts import CALLS, PARTS, patient_interrupt
from askew.run.paid_calls import PaidCalls, affordable_groups, check_price
from askew.run.parts import (
    CalledParts,
    EmbeddingReader,
    ImageParts,
    KnownVectors,
    QuestionParts,
    VectorParts,
)
from askew.run.progress import (
    Event,
    Progress,
    Stage,
    StageName,
    choose,
    deliver,
    opened_log,
    silent,
    stage,
)
from askew.run.server_reports import ListedImages, server_sentences
from askew.run.work import SLICE, Work, unique, wanted_files
from askew.store.files import write_file
from askew.store.keys import question_hash
from askew.store.requests import PictureRequest
from askew.store.store import Answers, Store
from askew.types import Missing, Picture, Question, grouped, slices

FILES_AT_ONCE = 16
"""Number of collection files imported in one step."""


class LiveRun(Run):
    """A run that carries out a plan in a run folder.

    Each batch of results is stored as soon as it is available. Nothing is written until the run has
    work to do or results to write.

    Parameters
    ----------
    folder
        The run folder.
    store
        The store.
    plan
        The plan.
    progress
        Function that receives the run's events.
    budget
        Limit on the run's number of images, time or cost. `Budget.parse` describes the possible
        forms.
    engine
        Engine that runs models and instruments. By default, everything runs in this process, one
        part at a time.
    stop
        Flag that ends the run. After the flag is set, the run starts no more parts, stores the
        results of the parts in progress, and raises `Interrupted`.

    Attributes
    ----------
    device
        Device that generated the latest image; None if there is no new image or the device is
        unknown.

    Raises
    ------
    UsageError
        If the folder contains another plan.
    """

    def __init__(
        self,
        folder: Path,
        store: Store,
        plan: RunPlan,
        *,
        progress: Progress = silent,
        budget: Budget | int | str | None = None,
        engine: Engine | None = None,
        stop: Flag | None = None,
    ) -> None:
        self.folder = folder
        self.store = store
        self.plan = plan
        self.warnings: list[str] = []
        self._progress = progress
        self.budget = budget if isinstance(budget, Budget) else Budget.parse(budget)
        self._engine = LocalEngine() if engine is None else engine
        self._stop = Flag() if stop is None else stop
        self.device: str | None = None
        self._paid_calls = PaidCalls()
        self._listed: dict[str, ListedImages] = {}
        check_folder(folder, plan)

    def make(self, maker: Maker[W], wanted: Sequence[W]) -> dict[str, Outcome]:
        """Return the requested images, keyed by image key. See `make_all`."""
        return self.make_all(maker, [wanted])

    def make_all(self, maker: Maker[W], wanted: Sequence[Sequence[W]]) -> dict[str, Outcome]:
        """Return the requested images, keyed by image key.

        Images that are not stored are generated. The division of a list into batches does not
        depend on which images are already stored. If the model is seeded and a batch is incomplete,
        all images in the batch are generated again, so that the same machine always produces the
        same bytes.

        Parameters
        ----------
        maker
            A model or an editor.
        wanted
            Lists of image requests.

        Returns
        -------
        dict
            Images, or `Missing` with a reason, keyed by image key.

        Raises
        ------
        ModelError
            If the maker fails.
        Interrupted
            If a person or a program stops the run.
        RunError
            If the budget is used up. Finished images are stored even if an error is raised.
        """
        requests = [request for of_list in wanted for request in of_list]
        stored = self.store.pictures(request.key for request in requests)
        left = unfinished_batches(
            wanted, maker.batch_size, stored, seeded=getattr(maker, "seeded", True)
        )
        check = getattr(maker, "check", None)
        if left and check:
            self._check(maker)
        price = self._price_of(maker, requests)
        is_called = getattr(maker, "is_called", False)
        if left and (is_called or self.budget.call_price is None):
            check_price(self.budget, price, maker.name)
        # another run may have made some of them already; this run needs them, too
        self.claim(requests)
        total = len({request.key for request in requests})
        with self._stage("pictures", maker.name, len(stored), total) as current:
            affordable = self._affordable(left, maker, price)
            parts = ImageParts(self.store, maker, affordable, stored, self.budget, price)
            concurrency = getattr(maker, "concurrency", 1)
            if concurrency > 1 and self._calls_here:
                self._call(parts, concurrency, current)
            else:
                self._carry_out(parts, current)
        self.device = self.device if parts.device is None else str(parts.device)
        self._check_complete(requests, stored)
        return stored

    def _check(self, maker: Maker[W]) -> None:
        """Run the maker's check in the engine, where the images are generated."""
        job = Job(0, maker, f"the check of {maker.name}")
        for _, result in self._engine.map(partial(work_on, check_maker), [job]):
            _value(result)

    def collect(
        self, collection: Collection, chosen: Sequence[FiledPicture] | None = None
    ) -> FiledOutcomes:
        """Import a collection's images, or only the `chosen` images."""
        filed = collection.pictures() if chosen is None else chosen
        wanted = wanted_files(collection, filed)
        self.claim(wanted)
        self.store.put_digests(file_memory().new)
        outcomes = self._imported(collection, wanted)
        left = [request for request in wanted if request.key not in outcomes]
        with self._stage("files", collection.name, len(outcomes), len(wanted)) as current:
            for part in slices(left, FILES_AT_ONCE):
                self._check_stop(current)
                added = self.store.add_files(part)
                outcomes |= zip([request.key for request in part], added, strict=True)
                current.advance(len(part))
        return [(file, outcomes[request.key]) for file, request in zip(filed, wanted, strict=True)]

    def _imported(
        self, collection: Collection, wanted: Sequence[PictureRequest]
    ) -> dict[str, Outcome]:
        """Return the stored images whose source files have not changed, keyed by image key."""
        digests: Mapping[Path, str] = getattr(collection, "digests", {})
        stored = self.store.pictures(request.key for request in wanted)
        imported: dict[str, Outcome] = {}
        for request in wanted:
            picture = stored.get(request.key)
            if request.source is None or not isinstance(picture, Picture):
                continue
            if digests.get(request.source) == picture.id:
                imported[request.key] = replace(picture, source=str(request.source))
        return imported

    def ask(
        self, vqa: VQA, pictures: Sequence[Outcome], questions: Sequence[Question]
    ) -> dict[str, list[Answer]]:
        """Return the answers about each image, keyed by image id, in the order of the questions.

        See `ask_all`.
        """
        return self.ask_all([Inquiry(vqa, pictures, questions)])[0]

    def ask_all(self, inquiries: Sequence[Inquiry]) -> list[dict[str, list[Answer]]]:
        """Return the answers to each inquiry, keyed by image id and in the order of the questions.

        A question is asked only if its answer is not stored. Instruments that compute answers from
        vectors use stored vectors, and new vectors are stored. Servers receive calls about several
        images in parallel. Instruments work one after another.

        Raises
        ------
        RunError
            If the budget is used up. Finished answers are stored.
        """
        known: dict[str, Answers] = {}
        for fingerprint, of_vqa in grouped(inquiries, attrgetter("fingerprint")).items():
            known[fingerprint] = self._known_answers(of_vqa)
        return [_answers_to(inquiry, known[inquiry.fingerprint]) for inquiry in inquiries]

    def _known_answers(self, inquiries: Sequence[Inquiry]) -> Answers:
        """Return one instrument's answers to all inquiries that are addressed to it."""
        vqa = inquiries[0].vqa
        known: Answers = {}
        for inquiry in inquiries:
            ids = [picture.id for picture in inquiry.present]
            known |= self.store.answers(vqa.fingerprint, ids, inquiry.questions)
        if isinstance(vqa, CalledVQA):
            self._ask_server(vqa, inquiries, known)
        else:
            self._ask_here(vqa, inquiries, known)
        return known

    def _ask_here(self, vqa: VQA, inquiries: Sequence[Inquiry], known: Answers) -> None:
        """Get answers from an instrument that is not on a server, and add them to `known`."""
        by_inquiry = unanswered(inquiries, known)
        to_ask = [
            inquiry.present for inquiry, groups in zip(inquiries, by_inquiry, strict=True) if groups
        ]
        vectors = self._vectors_of(vqa, to_ask)
        groups = [group for of_inquiry in by_inquiry for group in of_inquiry]
        left = sum(len(pictures) for pictures, _ in groups)
        total = sum(len(inquiry.present) for inquiry in inquiries)
        with self._stage("answers", vqa.name, total - left, total) as current:
            self._carry_out(QuestionParts(self.store, vqa, groups, known, vectors), current)

    def _ask_server(self, vqa: CalledVQA, inquiries: Sequence[Inquiry], known: Answers) -> None:
        """Get as many answers from a server as the budget allows, and add them to `known`."""
        check_price(
            self.budget, self.budget.call_price, vqa.name, unit="call", option="--vqa-price"
        )
        for inquiry in inquiries:
            self._paid_calls.add(vqa, inquiry.present, inquiry.questions)
        by_inquiry = unanswered(inquiries, known, at_once=1)
        groups = [group for of_inquiry in by_inquiry for group in of_inquiry]
        affordable = affordable_groups(vqa, groups, self.budget)
        parts = CalledParts(self.store, vqa, affordable, known, self.budget)
        total = sum(len(inquiry.present) for inquiry in inquiries)
        with self._stage("answers", vqa.name, total - len(groups), total) as current:
            if self._calls_here:
                self._call(parts, vqa.concurrency, current)
            else:
                self._carry_out(parts, current)
        left = len(groups) - len(affordable)
        if left:
            raise RunError(
                f"the budget of {self.budget.text} is used up: {vqa.name} has not yet labeled "
                f"{left} of {total} images. {RESUME}"
            )

    def _vectors_of(self, vqa: VQA, image_sets: Sequence[Sequence[Picture]]) -> dict[str, Rows]:
        """Return image vectors, keyed by image id.

        The mapping is empty if the instrument needs no vectors.
        """
        if not isinstance(vqa, VectorVQA):
            return {}
        reader = EmbeddingReader(vqa)
        rows_of_sets = self.read_all([Reading(reader, pictures) for pictures in image_sets])
        vectors: dict[str, Rows] = {}
        for pictures, rows in zip(image_sets, rows_of_sets, strict=True):
            vectors |= zip([picture.id for picture in pictures], rows, strict=True)
        return vectors

    def read(
        self,
        reader: PictureReader,
        pictures: Sequence[Picture],
        stage: StageName = "vectors",
        at_once: int = SLICE,
    ) -> Rows:
        """Return the reader's measurements as an array of shape (images, numbers).

        See `read_all`.
        """
        return self.read_all([Reading(reader, pictures)], stage, at_once)[0]

    def read_all(
        self, readings: Sequence[Reading], stage: StageName = "vectors", at_once: int = SLICE
    ) -> list[Rows]:
        """Measure images, store the results, and return an array per reading.

        Images are measured in slices of `at_once` images. A slice is skipped if all of its
        measurements are stored. Readers that have different names work one after another.
        """
        known: KnownVectors = {}
        for name, of_reader in grouped(readings, attrgetter("name")).items():
            for reading in of_reader:
                fingerprint = reading.reader.fingerprint
                ids = [picture.id for picture in reading.pictures]
                for image, row in self.store.vectors(fingerprint, ids).items():
                    known[fingerprint, image] = row
            left = unread_slices(of_reader, known, at_once)
            total = sum(len(unique(reading.pictures)) for reading in of_reader)
            done = total - sum(len(part.pictures) for part in left)
            with self._stage(stage, name, done, total) as current:
                self._carry_out(VectorParts(self.store, left, known), current)
        return [reading.rows(known) for reading in readings]

    def look(self, lens: Callable[[L], T], items: Sequence[L | Missing]) -> list[T | Missing]:
        """Apply a function to each item, using the engine. Missing items stay missing."""
        seen: dict[int, T] = {}
        for job, result in self._engine.map(partial(work_on, lens), self._until_stopped(items)):
            seen[job.number] = _value(result)
        looks: list[T | Missing] = []
        for number, item in enumerate(items):
            looks.append(item if isinstance(item, Missing) else seen[number])
        return looks

    def _until_stopped(self, items: Sequence[L | Missing]) -> Iterator[Job[L]]:
        for number, item in enumerate(items):
            if self._stop.is_set():
                raise Interrupted(f"stopped. {RESUME}")
            if not isinstance(item, Missing):
                yield Job(number, item)

    def decide(
        self,
        task: str,
        flow: Callable[[], T],
        at_most: Work,
        otherwise: T,
        *,
        rounds: int = 1,
    ) -> T:
        """Return the result of `flow`."""
        return flow()

    @contextmanager
    def steps(self, name: StageName, worker: str, total: int) -> Iterator[Stage]:
        """Report the steps of a long computation. Progress within a step is not reported."""
        progress = self._progress
        self._progress = silent
        try:
            with stage(progress, name, worker, 0, total) as current:
                yield current
        finally:
            self._progress = progress

    def tell(self, sentence: str) -> None:
        """Report a sentence as a progress event."""
        deliver(Event("message", note=sentence), self._progress)

    def warn(self, *sentences: str) -> None:
        """Add warnings to the findings.

        A warning that is already among the findings is not repeated.
        """
        self.warnings += [
            sentence for sentence in dict.fromkeys(sentences) if sentence not in self.warnings
        ]

    def claim(self, wanted: Sequence[PictureRequest] = ()) -> None:
        """Write the plan to the folder, and record in the store which images the run needs."""
        if not self._has_plan():
            write_file(self.folder / PLAN_FILE, self.plan.to_toml().encode())
        if not (self.folder / HASH_FILE).exists():
            write_file(self.folder / HASH_FILE, f"{self.plan.hash}\n".encode())
        if wanted:
            self.store.plan_pictures(self.plan.hash, wanted)

    def _has_plan(self) -> bool:
        """Check whether the folder contains the plan. A damaged plan counts as missing."""
        try:
            return read_plan(self.folder / PLAN_FILE, follow=False).hash == self.plan.hash
        except AskewError:
            return False

    def settle(self) -> None:
        """Check that every planned image is either stored or recorded as missing with a reason.

        Raises
        ------
        RunError
            If an image is neither stored nor recorded as missing.
        """
        planned = self.store.planned(self.plan.hash)
        left = sum(picture.path is None and picture.reason is None for picture in planned)
        if left:
            raise RunError(
                f"{left} of {len(planned)} planned images are neither stored nor "
                f"recorded as missing. Another program has changed the store. {RESUME}"
            )

    def server_sentences(self) -> list[str]:
        """Return sentences about rewritten prompts and costs, based on the servers' reports."""
        planned = [picture for picture in self.store.planned(self.plan.hash) if picture.id]
        reports = self.store.reports(picture.key for picture in planned)
        return [
            *server_sentences(reports, self.budget.price, self._listed.values()),
            *self._paid_calls.sentences(self.budget.call_price),
        ]

    def _price_of(self, maker: Maker[W], wanted: Sequence[W]) -> float | None:
        """Return the price per image in dollars; None if unknown."""
        listed: ListPrice | None = getattr(maker, "list_price", None)
        if listed is not None:
            images = self._listed.setdefault(maker.name, ListedImages(listed))
            images.keys |= {request.key for request in wanted}
        return self.budget.image_price(listed)

    def _affordable(
        self, left: Sequence[Sequence[W]], maker: Maker[W], price: float | None
    ) -> list[Sequence[W]]:
        """Return the leading batches that fit within the budget."""
        most = self.budget.pictures_left(price)
        if most is None or not left:
            return list(left)
        first = len(left[0])
        is_unspent = self.budget.spent + self.budget.calls == 0
        if is_unspent and most < min(maker.batch_size, first):
            least = f"{first}" if self.budget.dollars is None else f"{first * (price or 0):.2f}usd"
            raise UsageError(
                f"the budget of {self.budget.text} is smaller than one batch of {maker.name}. "
                f"Set --budget to {least} or more"
            )
        totals = np.cumsum([len(part) for part in left])
        return [part for part, total in zip(left, totals, strict=True) if total <= most]

    @property
    def _calls_here(self) -> bool:
        """True if servers are called from this process's threads, as with all askew engines."""
        return getattr(self._engine, "name", None) in ("local", "threads", "ray")

    def _call(self, work: Parts[Any], count: int, current: Stage) -> None:
        """Carry out parts, with `count` calls in parallel.

        The first Ctrl-C lets these calls finish.
        """
        with patient_interrupt(self._stop, self.tell, CALLS):
            self._dispatch(work, current, ThreadEngine(count), shows_calls=True)

    def _carry_out(self, work: Parts[Any], current: Stage) -> None:
        """Carry out parts in the engine.

        If there are several workers, the first Ctrl-C lets them finish their parts.
        """
        if getattr(self._engine, "workers", 1) > 1:
            with patient_interrupt(self._stop, self.tell, PARTS):
                self._dispatch(work, current, self._engine)
        else:
            self._dispatch(work, current, self._engine)

    def _dispatch(
        self, work: Parts[Any], current: Stage, engine: Engine, *, shows_calls: bool = False
    ) -> None:
        """Carry out parts in an engine, and store their results."""
        dispatcher = Dispatcher(
            store=self.store,
            engine=engine,
            budget=self.budget,
            stop=self._stop,
            stage=current,
            shows_calls=shows_calls,
        )
        with message_listener(self.tell):
            dispatcher.carry_out(work)

    def _check_complete(self, wanted: Sequence[W], stored: dict[str, Outcome]) -> None:
        """Raise RunError if the budget was too small for all requested images."""
        left = [request for request in wanted if request.key not in stored]
        if not left:
            return
        prompts = list(dict.fromkeys(request.prompt for request in left))
        raise RunError(
            f"the budget of {self.budget.text} is used up: {len(left)} of {len(wanted)} images "
            f"for {len(prompts)} prompts have not been generated yet; the next prompt is "
            f"{prompts[0]!r}. {RESUME}"
        )

    def _check_stop(self, current: Stage) -> None:
        """Raise Interrupted if the stop flag is set."""
        if self._stop.is_set():
            raise interruption(current)

    @contextmanager
    def _stage(self, name: StageName, worker: str, done: int, total: int) -> Iterator[Stage]:
        """Report the progress of a stage, and convert Ctrl-C into Interrupted."""
        with stage(self._progress, name, worker, done, total) as current:
            try:
                yield current
            except KeyboardInterrupt:
                raise interruption(current) from None


def _answers_to(inquiry: Inquiry, known: Answers) -> dict[str, list[Answer]]:
    """Return the known answers to an inquiry, keyed by image id."""
    hashes = [question_hash(question) for question in inquiry.questions]
    answers = {}
    for picture in inquiry.present:
        answers[picture.id] = [known[picture.id, key] for key in hashes]
    return answers


def check_maker(maker: Any) -> None:
    """Call a maker's `check` method."""
    maker.check()


def _hardware_of(engine: Engine) -> Callable[[], Hardware] | None:
    """Return a function that asks a remote worker for its devices; None if no worker is remote."""
    if not getattr(engine, "is_remote", False):
        return None

    def ask() -> Hardware:
        ((_, result),) = engine.map(_hardware_here, [Job(0, None)])
        return _value(result)

    return ask


def _hardware_here(job: Job[None]) -> Hardware:
    return local_hardware()


def _value(result: T | Failure) -> T:
    """Return a result from an engine, or raise the exception that the engine reported."""
    if isinstance(result, Failure):
        raise result.error
    return result


@contextmanager
def opened_run(
    plan: RunPlan, folder: Path, store: Path, /, **options: Unpack[RunOptions]
) -> Iterator[LiveRun]:
    """Return a context manager that yields a run of a plan, and then closes the run's store.

    The run uses the options `budget`, `price`, `vqa_price`, `progress`, `log`, `stop`, `engine`,
    `workers` and `gpus_per_worker`.
    """
    with Store(store) as opened, opened_live(plan, folder, opened, **options) as live:
        yield live


@contextmanager
def opened_live(
    plan: RunPlan, folder: Path, store: Store, /, **options: Unpack[RunOptions]
) -> Iterator[LiveRun]:
    """Open a run in the same way as `opened_run`, with a store that is already open."""
    place = opened_engine(
        options.get("engine"), options.get("workers"), options.get("gpus_per_worker")
    )
    with store.turn_of_run(folder), opened_log(options.get("log")) as log, place as engine:
        progress = _receiver(options.get("progress", False))

        def receive(event: Event) -> None:
            log(event)
            progress(event)

        try:
            log.write("info", "run", folder=str(folder), plan=plan.hash)
            live = LiveRun(
                folder,
                store,
                plan,
                progress=receive if options.get("log") else progress,
                budget=Budget.parse(
                    options.get("budget"), options.get("price"), options.get("vqa_price")
                ),
                engine=engine,
                stop=options.get("stop"),
            )
            for sentence in store.notes:
                live.tell(sentence)
            with hardware_of_workers(_hardware_of(engine)):
                yield live
            for sentence in live.warnings:
                log.write("warning", sentence)
        except (Exception, KeyboardInterrupt) as error:
            log.write("error", f"{type(error).__name__}: {error}")
            raise


def _receiver(progress: bool | Progress) -> Progress:
    """Return the receiver for the option `progress`."""
    if callable(progress):
        return progress
    return choose() if progress else silent
