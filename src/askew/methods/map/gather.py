"""What `askew map` costs: pictures with the model watched while it makes them, their maps, and what people see."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import cast

import numpy as np
from PIL import Image

from askew import findings, registry
from askew.errors import UsageError
from askew.findings import RESULTS_FILE, Identity, Instruments, PictureSet
from askew.measure.attention import AttentionReader, WhiteBox, watching
from askew.methods.map.findings import MapFindings, Pair, RiskDifference
from askew.methods.map.plan import MapPlan
from askew.models.base import Request
from askew.parts.survey.observed import ObservedSet
from askew.parts.survey.reader import Reader, beyond_drawings, fingerprints, instruments_of, unknown_words
from askew.plan import PLAN_FILE, read_toml
from askew.run.base import Made, Outcome, Rows, Run, encoded, provider
from askew.run.work import wanted_pictures
from askew.stats.overlap import Mask
from askew.store.imagefile import opened, read
from askew.store.store import Wanted
from askew.types import Missing, Picture, Prompt

GRADIENT = 4
"""Concepts from which a correlation with their nearness in meaning is told."""

GREY, SIDE = 127, 256
"""Above which a mask is white; the longest side at which it is looked at."""

SAME = ("threshold", "tau", "definition", "branch", "vqa", "vqa_args", "seed", "level")
"""Fields of the plan that decide what a score is, or which pictures are pairs."""


@dataclass(frozen=True, slots=True)
class Watched:
    """One prompt's pictures by one model.

    words        every concept with the word that it is held against
    fingerprint  under which the store holds the maps
    rows         (usable pictures, numbers) their maps, as `decode_maps` reads them
    observed     what people see in the pictures
    cosines      by concept that of its text embedding with the word it is held against; empty for few concepts
    masks        by word the places that were given, of every usable picture
    """

    model: str
    prompt: str
    words: tuple[tuple[str, str], ...]
    fingerprint: str
    pictures: tuple[Outcome, ...]
    rows: Rows
    observed: ObservedSet
    cosines: Mapping[str, float]
    masks: Mapping[str, Sequence[Mask | Missing]]

    @property
    def present(self) -> list[Picture]:
        """The pictures that could be made."""
        return [one for one in self.pictures if isinstance(one, Picture)]


@dataclass(frozen=True, slots=True)
class Baseline:
    """The first model of a finished run, under a name that no model of the new run has.

    `pairs` and `risks` are its scores of the new run's prompts and concepts, in their order.
    """

    model: Identity
    pairs: tuple[Pair, ...]
    risks: tuple[RiskDifference, ...]


@dataclass(frozen=True, slots=True)
class MapsGathered:
    """All of a run, model by model, and the finished run that it is held against."""

    models: tuple[Identity, ...]
    device: str | None
    instruments: Instruments
    prompts: tuple[Watched, ...]
    baseline: Baseline | None

    @property
    def model(self) -> Identity:
        """The one that others are held against."""
        return self.models[0]

    @property
    def sets(self) -> tuple[PictureSet, ...]:
        """One for every prompt and model."""
        return tuple(PictureSet.of(one.prompt, one.pictures, model=one.model) for one in self.prompts)


@dataclass(frozen=True, slots=True)
class Watcher:
    """A model that is watched while it makes pictures: by prompt, who reads where it attends to what."""

    model: WhiteBox
    readers: Mapping[str, AttentionReader]
    name: str
    batch_size: int

    @property
    def sees(self) -> frozenset[str]:
        """The readers' maps."""
        return frozenset(reader.fingerprint for reader in self.readers.values())

    def check(self) -> None:
        """Raises UsageError for a network, or words, that cannot be looked for; loads the model."""
        for reader in self.readers.values():
            reader.check()

    def make(self, wanted: Sequence[Wanted]) -> list[Made]:
        """One batch, prompt by prompt, since listening to one costs the same for all its pictures."""
        made: list[Made] = []
        with provider(self.name, f"making pictures of {wanted[0].prompt!r}"):
            for prompt, own in groupby(wanted, key=lambda one: one.prompt):
                reader, requests = self.readers[prompt], [Request(prompt, one.seed or 0, one.number) for one in own]
                with watching(self.model, reader) as found:
                    pictures = [encoded(image) for image in self.model.generate(requests)]
                made += [Made(picture, {} if isinstance(picture, Missing) else {reader.fingerprint: found[request]})
                         for request, picture in zip(requests, pictures, strict=True)]  # fmt: skip
        return made


