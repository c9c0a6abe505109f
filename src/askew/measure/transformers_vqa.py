"""Visual question answering by image-text-to-text models: `transformers/ID-OR-PATH`."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
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
from askew.measure.vision_towers import (
    PIXELS,
    ImageFeatures,
    VisionTower,
    vision_tower,
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
BARE_QUESTIONS = "BlipForQuestionAnswering"
"""Architecture that needs its own model class and takes the question without a template."""

NOT_FINITE = Missing(
    "error",
    "the model's likelihoods are not finite numbers; try --vqa-arg dtype=float32",
)
NOTHING_WRITTEN = Missing("unparseable", "the model wrote nothing")

QuestionRow = tuple[Image.Image, Question]
"""An image and a question about it."""

GREEDY = {
    "do_sample": False,
    "num_beams": 1,
    "repetition_penalty": 1.0,
    "no_repeat_ngram_size": 0,
    "min_length": 0,
    "use_cache": True,
}
"""Settings for greedy generation.

These settings replace the model's own settings, which may use random sampling.
"""


@dataclass(frozen=True, slots=True)
class AskingSettings(NetworkSettings):
    """Settings for a network that answers questions.

    Attributes
    ----------
    device, dtype, revision, batch_size
        As in `NetworkSettings`.
    max_tokens
        Maximum length of an open answer, in tokens.
    prompt
        Prompt that contains {question}. If empty, the model receives the question itself, or the
        question in a simple template if the model has no chat template.
    """

    max_tokens: int = 64
    prompt: str = ""


class TransformersVQA:
    """Instrument that uses a model that generates text from an image and a text prompt.

    Weights are loaded at the first question. The vision tower runs once per image for all
    questions, if the model allows it. Apart from rounding errors, answers do not depend on the
    batch. In 16-bit formats, rounding can change a close decision.

    The answer to a question with options is the option with the highest joint probability of all
    its tokens. Dividing by the number of tokens would favor long options, because the second half
    of a word is nearly certain after the first half. The answer to an open question is the greedily
    generated text, up to `max_tokens` tokens. If this text is only white space, the answer is
    Missing("unparseable"). If the model's outputs are not finite, for example after an overflow in
    a 16-bit format, the answer is Missing("error").

    Parameters
    ----------
    network
        The pretrained model.
    settings
        The user's settings.

    Raises
    ------
    UsageError
        If a setting is out of range, or if the model does not answer questions about images.
    """

    def __init__(self, network: Pretrained, settings: AskingSettings) -> None:
        _check_settings(settings)
        config = load_config(network)
        self._asks_bare = BARE_QUESTIONS in (config.architectures or ())
        if type(config) not in MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING:
            raise UsageError(
                f"{network.name!r} ({config.model_type}) does not answer questions about images; "
                f"choose a model that does, with --vqa, such as --vqa {EXAMPLE}"
            )
        self.name = f"{PROVIDER}/{network.name}"
        self.settings = settings
        self._network = network
        self.device, self.dtype = settings.place()
        self._processor = load_processor(network, config)
        self._tokenizer = self._processor.tokenizer
        if self._tokenizer.pad_token is None:
            self._tokenizer.pad_token = self._tokenizer.eos_token
        self.fingerprint = f"transformers-vqa/{VERSION} {network.identity} {self._facts()}"
        self._features: dict[int, ImageFeatures] = {}

    def _facts(self) -> str:
        """Return the settings that can change an answer."""
        facts = [f"max_tokens={self.settings.max_tokens}"]
        if self.settings.prompt:
            facts.append(f"prompt={self.settings.prompt!r}")
        facts.append(f"dtype={dtype_name(self.dtype)}")
        facts.append(f"pictures={picture_reader(self._processor)}")
        return " ".join(facts)

    def answer(
        self, pictures: Sequence[Picture], questions: Sequence[Question]
    ) -> list[list[str | Missing]]:
        """Return one list of answers per image, with one answer per question.

        Open questions share batches. Questions with options also share batches, even if their
        options differ.
        """
        answers: list[list[str | Missing]] = []
        for part in slices(pictures, self.settings.batch_size):
            images = [opened(picture.path) for picture in part]
            try:
                answers += self._answers(images, questions)
            finally:
                self._features.clear()
        return answers

    def _answers(
        self, images: Sequence[Image.Image], questions: Sequence[Question]
    ) -> list[list[str | Missing]]:
        distinct = list(dict.fromkeys(questions))
        open_questions = [question for question in distinct if not question.options]
        closed_questions = [question for question in distinct if question.options]
        by_question = {
            **self._ask(self._written, images, open_questions),
            **self._ask(self._chosen, images, closed_questions),
        }
        answers = []
        for i in range(len(images)):
            answers.append([by_question[question][i] for question in questions])
        return answers

    def _ask(
        self,
        answer_rows: Callable[[Sequence[QuestionRow]], list[str | Missing]],
        images: Sequence[Image.Image],
        questions: Sequence[Question],
    ) -> dict[Question, Sequence[str | Missing]]:
        """Return the answers for all images, keyed by question."""
        rows = [(image, question) for question in questions for image in images]
        answers = answer_rows(rows) if rows else []
        return dict(zip(questions, slices(answers, len(images)), strict=True))

    def _chosen(self, rows: Sequence[QuestionRow]) -> list[str | Missing]:
        """Return the most likely option for each row."""
        questions = [question for _, question in rows]
        paths = {question: self._paths(question) for question in dict.fromkeys(questions)}
        chosen = likeliest_options(
            self._generator(rows), [paths[question] for question in questions], self._ends
        )
        return [
            NOT_FINITE if option is None else question.options[option]
            for question, option in zip(questions, chosen, strict=True)
        ]

    def _written(self, rows: Sequence[QuestionRow]) -> list[str | Missing]:
        """Return the text that the model generates for each row."""
        limit = self.settings.max_tokens
        written = written_tokens(self._generator(rows), len(rows), self._ends, limit)
        return [self._text(tokens) for tokens in written]

    def _text(self, tokens: Sequence[int] | None) -> str | Missing:
        if tokens is None:
            return NOT_FINITE
        text = self._tokenizer.decode(tokens, skip_special_tokens=True)
        return " ".join(text.split()) or NOTHING_WRITTEN

    def _generator(self, rows: Sequence[QuestionRow]) -> Generate:
        prompts = [self._prompt(question) for _, question in rows]
        length_by_prompt = {prompt: len(self._tokens(prompt)) for prompt in dict.fromkeys(prompts)}
        lengths = np.array([length_by_prompt[prompt] for prompt in prompts])

        def generate(
            wanted: Rows, reader: Callable[[Rows], AnyReader]
        ) -> Iterator[tuple[Rows, AnyReader]]:
            for part in self._batches(wanted, lengths[wanted]):
                reading = reader(part)
                images = [rows[row][0] for row in part]
                self._generate(images, [prompts[row] for row in part], reading)
                yield part, reading

        return generate

    def _batches(self, rows: Rows, lengths: Rows) -> Iterator[Rows]:
        """Yield batches of rows whose prompts have similar lengths, to avoid padding.

        Networks without chat templates may treat padding as words, so their batches contain only
        prompts of equal length.
        """
        by_length = [np.flatnonzero(lengths == length) for length in np.unique(lengths)]
        groups = [np.concatenate(by_length)] if self._processor.chat_template else by_length
        size = self.settings.batch_size
        for group in groups:
            for start in range(0, len(group), size):
                yield rows[group[start : start + size]]

    @torch.inference_mode()
    def _generate(
        self, images: Sequence[Image.Image], prompts: Sequence[str], reader: OptionReader
    ) -> None:
        with explain_errors(self._network.name), self._call_arguments(images, prompts) as arguments:
            self._model.generate(
                **arguments, **GREEDY, max_new_tokens=reader.steps, logits_processor=[reader]
            )

    def _call_arguments(
        self, images: Sequence[Image.Image], prompts: Sequence[str]
    ) -> AbstractContextManager[Mapping[str, Any]]:
        """Return a context manager that yields the arguments with which to call the model.

        Images are processed in parts. The vision tower runs once for each image in a part, if the
        model allows it. Images are identified by their memory address, because all images in a part
        remain in memory until the last answer about this part.
        """
        inputs = self._inputs(images, prompts)
        if self._tower is None:
            return nullcontext(inputs.to(self.device, self.dtype))
        new = {id(image): i for i, image in enumerate(images) if id(image) not in self._features}
        if new:
            of_new = inputs
            if len(new) < len(images):
                rows = new.values()
                of_new = self._inputs([images[i] for i in rows], [prompts[i] for i in rows])
            encoded = self._tower.encode(of_new.to(self.device, self.dtype))
            self._features.update(zip(new, encoded, strict=True))
        inputs.pop(PIXELS)
        features = [self._features[id(image)] for image in images]
        return self._tower.call_arguments(inputs.to(self.device, self.dtype), features)

    def _inputs(self, images: Sequence[Image.Image], prompts: Sequence[str]) -> Any:
        """Return the model's inputs, padded on the left because decoders continue on the right."""
        padding = {"padding": True, "padding_side": "left", "return_tensors": "pt"}
        if not self._processor.chat_template:
            return self._processor(images=list(images), text=list(prompts), **padding)
        chats = [_chat(prompt, image) for prompt, image in zip(prompts, images, strict=True)]
        return self._processor.apply_chat_template(
            chats,
            add_generation_prompt=True,
            tokenize=True,
            return_dict=True,
            processor_kwargs=padding,
            **self._template_options,
        )

    def _prompt(self, question: Question) -> str:
        """Return the prompt with the question, and with options if the model accepts options."""
        text = question.text
        if question.options and not self._asks_bare:
            text += f" Answer with exactly one of these: {', '.join(question.options)}."
        bare = self._asks_bare or self._processor.chat_template
        template = self.settings.prompt or (QUESTION if bare else PLAIN)
        return template.replace(QUESTION, text)

    @cached_property
    def _template_options(self) -> dict[str, bool]:
        """Return the template option that stops a model from reasoning before it answers."""
        if "enable_thinking" in str(self._processor.chat_template):
            return {"enable_thinking": False}
        return {}

    def _paths(self, question: Question) -> list[list[int]]:
        """Return the tokens of each option when it follows the prompt as an answer.

        Raises UsageError if two options have the same tokens.
        """
        text = self._prompt(question)
        if self._processor.chat_template:
            chat = _chat(text, None)
            text = self._processor.apply_chat_template(
                chat, add_generation_prompt=True, **self._template_options
            )
        paths = [self._path(text, option) for option in question.options]
        distinct = {tuple(path) for path in paths}
        if not all(paths) or len(distinct) < len(paths):
            raise UsageError(
                f"{self.name} cannot distinguish these options, because its tokens for two of "
                f"them are equal: {', '.join(question.options)}; rename one or choose another --vqa"
            )
        return paths

    def _path(self, text: str, option: str) -> list[int]:
        """Return the tokens that a text gains when an option is appended."""
        between = "" if not text or text[-1].isspace() else " "
        before = self._tokens(text)
        with_option = self._tokens(text + between + option)
        if with_option[: len(before)] == before:
            return with_option[len(before) :]
        return self._tokens(between + option)

    def _tokens(self, text: str) -> list[int]:
        return list(self._tokenizer(text, add_special_tokens=False).input_ids)

    @cached_property
    def _model(self) -> Any:
        model_class = (
            AutoModelForVisualQuestionAnswering if self._asks_bare else AutoModelForImageTextToText
        )
        return load_weights(model_class, self._network, self.device, self.dtype)

    @cached_property
    def _tower(self) -> VisionTower | None:
        """Vision tower of the model; None if it must run for each question."""
        return vision_tower(self._model)

    @cached_property
    def _ends(self) -> list[int]:
        """Return the tokens that end an answer."""
        tokenizer = self._tokenizer
        end = tokenizer.sep_token_id if tokenizer.eos_token_id is None else tokenizer.eos_token_id
        configured = self._model.generation_config.eos_token_id
        ends = [end, *(configured if isinstance(configured, list) else [configured])]
        return list(dict.fromkeys(token for token in ends if token is not None))


def _check_settings(settings: AskingSettings) -> None:
    if settings.max_tokens < 1:
        raise UsageError(
            f"{PROVIDER}: max_tokens is {settings.max_tokens}; it must be at least 1, "
            f"as in --vqa-arg max_tokens=64"
        )
    if settings.prompt and QUESTION not in settings.prompt:
        raise UsageError(
            f"{PROVIDER}: the prompt {settings.prompt!r} does not contain {QUESTION}; "
            f"mark the place of the question, as in --vqa-arg prompt='{PLAIN}'"
        )


def create(name: str, **settings: object) -> TransformersVQA:
    """Return the instrument `transformers/NAME`, which is created once per process.

    Parameters
    ----------
    name
        Folder or ID of the model.
    **settings
        As in `AskingSettings`.
    """
    asking = AskingSettings.of(PROVIDER, settings)
    return shared(TransformersVQA, name, asking, EXAMPLE)  # type: ignore[no-any-return]


def _chat(prompt: str, image: Image.Image | None) -> list[dict[str, Any]]:
    """Return a user chat message that contains the image and then the text."""
    content: dict[str, Any] = {"type": "image"}
    if image is not None:
        content["image"] = image
    return [{"role": "user", "content": [content, {"type": "text", "text": prompt}]}]
