"""A small model and instruments that follow the protocols and depend on their arguments only."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from askew.findings import RESULTS_FILE
from askew.measure.base import VQA, PictureReader
from askew.methods.audit.plan import AuditPlan
from askew.models.base import Collection, Model, Request
from askew.plan import PLAN_FILE, Plan
from askew.run.count import CountingRun
from askew.run.folder import HASH_FILE
from askew.run.live import LiveRun
from askew.run.work import Work
from askew.store.files import write_sums, write_whole
from askew.store.store import Store
from askew.types import Missing, Picture, Question


class PatternModel:
    """A model that draws random blocks. `log` collects the seeds; `before` is called before a
    batch.
    """

    name = "test/pattern"

    def __init__(
        self,
        batch_size: int = 4,
        revision: str = "1",
        size: int = 8,
        log: Path | None = None,
        before: Callable[[Sequence[Request]], None] | None = None,
        delay: float = 0.0,
        **settings: float,
    ) -> None:
        self.batch_size = batch_size
        self.revision = revision
        self.settings = settings
        self.requests: list[Request] = []
        self._size = size
        self._log = log
        self._before = before
        self._delay = delay

    def generate(self, requests: Sequence[Request]) -> list[Image.Image | Missing]:
        if self._before:
            self._before(requests)
        time.sleep(self._delay)
        self.requests += requests
        if self._log:
            with self._log.open("a") as file:
                file.writelines(f"{request.seed}\n" for request in requests)
        return [self._draw(request) for request in requests]

    def unknown_words(self, prompt: str) -> list[str]:
        return []

    def _draw(self, request: Request) -> Image.Image | Missing:
        if "refuse" in request.prompt:
            return Missing("refused", "the server said no")
        if "blank" in request.prompt:
            return Image.new("RGB", (32, 32), "white")
        text = f"{self.revision} {self.settings} {request}"
        noise = np.random.default_rng(int(hashlib.sha256(text.encode()).hexdigest(), 16))
        blocks = noise.integers(0, 256, (self._size, self._size, 3), dtype=np.uint8)
        return Image.fromarray(blocks).resize((128, 128), Image.Resampling.NEAREST)


class BrightVQA:
    """A VQA model that answers whether an image is bright, and remembers all questions."""

    name = "test/bright"
    fingerprint = "test/bright@1"

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []

    def answer(
        self, pictures: Sequence[Picture], questions: Sequence[Question]
    ) -> list[list[str | Missing]]:
        self.asked += [
            (picture.id, question.text) for picture in pictures for question in questions
        ]
        rows: list[list[str | Missing]] = []
        for picture in pictures:
            rows.append([self._one(picture, question) for question in questions])
        return rows

    def _one(self, picture: Picture, question: Question) -> str | Missing:
        with Image.open(picture.path) as image:
            bright = bool(np.asarray(image.convert("L")).mean() > 127)
        if not question.options:
            return f"a picture, {question.text} {bright}"
        return question.options[bright]


class MeanEmbedder:
    """An embedder whose vector is the mean color, normalized."""

    name = "test/mean"
    fingerprint = "test/mean@1"

    def __init__(self) -> None:
        self.embedded: list[str] = []

    def embed_pictures(self, pictures: Sequence[Picture]) -> NDArray[np.float32]:
        self.embedded += [picture.id for picture in pictures]
        rows = np.stack(
            [
                np.asarray(Image.open(p.path).convert("RGB"), np.float32).mean((0, 1))
                for p in pictures
            ]
        )
        return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)

    def embed_texts(self, texts: Sequence[str]) -> NDArray[np.float32]:
        raise NotImplementedError


class VectorBrightVQA:
    """The same VQA model, which answers from the mean color only."""

    name = "test/bright-by-vector"
    fingerprint = "test/bright-by-vector@1"

    def __init__(self, embedder: MeanEmbedder) -> None:
        self.embedder = embedder

    def answer(
        self, pictures: Sequence[Picture], questions: Sequence[Question]
    ) -> list[list[str | Missing]]:
        return self.answer_vectors(self.embedder.embed_pictures(pictures), questions)

    def answer_vectors(
        self, vectors: NDArray[np.float32], questions: Sequence[Question]
    ) -> list[list[str | Missing]]:
        rows: list[list[str | Missing]] = []
        for vector in vectors:
            warm = int(vector[0] > vector[2])
            rows.append([q.options[warm] if q.options else f"{vector}" for q in questions])
        return rows


BRIGHT = Question("Is it bright?", ("no", "yes"), "light")
OPEN = Question("What is it?")


def small_plan(images: int = 6, seed: int = 0) -> Plan:
    """Return a plan with two prompts and a counterfactual."""
    light = {
        "name": "light",
        "values": ["no", "yes"],
        "questions": [{"text": BRIGHT.text, "options": list(BRIGHT.options)}],
        "counterfactuals": {"no": "a dark nurse", "yes": "a bright nurse"},
    }
    prompts = [{"text": "a nurse", "axes": [light]}]
    return AuditPlan.checked(
        {"model": "test/pattern", "images": images, "seed": seed, "prompts": prompts}
    )


def write(run: LiveRun, results: Mapping[str, Any]) -> Path:
    """Write the plan, results and their checksums into the run's folder."""
    run.claim()
    path = run.folder / RESULTS_FILE
    write_whole({path: json.dumps(results, default=np.ndarray.tolist).encode()})
    write_sums(run.folder, [PLAN_FILE, HASH_FILE, RESULTS_FILE])
    return path


def counted(
    store: Store,
    source: Model | Collection,
    texts: Sequence[str] = (),
    images: int = 0,
    asking: Sequence[tuple[VQA, Sequence[Question], Sequence[str] | None]] = (),
    embedder: PictureReader | None = None,
) -> Work:
    """Count the images, answers and embeddings that are left to make.

    `asking` holds VQA models, their questions, and the texts whose images they label (None: all).
    """
    run = CountingRun(store)
    if isinstance(source, Model):
        pictures = run.pictures(source, texts, images, 0)
    else:
        pictures = {"": [picture for _, picture in run.collect(source)]}
    for vqa, questions, about in asking:
        run.ask(
            vqa,
            [
                picture
                for text, row in pictures.items()
                if about is None or text in about
                for picture in row
            ],
            questions,
        )
    if embedder is not None:
        run.read(
            embedder,
            [
                picture
                for row in pictures.values()
                for picture in row
                if isinstance(picture, Picture)
            ],
        )
    return run.work
