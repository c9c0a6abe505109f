"""A run that only counts the work of a method's gather step, including work already done."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import AbstractContextManager, contextmanager, nullcontext
from os.path import isfile
from pathlib import Path

import numpy as np

from askew.measure.base import VQA, CalledVQA, Evaluator, PictureReader
from askew.models.base import Collection, FiledPicture
from askew.models.prices import ListPrice
from askew.plan import RunPlan
from askew.run.base import Answer, FiledOutcomes, L, Maker, Outcome, Rows, Run, T, W
from askew.run.estimates import BATCHES, LATEST, ImageMeasure, StoredFile
from askew.run.folder import check_folder
from askew.run.progress import Stage, StageName, silent
from askew.run.work import SLICE, Work, lacking, unfinished, unique, unread, wanted_files
from askew.store.keys import question_hash
from askew.store.requests import PictureRequest
from askew.store.store import Store
from askew.types import Missing, Picture, Question, slices

NOT_YET = Missing("not_asked", "only counted")


class CountingRun(Run):
    """Run that counts work without doing it.

    Nothing is generated. Methods receive placeholders for images that do not exist yet, and
    `Missing` for unknown answers.

    Attributes
    ----------
    work
        Amount of work that does not depend on earlier results. This amount is exact.
    bounds
        Upper bounds on the amount of work that depends on earlier results, keyed by task.
    later_rounds
        Maximum number of successive rounds that each depend on the results of the previous round.
    """

    def __init__(
        self, store: Store, price: float | None = None, call_price: float | None = None
    ) -> None:
        self.store = store
        self._price = price
        self._call_price = call_price
        self._paid_calls = 0
        self._unpriced = 0
        self._listed = Counter[ListPrice]()
        self._left_by_model = Counter[str]()
        self._measures: dict[str, ImageMeasure | None] = {}
        self.work = Work()
        self.bounds: dict[str, Work] = {}
        self.later_rounds = 0
        self.warnings: list[str] = []
        self._explanations: list[str] = []
        self._prompts = set[str]()
        self._wanted = set[str]()
        # by fingerprint of the instrument or reader
        self._asked = defaultdict[str, set[tuple[str, str]]](set)
        self._read = defaultdict[str, set[str]](set)
        self._seen = defaultdict[str, set[str]](set)

    def make(self, maker: Maker[W], wanted: Sequence[W]) -> dict[str, Outcome]:
        """Return stored images, and placeholders for all other images."""
        self._count_listed(maker, wanted)
        self._count_by_model(wanted, maker.batch_size)
        counted = {request.key for request in wanted if request.key in self._wanted}
        stored = self._pictures(wanted)
        batches = slices(wanted, maker.batch_size)
        available = counted | stored.keys()
        left = unfinished(batches, available, getattr(maker, "seeded", True))
        self.work += Work(model_calls=len(left))
        absent = [request for request in wanted if request.key not in stored]
        for fingerprint in maker.sees:
            self._seen[fingerprint].update(request.key for request in absent)
        for request in absent:
            stored[request.key] = Picture(request.key, "", request.prompt, request.seed)
        return {request.key: stored[request.key] for request in wanted}

    def _count_listed(self, maker: Maker[W], wanted: Sequence[W]) -> None:
        """Count how many images hosted models must generate at each list price."""
        if not getattr(maker, "is_called", False):
            return
        keys = {request.key for request in wanted} - self._wanted
        left = len(keys - self.store.pictures(keys).keys())
        listed: ListPrice | None = getattr(maker, "list_price", None)
        if listed is None:
            self._unpriced += left
        else:
            self._listed[listed] += left

    def _count_by_model(self, wanted: Sequence[PictureRequest], batch_size: int) -> None:
        """Count how many images each model must generate."""
        new = {request.key: request.model for request in wanted if request.key not in self._wanted}
        absent = new.keys() - self.store.pictures(new).keys()
        self._left_by_model.update(new[key] for key in absent)
        for model in self._left_by_model.keys() - self._measures.keys():
            most = max(LATEST, BATCHES * batch_size)
            files = [StoredFile(*file) for file in self.store.latest_files(model, most)]
            self._measures[model] = ImageMeasure.of(files, batch_size)

    def collect(
        self, collection: Collection, chosen: Sequence[FiledPicture] | None = None
    ) -> FiledOutcomes:
        """Return the images from imported files, and placeholders for all other files.

        For a file that does not exist, `Missing` is returned.
        """
        filed = collection.pictures() if chosen is None else chosen
        wanted = wanted_files(collection, filed)
        stored = self._pictures(wanted)
        ids: Mapping[Path, str] = getattr(collection, "digests", {})
        outcomes: FiledOutcomes = []
        for file, request in zip(filed, wanted, strict=True):
            outcome = stored.get(request.key)
            if outcome is None and isfile(file.path):
                outcome = Picture(ids.get(file.path, request.key), "", file.prompt)
            elif outcome is None:
                outcome = Missing("absent_file")
            outcomes.append((file, outcome))
        return outcomes

    def ask(
        self, vqa: VQA, pictures: Iterable[Outcome], questions: Sequence[Question]
    ) -> dict[str, list[Answer]]:
        """Return the stored answers, and `Missing` for questions without a stored answer."""
        present = unique(pictures)
        known = self.store.answers(vqa.fingerprint, (picture.id for picture in present), questions)
        hashes = [question_hash(question) for question in questions]
        asked = self._asked[vqa.fingerprint]
        wanted = {(picture.id, key) for picture in present for key in hashes}
        new = wanted - asked
        calls = self._calls(vqa, present, questions, known.keys() | (wanted & asked))
        asked |= new
        self.work += Work(
            questions=len(new), questions_left=len(new - known.keys()), vqa_calls=calls
        )
        answers = {}
        for picture in present:
            answers[picture.id] = [known.get((picture.id, key), NOT_YET) for key in hashes]
        return answers

    def _calls(
        self,
        vqa: VQA,
        pictures: Sequence[Picture],
        questions: Sequence[Question],
        known: AbstractSet[tuple[str, str]],
    ) -> int:
        """Return the number of calls needed to answer the questions that have no stored answer."""
        if not isinstance(vqa, CalledVQA):
            return len(list(lacking(pictures, questions, known)))
        groups = lacking(pictures, questions, known, at_once=1)
        calls = sum(vqa.calls(asked) for _, asked in groups)
        self._paid_calls += calls
        return calls

    def read(
        self,
        reader: PictureReader,
        pictures: Sequence[Picture],
        stage: StageName = "vectors",
        at_once: int = SLICE,
    ) -> Rows:
        """Return an empty row for each image."""
        fingerprint = reader.fingerprint
        already_read = self._read[fingerprint]
        new = [picture for picture in unique(pictures) if picture.id not in already_read]
        already_read.update(picture.id for picture in new)
        known = self.store.vectors(fingerprint, (picture.id for picture in new))
        made_on_the_way = self._seen[fingerprint]
        available = known.keys() | {picture.id for picture in new if picture.id in made_on_the_way}
        left = len(new) - len(known)
        if isinstance(reader, Evaluator):
            each = reader.evaluations
            self.work += Work(evaluations=each * len(new), evaluations_left=each * left)
        else:
            calls = len(unread(new, at_once, available))
            self.work += Work(embeddings=len(new), embeddings_left=left, embedder_calls=calls)
        return np.zeros((len(pictures), 0), np.float32)

    def look(self, lens: Callable[[L], T], items: Sequence[L | Missing]) -> list[T | Missing]:
        """Return Missing for each item."""
        return [NOT_YET for _ in items]

    def decide(
        self,
        task: str,
        flow: Callable[[], T],
        at_most: Work,
        otherwise: T,
        *,
        rounds: int = 1,
    ) -> T:
        """Add the upper bound `at_most` to the counts, and return `otherwise`."""
        if at_most != Work():
            self.bounds[task] = self.bounds.get(task, Work()) + at_most
            self.later_rounds += rounds
        return otherwise

    def steps(self, name: StageName, worker: str, total: int) -> AbstractContextManager[Stage]:
        """Report nothing."""
        return nullcontext(Stage(silent, name, worker, 0, total))

    def explain(self, *lines: str) -> None:
        """Add lines to the preview."""
        self._explanations += lines

    @property
    def has_all(self) -> bool:
        """True if no work remains, apart from work that depends on earlier results."""
        return not self.work.left

    @property
    def total(self) -> Work:
        """Exact counts plus all upper bounds."""
        return sum(self.bounds.values(), self.work)

    def lines(self) -> list[str]:
        """Return the lines of the preview. Upper bounds are marked."""
        bounds = [
            f"{task.removeprefix('the '):<11} up to {work.pictures:,} of these images depend on "
            "earlier results"
            for task, work in self.bounds.items()
        ]
        lines = self.total.lines(at_most=bool(self.bounds))
        return [
            *lines,
            *self._cost_lines(),
            *self._estimate_lines(),
            *bounds,
            *self._explanations,
        ]

    def _estimate_lines(self) -> Iterator[str]:
        """Yield, for each model with stored images, the storage and time that new images will take.

        If there is only one model, the estimate also covers images that depend on earlier results.
        """
        later = sum(work.pictures_left for work in self.bounds.values())
        for model, images in self._left_by_model.items():
            measure = self._measures[model]
            if len(self._left_by_model) == 1:
                images += later
            if measure is not None:
                yield from measure.lines(model, images)

    def _cost_lines(self) -> list[str]:
        """Return lines that state the maximum cost, if a price is known.

        askew assumes that a question that depends on earlier results needs one call.
        """
        dollars = 0.0
        parts = []
        for images, price, words in self._priced_images():
            dollars += images * price
            parts.append(f"{images} images at ${price:g}{words}")
        if self._call_price is not None:
            later = sum(work.questions_left for work in self.bounds.values())
            calls = self._paid_calls + later
            dollars += calls * self._call_price
            parts.append(f"{calls} calls for labels at ${self._call_price:g}")
        lines = []
        if parts:
            lines.append(f"cost        at most ${dollars:,.2f} ({', '.join(parts)})")
        if self._price is None and self._unpriced:
            lines.append(
                f"cost        of {self._unpriced:,} images from hosted models is unknown; state the "
                "price of an image in dollars: --price 0.04"
            )
        return lines

    def _priced_images(self) -> Iterator[tuple[int, float, str]]:
        """For each price, yield the number of images, the price, and a note on the price's source.

        Images that depend on earlier results are counted at the highest list price.
        """
        if self._price is not None:
            yield self.total.pictures_left, self._price, ""
            return
        later = sum(work.pictures_left for work in self.bounds.values())
        for listed in sorted(self._listed, key=lambda listed: -listed.dollars):
            yield self._listed[listed] + later, listed.dollars, f", {listed.words()}"
            later = 0

    def _pictures(self, wanted: Sequence[PictureRequest]) -> dict[str, Outcome]:
        """Return the requested images that are stored.

        Count images that were not requested before.
        """
        stored = self.store.pictures(request.key for request in wanted)
        new = {request.key: request for request in wanted if request.key not in self._wanted}
        texts = {request.prompt for request in new.values() if request.prompt} - self._prompts
        self._prompts |= texts
        self._wanted |= new.keys()
        self.work += Work(
            prompts=len(texts), pictures=len(new), pictures_stored=len(new.keys() & stored.keys())
        )
        return stored


@contextmanager
def counted_run(
    plan: RunPlan,
    folder: Path,
    store: Path,
    price: float | None = None,
    call_price: float | None = None,
) -> Iterator[CountingRun]:
    """Open a run that counts the remaining work without doing it. It generates and writes nothing.

    The maximum cost is computed from `price` (dollars per image) and `call_price` (dollars per call
    to an instrument on a server).
    """
    check_folder(folder, plan)
    with Store(store, create=False) as opened:
        yield CountingRun(opened, price, call_price)
