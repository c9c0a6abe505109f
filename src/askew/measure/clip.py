"""Embedder and caption-comparing VQA, based on CLIP, SigLIP, etc. (`clip/ID-OR-PATH`)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from transformers import MODEL_MAPPING, AutoImageProcessor, AutoModel, AutoTokenizer

from askew.errors import UsageError
from askew.measure.base import CAPTION, PERSON, CachingEmbedder, ComparingVQA, Vectors
from askew.measure.loading import (
    WEIGHTS,
    NetworkSettings,
    load_config,
    load_part,
    load_weights,
    picture_reader,
    shared,
)
from askew.measure.subjects import PERSON_KIND, framed, needs_person, subject_captions
from askew.models.device import dtype_name
from askew.models.diffusers.weights import TOKEN_EMBEDDINGS, find_weight
from askew.models.hub import Pretrained, explain_errors
from askew.prompts.axes import CatalogueAxis, catalogue
from askew.prompts.counterfactuals import counterfactual
from askew.prompts.vocabulary import article
from askew.studio.caption import NO_OCCUPATION
from askew.types import Missing, Question, slices

OCCUPATION = "occupation"
SUBJECTS: Mapping[str, tuple[str, ...]] = {
    "person": ("a person", "a man", "a woman"),
    "animal": ("an animal", "a dog"),
    "object": ("an object", "a thing"),
    "place": ("a place", "a building"),
    "nature": ("a landscape", "a forest"),
    "any": ("a scene", "a person"),
}
"""Nouns for the subjects that the axes in the catalog describe.

