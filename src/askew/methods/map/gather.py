"""What `askew map` costs: pictures with the model watched while it makes them, their maps, and what
people see.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import cast

import numpy as np
from PIL import Image

from askew import mitigations
from askew.errors import UsageError
from askew.findings import GatheredData, Identity, PictureSet
from askew.measure.attention import AttentionReader, watching
from askew.methods.map.plan import MapPlan
from askew.models.base import Request, Setting, WhiteBox
from askew.parts.survey.instruments import (
    fingerprints,
    instruments_of,
    studio_warnings,
    unknown_words,
)
from askew.parts.survey.observed import ObservedSet
from askew.parts.survey.reader import SurveyReader
from askew.plan import PLAN_FILE, read_toml
from askew.run.base import MakerOutput, Outcome, Rows, Run, encoded, provider
from askew.run.work import wanted_pictures
from askew.stats.overlap import Mask
from askew.store.imagefile import opened, read
from askew.store.requests import PictureRequest
from askew.types import Missing, Picture, Prompt

GREY = 127
SIDE = 256
"""Above which a mask is white; the longest side at which it is looked at."""


@dataclass(frozen=True, slots=True)
class PromptAttention:
    """One prompt's pictures by one model, and what people see in them.

    words    every concept with the word that it is held against
    rows     (usable pictures, numbers) their maps, which the store holds under `fingerprint`, for `decode_maps`
    cosines  by concept that of its text embedding with the word it is held against; empty for few concepts
    masks    by word the places that were given, of every usable picture
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
class MapsGathered(GatheredData):
    """All of a run, model by model; `held` are their names, first what the others are held against."""

    models: tuple[Identity, ...]
    prompts: tuple[PromptAttention, ...]
    held: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AttentionWatcher:
    """A model that is watched while it makes pictures: by prompt, who reads where it attends to
    what.
    """

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

    def make(self, wanted: Sequence[PictureRequest]) -> list[MakerOutput]:
        """One batch, prompt by prompt, since listening to one costs the same for all its pictures."""
        made: list[MakerOutput] = []
        with provider(self.name, f"making pictures of {wanted[0].prompt!r}"):
            for prompt, own in groupby(wanted, key=lambda one: one.prompt):
                reader = self.readers[prompt]
                requests = [Request(prompt, one.seed or 0, one.number) for one in own]
                with watching(self.model, reader) as found:
                    pictures = [encoded(image) for image in self.model.generate(requests)]
                made += [
                    MakerOutput(
                        picture,
                        {}
                        if isinstance(picture, Missing)
                        else {reader.fingerprint: found[request]},
                    )
                    for request, picture in zip(requests, pictures, strict=True)
                ]
        return made


def gather(plan: MapPlan, run: Run) -> MapsGathered:
    """Every prompt by every model. Raises UsageError for one that cannot be watched, and a baseline
    that is none.
    """
    models = {
        model.name: model for model in (white_box(name, plan.model_args) for name in plan.models)
    }
    held = list(models)
    if plan.baseline_run:
        if not (file := Path(plan.baseline_run) / PLAN_FILE).exists():
            raise UsageError(f"{plan.baseline_run} is no run folder: it holds no {PLAN_FILE}")
        earlier = MapPlan.checked(read_toml(file), f"the plan {file} of the baseline")
        before = white_box(earlier.model, earlier.model_args)
        name = (
            before.name
            if before.name not in held
            else f"{before.name} ({Path(plan.baseline_run).resolve().name})"
        )
        models[name], held = before, [name, *held]
    first = next(iter(models.values()))
    instruments = instruments_of(plan, first)
    reader = SurveyReader(run, instruments)
    prompts = tuple(
        one for name, model in models.items() for one in _watched(plan, run, name, model, reader)
    )
    given = [mask for one in prompts for some in one.masks.values() for mask in some]
    if plan.masks and not any(isinstance(mask, np.ndarray) for mask in given):
        run.warn(
            f"no mask in {plan.masks} is of a picture of this run: name them after its files, WORD/PICTURE.png"
        )
    prompt = plan.prompts[0].text
    for model in models.values():
        run.warn(*unknown_words(model, plan.texts()))
        own = set(model.unknown_words(prompt))
        unknown = [
            repr(c) for c in plan.concepts if set(model.unknown_words(f"{prompt} and {c}")) - own
        ]
        if unknown:
            run.warn(
                f"{model.name} does not know {', '.join(unknown)}: maps of a word without a meaning say nothing"
            )
    run.warn(*studio_warnings(list(models), instruments))
    identities = tuple(
        Identity(name, one.revision, dict(one.settings)) for name, one in models.items()
    )
    sets = tuple(PictureSet.of(one.prompt, one.pictures, model=one.model) for one in prompts)
    return MapsGathered(
        identities[0],
        getattr(first, "device", None),
        fingerprints(instruments),
        sets,
        identities,
        prompts,
        tuple(held),
    )


