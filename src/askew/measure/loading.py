"""Load pretrained instruments with transformers: configuration, processor and weights.

askew reads only safetensors files and does not run remote code.
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
    """Settings of an instrument that runs a network.

    Attributes
    ----------
    device
        cuda, cuda:1, mps or cpu. `auto` is the fastest device on this machine.
    dtype
        float32, bfloat16 or float16. `auto` is float32 on a CPU and a 16-bit format on a GPU.
    revision
        Branch, tag or commit of the network's repository. Empty for the default branch.
    batch_size
        Number of images in a batch.
    """

    device: str = AUTO
    dtype: str = AUTO
    revision: str = ""
    batch_size: int = 8

    @classmethod
    def of(cls, provider: str, given: Mapping[str, object]) -> Self:
        """Create settings from the user's arguments.

        Raises
        ------
        UsageError
            If a setting does not exist, has the wrong type or is out of range.
        """
        kinds = get_type_hints(cls)
        check_settings(provider, kinds, given)
        fields: dict[str, Any] = {}
        for name, value in given.items():
            fields[name] = str(value) if kinds[name] is str else value
        settings = cls(**fields)
        if settings.batch_size < 1:
            raise UsageError(
                f"{provider}: batch_size is {settings.batch_size}; it must be at least 1"
            )
        return settings

    def place(self) -> tuple[torch.device, torch.dtype]:
        """Return the device and the number format for the network."""
        device = choose_device(self.device)
        return device, choose_dtype(self.dtype, device)


@lru_cache
def shared(kind: Callable[[Pretrained, S], T], name: str, settings: S, example: str) -> T:
    """Return an instrument, created once per process so that its weights are loaded only once.

    Parameters
    ----------
    kind
        Class of the instrument.
    name
        Folder or ID of the network.
    settings
        The user's settings.
    example
        Complete example of an instrument name from this provider, for the error message.

    Raises
    ------
    UsageError
        If the name is empty.
    """
    if not name:
        provider = example.partition("/")[0]
        raise UsageError(
            f"{provider} needs a model: write {provider}/ID-OR-PATH, such as {example}"
        )
    return kind(find_pretrained(name, settings.revision or None), settings)


def load_config(network: Pretrained) -> Any:
    """Load the configuration of a network.

    Raises
    ------
    UsageError
        If the network has no vocabulary. Without this check, transformers would continue with an
        empty vocabulary.
    """
    if not any((network.folder / name).exists() for name in VOCABULARIES):
        raise UsageError(
            f"{network.name!r} has no tokenizer; save the tokenizer in the folder of the network "
            f"(tokenizer.save_pretrained)"
        )
    return load_part(AutoConfig, network)


def load_part(auto_class: Any, network: Pretrained) -> Any:
    """Load a network's configuration or tokenizer with a class such as AutoConfig."""
    with explain_errors(network.name, LIBRARY):
        return auto_class.from_pretrained(network.folder, trust_remote_code=False)


def load_weights(
    model_class: Any, network: Pretrained, device: torch.device, dtype: torch.dtype
) -> Any:
    """Load a network onto its device, and download the weights if they are not on this machine.

    Raises
    ------
    UsageError
        If weights are missing from the files. Without this check, transformers would use random
        numbers for missing weights.
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
                f"{network.name!r} was trained for another task: {len(lacking)} weights of a "
                f"{type(model).__name__} are missing, such as {lacking[0]}; choose a model that was "
                f"trained as a {type(model).__name__}"
            )
        return model.eval().to(device)


def load_processor(network: Pretrained, config: Any) -> Any:
    """Load the processor that turns images and texts into a network's inputs.

    Some model families process images and videos, but need torchvision only for videos. If
    torchvision is not installed, the processor is built without the video part.

    Raises
    ------
    UsageError
        If the network does not process images together with texts.
    """
    family = PROCESSOR_MAPPING.get(type(config), None)
    if family is None:
        raise UsageError(
            f"{network.name!r} ({config.model_type}) does not process images together with texts"
        )
    if VIDEO not in family.get_attributes() or is_torchvision_available():
        return load_part(AutoProcessor, network)

    class PicturesOnly(family):  # type: ignore[misc,valid-type]
        """Processor without videos."""

        def check_argument_for_proper_class(self, argument_name: str, argument: Any) -> Any:
            """Accept a processor without the video part."""
            if argument_name == VIDEO and argument is None:
                return type(None)
            return super().check_argument_for_proper_class(argument_name, argument)

    parts = {"tokenizer": AutoTokenizer, "image_processor": AutoImageProcessor}
    with explain_errors(network.name, LIBRARY):
        known, _ = family.get_processor_dict(network.folder)
        loaded = []
        for name in family.get_attributes():
            loaded.append(load_part(parts[name], network) if name in parts else None)
        processor = PicturesOnly.from_args_and_dict(loaded, known)
    processor.chat_template = processor.chat_template or processor.tokenizer.chat_template
    return processor


def picture_reader(processor: Any) -> str:
    """Return the name of the class that resizes images.

    Without torchvision, transformers uses another class, which rounds differently.
    """
    return type(getattr(processor, "image_processor", processor)).__name__
