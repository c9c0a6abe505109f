"""`transformers/ID-OR-PATH`: visual question answering by any image-text-to-text model of the transformers library."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import torch
from PIL import Image
from transformers import (
    MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING,
    AutoModelForImageTextToText,
    AutoModelForVisualQuestionAnswering,
    LogitsProcessor,
)

from askew.errors import UnknownName, UsageError
from askew.measure.decoding import Rows, Transcript, greedy_options, likeliest_options
from askew.measure.loading import NetworkSettings, load_config, load_processor, load_weights, picture_reader
from askew.models.device import choose_device, choose_dtype, dtype_name
from askew.models.hub import Pretrained, explained, find_pretrained
from askew.storage.imagefile import opened
from askew.types import Missing, Picture, Question

VERSION = 2
PROVIDER = "transformers"
EXAMPLE = "transformers/Qwen/Qwen2.5-VL-3B-Instruct"
CHOICES = ("likelihood", "constrained")
QUESTION = "{question}"
PLAIN = "Question: {question} Answer:"
ANSWERS_QUESTIONS = "BlipForQuestionAnswering"
"""The one architecture that is loaded by another class and takes the bare question."""

GREEDY = {
    "do_sample": False,
    "num_beams": 1,
    "min_length": 0,
    "repetition_penalty": 1.0,
    "no_repeat_ngram_size": 0,
    "use_cache": True,
}
"""In place of a model's own generation settings, which may sample or punish repetition."""


@dataclass(frozen=True, slots=True)
class AskingSettings(NetworkSettings):
    """How a model is asked, besides the settings of every network.

    choice      how an option is chosen: by the `likelihood` of its text as the answer, or by generating an answer
                that is `constrained` to the options, best token by best token
    per_token   divide an option's log-likelihood by its number of tokens. Off: the second half of a two-word option
                is nearly certain once the first is said, so that dividing favours options of many tokens
    max_tokens  length limit of open answers
    prompt      what is asked, with {question} in it; empty for the question as it is, or a plain form around it where
                the model has no chat template
    """

    choice: str = "likelihood"
    per_token: bool = False
    max_tokens: int = 64
    prompt: str = ""

    def check(self) -> None:
        """Raises UsageError for a value that cannot be."""
        if self.choice not in CHOICES:
            raise UnknownName("choice", self.choice, CHOICES)
        if self.max_tokens < 1:
            raise UsageError(f"{PROVIDER}: max_tokens is {self.max_tokens}; it must be at least 1")
        if self.prompt and QUESTION not in self.prompt:
            raise UsageError(f"{PROVIDER}: the prompt {self.prompt!r} has no place for the question: write {QUESTION}")

    def facts(self) -> str:
        """Those that can change an answer."""
        said = f"choice={self.choice} per_token={self.per_token} max_tokens={self.max_tokens}"
        return f"{said} prompt={self.prompt!r}" if self.prompt else said


