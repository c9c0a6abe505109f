"""A run that only counts: what a gather would make and ask, and how much of it the store holds
already.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from os.path import isfile
from pathlib import Path

import numpy as np

from askew.measure.base import VQA, Evaluator, PictureReader
from askew.models.base import Collection, FiledPicture
from askew.plan import RunPlan
from askew.run.base import Answer, Filed, L, Maker, Outcome, Rows, Run, T, W
from askew.run.live import check_folder
from askew.run.progress import Stage, StageName, silent
from askew.run.work import SLICE, Work, lacking, unfinished, unique, wanted_files
from askew.store.keys import question_hash
from askew.store.store import PictureRequest, Store
from askew.types import Missing, Picture, Question, slices

NOT_YET = Missing("not_asked", "only counted")


class CountingRun(Run):
    """Pictures to be made stand in by their keys, unknown answers are Missing; `work` is exact but
    for its `bounds`.
    """

    def __init__(self, store: Store) -> None:
        self.store = store
        self.work = Work()
        self.bounds: dict[str, Work] = {}
        self.warnings: list[str] = []
        self._prompts = set[str]()
        self._wanted = set[str]()
        self._asked = set[tuple[str, str, str]]()
        self._read = set[tuple[str, str]]()
        self._seen = set[tuple[str, str]]()

    def make(self, maker: Maker[W], wanted: Sequence[W]) -> dict[str, Outcome]:
        """What is stored, and stand-ins for what is not."""
        stored = self._pictures(wanted)
        left = unfinished(slices(wanted, maker.batch_size), stored)
        self.work += Work(model_calls=len(left))
        self._seen |= {
            (who, one.key) for who in maker.sees for one in wanted if one.key not in stored
        }
        return {
            one.key: stored.get(one.key, Picture(one.key, "", one.prompt, one.seed))
            for one in wanted
        }

    def collect(
        self, collection: Collection, chosen: Sequence[FiledPicture] | None = None
    ) -> Filed:
        """Files of a collection, imported or standing in, of a folder by their ids; what is not
        there is missing.
        """
        filed = collection.pictures() if chosen is None else chosen
        wanted = wanted_files(collection, filed)
        stored = self._pictures(wanted)
        ids: Mapping[Path, str] = getattr(collection, "digests", {})
        return [
            (
                one,
                stored.get(key)
                or (
                    Picture(ids.get(one.path, key), "", one.prompt)
                    if isfile(one.path)
                    else Missing("absent_file")
                ),
            )
            for one, key in zip(filed, (one.key for one in wanted), strict=True)
        ]

    def ask(
        self, vqa: VQA, pictures: Iterable[Outcome], questions: Sequence[Question]
    ) -> dict[str, list[Answer]]:
        """Known answers, and Missing for others."""
        present = unique(pictures)
        known = self.store.answers(vqa.fingerprint, (one.id for one in present), questions)
        hashes = [question_hash(question) for question in questions]
        asked = {(one, key) for who, one, key in self._asked if who == vqa.fingerprint}
        new = {(one.id, key) for one in present for key in hashes} - asked
        self._asked |= {(vqa.fingerprint, one, key) for one, key in new}
        calls = len(list(lacking(present, questions, known.keys() | asked)))
        self.work += Work(
            questions=len(new), questions_left=len(new - known.keys()), vqa_calls=calls
        )
        return {one.id: [known.get((one.id, key), NOT_YET) for key in hashes] for one in present}

    def read(
        self,
        reader: PictureReader,
        pictures: Sequence[Picture],
        stage: StageName = "vectors",
        at_once: int = SLICE,
    ) -> Rows:
        """Nothing is read: rows without numbers."""
        who = reader.fingerprint
        present = [one for one in unique(pictures) if (who, one.id) not in self._read]
        self._read |= {(who, one.id) for one in present}
        known = self.store.vectors(who, (one.id for one in present))
        seen = known.keys() | {one for fingerprint, one in self._seen if fingerprint == who}
        calls = sum(any(one.id not in seen for one in part) for part in slices(present, at_once))
        left = len(present) - len(known)
        if isinstance(reader, Evaluator):
            each = reader.evaluations
            self.work += Work(evaluations=each * len(present), evaluations_left=each * left)
        else:
            self.work += Work(embeddings=len(present), embeddings_left=left, embedder_calls=calls)
        return np.zeros((len(pictures), 0), np.float32)

    def look(self, lens: Callable[[L], T], items: Sequence[L | Missing]) -> list[T | Missing]:
        """Nothing is looked at."""
        return [NOT_YET for _ in items]

    def decide(self, what: str, flow: Callable[[], T], at_most: Work, otherwise: T) -> T:
        """Book the bound, if there is one."""
        if at_most != Work():
            self.bounds[what] = self.bounds.get(what, Work()) + at_most
        return otherwise

    def steps(self, name: StageName, who: str, total: int) -> AbstractContextManager[Stage]:
        """No step is taken, and none is told."""
        return nullcontext(Stage(silent, name, who, 0, total))

    @property
    def total(self) -> Work:
        """What was counted, with the bounds of what nobody can say yet."""
        return sum(self.bounds.values(), self.work)

    def lines(self) -> list[str]:
        """The numbers in words, and what they are bounds of."""
        notes = [
            f"{what.removeprefix('the '):<11} at most {work.pictures} of the pictures; which, the others decide"
            for what, work in self.bounds.items()
        ]
        return [*self.total.lines(at_most=bool(self.bounds)), *notes]

    def _pictures(self, wanted: Sequence[PictureRequest]) -> dict[str, Outcome]:
        """Those of `wanted` that are stored; what was counted before is not counted again."""
        stored = self.store.pictures(one.key for one in wanted)
        new = {one.key: one for one in wanted if one.key not in self._wanted}
        texts = {one.prompt for one in new.values() if one.prompt} - self._prompts
        self._prompts |= texts
        self._wanted |= new.keys()
        self.work += Work(
            prompts=len(texts), pictures=len(new), pictures_stored=len(new.keys() & stored.keys())
        )
        return stored


@contextmanager
def counted_run(plan: RunPlan, folder: Path, store: Path) -> Iterator[CountingRun]:
    """A run that only counts what is left: nothing is made or written."""
    check_folder(folder, plan)
    with Store(store, create=False) as opened:
        yield CountingRun(opened)
