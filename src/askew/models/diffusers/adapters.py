"""LoRA weights and learned words (textual inversion), which change a pipeline."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from logging import CRITICAL
from pathlib import Path
from typing import Any, Self

from diffusers.utils import logging

from askew.errors import MissingPackage, UsageError
from askew.models.diffusers.repository import LIBRARY, quiet
from askew.models.diffusers.weights import weights_header
from askew.models.hub import NO_SAFETENSORS, WEIGHTS, digest_of_file, explain_errors
from askew.models.pipeline_constants import LEARNED_WORDS, LORA

LORA_MARKS = ("lora_down", "lora_up", "lora_a.", "lora_b.", "lora.down", "lora.up", "lora_linear")
"""Lowercase strings that mark a weight as LoRA, in the file layouts that diffusers reads."""

SECOND_ENCODER = {
    "clip_l": ("text_encoder", "tokenizer"),
    "clip_g": ("text_encoder_2", "tokenizer_2"),
}
"""Text encoder and tokenizer for each key of a learned-word file that has two embeddings."""

UNNAMED = ("emb_params",)
"""Keys in a learned-word file that do not state the learned word."""


@dataclass(frozen=True, slots=True)
class LoraFile:
    """LoRA file, whose weights are added to a pipeline's networks.

    Attributes
    ----------
    path
        The safetensors file, in the diffusers or kohya layout.
    weight
        Factor by which the added weights are multiplied.
    identity
        Text that changes when the file or the factor changes.
    """

    path: Path
    weight: float
    identity: str


@dataclass(frozen=True, slots=True)
class WordFile:
    """File with the embeddings of a learned word.

    Attributes
    ----------
    path
        The safetensors file.
    word
        The word as it appears in prompts.
    identity
        Text that changes when the file or the word changes.
    """

    path: Path
    word: str
    identity: str


@dataclass(frozen=True, slots=True)
class Adapters:
    """LoRA and learned-word files that change a pipeline after its weights are loaded.

    Attributes
    ----------
    loras
        LoRA files. The weights of all files are added to the pipeline.
    words
        Files of learned words.
    """

    loras: tuple[LoraFile, ...]
    words: tuple[WordFile, ...]

    @classmethod
    def of(cls, lora: str, words: str, family: type, name: str) -> Self:
        """Find the adapter files that are named in the user's settings.

        Parameters
        ----------
        lora
            LoRA files, as "PATH:WEIGHT,PATH:WEIGHT"; empty for none. The default weight is 1.
        words
            Files that contain learned words, as "PATH:WORD,PATH:WORD"; empty for none. Without
            WORD, askew uses the word that the file defines or, if there is none, the file's name.
        family
            Class of the pipeline.
        name
            Name of the model, for messages.

        Raises
        ------
        UsageError
            If a file is missing or of the wrong kind, or if the pipeline cannot use it.
        """
        _check_family(family, name, {LORA: lora, LEARNED_WORDS: words})
        loras = tuple(_lora_file(part) for part in _parts(lora, LORA))
        learned = tuple(_word_file(part) for part in _parts(words, LEARNED_WORDS))
        _check_distinct([str(file.path.resolve()) for file in loras], LORA, "file")
        _check_distinct([file.word for file in learned], LEARNED_WORDS, "word")
        return cls(loras=loras, words=learned)

    @property
    def settings(self) -> Mapping[str, str]:
        """Settings that identify each file by its name and content, regardless of its folder."""
        identities = {
            LORA: [file.identity for file in self.loras],
            LEARNED_WORDS: [file.identity for file in self.words],
        }
        return {setting: ",".join(names) for setting, names in identities.items() if names}

    def apply(self, pipeline: Any, name: str) -> None:
        """Add the learned words and the LoRA weights to a loaded pipeline.

        Raises
        ------
        UsageError
            If a file does not fit the pipeline.
        """
        with quiet():
            logging.set_verbosity(CRITICAL)  # the errors below say what is wrong
            for word in self.words:
                _learn(pipeline, word, name)
            if self.loras:
                _add(pipeline, self.loras, name)


def _check_family(family: type, name: str, given: Mapping[str, str]) -> None:
    """Raise UsageError if the pipeline's class does not support the requested adapters."""
    methods = {LORA: "load_lora_weights", LEARNED_WORDS: "load_textual_inversion"}
    for setting, method in methods.items():
        if given[setting] and not hasattr(family, method):
            raise UsageError(
                f"{name}: a {family.__name__} does not support -M {setting}; omit this setting, or "
                "choose another model"
            )
    if given[LORA]:
        MissingPackage.unless_installed("peft", LORA, "adding LoRA weights to a model")


def _parts(text: str, setting: str) -> Iterator[str]:
    """Yield the comma-separated entries of a setting."""
    for part in text.split(",") if text else ():
        if not part.strip():
            raise UsageError(
                f"-M {setting}={text} has an empty entry; separate files with single commas"
            )
        yield part.strip()


def _check_distinct(names: list[str], setting: str, kind: str) -> None:
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise UsageError(
            f"-M {setting} lists the {kind} {twice[0]!r} twice; list every {kind} only once"
        )