class TransformersVQA:
    """Asks a model that reads a picture with a text and writes a text. Weights are loaded at the first question.

    A question with options gets one of them. An open question gets what the model writes, greedily, up to
    `max_tokens`; nothing but white space is Missing("unparseable"). Answers do not depend on the batch but for
    rounding, which can turn a close call in 16-bit formats.
    """

    def __init__(self, network: Pretrained, settings: AskingSettings) -> None:
        settings.check()
        config = load_config(network)
        self._asks_bare = ANSWERS_QUESTIONS in (config.architectures or ())
        if type(config) not in MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING:
            raise UsageError(
                f"{network.name!r} ({config.model_type}) does not answer questions about pictures; "
                f"name a model that does, such as {EXAMPLE}"
            )
        self.name = f"transformers/{network.name}"
        self.settings = settings
        self.device = choose_device(settings.device)
        self.dtype = choose_dtype(settings.dtype, self.device)
        self._network = network
        self._processor = load_processor(network, config)
        self._tokenizer = self._processor.tokenizer
        if self._tokenizer.pad_token is None:
            self._tokenizer.pad_token = self._tokenizer.eos_token
        facts = f"dtype={dtype_name(self.dtype)} pictures={picture_reader(self._processor)}"
        self.fingerprint = f"transformers-vqa/{VERSION} {network.identity} {settings.facts()} {facts}"

    def answer(self, pictures: Sequence[Picture], questions: Sequence[Question]) -> list[list[str | Missing]]:
        """Answers by picture, then by question."""
        rows: list[list[str | Missing]] = []
        for start in range(0, len(pictures), self.settings.batch_size):
            images = [opened(picture.path) for picture in pictures[start : start + self.settings.batch_size]]
            columns = [self._column(images, question) for question in questions]
            rows += [[column[i] for column in columns] for i in range(len(images))]
        return rows

    def _column(self, images: Sequence[Image.Image], question: Question) -> list[str | Missing]:
        """Answers to one question: its rows have prompts of one length, so that little or nothing is padded."""
        prompt = self._asked(question)

        def generate(rows: Rows, reader: LogitsProcessor, tokens: int) -> None:
            self._generate([images[row] for row in rows], prompt, reader, tokens)

        if not question.options:
            transcript = Transcript()
            generate(np.arange(len(images)), transcript, self.settings.max_tokens)
            return [self._written(tokens) for tokens in transcript.rows(self._ends)]
        paths = self._paths(prompt, question.options)
        if self.settings.choice == "constrained":
            return [question.options[i] for i in greedy_options(generate, len(images), paths, self._ends)]
        chosen = likeliest_options(generate, len(images), paths, self._ends, self.settings.per_token)
        unread = Missing("error", "the model's likelihoods are not finite numbers; try dtype=float32")
        return [unread if i is None else question.options[i] for i in chosen]

    @torch.inference_mode()
    def _generate(self, images: Sequence[Image.Image], prompt: str, reader: LogitsProcessor, tokens: int) -> None:
        with explained(self._network.name):
            inputs = self._inputs(images, prompt).to(self.device, self.dtype)
            self._model.generate(**inputs, **GREEDY, max_new_tokens=tokens, logits_processor=[reader])

    def _inputs(self, images: Sequence[Image.Image], prompt: str) -> Any:
        """The processor's tensors. Decoders go on from the last position: padding, if any, stands on the left."""
        padding = {"padding": True, "padding_side": "left", "return_tensors": "pt"}
        if not self._processor.chat_template:
            return self._processor(images=list(images), text=[prompt] * len(images), **padding)
        chats = [_chat(prompt, image) for image in images]
        return self._processor.apply_chat_template(
            chats,
            add_generation_prompt=True,
            tokenize=True,
            return_dict=True,
            processor_kwargs=padding,
            **self._template_options,
        )

    def _asked(self, question: Question) -> str:
        """The question in words, with its options, unless the model was made for bare questions."""
        listed = f" Answer with exactly one of these: {', '.join(question.options)}." if question.options else ""
        asked = question.text if self._asks_bare else question.text + listed
        plain = QUESTION if self._asks_bare or self._processor.chat_template else PLAIN
        return (self.settings.prompt or plain).replace(QUESTION, asked)

    def _text(self, prompt: str) -> str:
        """The text that the model goes on from."""
        if not self._processor.chat_template:
            return prompt
        chat = _chat(prompt, None)
        return str(self._processor.apply_chat_template(chat, add_generation_prompt=True, **self._template_options))

    @cached_property
    def _template_options(self) -> dict[str, bool]:
        """Models that can think aloud before they answer are told not to."""
        return {"enable_thinking": False} if "enable_thinking" in str(self._processor.chat_template) else {}

    def _paths(self, prompt: str, options: Sequence[str]) -> list[list[int]]:
        """The tokens of each option as an answer to the prompt. Raises UsageError if they are not distinct."""
        text = self._text(prompt)
        between = "" if not text or text[-1].isspace() else " "
        before = self._tokens(text)
        paths = []
        for option in options:
            whole = self._tokens(text + between + option)
            paths.append(whole[len(before) :] if whole[: len(before)] == before else self._tokens(between + option))
        if not all(paths) or len({tuple(path) for path in paths}) < len(paths):
            raise UsageError(f"{self.name} writes two of these options alike: {', '.join(options)}")
        return paths

    def _tokens(self, text: str) -> list[int]:
        return list(self._tokenizer(text, add_special_tokens=False).input_ids)

    def _written(self, tokens: Sequence[int]) -> str | Missing:
        text = " ".join(self._tokenizer.decode(tokens, skip_special_tokens=True).split())
        return text or Missing("unparseable", "the model wrote nothing")

    @cached_property
    def _model(self) -> Any:
        chosen = AutoModelForVisualQuestionAnswering if self._asks_bare else AutoModelForImageTextToText
        return load_weights(chosen, self._network, self.device, self.dtype)

    @cached_property
    def _ends(self) -> list[int]:
        """Tokens that end an answer."""
        own = self._tokenizer.eos_token_id
        known = self._model.generation_config.eos_token_id
        more = known if isinstance(known, list) else [known]
        ends = [self._tokenizer.sep_token_id if own is None else own, *more]
        return list(dict.fromkeys(end for end in ends if end is not None))


def create(name: str, **settings: object) -> TransformersVQA:
    """The VQA's factory: `name` is a folder or an ID; settings as in `AskingSettings`."""
    if not name:
        raise UsageError(f"transformers needs a model: transformers/ID-OR-PATH, such as {EXAMPLE}")
    return _shared(name, AskingSettings.of(PROVIDER, settings))


@lru_cache
def _shared(name: str, settings: AskingSettings) -> TransformersVQA:
    """One per process, so that weights are loaded once."""
    return TransformersVQA(find_pretrained(name, settings.revision or None), settings)


def _chat(prompt: str, image: Image.Image | None) -> list[dict[str, Any]]:
    """One user's turn: the picture, then the text."""
    shown: dict[str, Any] = {"type": "image"} if image is None else {"type": "image", "image": image}
    return [{"role": "user", "content": [shown, {"type": "text", "text": prompt}]}]
