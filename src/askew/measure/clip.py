"""`clip/ID-OR-PATH`: CLIP, SigLIP and their like, as embedder and as VQA by comparison with
captions.
"""

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
    NetworkSettings,
    load_config,
    load_part,
    load_weights,
    picture_reader,
    shared,
)
from askew.models.device import dtype_name
from askew.models.hub import Pretrained, explain_errors
from askew.prompts.axes import CatalogueAxis, catalogue
from askew.prompts.counterfactuals import counterfactual
from askew.prompts.vocabulary import article
from askew.studio.caption import NO_OCCUPATION
from askew.types import Missing, Question, slices

OCCUPATION = "occupation"
FRAMES = ("a photo of", "a picture of", "an image of")

SUBJECTS: Mapping[str, tuple[str, ...]] = {
    "person": ("a person", "a man", "a woman"),
    "animal": ("an animal", "a dog"),
    "object": ("an object", "a thing"),
    "place": ("a place", "a building"),
    "nature": ("a landscape", "a forest"),
    "any": ("a scene", "a person"),
}
"""What may be seen, by the kinds that the catalogue's axes are about. Men and women, so that gender
cancels out.
"""

SIGHTS: Mapping[str, tuple[str, ...]] = {
    "person": ("a person", "people", "a man", "a woman", "somebody", "the face of a person"),
    "animal": ("an animal", "a dog", "a bird"),
    "object": ("an object", "a thing", "furniture", "food", "a vehicle"),
    "place": ("an empty room", "a building", "an empty street", "a place without people"),
    "nature": ("a landscape", "plants", "the sky", "nature without people"),
}
"""What a picture may show above all."""

Texts = dict[str, tuple[str, ...]]
"""Texts by answer: how a picture's caption would say each."""


def option_texts(question: Question) -> Texts:
    """Texts for every option of a multiple-choice question, or for every value of its axis if it is
    open.

    Values of the catalogue's axes are said as in counterfactual prompts, other occupations as who
    is seen; further options stand in general templates. Empty for an open question about an axis
    without known values.
    """
    entry = catalogue().get(question.axis or "")
    options = question.options or (entry.axis.values if entry else ())
    if entry is not None and set(options) <= set(entry.forms):
        return {option: _said(entry, option) for option in options}
    if question.axis == OCCUPATION:
        subjects = {option: (f"{article(option)} {option}",) for option in options}
        return {
            o: _framed(SUBJECTS["person"] if o == NO_OCCUPATION else who)
            for o, who in subjects.items()
        }
    named = f"{question.axis.replace('_', ' ')}: " if question.axis else ""
    return {o: (*_framed((o,)), o, *((named + o,) if named else ())) for o in options}


def asked_value(question: Question) -> tuple[str, Texts] | None:
    """For a yes/no question of an axis that asks several: the value it asks for, and texts for all
    values. None for other yes/no questions.
    """
    entry = catalogue().get(question.axis or "")
    texts = [known.text for known in entry.axis.questions] if entry else []
    if entry is None or question.text not in texts or len(texts) < 2:
        return None
    values = entry.axis.values
    return values[1 + texts.index(question.text)], {known: _said(entry, known) for known in values}


def is_about_a_person(question: Question) -> bool:
    """Whether the question can only be answered where a person is seen."""
    entry = catalogue().get(question.axis or "")
    return entry is not None and entry.subject_kinds == {"person"} and question != PERSON


def _said(entry: CatalogueAxis, value: str) -> tuple[str, ...]:
    subjects = [subject for kind in sorted(entry.subject_kinds) for subject in SUBJECTS[kind]]
    return tuple(
        dict.fromkeys(counterfactual(text, entry.axis.name, value) for text in _framed(subjects))
    )


def _framed(subjects: Sequence[str]) -> tuple[str, ...]:
    return tuple(f"{frame} {subject}" for frame in FRAMES for subject in subjects)


VERSION = 2
PROVIDER = "clip"
BATCH_SIZE = 32
EXAMPLE = "clip/openai/clip-vit-large-patch14"


@dataclass(frozen=True, slots=True)
class ComparingSettings(NetworkSettings):
    """Besides those of every network: are questions about a person answered only where one is seen
    above all?
    """

    person_filter: bool = True


