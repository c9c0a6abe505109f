"""Networks of real families with few random weights, saved in folders as users have them.

A folder holds safetensors, configuration, tokenizer and image processor.
"""

from __future__ import annotations

import string
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import (
    BertTokenizer,
    BlipConfig,
    BlipForQuestionAnswering,
    BlipImageProcessorPil,
    BlipProcessor,
    CLIPConfig,
    CLIPImageProcessorPil,
    CLIPModel,
    CLIPTokenizer,
    LlavaConfig,
    LlavaForConditionalGeneration,
    LlavaProcessor,
    PreTrainedTokenizerFast,
    Qwen2_5_VLConfig,
    Qwen2_5_VLForConditionalGeneration,
    Qwen2VLConfig,
    Qwen2VLForConditionalGeneration,
    Qwen2VLImageProcessorPil,
    SiglipConfig,
    SiglipImageProcessorPil,
    SiglipModel,
)

from askew.studio import weights

SIDE = 32
TOWER = {
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
}
VISION = {**TOWER, "image_size": SIDE, "patch_size": 8}
LIVELY = 0.4
"""Standard deviation of the weights. With the usual 0.02, so small a network would embed all images
alike.
"""

QWEN_TEMPLATE = (
    "{% for turn in messages %}<|im_start|>{{ turn.role }}\n{% for part in turn.content %}{% if part.type == 'image' %}"
    "<|vision_start|><|image_pad|><|vision_end|>{% else %}{{ part.text }}{% endif %}{% endfor %}<|im_end|>\n"
    "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
LLAVA_TEMPLATE = (
    "{% for turn in messages %}USER: {% for part in turn.content %}{% if part.type == 'image' %}<image>\n"
    "{% else %}{{ part.text }}{% endif %}{% endfor %}{% endfor %}{% if add_generation_prompt %} ASSISTANT:{% endif %}"
)


def clip(folder: Path) -> Path:
    """Save a CLIP model with random weights and the studio's tokenizer."""
    torch.manual_seed(1)
    tokenizer = CLIPTokenizer.from_pretrained(weights("embedder"))
    text = {
        **TOWER,
        "vocab_size": len(tokenizer),
        "max_position_embeddings": 40,
        "bos_token_id": 0,
        "eos_token_id": 1,
    }
    config = CLIPConfig(text_config=text, vision_config=VISION, projection_dim=16)
    return _write(
        folder,
        _lively(CLIPModel(config)),
        tokenizer,
        CLIPImageProcessorPil(size=SIDE, crop_size=SIDE),
    )


def siglip(folder: Path) -> Path:
    """Save a SigLIP model with random weights."""
    torch.manual_seed(2)
    tokenizer = _bytes_tokenizer(eos_token="</s>", pad_token="<pad>", padding_side="right")
    text = {
        **TOWER,
        "vocab_size": len(tokenizer),
        "max_position_embeddings": 64,
        "projection_size": 32,
    }
    model = _lively(SiglipModel(SiglipConfig(text_config=text, vision_config=VISION)))
    return _write(
        folder, model, tokenizer, SiglipImageProcessorPil(size={"height": SIDE, "width": SIDE})
    )


def studio_as_clip(folder: Path) -> Path:
    """Save the studio's trained embedder with an image processor, so that any CLIP loader can use
    it.
    """
    source = weights("embedder")
    return _write(
        folder,
        CLIPModel.from_pretrained(source, dtype=torch.float32),
        CLIPTokenizer.from_pretrained(source),
        CLIPImageProcessorPil(size=128, crop_size=128, image_mean=[0.5] * 3, image_std=[0.5] * 3),
    )


def blip(folder: Path) -> Path:
    """Save a BLIP model for VQA, with an encoder for the question and a decoder for the answer."""
    torch.manual_seed(3)
    folder.mkdir(parents=True, exist_ok=True)
    letters = [
        *string.ascii_lowercase,
        *(f"##{letter}" for letter in string.ascii_lowercase),
        *"()?,.:-",
    ]
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "[DEC]", *letters]
    tokenizer = BertTokenizer(
        vocab={word: i for i, word in enumerate(vocabulary)}, bos_token="[DEC]"
    )
    special = {"pad_token_id": 0, "sep_token_id": 3, "bos_token_id": 5, "eos_token_id": 3}
    text = {**TOWER, **special, "vocab_size": len(vocabulary), "encoder_hidden_size": 32}
    config = BlipConfig(text_config=text, vision_config=VISION, projection_dim=16)
    processor = BlipProcessor(
        BlipImageProcessorPil(size={"height": SIDE, "width": SIDE}), tokenizer
    )
    return _write(folder, _lively(BlipForQuestionAnswering(config)), processor)


