"""Networks of the size that people use, with random weights, made from their configurations.

Each function saves a folder that askew loads like a downloaded one. The images are noise, but their
time and memory are those of the real weights. `tiny=True` makes networks with the same structure
that run on a CPU in a second.
"""

from __future__ import annotations

import string
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import diffusers as d
import torch
import transformers as t
from tokenizers.pre_tokenizers import ByteLevel

from askew.studio import weights

Builder = Callable[[bool], d.DiffusionPipeline]

TINY_TEXT: dict[str, Any] = {
    "hidden_size": 32,
    "intermediate_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
}
CLIP_L: dict[str, Any] = {
    "vocab_size": 49408,
    "hidden_size": 768,
    "intermediate_size": 3072,
    "num_hidden_layers": 12,
    "num_attention_heads": 12,
}
CLIP_G: dict[str, Any] = {
    "vocab_size": 49408,
    "hidden_size": 1280,
    "intermediate_size": 5120,
    "num_hidden_layers": 32,
    "num_attention_heads": 20,
    "hidden_act": "gelu",
}
T5_XXL: dict[str, Any] = {
    "vocab_size": 32128,
    "d_model": 4096,
    "d_kv": 64,
    "d_ff": 10240,
    "num_layers": 24,
    "num_heads": 64,
    "feed_forward_proj": "gated-gelu",
}
TINY_T5: dict[str, Any] = {"d_model": 32, "d_kv": 16, "d_ff": 32, "num_layers": 1, "num_heads": 2}


def save(name: str, folder: Path, device: str, tiny: bool) -> Path:
    """Make a pipeline on a device and save it.

    Parameters
    ----------
    name
        Key of `PIPELINES`.
    folder
        Folder to write to.
    device
        Device on which the weights are drawn, such as cuda.
    tiny
        True for tiny networks.
    """
    with drawn_on(device):
        pipeline = PIPELINES[name](tiny)
    pipeline.save_pretrained(folder)
    return folder


@contextmanager
def drawn_on(device: str) -> Iterator[None]:
    """Draw weights on a device: in bfloat16 on a GPU, in float32 on a CPU."""
    kind = torch.float32 if device == "cpu" else torch.bfloat16
    previous = torch.get_default_dtype()
    torch.manual_seed(0)
    torch.set_default_dtype(kind)
    try:
        with torch.device(device):
            yield
    finally:
        torch.set_default_dtype(previous)


def scheduler(kind: type, **settings: Any) -> Any:
    """Return a scheduler, whose numbers stay on the CPU in float32."""
    with drawn_on("cpu"):
        return kind(**settings)


def clip_tokenizer() -> t.CLIPTokenizer:
    """Return the studio's tokenizer, with CLIP's length."""
    tokenizer = t.CLIPTokenizer.from_pretrained(weights("embedder"))
    tokenizer.model_max_length = 77
    return tokenizer