class ClipEmbedder(CachingEmbedder):
    """A network with one tower for pictures and one for texts. Weights are loaded when the first
    vector is asked for. Vectors do not depend on the batch but for rounding.
    """

    def __init__(self, network: Pretrained, settings: NetworkSettings) -> None:
        super().__init__(settings.batch_size)
        config = load_config(network)
        towers = ("get_image_features", "get_text_features")
        if not all(hasattr(MODEL_MAPPING.get(type(config), None), tower) for tower in towers):
            fault = f"{network.name!r} ({config.model_type}) does not embed pictures and texts"
            raise UsageError(f"{fault}; name a model that does, such as {EXAMPLE}")
        self.name = f"{PROVIDER}/{network.name}"
        self._network = network
        self.device, self.dtype = settings.place()
        self._tokenizer = load_part(AutoTokenizer, network)
        self._reader = load_part(AutoImageProcessor, network)
        self._length = config.text_config.max_position_embeddings
        facts = f"dtype={dtype_name(self.dtype)} pictures={picture_reader(self._reader)}"
        self.fingerprint = f"clip/{VERSION} {network.identity} {facts}"

    def _embedded(self, images: list[Image.Image]) -> Vectors:
        return self._features("get_image_features", self._reader(images, return_tensors="pt"))

    def embed_texts(self, texts: Sequence[str]) -> Vectors:
        """(texts, dimensions), unit rows. Padded to full length as in training, cut where they are
        longer.
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
        """The whole network, and what texts are cut into."""
        return self._model, self._tokenizer

    @cached_property
    def _model(self) -> Any:
        return load_weights(AutoModel, self._network, self.device, self.dtype)

    @torch.inference_mode()
    def _features(self, tower: str, inputs: Any) -> Vectors:
        with explain_errors(self._network.name):
            moved = {
                k: v.to(self.device, self.dtype if v.is_floating_point() else None)
                for k, v in inputs.items()
            }
            rows = getattr(self._model, tower)(**moved).pooler_output.float()
            return np.asarray(
                torch.nn.functional.normalize(rows, dim=-1).cpu().numpy(), dtype=np.float32
            )


class ClipVQA(ComparingVQA):
    """Answers by comparing a picture with captions that say each possible answer.

    An open question is answered by a value of its axis, whatever is shown: hence `only_chooses`.
    Where no person is seen above all, a question about a person is Missing("no_person"), unless
    `person_filter` is off. Captions, and questions that no caption answers, are
    Missing("not_asked"). It errs more than a trained classifier: on words that CLIP has seen
    seldom, on several people, on absence.
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
        """Whether each picture shows a person above all."""
        return np.equal(
            self._best(vectors, {kind: _framed(words) for kind, words in SIGHTS.items()}), "person"
        )

    def _column(
        self, vectors: Vectors, question: Question, somebody: NDArray[np.bool_]
    ) -> list[str | Missing]:
        if question == PERSON:
            return ["yes" if there else "no" for there in somebody]
        if set(question.options) == {"yes", "no"}:
            asked = asked_value(question)
            if asked is None:
                unknown = Missing(
                    "not_asked", "CLIP answers yes/no questions only of the catalogue's axes"
                )
                return [unknown] * len(vectors)
            answers = [
                "yes" if best == asked[0] else "no" for best in self._best(vectors, asked[1])
            ]
        elif question == CAPTION or not (texts := option_texts(question)):
            return [Missing("not_asked", "CLIP cannot write; it chooses among given values")] * len(
                vectors
            )
        else:
            answers = self._best(vectors, texts)
        if not self._person_filter or not is_about_a_person(question):
            return list(answers)
        unseen = Missing("no_person", "something else is seen above all")
        return [
            answer if there else unseen for answer, there in zip(answers, somebody, strict=True)
        ]


def create_embedder(name: str, **settings: object) -> ClipEmbedder:
    """The embedder's factory: `name` is a folder or an ID; settings as in `NetworkSettings`."""
    network_settings = NetworkSettings.of(PROVIDER, {"batch_size": BATCH_SIZE, **settings})
    embedder: ClipEmbedder = shared(ClipEmbedder, name, network_settings, EXAMPLE)
    return embedder


def create_vqa(name: str, **settings: object) -> ClipVQA:
    """The VQA's factory. With the settings of an embedder it shares that one's weights and vectors."""
    chosen = ComparingSettings.of(PROVIDER, {"batch_size": BATCH_SIZE, **settings})
    network = NetworkSettings(chosen.device, chosen.dtype, chosen.revision, chosen.batch_size)
    return ClipVQA(shared(ClipEmbedder, name, network, EXAMPLE), chosen.person_filter)