The nouns include men and women, so that captions do not depend on gender.
"""

Texts = dict[str, tuple[str, ...]]
"""Captions by answer."""


def option_texts(question: Question) -> Texts:
    """Return captions for each option of a question or, if it is open, for each value of its axis.

    For values of the catalog's axes, captions use the same words as counterfactual prompts. For
    other occupations, captions mention people with the occupation. All other options are inserted
    into general templates.

    Returns
    -------
    dict
        Captions for each option; empty if the question is open and its axis has no known values.
    """
    entry = catalogue().get(question.axis or "")
    options = question.options
    if not options and entry is not None:
        options = entry.axis.values
    if entry is not None and set(options) <= set(entry.forms):
        return {option: _value_captions(entry, option) for option in options}
    if question.axis == OCCUPATION:
        return {option: _occupation_captions(option) for option in options}
    return {option: _general_captions(option, question.axis) for option in options}


def _occupation_captions(occupation: str) -> tuple[str, ...]:
    if occupation == NO_OCCUPATION:
        return framed(SUBJECTS["person"])
    return framed((f"{article(occupation)} {occupation}",))


def _general_captions(option: str, axis: str | None) -> tuple[str, ...]:
    captions = (*framed((option,)), option)
    if axis:
        captions += (f"{axis.replace('_', ' ')}: {option}",)
    return captions


def asked_value(question: Question) -> tuple[str, Texts] | None:
    """Return the value that a yes/no question asks about, and captions for all values of its axis.

    Return None if the question does not belong to a catalog axis that has several questions.
    """
    entry = catalogue().get(question.axis or "")
    if entry is None or len(entry.axis.questions) < 2:
        return None
    texts = [catalogued.text for catalogued in entry.axis.questions]
    if question.text not in texts:
        return None
    values = entry.axis.values
    captions = {value: _value_captions(entry, value) for value in values}
    return values[1 + texts.index(question.text)], captions


def is_about_a_person(question: Question) -> bool:
    """Check whether a question applies only to images of people."""
    return needs_person(question.axis or "") and question != PERSON


def _value_captions(entry: CatalogueAxis, value: str) -> tuple[str, ...]:
    subjects = [subject for kind in sorted(entry.subject_kinds) for subject in SUBJECTS[kind]]
    captions = [counterfactual(text, entry.axis.name, value) for text in framed(subjects)]
    return tuple(dict.fromkeys(captions))


VERSION = 2
PROVIDER = "clip"
BATCH_SIZE = 32
EXAMPLE = "clip/openai/clip-vit-large-patch14"

OTHER_YES_NO = Missing("not_asked", "CLIP answers yes/no questions only about the catalog's axes")
OPEN_QUESTION = Missing("not_asked", "CLIP cannot generate text; it chooses among given values")
NO_PERSON = Missing("no_person", "the main subject is not a person")


@dataclass(frozen=True, slots=True)
class ComparingSettings(NetworkSettings):
    """Settings of a network that compares images with captions.

    Attributes
    ----------
    device, dtype, revision, batch_size
        As in `NetworkSettings`.
    person_filter
        Whether to answer questions about a person only if a person is the main subject.
    """

    person_filter: bool = True


class ClipEmbedder(CachingEmbedder):
    """Embedder whose network has an image encoder and a text encoder.

    Weights are loaded when the first vector is needed. Apart from rounding errors, vectors do not
    depend on the batch.

    Parameters
    ----------
    network
        The pretrained model.
    settings
        The user's settings.

    Raises
    ------
    UsageError
        If the model does not embed images and texts.
    """

    def __init__(self, network: Pretrained, settings: NetworkSettings) -> None:
        super().__init__(settings.batch_size)
        config = load_config(network)
        model_class = MODEL_MAPPING.get(type(config), None)
        towers = ("get_image_features", "get_text_features")
        if not all(hasattr(model_class, tower) for tower in towers):
            raise UsageError(
                f"{network.name!r} ({config.model_type}) does not embed images and texts; "
                f"choose a model that does, with --embedder or --vqa, such as {EXAMPLE}"
            )
        self.name = f"{PROVIDER}/{network.name}"
        self._network = network
        self.device, self.dtype = settings.place()
        self._tokenizer = load_part(AutoTokenizer, network)
        self._image_processor = load_part(AutoImageProcessor, network)
        self._length = config.text_config.max_position_embeddings
        facts = f"dtype={dtype_name(self.dtype)} pictures={picture_reader(self._image_processor)}"
        self.fingerprint = f"clip/{VERSION} {network.identity} {facts}"

    def _embedded(self, images: list[Image.Image]) -> Vectors:
        inputs = self._image_processor(images, return_tensors="pt")
        return self._features("get_image_features", inputs)

    def embed_texts(self, texts: Sequence[str]) -> Vectors:
        """Return unit vectors (texts, dimensions).

        Texts are padded to the maximum length, as in training. Longer texts are cut.
        """
        rows = []
        for part in slices(texts, self._batch_size):
            inputs = self._tokenizer(
                list(part),
                padding="max_length",
                max_length=self._length,
                truncation=True,
                return_tensors="pt",
            )
            rows.append(self._features("get_text_features", inputs))
        return np.concatenate(rows)

    def text_tower(self) -> tuple[Any, Any]:
        """Return the network and its tokenizer."""
        return self._model, self._tokenizer

    def token_embeddings(self) -> torch.Tensor | None:
        """Read the text tower's token embeddings, of shape (tokens, width), from the weight files.

        None if the files are not on this machine, or contain no token embeddings.
        """
        names = list(filter(WEIGHTS.fullmatch, self._network.files))
        if not self._network.is_here(names):
            return None
        folder = self._network.fetch(names)
        rows = find_weight([folder / name for name in names], TOKEN_EMBEDDINGS)
        return None if rows is None else rows.to(self.dtype)

    @cached_property
    def _model(self) -> Any:
        return load_weights(AutoModel, self._network, self.device, self.dtype)

    @torch.inference_mode()
    def _features(self, tower: str, inputs: Any) -> Vectors:
        with explain_errors(self._network.name):
            arguments = {name: self._moved(tensor) for name, tensor in inputs.items()}
            rows = getattr(self._model, tower)(**arguments).pooler_output.float()
            unit_rows = torch.nn.functional.normalize(rows, dim=-1).cpu().numpy()
            return np.asarray(unit_rows, dtype=np.float32)

    def _moved(self, tensor: torch.Tensor) -> torch.Tensor:
        dtype = self.dtype if tensor.is_floating_point() else None
        return tensor.to(self.device, dtype)


class ClipVQA(ComparingVQA):
    """Instrument that compares an image with a caption for each possible answer.

    An open question is always answered with a value of its axis, so `only_chooses` is True. If the
    main subject is not a person, the answer to a question about a person is Missing("no_person").
    Requests for a caption, and questions that no caption can answer, are answered with
    Missing("not_asked"). For rare words, for groups of people, and for things that the image does
    not show, CLIP makes more errors than a trained classifier.

    Parameters
    ----------
    embedder
        Embedder of images and captions.
    person_filter
        If False, questions about a person are answered for all images, even if the main subject is
        not a person.
    """

    only_chooses = True
    embedder: ClipEmbedder

    def __init__(self, embedder: ClipEmbedder, person_filter: bool = True) -> None:
        super().__init__(embedder)
        self.name = embedder.name
        self._person_filter = person_filter
        self.fingerprint = (
            f"clip-vqa/{VERSION} person_filter={person_filter} {embedder.fingerprint}"
        )

    def sees_somebody(self, vectors: Vectors) -> NDArray[np.bool_]:
        """Check, for each image, whether a person is the main subject."""
        return np.equal(self._best(vectors, subject_captions(self.embedder)), PERSON_KIND)

    def _column(
        self, vectors: Vectors, question: Question, somebody: NDArray[np.bool_]
    ) -> list[str | Missing]:
        if question == PERSON:
            return ["yes" if there else "no" for there in somebody]
        answers = self._answers(vectors, question)
        if isinstance(answers, Missing):
            return [answers] * len(vectors)
        if not self._person_filter or not is_about_a_person(question):
            return list(answers)
        return [
            answer if there else NO_PERSON for answer, there in zip(answers, somebody, strict=True)
        ]

    def _answers(self, vectors: Vectors, question: Question) -> list[str] | Missing:
        """Return the best answer for each image, or the reason why CLIP cannot answer."""
        if set(question.options) == {"yes", "no"}:
            asked = asked_value(question)
            if asked is None:
                return OTHER_YES_NO
            value, captions = asked
            return ["yes" if best == value else "no" for best in self._best(vectors, captions)]
        if question == CAPTION:
            return OPEN_QUESTION
        captions = option_texts(question)
        return self._best(vectors, captions) if captions else OPEN_QUESTION


def create_embedder(name: str, **settings: object) -> ClipEmbedder:
    """Return the embedder `clip/NAME`, which is created once per process.

    Parameters
    ----------
    name
        Folder or ID of the model.
    **settings
        As in `NetworkSettings`.
    """
    network_settings = NetworkSettings.of(PROVIDER, {"batch_size": BATCH_SIZE, **settings})
    embedder: ClipEmbedder = shared(ClipEmbedder, name, network_settings, EXAMPLE)
    return embedder


def create_vqa(name: str, **settings: object) -> ClipVQA:
    """Return the VQA `clip/NAME`. All VQAs with the same network settings share an embedder.

    Parameters
    ----------
    name
        Folder or ID of the model.
    **settings
        As in `ComparingSettings`.
    """
    chosen = ComparingSettings.of(PROVIDER, {"batch_size": BATCH_SIZE, **settings})
    network = NetworkSettings(
        device=chosen.device,
        dtype=chosen.dtype,
        revision=chosen.revision,
        batch_size=chosen.batch_size,
    )
    return ClipVQA(shared(ClipEmbedder, name, network, EXAMPLE), chosen.person_filter)
