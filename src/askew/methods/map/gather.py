"""Collect the data of `askew map`: images, their attention maps, and labels.

askew records the maps while the model generates the images.
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
from askew.measure.attention import AttentionReader, ConceptTokens, watching
from askew.methods.map.plan import MapPlan
from askew.models.base import Request, Setting, WhiteBox
from askew.parts.survey.instruments import (
    cuts_prompts,
    fingerprints,
    instruments_of,
    studio_warnings,
    unknown_words,
)
from askew.parts.survey.observed import ObservedSet
from askew.parts.survey.reader import PromptImages, SurveyReader
from askew.plan import PLAN_FILE, read_toml
from askew.run.base import MakerOutput, Outcome, Rows, Run, encoded, provider
from askew.run.inquiries import Reading
from askew.run.work import once_each, unique, wanted_pictures
from askew.stats.overlap import Mask
from askew.store.imagefile import opened, read
from askew.store.requests import PictureRequest
from askew.types import Missing, Picture, Prompt, grouped

GRAY = 127
"""Gray level above which a pixel of a ground-truth mask counts as white."""

MAX_SIDE = 256
"""Maximum length of a ground-truth mask's longer side, in pixels.

Larger masks are scaled down before they are compared.
"""

MIN_CORRELATED_CONCEPTS = 4
"""Minimum number of concepts for which overlap is correlated with similarity of meaning."""


@dataclass(frozen=True, slots=True)
class PromptAttention:
    """Images that one model generated from one prompt, with their maps and labels.

    Attributes
    ----------
    model, prompt : str
        Name of the model, and the prompt.
    words : tuple of (str, str)
        Pairs of words: a concept and the prompt's word.
    fingerprint : str
        Fingerprint under which the store keeps the maps.
    pictures : tuple of Picture or Missing
        The images.
    rows : array, (usable images, numbers)
        Encoded maps. `decode_maps` decodes them.
    observed : ObservedSet
        Labels of the images.
    cosines : mapping of str to float
        For each concept, the cosine similarity between its text embedding and the text embedding of
        the prompt's word. Empty if there are too few concepts for a correlation.
    masks : mapping of str to sequence of Mask or Missing
        For each word, the ground-truth masks of the usable images.
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
        """Return the images that are not missing."""
        return [picture for picture in self.pictures if isinstance(picture, Picture)]


@dataclass(frozen=True, slots=True)
class MapsGathered(GatheredData):
    """All data that a run of `askew map` obtained.

    Attributes
    ----------
    models : tuple of Identity
        The models.
    prompts : tuple of PromptAttention
        Data for every prompt with the first model, then for every prompt with the second model, and
        so on.
    comparison_order : tuple of str
        Names of the models. askew compares the later models with the first.
    """

    models: tuple[Identity, ...]
    prompts: tuple[PromptAttention, ...]
    comparison_order: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AttentionWatcher:
    """Maker that generates images and records the model's attention at the same time.

    Attributes
    ----------
    model : WhiteBox
        The model.
    readers : mapping of str to AttentionReader
        For each prompt, the reader that records its maps.
    name : str
        Name of the model.
    batch_size : int
        Number of images per batch.
    """

    model: WhiteBox
    readers: Mapping[str, AttentionReader]
    name: str
    batch_size: int

    @property
    def sees(self) -> frozenset[str]:
        """Return the fingerprints of the maps."""
        return frozenset(reader.fingerprint for reader in self.readers.values())

    def check(self) -> None:
        """Load the model, and check that attention to all words can be mapped in its network.

        Raises
        ------
        UsageError
            If the network or a word cannot be mapped.
        """
        for reader in self.readers.values():
            reader.check()

    def make(self, wanted: Sequence[PictureRequest]) -> list[MakerOutput]:
        """Generate one batch of images with their maps.

        The images of a prompt are generated together, because recording the attention costs as much
        for a batch as for a single image.

        Parameters
        ----------
        wanted
            The requests.

        Returns
        -------
        list of MakerOutput
            Images and maps, in the order of the requests.
        """
        outputs: list[MakerOutput] = []
        with provider(self.name, f"generating images of {wanted[0].prompt!r}"):
            for prompt, group in groupby(wanted, key=lambda request: request.prompt):
                requests = [Request(prompt, request.seed or 0, request.number) for request in group]
                outputs += self._outputs(prompt, requests)
        return outputs

    def _outputs(self, prompt: str, requests: Sequence[Request]) -> list[MakerOutput]:
        """Generate images of one prompt."""
        reader = self.readers[prompt]
        with watching(self.model, reader) as maps:
            pictures = [encoded(image) for image in self.model.generate(requests)]
        outputs = []
        for request, picture in zip(requests, pictures, strict=True):
            rows = {} if isinstance(picture, Missing) else {reader.fingerprint: maps[request]}
            outputs.append(MakerOutput(picture, rows))
        return outputs