def gather(plan: MapPlan, run: Run) -> MapsGathered:
    """Every prompt by every model. Raises UsageError for a model that cannot be watched, and for another's baseline."""
    models = [white_box(name, plan) for name in plan.models]
    names = [model.name for model in models]
    baseline = read_baseline(plan, names) if plan.baseline else None
    instruments = instruments_of(plan, models[0])
    reader = Reader(run, instruments)
    prompts = tuple(one for model in models for one in _watched(plan, run, model, reader))
    run.warn(*(text for model in models for text in unknown_words(model, plan.texts())))
    given = [mask for one in prompts for some in one.masks.values() for mask in some]
    if plan.masks and not any(isinstance(mask, np.ndarray) for mask in given):
        run.warn(f"no mask in {plan.masks} is of a picture of this run: name them after its files, WORD/PICTURE.png")
    prompt = plan.prompts[0].text
    for model in models:  # concepts that it has no meaning for
        own = set(model.unknown_words(prompt))
        unknown = [repr(c) for c in plan.concepts if set(model.unknown_words(f"{prompt} and {c}")) - own]
        if unknown:
            run.warn(f"{model.name} does not know {', '.join(unknown)}: maps of a word without a meaning say nothing")
    run.warn(*beyond_drawings([*names, *([baseline.model.name] if baseline else [])], instruments))
    return MapsGathered(
        tuple(Identity(model.name, model.revision, dict(model.settings)) for model in models),
        getattr(models[0], "device", None),
        fingerprints(instruments),
        prompts,
        baseline,
    )


def white_box(name: str, plan: MapPlan) -> WhiteBox:
    """The model of that name. Raises UsageError for a black box."""
    model = registry.model(name, **plan.model_args)
    if getattr(model, "pipeline_class", None) is None:
        raise UsageError(
            f"{model.name} is a black box, and attention maps need a model whose insides can be seen: "
            f"use studio or diffusers/ID-OR-PATH"
        )
    return cast("WhiteBox", model)


def _watched(plan: MapPlan, run: Run, model: WhiteBox, reader: Reader) -> list[Watched]:
    """The prompts of a model; all pictures are made at once."""
    wanted = wanted_pictures(model, plan.texts(), plan.images, plan.seed)
    numbers = {one.seed: one.number for one in wanted}
    readers = {
        prompt.text: AttentionReader(model, prompt.text, plan.concepts, against, plan.definition, plan.branch, numbers)
        for prompt, against in zip(plan.prompts, plan.against, strict=True)
    }
    made = run.make(Watcher(model, readers, model.name, model.batch_size), wanted)
    found = []
    for prompt, against in zip(plan.prompts, plan.against, strict=True):
        maps, pictures = readers[prompt.text], tuple(made[one.key] for one in wanted if one.prompt == prompt.text)
        present = [one for one in pictures if isinstance(one, Picture)]
        rows = run.read(maps, present)
        (observed,) = reader.read(prompt, [(Prompt(prompt.text), pictures)])
        cosines = {}
        if len(plan.concepts) >= GRADIENT:
            from askew.measure.attribution import word_vector  # imports torch

            anchor = word_vector(model.pipeline, against)
            cosines = {concept: float(anchor @ word_vector(model.pipeline, concept)) for concept in plan.concepts}
        masks: dict[str, Sequence[Mask | Missing]] = {}
        for word in (against, *plan.concepts) if plan.masks else ():
            if (folder := Path(plan.masks) / word).is_dir():
                places = run.look(MaskLens(folder), present)
                masks[word] = places
        found.append(Watched(model.name, prompt.text, tuple(maps.words), maps.fingerprint, pictures, rows, observed,
                             cosines, masks))  # fmt: skip
    return found