def qwen(folder: Path) -> Path:
    """Save a Qwen2.5-VL model, whose vision tower attends within windows."""
    vision = {
        "depth": 2,
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_heads": 2,
        "out_hidden_size": 32,
        "patch_size": 8,
        "window_size": 32,
        "fullatt_block_indexes": [1],
    }
    torch.manual_seed(4)
    return _qwen(folder, Qwen2_5_VLConfig, Qwen2_5_VLForConditionalGeneration, vision)


def qwen2(folder: Path) -> Path:
    """Save a Qwen2-VL model, whose vision tower attends to the whole image."""
    vision = {
        "depth": 2,
        "embed_dim": 32,
        "hidden_size": 32,
        "mlp_ratio": 2,
        "num_heads": 2,
        "patch_size": 8,
    }
    torch.manual_seed(1)
    return _qwen(folder, Qwen2VLConfig, Qwen2VLForConditionalGeneration, vision)


def _qwen(folder: Path, config_class: Any, model_class: Any, vision: Mapping[str, Any]) -> Path:
    """Save a model with native image sizes, a chat template and rotary positions in 3 dimensions."""
    tokens = (
        "<|im_start|>",
        "<|vision_start|>",
        "<|vision_end|>",
        "<|image_pad|>",
        "<|video_pad|>",
    )
    tokenizer = _bytes_tokenizer(tokens, eos_token="<|im_end|>", pad_token="<|endoftext|>")
    ids = {token: tokenizer.convert_tokens_to_ids(token) for token in tokens}
    text = {
        **TOWER,
        "vocab_size": len(tokenizer),
        "num_key_value_heads": 1,
        "rope_parameters": {
            "rope_type": "default",
            "mrope_section": [2, 3, 3],
            "rope_theta": 10000.0,
        },
        "eos_token_id": tokenizer.eos_token_id,
        "pad_token_id": tokenizer.pad_token_id,
        "bos_token_id": None,
    }
    config = config_class(
        text_config=text,
        vision_config=vision,
        image_token_id=ids["<|image_pad|>"],
        video_token_id=ids["<|video_pad|>"],
        vision_start_token_id=ids["<|vision_start|>"],
        vision_end_token_id=ids["<|vision_end|>"],
    )
    tokenizer.chat_template = QWEN_TEMPLATE
    reader = Qwen2VLImageProcessorPil(
        patch_size=8, merge_size=2, min_pixels=32 * 32, max_pixels=64 * 64
    )
    return _write(folder, _lively(model_class(config)), tokenizer, reader)


def llava(folder: Path) -> Path:
    """Save a LLaVA model, a CLIP tower whose patches are inserted into the text of a Llama."""
    torch.manual_seed(5)
    tokenizer = _bytes_tokenizer(("<image>",), bos_token="<s>", eos_token="</s>", pad_token="<pad>")
    text = {**TOWER, "model_type": "llama", "vocab_size": len(tokenizer), "num_key_value_heads": 2}
    text |= {
        name: getattr(tokenizer, name) for name in ("bos_token_id", "eos_token_id", "pad_token_id")
    }
    config = LlavaConfig(
        text_config=text,
        vision_config={**VISION, "model_type": "clip_vision_model", "projection_dim": 16},
        image_token_id=tokenizer.convert_tokens_to_ids("<image>"),
    )
    processor = LlavaProcessor(
        CLIPImageProcessorPil(size=SIDE, crop_size=SIDE),
        tokenizer,
        patch_size=8,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,
        chat_template=LLAVA_TEMPLATE,
    )
    return _write(folder, _lively(LlavaForConditionalGeneration(config)), processor)


WRITERS: Mapping[str, Callable[[Path], Path]] = {
    "blip": blip,
    "qwen": qwen,
    "qwen2": qwen2,
    "llava": llava,
}
"""Networks that answer questions about images in words."""


def _bytes_tokenizer(tokens: Sequence[str] = (), **special: str) -> PreTrainedTokenizerFast:
    """Return a tokenizer whose tokens are bytes."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    core = Tokenizer(models.BPE(vocab={letter: i for i, letter in enumerate(alphabet)}, merges=[]))
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.decoder = decoders.ByteLevel()
    return PreTrainedTokenizerFast(
        tokenizer_object=core, additional_special_tokens=list(tokens), **special
    )


def _lively(model: torch.nn.Module) -> torch.nn.Module:
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim > 1:
                parameter.normal_(0, LIVELY)
    return model


def _write(folder: Path, *parts: object) -> Path:
    for part in parts:
        part.save_pretrained(folder)  # type: ignore[attr-defined]
    return folder