def _lora_file(text: str) -> LoraFile:
    """Return the LoRA file for an entry of the form "PATH:WEIGHT" or "PATH"."""
    path = _existing_file(text)
    number = "1"
    if path is None:
        address, _, number = text.rpartition(":")
        path = _existing_file(address)
    if path is None:
        raise _absent(text, LORA, "0.8")
    try:
        weight = float(number)
    except ValueError:
        weight = math.nan
    if not math.isfinite(weight) or weight == 0:
        raise UsageError(
            f"-M {LORA}={text}: the weight after the colon is {number!r}; it must be a number "
            "other than 0, as in 0.8"
        )
    keys = [key.lower() for key in weights_header(path)]
    if not any(mark in key for key in keys for mark in LORA_MARKS):
        raise UsageError(
            f"-M {LORA}: {path} contains no LoRA weights in the layout of diffusers or kohya; "
            "choose another file"
        )
    return LoraFile(path, weight, f"{path.stem}@{digest_of_file(path)}:{weight:g}")


def _word_file(text: str) -> WordFile:
    """Return the learned-word file for an entry of the form "PATH:WORD" or "PATH"."""
    path = _existing_file(text)
    word = ""
    if path is None:
        address, _, word = text.rpartition(":")
        path = _existing_file(address)
    if path is None:
        raise _absent(text, LEARNED_WORDS, "<nurse-style>")
    word = word or _word_of(path, list(weights_header(path)))
    return WordFile(path, word, f"{word}@{digest_of_file(path)}")


def _word_of(path: Path, keys: list[str]) -> str:
    """Return the word that a learned-word file defines, or the file's name if it defines none."""
    is_named = len(keys) == 1 and keys[0] not in (*SECOND_ENCODER, *UNNAMED)
    return keys[0] if is_named else path.stem


def _existing_file(address: str) -> Path | None:
    """Return the file at a path, or the only safetensors file if the path is a folder.

    None if there is no such file.
    """
    path = Path(address).expanduser()
    if address and path.is_dir():
        files = sorted(path.glob(f"*{WEIGHTS}"))
        if len(files) != 1:
            raise UsageError(
                f"the folder {address!r} contains {len(files)} {WEIGHTS} files; choose one of them"
            )
        path = files[0]
    if not address or not path.is_file():
        return None
    if path.suffix != WEIGHTS:
        raise UsageError(f"{address!r} {NO_SAFETENSORS}")
    return path


def _absent(text: str, setting: str, example: str) -> UsageError:
    return UsageError(
        f"-M {setting}={text} is not a file on this machine; give the path of a {WEIGHTS} file, as "
        f"in -M {setting}=PATH:{example}. Paths must not contain commas. Download a repository "
        "from the Hugging Face Hub with `hf download ID`"
    )


def _add(pipeline: Any, files: tuple[LoraFile, ...], name: str) -> None:
    """Add LoRA weights to a pipeline."""
    adapters = {f"lora{number}": file for number, file in enumerate(files)}
    for adapter, file in adapters.items():
        with explain_errors(str(file.path), LIBRARY, "LoRA"):
            try:
                pipeline.load_lora_weights(
                    str(file.path.parent),
                    weight_name=file.path.name,
                    adapter_name=adapter,
                    local_files_only=True,
                    use_safetensors=True,
                )
            except (RuntimeError, ValueError, KeyError) as error:
                raise _unfit(LORA, file.path, name) from error
        if not any(adapter in names for names in pipeline.get_list_adapters().values()):
            raise _unfit(LORA, file.path, name)
    pipeline.set_adapters(list(adapters), [file.weight for file in files])


def _unfit(setting: str, path: Path, name: str) -> UsageError:
    return UsageError(
        f"-M {setting}: {path} does not fit {name}; use the model that the file was trained for, "
        "or omit the file"
    )


def _learn(pipeline: Any, file: WordFile, name: str) -> None:
    """Add a learned word to the text encoders of a pipeline."""
    from safetensors.torch import load_file

    with explain_errors(str(file.path), LIBRARY, "learned word"):
        tensors = load_file(file.path)
    two = [key for key in SECOND_ENCODER if key in tensors]
    parts = {key: SECOND_ENCODER[key] for key in two}
    try:
        for key, (encoder, tokenizer) in parts.items():
            pipeline.load_textual_inversion(
                tensors[key],
                token=file.word,
                text_encoder=getattr(pipeline, encoder),
                tokenizer=getattr(pipeline, tokenizer),
            )
        if not parts:
            pipeline.load_textual_inversion(tensors, token=file.word)
    except (ValueError, AttributeError, RuntimeError, KeyError) as error:
        if "already in" in str(error):
            raise UsageError(
                f"-M {LEARNED_WORDS}: {name} already knows the word {file.word!r}; choose another "
                f"word, as in -M {LEARNED_WORDS}={file.path}:<{file.path.stem}>"
            ) from error
        raise _unfit(LEARNED_WORDS, file.path, name) from error