def gather(plan: MapPlan, run: Run) -> MapsGathered:
    """Gather images, maps and labels for every prompt and every model.

    Parameters
    ----------
    plan
        The plan.
    run
        Run that stores the data.

    Returns
    -------
    MapsGathered
        The data.

    Raises
    ------
    UsageError
        If a model's attention cannot be mapped, or the baseline run is not a run of `askew map`.
    """
    opened_models = [white_box(name, plan.model_args) for name in plan.models]
    models = {model.name: model for model in opened_models}
    order = list(models)
    if plan.baseline_run:
        name, baseline = _baseline_model(Path(plan.baseline_run), order)
        models[name] = baseline
        order = [name, *order]
    first = next(iter(models.values()))
    instruments = instruments_of(plan, first)
    reader = SurveyReader(run, instruments)
    prompts: list[PromptAttention] = []
    for name, model in models.items():
        prompts += _map_model(plan, run, name, model, reader)
    if plan.masks:
        _warn_without_masks(plan, run, prompts)
    for model in models.values():
        _warn_of_unknown_words(plan, run, model)
    run.warn(*studio_warnings(list(models), instruments))
    identities = tuple(
        Identity(name, model.revision, dict(model.settings)) for name, model in models.items()
    )
    sets = tuple(
        PictureSet.of(prompt.prompt, prompt.pictures, model=prompt.model) for prompt in prompts
    )
    return MapsGathered(
        identities[0],
        getattr(first, "device", None),
        fingerprints(instruments),
        sets,
        models=identities,
        prompts=tuple(prompts),
        comparison_order=tuple(order),
    )


def _baseline_model(folder: Path, names: Sequence[str]) -> tuple[str, WhiteBox]:
    """Return the model of the run in `folder`, under a name that is not in `names`."""
    file = folder / PLAN_FILE
    if not file.exists():
        raise UsageError(
            f"{folder} is not a run folder because it has no {PLAN_FILE}; "
            "give --baseline-run the folder of a finished run of askew map"
        )
    plan = MapPlan.checked(read_toml(file, follow=False), f"the plan {file} of the baseline run")
    model = white_box(plan.model, plan.model_args)
    if model.name in names:
        return f"{model.name} ({folder.resolve().name})", model
    return model.name, model


def _warn_without_masks(plan: MapPlan, run: Run, prompts: Sequence[PromptAttention]) -> None:
    """Warn if no ground-truth mask belongs to an image of the run."""
    for prompt in prompts:
        for masks in prompt.masks.values():
            if any(isinstance(mask, np.ndarray) for mask in masks):
                return
    run.warn(
        f"no mask in {plan.masks} belongs to an image of this run; name the masks after the image "
        "files, as in WORD/IMAGE.png"
    )


def _warn_of_unknown_words(plan: MapPlan, run: Run, model: WhiteBox) -> None:
    """Warn about concepts, and words of the prompts, that a model does not know.

    Also warn about concepts for which the model was trained to attend to known regions.
    """
    run.warn(*unknown_words(model, plan.texts()))
    tokens = ConceptTokens(model)
    taught = [repr(concept) for concept in plan.concepts if concept in tokens]
    if taught:
        run.warn(
            f"{model.name} was trained to attend to known regions for {', '.join(taught)}: maps of "
            "these words test the method, and are not evidence about the attention of other models"
        )
    prompt = plan.prompts[0].text
    unknown_before = set(model.unknown_words(prompt))
    unknown = [
        repr(concept)
        for concept in plan.concepts
        if concept not in tokens
        and set(model.unknown_words(f"{prompt} and {concept}")) - unknown_before
    ]
    if unknown:
        verb = "cuts off" if cuts_prompts(model) else "does not know"
        run.warn(
            f"{model.name} {verb} {', '.join(unknown)}. Maps of words that the model does not "
            "receive are meaningless"
        )


def white_box(name: str, settings: Mapping[str, Setting]) -> WhiteBox:
    """Return the model with the given name.

    Parameters
    ----------
    name
        Name of the model.
    settings
        Settings of the model.

    Returns
    -------
    WhiteBox
        The model.

    Raises
    ------
    UsageError
        If the attention of the model cannot be recorded.
    """
    model = mitigations.open_model(name, settings)
    if not getattr(model, "has_pipeline", False):
        raise UsageError(
            f"{model.name} is a black box, but attention maps need access to attention layers; "
            f"use --model studio or --model diffusers/ID-OR-PATH"
        )
    return cast("WhiteBox", model)


