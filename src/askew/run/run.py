"""The verbs of a run by their older names, for jobs that are not rebuilt yet."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from askew.measure.base import VQA, PictureReader
from askew.models.base import Collection, FiledPicture, Model
from askew.parts.drawings import beyond_drawings
from askew.results.file import write_results
from askew.run.base import Made
from askew.run.live import HASH_FILE, Live, encoded, provider
from askew.run.progress import StageName
from askew.run.work import Asking, Work, count, wanted_files, wanted_pictures
from askew.store.imagefile import EncodedPicture
from askew.store.store import Wanted
from askew.types import Missing, Picture, Question

__all__ = ["HASH_FILE", "Asking", "Run", "Work", "encoded", "provider"]

Make = Callable[[Sequence[Wanted]], list[EncodedPicture | Missing]]


@dataclass(frozen=True)
class _Made:
    maker: Any
    function: Make

    @property
    def name(self) -> str:
        return str(self.maker.name)

    @property
    def batch_size(self) -> int:
        return int(self.maker.batch_size)

    @property
    def sees(self) -> frozenset[str]:
        return frozenset()

    @property
    def model(self) -> Any:
        return self.maker

    def make(self, wanted: Sequence[Wanted]) -> list[Made]:
        return [Made(one) for one in self.function(wanted)]


class Run(Live):
    """One plan in one folder."""

    def made(self, maker: Any, wanted: Sequence[Wanted], make: Make) -> dict[str, Picture | Missing]:
        """Every wanted picture by its key."""
        return self.make(_Made(maker, make), wanted)

    def collection(self, collection: Collection) -> list[tuple[FiledPicture, Picture | Missing]]:
        """Every picture of a collection."""
        return self.collect(collection)

    def answers(
        self, vqa: VQA, pictures: Iterable[Picture | Missing], questions: Sequence[Question]
    ) -> dict[str, list[str | Missing]]:
        """Answers by picture id."""
        return self.ask(vqa, list(pictures), questions)

    def vectors(self, embedder: PictureReader, pictures: Sequence[Picture]) -> NDArray[np.float32]:
        """Vectors, (pictures, dimensions)."""
        return self.read(embedder, pictures)

    def rows(
        self, name: StageName, reader: PictureReader, pictures: Sequence[Picture], at_once: int
    ) -> NDArray[np.float32]:
        """What a reader sees in pictures."""
        return self.read(reader, pictures, name, at_once)

    def work(
        self,
        model: Model | Collection,
        texts: Sequence[str],
        images: int,
        seed: int,
        asking: Sequence[Asking] = (),
        embedder: PictureReader | None = None,
    ) -> Work:
        """How much there is to do."""
        if not isinstance(model, Model):
            return count(self.store, model, wanted_files(model), asking, embedder)
        return count(self.store, model, wanted_pictures(model, texts, images, seed), asking, embedder)

    def write(self, results: Mapping[str, Any]) -> Path:
        """Write results.json."""
        self.claim([])
        warnings = beyond_drawings(results)
        more = {"warnings": [*results.get("warnings", ()), *warnings]} if warnings else {}
        return write_results(self.folder, {**results, **more})
