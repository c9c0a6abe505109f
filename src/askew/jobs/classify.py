"""Classify pictures of social groups by a diffusion model's denoising error, and write results and report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from askew import registry
from askew.measure.base import VQA, Embedder
from askew.measure.class_errors import ClassErrors, Stage, check_diffusion, check_stages
from askew.measure.denoising_networks import network_of
from askew.methods.classification import classification, true_classes
from askew.methods.decisions import Question, Readings
from askew.methods.planted_association import BIAS
from askew.methods.sources import (
    Group,
    neutrality,
    neutrality_by_labels,
    neutrality_warnings,
    social_groups,
    source_pictures,
    wanted_sources,
)
from askew.models.base import Collection, Model
from askew.models.folder import FolderCollection
from askew.parts.scoring import Scoring
from askew.parts.survey.instruments import load_instruments
from askew.parts.survey.observed import picture_set
from askew.plans.classification import ClassificationPlan
from askew.prompts.groups import prompt_of
from askew.results.classification import ClassificationResult
from askew.run.header import fingerprint, identity, provenance
from askew.run.run import Run
from askew.run.work import SLICE, Work, count
from askew.store.imagefile import opened
from askew.store.keys import derived_seed
from askew.store.store import Wanted
from askew.types import Missing, Picture

DENOISING = "denoising"
NONE = "none"
UNREAD = (
    "nobody has read whether the pictures show one of the classes already: name who does by --vqa, or of a folder a "
    "person's labels by --label occupation=COLUMN"
)
"""A warning where nothing is known of neutrality."""

Outcomes = Mapping[str, Sequence[Picture | Missing]]


@dataclass(frozen=True, slots=True)
class ClassificationWork:
    """The size of a classification before it is run: pictures, and at most so many evaluations of the network."""

    pictures: Work
    evaluations: int
    evaluations_left: int

    def lines(self) -> list[str]:
        """The numbers in words."""
        left = f"({self.evaluations_left} left)"
        return [*self.pictures.lines()[:2], f"evaluations of the model {self.evaluations} {left}"]


@dataclass(frozen=True)
class Classification:
    """A plan with what it names, ready to run."""

    plan: ClassificationPlan
    run: Run
    model: Any
    source: Model | Collection
    groups: Sequence[Group]
    embedder: Embedder | None
    vqa: VQA | None

    @classmethod
    def prepare(cls, plan: ClassificationPlan, run: Run) -> Classification:
        """Load what the plan names. Raises UsageError for names that do not exist, and for a black-box model."""
        check_stages([Stage(*stage) for stage in plan.stages])
        model = registry.model(plan.model, **plan.model_args)
        check_diffusion(model, plan.model)
        source = registry.model(plan.sources, **plan.sources_args) if plan.sources else model
        embedder = None if plan.embedder == NONE else registry.embedder(plan.embedder, **plan.embedder_args)
        vqa = None if plan.vqa == NONE else load_instruments((plan.vqa,), source, {}, {}, plan.vqa_args)[plan.vqa]
        return cls(plan, run, model, source, social_groups(source, plan.groups), embedder, vqa)

    def work(self) -> ClassificationWork:
        """What a run would do, if every picture can be made and no class is given up."""
        plan = self.plan
        by_group = wanted_sources(self.source, self.groups, plan.images, plan.seed)
        wanted = [one for some in by_group.values() for one in some]
        pictures = count(self.run.store, self.source, wanted, [], None)
        each = len(plan.target_classes) + len(plan.classes)
        total = len(wanted) * each * sum(plan.samples)
        return ClassificationWork(pictures, total, total - self._stored(wanted))

    def __call__(self) -> ClassificationResult:
        """Make what is left of pictures and errors, compute the scores, and write results.json."""
        started = datetime.now(UTC)
        network_of(self.model.pipeline)  # refuses a family that cannot classify before any picture is made
        sources = source_pictures(self.run, self.source, self.groups, self.plan.images, self.plan.seed)
        targets = self._readings(self.plan.target_classes, self.plan.stages, sources)
        labels = self._readings(self.plan.classes, (), sources) if self.plan.classes else []
        truth = true_classes(list(sources), self.plan.classes, self.plan.truth)
        question = Question(self.plan.targets, truth, BIAS.get(self.model.name))
        section = classification(targets, labels, question, self._scoring)
        section |= {
            "neutrality": self._neutrality(sources),
            "pruning": _pruning(self.plan.stages, targets[len(self.plan.samples) - 1]),
            "errors": [entry for one in (*targets, *labels) for entry in _mean_errors(one)],
        }
        self.run.write({
            **self._header(started, sources, section["neutrality"], truth),
            "sets": [picture_set(g.name, None, None, g.prompt, sources[g.name]) for g in self.groups],
            "classification": section,
        })  # fmt: skip
        return ClassificationResult(self.plan, self.run.folder, self.run.store.path)

    def _readings(self, classes: Sequence[str], stages: Sequence[tuple[int, int]], sources: Outcomes) -> list[Readings]:
        """By the denoising error with every number of noise samples, then by the embedder."""
        found = [self._denoised(self._reader(classes, n, stages), classes, sources) for n in self.plan.samples]
        return found if self.embedder is None else [*found, self._nearest(self.embedder, classes, sources)]

    def _reader(self, classes: Sequence[str], samples: int, stages: Sequence[tuple[int, int]] = ()) -> ClassErrors:
        return ClassErrors(
            self.model,
            [prompt_of(word, self.plan.template) for word in classes],
            samples,
            seed=self.plan.seed,
            seed_of=partial(derived_seed, self.plan.seed, "denoising"),
            loss=self.plan.loss,
            stages=[Stage(*stage) for stage in stages],
        )

    def _denoised(self, reader: ClassErrors, classes: Sequence[str], sources: Outcomes) -> Readings:
        pictures = _present(sources)
        rows = self.run.rows("errors", reader, pictures, reader.at_once)
        return Readings(DENOISING, reader.samples, tuple(classes), _by_group(sources, pictures, reader.errors(rows)))

    def _nearest(self, embedder: Embedder, classes: Sequence[str], sources: Outcomes) -> Readings:
        """Distances 1 - cosine of pictures and classes in an embedder's space, in the place of errors."""
        pictures = _present(sources)
        texts = embedder.embed_texts([prompt_of(word, self.plan.template) for word in classes])
        distances = 1 - self.run.rows("vectors", embedder, pictures, SLICE) @ texts.T
        return Readings(embedder.name, None, tuple(classes), _by_group(sources, pictures, distances[:, :, None]))

    def _neutrality(self, sources: Outcomes) -> list[dict[str, Any]]:
        classes, level = self.plan.target_classes, self.plan.level
        by_labels = neutrality_by_labels(self.source, sources, classes, level)
        return by_labels if self.vqa is None else [*neutrality(self.run, self.vqa, sources, classes, level), *by_labels]

    def _stored(self, wanted: Sequence[Wanted]) -> int:
        """Evaluations whose errors the store holds already, of the pictures that it holds."""
        stored, found = self.run.store.pictures(one.key for one in wanted), 0
        made = [one for key in (w.key for w in wanted) if isinstance(one := stored.get(key), Picture)]
        for classes, stages in ((self.plan.target_classes, self.plan.stages), (self.plan.classes, ())):
            for samples in self.plan.samples if classes else ():
                reader = self._reader(classes, samples, stages)
                known = self.run.store.vectors(reader.fingerprint, (picture.id for picture in made))
                found += sum(picture.id in known for picture in made) * samples * len(classes)
        return found

    @property
    def _scoring(self) -> Scoring:
        return Scoring(DENOISING, self.plan.seed, self.plan.draws, self.plan.level)

    def _header(
        self, started: datetime, sources: Outcomes, neutral: Sequence[Mapping[str, Any]], truth: Mapping[str, str]
    ) -> dict[str, Any]:
        """The part of results.json that says what was run, by which version, on which machine."""
        unread = [] if any(entry["neutral"] is not None for entry in neutral) else [UNREAD]
        about_files = self.source.warnings if isinstance(self.source, FolderCollection) else ()
        warnings = [*about_files, *self._unknown_words(), *neutrality_warnings(neutral), *unread,
                    *self._resized(sources), *self._without_truth(truth)]  # fmt: skip
        return {
            **provenance(self.plan, self.model, started, warnings),
            "model": identity(self.model),
            "instruments": {"vqa": fingerprint(self.vqa), "embedder": fingerprint(self.embedder)},
        }

    def _unknown_words(self) -> list[str]:
        texts = [prompt_of(word, self.plan.template) for word in (*self.plan.target_classes, *self.plan.classes)]
        texts += [group.prompt for group in self.groups] if isinstance(self.source, Model) else []
        words = sorted({word for text in texts for word in self.model.unknown_words(text)})
        listed = ", ".join(repr(word) for word in words)
        return [f"{self.model.name} does not know these words and ignores them: {listed}"] if words else []

    def _resized(self, sources: Outcomes) -> list[str]:
        """Pictures that the model's autoencoder cannot take as they are."""
        width, height = self._reader(self.plan.target_classes, 1).denoiser.pixels
        others = sum(opened(picture.path).size != (width, height) for picture in _present(sources))
        if not others:
            return []
        return [f"{others} pictures were cut square and scaled to {width}x{height} pixels, the model's own"]

    def _without_truth(self, truth: Mapping[str, str]) -> list[str]:
        """Groups that have no accuracy."""
        unknown = [group for group in self.plan.groups if group not in truth]
        if not unknown or not self.plan.classes:
            return []
        listed = ", ".join(unknown)
        return [f"no accuracy for {listed}: which class is right is not known; name it by --truth GROUP=CLASS"]