def clip_text(size: dict[str, Any], tiny: bool, projected: bool = False) -> Any:
    """Return a text encoder of CLIP, of an output width if it is projected."""
    tokenizer = clip_tokenizer()
    chosen = {**TINY_TEXT, "vocab_size": len(tokenizer)} if tiny else size
    config = t.CLIPTextConfig(
        **chosen,
        projection_dim=chosen["hidden_size"],
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    kind = t.CLIPTextModelWithProjection if projected else t.CLIPTextModel
    return kind(config).eval()


def t5_tokenizer() -> t.T5Tokenizer:
    """Return a tokenizer of letters."""
    pieces = ["<pad>", "</s>", "<unk>", "▁", *string.ascii_letters, *string.punctuation]
    return t.T5Tokenizer(vocab=[(piece, -1.0) for piece in pieces], extra_ids=0)


def t5_text(tiny: bool) -> t.T5EncoderModel:
    """Return the encoder of T5-XXL."""
    return t.T5EncoderModel(t.T5Config(**(TINY_T5 if tiny else T5_XXL), dropout_rate=0.0)).eval()


def autoencoder(channels: int, tiny: bool, **settings: Any) -> d.AutoencoderKL:
    """Return an autoencoder that makes images of 8 x 8 pixels from each latent."""
    widths = (8,) * 4 if tiny else (128, 256, 512, 512)
    return d.AutoencoderKL(
        in_channels=3,
        out_channels=3,
        block_out_channels=widths,
        down_block_types=("DownEncoderBlock2D",) * 4,
        up_block_types=("UpDecoderBlock2D",) * 4,
        layers_per_block=1 if tiny else 2,
        norm_num_groups=4 if tiny else 32,
        latent_channels=channels,
        **settings,
    ).eval()


def stable_diffusion(tiny: bool) -> d.DiffusionPipeline:
    """Return Stable Diffusion 1.5."""
    unet = d.UNet2DConditionModel(
        sample_size=8 if tiny else 64,
        block_out_channels=(8, 8, 16, 16) if tiny else (320, 640, 1280, 1280),
        norm_num_groups=4 if tiny else 32,
        down_block_types=(*("CrossAttnDownBlock2D",) * 3, "DownBlock2D"),
        up_block_types=("UpBlock2D", *("CrossAttnUpBlock2D",) * 3),
        cross_attention_dim=32 if tiny else 768,
        attention_head_dim=4 if tiny else 8,
    ).eval()
    return d.StableDiffusionPipeline(
        vae=autoencoder(4, tiny),
        text_encoder=clip_text(CLIP_L, tiny),
        tokenizer=clip_tokenizer(),
        unet=unet,
        scheduler=scheduler(
            d.DDIMScheduler,
            beta_start=0.00085,
            beta_end=0.012,
            beta_schedule="scaled_linear",
            clip_sample=False,
            steps_offset=1,
        ),
        safety_checker=None,
        feature_extractor=None,
        requires_safety_checker=False,
    )


def stable_diffusion_xl(tiny: bool) -> d.DiffusionPipeline:
    """Return Stable Diffusion XL."""
    pooled = 32 if tiny else 1280
    unet = d.UNet2DConditionModel(
        sample_size=8 if tiny else 128,
        block_out_channels=(8, 8, 16) if tiny else (320, 640, 1280),
        norm_num_groups=4 if tiny else 32,
        down_block_types=("DownBlock2D", *("CrossAttnDownBlock2D",) * 2),
        up_block_types=(*("CrossAttnUpBlock2D",) * 2, "UpBlock2D"),
        cross_attention_dim=64 if tiny else 2048,
        attention_head_dim=(2, 2, 4) if tiny else (5, 10, 20),
        transformer_layers_per_block=1 if tiny else (1, 2, 10),
        addition_embed_type="text_time",
        addition_time_embed_dim=256,
        projection_class_embeddings_input_dim=6 * 256 + pooled,
        use_linear_projection=True,
    ).eval()
    return d.StableDiffusionXLPipeline(
        vae=autoencoder(4, tiny, force_upcast=True),
        text_encoder=clip_text(CLIP_L, tiny),
        text_encoder_2=clip_text(CLIP_G, tiny, projected=True),
        tokenizer=clip_tokenizer(),
        tokenizer_2=clip_tokenizer(),
        unet=unet,
        scheduler=scheduler(d.EulerAncestralDiscreteScheduler, timestep_spacing="trailing"),
    )


def stable_diffusion_35(tiny: bool) -> d.DiffusionPipeline:
    """Return Stable Diffusion 3.5 Medium."""
    heads = 2 if tiny else 24
    transformer = d.SD3Transformer2DModel(
        sample_size=8 if tiny else 128,
        patch_size=2,
        in_channels=16,
        out_channels=16,
        num_layers=2 if tiny else 24,
        attention_head_dim=16 if tiny else 64,
        num_attention_heads=heads,
        joint_attention_dim=64 if tiny else 4096,
        caption_projection_dim=heads * (16 if tiny else 64),
        pooled_projection_dim=64 if tiny else 2048,
        pos_embed_max_size=16 if tiny else 384,
        dual_attention_layers=(0,) if tiny else tuple(range(13)),
        qk_norm="rms_norm",
    ).eval()
    text = t.T5EncoderModel(
        t.T5Config(**{**TINY_T5, "d_model": 64} if tiny else T5_XXL, dropout_rate=0.0)
    ).eval()
    return d.StableDiffusion3Pipeline(
        transformer=transformer,
        scheduler=scheduler(d.FlowMatchEulerDiscreteScheduler, shift=3.0),
        vae=autoencoder(
            16, tiny, use_quant_conv=False, use_post_quant_conv=False, shift_factor=0.0609
        ),
        text_encoder=clip_text(CLIP_L, tiny, projected=True),
        tokenizer=clip_tokenizer(),
        text_encoder_2=clip_text(CLIP_G, tiny, projected=True),
        tokenizer_2=clip_tokenizer(),
        text_encoder_3=text,
        tokenizer_3=t5_tokenizer(),
    )


def flux(tiny: bool) -> d.DiffusionPipeline:
    """Return FLUX.1."""
    transformer = d.FluxTransformer2DModel(
        in_channels=64,
        num_layers=1 if tiny else 19,
        num_single_layers=1 if tiny else 38,
        attention_head_dim=16 if tiny else 128,
        num_attention_heads=2 if tiny else 24,
        joint_attention_dim=32 if tiny else 4096,
        pooled_projection_dim=32 if tiny else 768,
        axes_dims_rope=(4, 4, 8) if tiny else (16, 56, 56),
        guidance_embeds=True,
    ).eval()
    return d.FluxPipeline(
        scheduler=scheduler(d.FlowMatchEulerDiscreteScheduler, shift=3.0),
        vae=autoencoder(
            16, tiny, use_quant_conv=False, use_post_quant_conv=False, shift_factor=0.1159
        ),
        text_encoder=clip_text(CLIP_L, tiny),
        tokenizer=clip_tokenizer(),
        text_encoder_2=t5_text(tiny),
        tokenizer_2=t5_tokenizer(),
        transformer=transformer,
    )


def qwen_image(tiny: bool) -> d.DiffusionPipeline:
    """Return Qwen-Image."""
    tokenizer = qwen_tokenizer()
    width = 32 if tiny else 3584
    text = {
        "vocab_size": len(tokenizer) if tiny else 152064,
        "hidden_size": width,
        "intermediate_size": 32 if tiny else 18944,
        "num_hidden_layers": 1 if tiny else 28,
        "num_attention_heads": 2 if tiny else 28,
        "num_key_value_heads": 1 if tiny else 4,
        "rope_scaling": {
            "mrope_section": [2, 3, 3] if tiny else [16, 24, 24],
            "rope_type": "default",
            "type": "default",
        },
        "rope_theta": 1_000_000.0,
        "pad_token_id": len(tokenizer) - 1,
        "eos_token_id": len(tokenizer) - 1,
        "bos_token_id": None,
    }
    vision = {"depth": 1, "hidden_size": 32, "intermediate_size": 32, "num_heads": 2}
    if not tiny:
        vision = {"depth": 32, "hidden_size": 1280, "intermediate_size": 3420, "num_heads": 16}
    config = t.Qwen2_5_VLConfig(
        text_config=text, vision_config={**vision, "out_hidden_size": width}
    )
    transformer = d.QwenImageTransformer2DModel(
        patch_size=2,
        in_channels=64,
        out_channels=16,
        num_layers=1 if tiny else 60,
        attention_head_dim=16 if tiny else 128,
        num_attention_heads=2 if tiny else 24,
        joint_attention_dim=width,
        axes_dims_rope=(4, 4, 8) if tiny else (16, 56, 56),
    ).eval()
    return d.QwenImagePipeline(
        scheduler=scheduler(d.FlowMatchEulerDiscreteScheduler),
        vae=d.AutoencoderKLQwenImage(**({"base_dim": 8} if tiny else {})).eval(),
        text_encoder=t.Qwen2_5_VLForConditionalGeneration(config).eval(),
        tokenizer=tokenizer,
        transformer=transformer,
    )


def qwen_tokenizer() -> t.Qwen2Tokenizer:
    """Return a tokenizer of bytes."""
    letters = sorted(ByteLevel.alphabet())
    return t.Qwen2Tokenizer(
        vocab={word: i for i, word in enumerate([*letters, "<|endoftext|>"])}, merges=[]
    )


PIPELINES: dict[str, Builder] = {
    "SD 1.5": stable_diffusion,
    "SDXL": stable_diffusion_xl,
    "SD 3.5 Medium": stable_diffusion_35,
    "FLUX.1": flux,
    "Qwen-Image": qwen_image,
}


def save_blip(folder: Path, device: str, tiny: bool) -> Path:
    """Save a BLIP model for VQA of the base size."""
    letters = string.ascii_lowercase
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "[DEC]", *letters]
    words += [*(f"##{letter}" for letter in letters), *"()?,.:-"]
    tokenizer = t.BertTokenizer(vocab={word: i for i, word in enumerate(words)}, bos_token="[DEC]")
    side = 32 if tiny else 384
    text = {"vocab_size": 30524, "encoder_hidden_size": 768, "num_attention_heads": 12}
    vision: dict[str, Any] = {"image_size": side}
    if tiny:
        text = {**TINY_TEXT, "vocab_size": len(words), "encoder_hidden_size": 32}
        vision = {**TINY_TEXT, "image_size": side, "patch_size": 8}
    special = {"pad_token_id": 0, "sep_token_id": 3, "bos_token_id": 5, "eos_token_id": 3}
    config = t.BlipConfig(text_config={**text, **special}, vision_config=vision)
    with drawn_on(device):
        model = t.BlipForQuestionAnswering(config).eval()
    model.save_pretrained(folder)
    images = t.BlipImageProcessorPil(size={"height": side, "width": side})
    t.BlipProcessor(images, tokenizer).save_pretrained(folder)
    return folder


def save_clip(folder: Path, device: str, tiny: bool) -> Path:
    """Save a CLIP model of the size ViT-L/14."""
    tokenizer = clip_tokenizer()
    side = 32 if tiny else 224
    text = {**TINY_TEXT, "vocab_size": len(tokenizer)} if tiny else CLIP_L
    vision: dict[str, Any] = {
        "hidden_size": 1024,
        "intermediate_size": 4096,
        "num_hidden_layers": 24,
        "num_attention_heads": 16,
        "image_size": side,
        "patch_size": 14,
    }
    if tiny:
        vision = {**TINY_TEXT, "image_size": side, "patch_size": 8}
    config = t.CLIPConfig(
        text_config={
            **text,
            "bos_token_id": tokenizer.bos_token_id,
            "eos_token_id": tokenizer.eos_token_id,
        },
        vision_config=vision,
        projection_dim=16 if tiny else 768,
    )
    with drawn_on(device):
        model = t.CLIPModel(config).eval()
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    t.CLIPImageProcessorPil(size=side, crop_size=side).save_pretrained(folder)
    return folder