def _map_model(
    plan: MapPlan, run: Run, name: str, model: WhiteBox, reader: SurveyReader
) -> list[PromptAttention]:
    """Gather the data of all prompts for one model, generating all images in one pass."""
    wanted = wanted_pictures(model, plan.texts(), plan.images, plan.seed)
    numbers = {request.seed: request.number for request in wanted}
    words = {
        prompt.text: against for prompt, against in zip(plan.prompts, plan.against, strict=True)
    }
    readers = {
        prompt: AttentionReader(
            model, prompt, plan.concepts, against, plan.definition, plan.branch, numbers
        )
        for prompt, against in words.items()
    }
    outcomes = run.make(AttentionWatcher(model, readers, model.name, model.batch_size), wanted)
    pictures_of: dict[str, tuple[Outcome, ...]] = {}
    for text, requests in grouped(wanted, lambda request: request.prompt).items():
        pictures_of[text] = tuple(once_each(outcomes[request.key] for request in requests))
    readings = [Reading(maps, unique(pictures_of[text])) for text, maps in readers.items()]
    images = [
        PromptImages(prompt, [(Prompt(prompt.text), pictures_of[prompt.text])])
        for prompt in plan.prompts
    ]
    prompts = []
    by_prompt = zip(words.items(), run.read_all(readings), reader.read_all(images), strict=True)
    for (text, against), rows, (observed,) in by_prompt:
        attention = PromptAttention(
            model=name,
            prompt=text,
            words=tuple(readers[text].words),
            fingerprint=readers[text].fingerprint,
            pictures=pictures_of[text],
            rows=rows,
            observed=observed,
            cosines=_cosines(plan, run, model, against),
            masks=_true_masks(plan, run, against, unique(pictures_of[text])),
        )
        prompts.append(attention)
    return prompts


def _cosines(plan: MapPlan, run: Run, model: WhiteBox, against: str) -> dict[str, float]:
    """Return each concept's cosine similarity to a word; empty if there are too few concepts."""
    if len(plan.concepts) < MIN_CORRELATED_CONCEPTS:
        return {}
    (cosines,) = run.look(partial(nearness, against, plan.concepts), [model])
    return {} if isinstance(cosines, Missing) else cosines


def _true_masks(
    plan: MapPlan, run: Run, against: str, present: Sequence[Picture]
) -> dict[str, Sequence[Mask | Missing]]:
    """Return the images' ground-truth masks, keyed by word. Words without masks are omitted."""
    masks: dict[str, Sequence[Mask | Missing]] = {}
    if not plan.masks:
        return masks
    for word in (against, *plan.concepts):
        folder = Path(plan.masks) / word
        if folder.is_dir():
            masks[word] = [*run.look(MaskLens(folder), present)]
    return masks


def nearness(against: str, concepts: Sequence[str], model: WhiteBox) -> dict[str, float]:
    """Return each concept's cosine similarity to `against`, computed from text embeddings."""
    from askew.measure.attention.words import word_vector  # imports torch

    tokens = ConceptTokens(model)
    tokens.teach(model.pipeline)
    anchor = word_vector(model.pipeline, tokens.spelling(against))
    return {
        concept: float(anchor @ word_vector(model.pipeline, tokens.spelling(concept)))
        for concept in concepts
    }


@dataclass(frozen=True, slots=True)
class MaskLens:
    """Reader of ground-truth masks.

    The masks are PNG files that are named after images and are white where a word is shown.

    Attributes
    ----------
    folder : Path
        Folder with the masks of one word.
    """

    folder: Path

    def __call__(self, picture: Picture) -> Mask | Missing:
        """Return the mask of an image, of shape (H, W).

        The mask has at most `MAX_SIDE` pixels on each side.
        """
        path = self.folder / f"{picture.id}.png"
        file = read(path)
        if isinstance(file, Missing):
            return file
        width, height = opened(picture.path).size
        factor = max(1, max(width, height) / MAX_SIDE)
        size = (round(width / factor), round(height / factor))
        grays = np.asarray(opened(path).convert("L").resize(size, Image.Resampling.BOX))
        mask: Mask = grays > GRAY
        if mask.all() or not mask.any():
            return Missing("blank_image", f"{path} is all white or all black")
        return mask