def _present(sources: Outcomes) -> list[Picture]:
    return [one for outcomes in sources.values() for one in outcomes if isinstance(one, Picture)]


def _by_group(
    sources: Outcomes, pictures: Sequence[Picture], errors: NDArray[np.float32]
) -> dict[str, NDArray[np.float32]]:
    """The errors of each group's pictures; `pictures` run through the groups in order."""
    sizes = [sum(isinstance(one, Picture) for one in outcomes) for outcomes in sources.values()]
    return dict(zip(sources, np.split(errors, np.cumsum(sizes)[:-1]), strict=True))


def _pruning(stages: Sequence[tuple[int, int]], readings: Readings) -> dict[str, Any] | None:
    """How many evaluations giving up classes has saved; None if none was given up."""
    done = sum(int((~np.isnan(errors)).sum()) for errors in readings.errors.values())
    full = sum(errors.size for errors in readings.errors.values())
    if done == full:
        return None
    return {
        "stages": [list(stage) for stage in stages],
        "evaluations": done,
        "evaluations_full": full,
        "saving": 1 - done / full,
    }


def _mean_errors(readings: Readings) -> list[dict[str, Any]]:
    """By group the mean error of every picture (rows) and class (columns), of which all decisions follow."""
    return [
        {"group": group, **readings.names, "classes": list(readings.classes),
         "values": np.nanmean(errors, axis=2, dtype=float).round(9)}
        for group, errors in readings.errors.items()
    ]  # fmt: skip