@dataclass(frozen=True, slots=True)
class MaskLens:
    """Opens the file named after a picture, white where a word is, at the picture's size or, if that is large, less."""

    folder: Path

    def __call__(self, picture: Picture) -> Mask | Missing:
        """(H, W), or why there is none."""
        path = self.folder / f"{picture.id}.png"
        if isinstance(file := read(path), Missing):
            return file
        width, height = opened(picture.path).size
        less = max(1, max(width, height) / SIDE)
        size = (round(width / less), round(height / less))
        mask: Mask = np.asarray(opened(path).convert("L").resize(size, Image.Resampling.BOX)) > GREY
        return mask if mask.any() and not mask.all() else Missing("blank_image", f"{path} has no word's place and rest")


def read_baseline(plan: MapPlan, models: Sequence[str]) -> Baseline:
    """The run that `plan` names as its baseline; `models` are the new run's.

    Raises UsageError for a folder without a finished run of maps, or one that was planned otherwise.
    """
    folder = Path(plan.baseline)
    if not (folder / PLAN_FILE).exists():
        raise UsageError(f"{folder} is no run folder: it holds no {PLAN_FILE}")
    data = read_toml(folder / PLAN_FILE)
    if (method := data.get("method", "audit")) != "map":
        raise UsageError(f"{folder} is a run of the method {method!r}; a baseline is a run of `askew map`")
    _check_same(plan, MapPlan.checked(data, f"the plan {folder / PLAN_FILE}"), folder)
    found = findings.read(MapFindings, folder / RESULTS_FILE)
    model = found.models[0]
    name = model.name if model.name not in models else f"{model.name} ({folder.resolve().name})"
    pairs = {(p.prompt, p.a): replace(p, model=name) for p in found.biasmap.pairs if p.model == model.name}
    risks = {(r.prompt, r.axis): replace(r, model=name) for r in found.biasmap.risk_difference if r.model == model.name}
    wanted = [(prompt.text, axis.name) for prompt in plan.prompts for axis in prompt.axes]
    return Baseline(
        replace(model, name=name),
        tuple(pairs[prompt.text, a] for prompt in plan.prompts for a in plan.concepts if (prompt.text, a) in pairs),
        tuple(risks[place] for place in wanted if place in risks),
    )


def _check_same(plan: MapPlan, found: MapPlan, folder: Path) -> None:
    """Raise UsageError that says in what the baseline was planned otherwise."""
    other = [
        f"{name} {_shown(getattr(found, name))}, not {_shown(getattr(plan, name))}"
        for name in SAME
        if getattr(found, name) != getattr(plan, name)
    ]
    against = dict(zip((prompt.text for prompt in found.prompts), found.against, strict=True))
    words = zip((prompt.text for prompt in plan.prompts), plan.against, strict=True)
    other += [f"nothing on {prompt!r} against {word!r}" for prompt, word in words if against.get(prompt) != word]
    other += [f"no concept {concept!r}" for concept in plan.concepts if concept not in found.concepts]
    read = {axis.name for prompt in found.prompts for axis in prompt.axes}
    axes = dict.fromkeys(axis.name for prompt in plan.prompts for axis in prompt.axes)
    other += [f"no reading of {axis} but of {', '.join(sorted(read))}" for axis in axes if axis not in read]
    if other:
        raise UsageError(f"{folder} cannot be the baseline of this run, since it has {'; '.join(other)}")


def _shown(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key}={part}" for key, part in value.items()) or "none"
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)
