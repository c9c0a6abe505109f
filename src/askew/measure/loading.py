"""Loads pretrained instruments by transformers: configuration, processor, weights. Safetensors
only, no remote code.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Self, TypeVar, get_type_hints

import torch
from transformers import AutoConfig, AutoImageProcessor, AutoProcessor, AutoTokenizer, __version__
from transformers.models.auto.processing_auto import PROCESSOR_MAPPING
from transformers.utils import is_torchvision_available, logging

from askew.errors import UsageError
from askew.models.base import check_settings
from askew.models.device import AUTO, choose_device, choose_dtype
from askew.models.hub import Pretrained, explain_errors, find_pretrained

LIBRARY = f"transformers {__version__}"
VIDEO = "video_processor"
WEIGHTS = re.compile(r"model(?:-\d+-of-\d+)?\.safetensors")
VOCABULARIES = (
    "tokenizer.json",
    "vocab.json",
    "vocab.txt",
    "spiece.model",
    "tokenizer.model",
    "tekken.json",
)

T = TypeVar("T")
S = TypeVar("S", bound="NetworkSettings")

logging.set_verbosity_error()
logging.disable_progress_bar()


@dataclass(frozen=True, slots=True)
class NetworkSettings:
    """Settings of every instrument that loads a network.

    device      cuda, cuda:1, mps, cpu; `auto` takes the fastest of this machine
    dtype       float32, bfloat16, float16; `auto` is float32 on a CPU and a 16-bit format on a GPU
    revision    branch, tag or commit of a repository; empty for its default branch
    batch_size  pictures at once
    """

    device: str = AUTO
    dtype: str = AUTO
    revision: str = ""
    batch_size: int = 8

    @classmethod
    def of(cls, provider: str, given: Mapping[str, object]) -> Self:
        """The settings that a user gave. Raises UsageError for one that does not exist or is of the
        wrong kind.
        """
        kinds = get_type_hints(cls)
        check_settings(provider, kinds, given)
        fields: dict[str, Any] = {
            name: str(value) if kinds[name] is str else value for name, value in given.items()
        }
        settings = cls(**fields)
        if settings.batch_size < 1:
            raise UsageError(
                f"{provider}: batch_size is {settings.batch_size}; it must be at least 1"
            )
        return settings

    def place(self) -> tuple[torch.device, torch.dtype]:
        """Where the network works, and in which number format."""
        device = choose_device(self.device)
        return device, choose_dtype(self.dtype, device)


@lru_cache
def shared(kind: Callable[[Pretrained, S], T], name: str, settings: S, example: str) -> T:
    """One instrument per process, so that weights are loaded once and no picture is embedded twice;
    an `example` says how its `name` is written.
    """
    if not name:
        provider = example.partition("/")[0]
        raise UsageError(f"{provider} needs a model: {provider}/ID-OR-PATH, such as {example}")
    return kind(find_pretrained(name, settings.revision or None), settings)


def load_config(network: Pretrained) -> Any:
    """The configuration, by which the class of a network is known. Raises UsageError for a network
    without a vocabulary: transformers would go on with an empty one.
    """
    if not any((network.folder / name).exists() for name in VOCABULARIES):
        raise UsageError(
            f"{network.name!r} has no tokenizer: save it with the network (tokenizer.save_pretrained)"
        )
    return load_part(AutoConfig, network)


def load_part(auto_class: Any, network: Pretrained) -> Any:
    """What `auto_class` (AutoConfig, AutoTokenizer, AutoImageProcessor, …) makes of a network's
    small files.
    """
    with explain_errors(network.name, LIBRARY):
        return auto_class.from_pretrained(network.folder, trust_remote_code=False)


def load_weights(
    model_class: Any, network: Pretrained, device: torch.device, dtype: torch.dtype
) -> Any:
    """The network itself, on its device, ready to be asked. Downloads the weights that are not here
    yet. Raises UsageError if the files lack some of its weights: transformers would fill them with
    random numbers.
    """
    folder = network.fetch(filter(WEIGHTS.fullmatch, network.files))
    with explain_errors(network.name, LIBRARY):
        model, info = model_class.from_pretrained(
            folder,
            trust_remote_code=False,
            use_safetensors=True,
            dtype=dtype,
            output_loading_info=True,
        )
        lacking = sorted(info["missing_keys"])
        if lacking:
            raise UsageError(
                f"{network.name!r} was trained for something else: it has no weights for {len(lacking)} parts of a "
                f"{type(model).__name__}, such as {lacking[0]}; choose a model of that kind"
            )
        return model.eval().to(device)


def load_processor(network: Pretrained, config: Any) -> Any:
    """What turns pictures and texts into a network's inputs.

    Families that also read videos need torchvision for those alone. Where it is not installed,
    their processor is put together without that part. Raises UsageError for a network that reads no
    pictures with texts.
    """
    family = PROCESSOR_MAPPING.get(type(config), None)
    if family is None:
        raise UsageError(
            f"{network.name!r} ({config.model_type}) does not read pictures together with texts"
        )
    if VIDEO not in family.get_attributes() or is_torchvision_available():
        return load_part(AutoProcessor, network)

    class PicturesOnly(family):  # type: ignore[misc,valid-type]
        def check_argument_for_proper_class(self, argument_name: str, argument: Any) -> Any:
            if argument_name == VIDEO and argument is None:
                return type(None)
            return super().check_argument_for_proper_class(argument_name, argument)

    parts = {"tokenizer": AutoTokenizer, "image_processor": AutoImageProcessor}
    with explain_errors(network.name, LIBRARY):
        known, _ = family.get_processor_dict(network.folder)
        loaded = [
            load_part(parts[name], network) if name in parts else None
            for name in family.get_attributes()
        ]
        processor = PicturesOnly.from_args_and_dict(loaded, known)
    processor.chat_template = processor.chat_template or processor.tokenizer.chat_template
    return processor


def picture_reader(processor: Any) -> str:
    """The class that resizes pictures; the ones with and without torchvision round differently."""
    return type(getattr(processor, "image_processor", processor)).__name__