def white_box(name: str, settings: Mapping[str, Setting]) -> WhiteBox:
    """The model of that name. Raises UsageError for a black box."""
    model = mitigations.open_model(name, settings)
    if not getattr(model, "has_pipeline", False):
        raise UsageError(
            f"{model.name} is a black box, and attention maps need a model whose insides can be seen: "
            f"use studio or diffusers/ID-OR-PATH"
        )
    return cast("WhiteBox", model)


def _watched(
    plan: MapPlan, run: Run, name: str, model: WhiteBox, reader: SurveyReader
) -> list[PromptAttention]:
    """The prompts of a model; all pictures are made at once."""
    wanted = wanted_pictures(model, plan.texts(), plan.images, plan.seed)
    numbers = {one.seed: one.number for one in wanted}
    readers = {
        prompt.text: AttentionReader(
            model, prompt.text, plan.concepts, against, plan.definition, plan.branch, numbers
        )
        for prompt, against in zip(plan.prompts, plan.against, strict=True)
    }
    made = run.make(AttentionWatcher(model, readers, model.name, model.batch_size), wanted)
    found = []
    for prompt, against in zip(plan.prompts, plan.against, strict=True):
        maps = readers[prompt.text]
        pictures = tuple(made[one.key] for one in wanted if one.prompt == prompt.text)
        present = [one for one in pictures if isinstance(one, Picture)]
        rows = run.read(maps, present)
        (observed,) = reader.read(prompt, [(Prompt(prompt.text), pictures)])
        cosines: dict[str, float] = {}
        if len(plan.concepts) >= 4:  # a correlation needs some
            (near,) = run.look(partial(nearness, against, plan.concepts), [model])
            cosines = {} if isinstance(near, Missing) else near
        masks: dict[str, Sequence[Mask | Missing]] = {}
        for word in (against, *plan.concepts):
            if plan.masks and (folder := Path(plan.masks) / word).is_dir():
                masks[word] = [*run.look(MaskLens(folder), present)]
        found.append(
            PromptAttention(
                name,
                prompt.text,
                tuple(maps.words),
                maps.fingerprint,
                pictures,
                rows,
                observed,
                cosines,
                masks,
            )
        )
    return found


def nearness(against: str, concepts: Sequence[str], model: WhiteBox) -> dict[str, float]:
    """By concept the cosine of its text embedding with that of the word `against`."""
    from askew.measure.attention.words import word_vector  # imports torch

    anchor = word_vector(model.pipeline, against)
    return {concept: float(anchor @ word_vector(model.pipeline, concept)) for concept in concepts}


@dataclass(frozen=True, slots=True)
class MaskLens:
    """Opens the file named after a picture, white where a word is, at the picture's size or, if
    that is large, less.
    """

    folder: Path

    def __call__(self, picture: Picture) -> Mask | Missing:
        """(H, W), or why there is none."""
        path = self.folder / f"{picture.id}.png"
        file = read(path)
        if isinstance(file, Missing):
            return file
        width, height = opened(picture.path).size
        less = max(1, max(width, height) / SIDE)
        size = (round(width / less), round(height / less))
        mask: Mask = np.asarray(opened(path).convert("L").resize(size, Image.Resampling.BOX)) > GREY
        return (
            mask
            if mask.any() and not mask.all()
            else Missing("blank_image", f"{path} has no word's place and rest")
        )
