"""`transformers/ID-OR-PATH`: visual question answering by any image-text-to-text model of the
transformers library.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from PIL import Image
from transformers import (
    MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING,
    AutoModelForImageTextToText,
    AutoModelForVisualQuestionAnswering,
)

from askew.errors import UsageError
from askew.measure.decoding import (
    AnyReader,
    Generate,
    OptionReader,
    Rows,
    likeliest_options,
    written_tokens,
)
from askew.measure.loading import (
    NetworkSettings,
    load_config,
    load_processor,
    load_weights,
    picture_reader,
    shared,
)
from askew.models.device import dtype_name
from askew.models.hub import Pretrained, explain_errors
from askew.store.imagefile import opened
from askew.types import Missing, Picture, Question, slices

VERSION = 3
PROVIDER = "transformers"
EXAMPLE = "transformers/Qwen/Qwen2.5-VL-3B-Instruct"
QUESTION = "{question}"
PLAIN = "Question: {question} Answer:"
ANSWERS_QUESTIONS = "BlipForQuestionAnswering"
"""The one architecture that is loaded by another class and takes the bare question."""

UNREAD = Missing("error", "the model's likelihoods are not finite numbers; try dtype=float32")

QuestionRow = tuple[Image.Image, Question]
"""What is asked at once about one picture."""

GREEDY = {"do_sample": False, "num_beams": 1, "repetition_penalty": 1.0, "no_repeat_ngram_size": 0}
GREEDY |= {"min_length": 0, "use_cache": True}
"""In place of a model's own generation settings, which may sample or punish repetition."""


@dataclass(frozen=True, slots=True)
class AskingSettings(NetworkSettings):
    """Besides the settings of every network: the length limit of open answers, and what is asked,
    with {question} in it; empty for the question as it is, or in a plain form where the model has
    no chat template.
    """

    max_tokens: int = 64
    prompt: str = ""


class TransformersVQA:
    """Asks a model that reads a picture with a text and writes a text. Weights are loaded at the
    first question.

    A question with options gets the likeliest one, by the probability of all its tokens: dividing
    by their number would favour long options, since the second half of a word is nearly certain
    once the first is said. An open question gets what the model writes, greedily, up to
    `max_tokens`; nothing but white space is Missing("unparseable"). Numbers that are not finite, as
    when a 16-bit format overflows, are Missing("error"). Answers do not depend on the batch but for
    rounding, which can turn a close call in 16-bit formats.
    """

    def __init__(self, network: Pretrained, settings: AskingSettings) -> None:
        if settings.max_tokens < 1:
            raise UsageError(
                f"{PROVIDER}: max_tokens is {settings.max_tokens}; it must be at least 1"
            )
        if settings.prompt and QUESTION not in settings.prompt:
            fault = "has no place for the question"
            raise UsageError(
                f"{PROVIDER}: the prompt {settings.prompt!r} {fault}: write {QUESTION}"
            )
        config = load_config(network)
        self._asks_bare = ANSWERS_QUESTIONS in (config.architectures or ())
        if type(config) not in MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING:
            fault = (
                f"{network.name!r} ({config.model_type}) does not answer questions about pictures"
            )
            raise UsageError(f"{fault}; name a model that does, such as {EXAMPLE}")
        self.name = f"{PROVIDER}/{network.name}"
        self.settings = settings
        self._network = network
        self.device, self.dtype = settings.place()
        self._processor = load_processor(network, config)
        self._tokenizer = self._processor.tokenizer
        if self._tokenizer.pad_token is None:
            self._tokenizer.pad_token = self._tokenizer.eos_token
        asked = f"max_tokens={settings.max_tokens}" + (
            f" prompt={settings.prompt!r}" if settings.prompt else ""
        )
        facts = f"{asked} dtype={dtype_name(self.dtype)} pictures={picture_reader(self._processor)}"
        self.fingerprint = f"transformers-vqa/{VERSION} {network.identity} {facts}"

    def answer(
        self, pictures: Sequence[Picture], questions: Sequence[Question]
    ) -> list[list[str | Missing]]:
        """Answers by picture, then by question. Questions of one kind share batches, whatever their
        options are.
        """
        answers: list[list[str | Missing]] = []
        for part in slices(pictures, self.settings.batch_size):
            images = [opened(picture.path) for picture in part]
            found: dict[tuple[int, Question], str | Missing] = {}
            for read, closed in ((self._written, False), (self._chosen, True)):
                asked = [
                    question
                    for question in dict.fromkeys(questions)
                    if bool(question.options) == closed
                ]
                places = [(i, question) for question in asked for i in range(len(images))]
                rows = [(images[i], question) for i, question in places]
                found.update(zip(places, read(rows) if rows else (), strict=True))
            answers += [[found[i, question] for question in questions] for i in range(len(images))]
        return answers

    def _chosen(self, rows: Sequence[QuestionRow]) -> list[str | Missing]:
        """The option that each picture gets."""
        known = {
            question: self._paths(question)
            for question in dict.fromkeys(question for _, question in rows)
        }
        chosen = likeliest_options(
            self._generator(rows), [known[question] for _, question in rows], self._ends
        )
        return [
            UNREAD if i is None else question.options[i]
            for (_, question), i in zip(rows, chosen, strict=True)
        ]

    def _written(self, rows: Sequence[QuestionRow]) -> list[str | Missing]:
        """What the model writes about each picture."""
        said: list[str | Missing] = []
        for tokens in written_tokens(
            self._generator(rows), len(rows), self._ends, self.settings.max_tokens
        ):
            text = (
                ""
                if tokens is None
                else " ".join(self._tokenizer.decode(tokens, skip_special_tokens=True).split())
            )
            said.append(
                UNREAD
                if tokens is None
                else text or Missing("unparseable", "the model wrote nothing")
            )
        return said

    def _generator(self, rows: Sequence[QuestionRow]) -> Generate:
        prompts = [self._asked(question) for _, question in rows]
        known = {prompt: len(self._tokens(prompt)) for prompt in dict.fromkeys(prompts)}
        lengths = np.array([known[prompt] for prompt in prompts])

        def generate(
            wanted: Rows, reader: Callable[[Rows], AnyReader]
        ) -> Iterator[tuple[Rows, AnyReader]]:
            for part in self._batches(wanted, lengths[wanted]):
                reading = reader(part)
                self._generate(
                    [rows[row][0] for row in part], [prompts[row] for row in part], reading
                )
                yield part, reading

        return generate

    def _batches(self, rows: Rows, lengths: Rows) -> Iterator[Rows]:
        """Rows with prompts of similar length in tokens, so that little is padded. Networks of the
        time before chat templates may take padding for words: for them, prompts of equal length.
        """
        by_length = [np.flatnonzero(lengths == length) for length in np.unique(lengths)]
        size = self.settings.batch_size
        for alike in [np.concatenate(by_length)] if self._processor.chat_template else by_length:
            yield from (rows[alike[start : start + size]] for start in range(0, len(alike), size))

    @torch.inference_mode()
    def _generate(
        self, images: Sequence[Image.Image], prompts: Sequence[str], reader: OptionReader
    ) -> None:
        with explain_errors(self._network.name):
            inputs = self._inputs(images, prompts).to(self.device, self.dtype)
            self._model.generate(
                **inputs, **GREEDY, max_new_tokens=reader.steps, logits_processor=[reader]
            )

    def _inputs(self, images: Sequence[Image.Image], prompts: Sequence[str]) -> Any:
        """The processor's tensors. Decoders go on from the last position: padding, if any, stands
        on the left.
        """
        padding = {"padding": True, "padding_side": "left", "return_tensors": "pt"}
        if not self._processor.chat_template:
            return self._processor(images=list(images), text=list(prompts), **padding)
        chats = [_chat(prompt, image) for prompt, image in zip(prompts, images, strict=True)]
        more = {
            "tokenize": True,
            "return_dict": True,
            "processor_kwargs": padding,
            **self._template_options,
        }
        return self._processor.apply_chat_template(chats, add_generation_prompt=True, **more)

    def _asked(self, question: Question) -> str:
        """The question in words, with its options, unless the model was made for bare questions."""
        listed = (
            f" Answer with exactly one of these: {', '.join(question.options)}."
            if question.options
            else ""
        )
        asked = question.text if self._asks_bare else question.text + listed
        plain = QUESTION if self._asks_bare or self._processor.chat_template else PLAIN
        return (self.settings.prompt or plain).replace(QUESTION, asked)

    @cached_property
    def _template_options(self) -> dict[str, bool]:
        """Models that can think aloud before they answer are told not to."""
        return (
            {"enable_thinking": False}
            if "enable_thinking" in str(self._processor.chat_template)
            else {}
        )

    def _paths(self, question: Question) -> list[list[int]]:
        """The tokens of each option as an answer to the question. Raises UsageError if they are not
        distinct.
        """
        text = self._asked(
            question
        )  # and then, where there are chats, all that the model goes on from
        if self._processor.chat_template:
            chat = _chat(text, None)
            text = self._processor.apply_chat_template(
                chat, add_generation_prompt=True, **self._template_options
            )
        between = "" if not text or text[-1].isspace() else " "
        before = self._tokens(text)
        paths = []
        for option in question.options:
            whole = self._tokens(text + between + option)
            paths.append(
                whole[len(before) :]
                if whole[: len(before)] == before
                else self._tokens(between + option)
            )
        if not all(paths) or len({tuple(path) for path in paths}) < len(paths):
            raise UsageError(
                f"{self.name} writes two of these options alike: {', '.join(question.options)}"
            )
        return paths

    def _tokens(self, text: str) -> list[int]:
        return list(self._tokenizer(text, add_special_tokens=False).input_ids)

    @cached_property
    def _model(self) -> Any:
        chosen = (
            AutoModelForVisualQuestionAnswering if self._asks_bare else AutoModelForImageTextToText
        )
        return load_weights(chosen, self._network, self.device, self.dtype)

    @cached_property
    def _ends(self) -> list[int]:
        """Tokens that end an answer."""
        known = self._model.generation_config.eos_token_id
        own = self._tokenizer.eos_token_id
        ends = [
            self._tokenizer.sep_token_id if own is None else own,
            *(known if isinstance(known, list) else [known]),
        ]
        return list(dict.fromkeys(end for end in ends if end is not None))


def create(name: str, **settings: object) -> TransformersVQA:
    """The VQA's factory: `name` is a folder or an ID; settings as in `AskingSettings`."""
    return shared(TransformersVQA, name, AskingSettings.of(PROVIDER, settings), EXAMPLE)  # type: ignore[no-any-return]


def _chat(prompt: str, image: Image.Image | None) -> list[dict[str, Any]]:
    """One user's turn: the picture, then the text."""
    shown: dict[str, Any] = (
        {"type": "image"} if image is None else {"type": "image", "image": image}
    )
    return [{"role": "user", "content": [shown, {"type": "text", "text": prompt}]}]
