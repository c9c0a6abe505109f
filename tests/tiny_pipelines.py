"""Pipelines of all families with tiny random weights, saved as folders in the diffusers layout."""

from __future__ import annotations

import os
import shutil
import string
from collections.abc import Callable
from pathlib import Path
from typing import Any

import diffusers as d
import torch
import transformers as t
from diffusers.pipelines.stable_diffusion.safety_checker import StableDiffusionSafetyChecker
from tokenizers.pre_tokenizers import ByteLevel

Builder = Callable[[], d.DiffusionPipeline]

MARK = "</w>"
WIDTH = 32
"""Width of all text encoders."""


def save(family: str, folder: Path) -> Path:
    """Build a pipeline of `family` with fixed weights and save it, unless it is there.

    Of several processes that save it at the same time, the first to finish does.
    """
    from tiny_further_pipelines import FURTHER  # it imports this module

    if folder.exists():
        return folder
    with torch.random.fork_rng():
        torch.manual_seed(0)
        pipeline = (FAMILIES | OTHERS | FURTHER)[family]()
    unfinished = folder.with_name(f"{folder.name}-{os.getpid()}")
    pipeline.save_pretrained(unfinished)
    try:
        unfinished.rename(folder)
    except OSError:  # another process saved it meanwhile
        shutil.rmtree(unfinished)
    return folder


def clip_tokenizer(longest: int = 77) -> t.CLIPTokenizer:
    """Return a tokenizer whose tokens are letters."""
    letters = [*string.ascii_letters, *string.digits, *string.punctuation]
    words = [*letters, *(letter + MARK for letter in letters), "<|startoftext|>", "<|endoftext|>"]
    vocabulary = {word: at for at, word in enumerate(words)}
    return t.CLIPTokenizer(vocab=vocabulary, merges=[], model_max_length=longest)


def clip_text(projection: int | None = None, positions: int = 77) -> Any:
    tokenizer = clip_tokenizer()
    config = t.CLIPTextConfig(
        vocab_size=len(tokenizer),
        hidden_size=WIDTH,
        intermediate_size=37,
        num_hidden_layers=2,
        num_attention_heads=4,
        max_position_embeddings=positions,
        projection_dim=projection or WIDTH,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.eos_token_id,
    )
    kind = t.CLIPTextModelWithProjection if projection else t.CLIPTextModel
    return kind(config).eval()


def t5_tokenizer() -> t.T5Tokenizer:
    pieces = [
        "<pad>",
        "</s>",
        "<unk>",
        "▁",
        *string.ascii_letters,
        *string.digits,
        *string.punctuation,
    ]
    return t.T5Tokenizer(
        vocab=[(piece, -1.0) for piece in pieces], extra_ids=0, model_max_length=77
    )


def t5_text() -> t.T5EncoderModel:
    config = t.T5Config(
        vocab_size=len(t5_tokenizer()),
        d_model=WIDTH,
        d_kv=8,
        d_ff=37,
        num_layers=2,
        num_heads=4,
        dropout_rate=0.0,
    )
    return t.T5EncoderModel(config).eval()


def qwen_tokenizer() -> t.Qwen2Tokenizer:
    letters = sorted(ByteLevel.alphabet())
    return t.Qwen2Tokenizer(
        vocab={word: at for at, word in enumerate([*letters, "<|endoftext|>"])}, merges=[]
    )


def qwen_text() -> t.Qwen2_5_VLForConditionalGeneration:
    size = len(qwen_tokenizer())
    text = {
        "vocab_size": size,
        "hidden_size": 16,
        "intermediate_size": 16,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "num_key_value_heads": 2,
        "rope_scaling": {"mrope_section": [1, 1, 2], "rope_type": "default", "type": "default"},
        "rope_theta": 1_000_000.0,
        "initializer_range": 0.5,
        "bos_token_id": size - 1,
        "eos_token_id": size - 1,
        "pad_token_id": size - 1,
    }
    vision = {
        "depth": 1,
        "hidden_size": 16,
        "intermediate_size": 16,
        "num_heads": 2,
        "out_hidden_size": 16,
    }
    config = t.Qwen2_5_VLConfig(text_config=text, vision_config=vision)
    return t.Qwen2_5_VLForConditionalGeneration(config).eval()


def gemma_tokenizer() -> t.GemmaTokenizer:
    words = [
        "<pad>",
        "<eos>",
        "<bos>",
        "<unk>",
        "<mask>",
        "▁",
        *string.ascii_letters,
        *string.digits,
    ]
    words += [*string.punctuation, "\n"]
    return t.GemmaTokenizer(vocab={word: at for at, word in enumerate(words)}, merges=[])


def gemma_text() -> t.Gemma2Model:
    config = t.Gemma2Config(
        vocab_size=len(gemma_tokenizer()),
        hidden_size=8,
        intermediate_size=8,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=1,
        head_dim=4,
        pad_token_id=0,
        eos_token_id=1,
        bos_token_id=2,
    )
    return t.Gemma2Model(config).eval()


def autoencoder(channels: int = 4, **more: Any) -> d.AutoencoderKL:
    return d.AutoencoderKL(
        block_out_channels=[8, 8],
        norm_num_groups=4,
        in_channels=3,
        out_channels=3,
        down_block_types=["DownEncoderBlock2D"] * 2,
        up_block_types=["UpDecoderBlock2D"] * 2,
        latent_channels=channels,
        **more,
    ).eval()


def unet(**more: Any) -> d.UNet2DConditionModel:
    settings: dict[str, Any] = {
        "block_out_channels": (8, 16),
        "norm_num_groups": 4,
        "layers_per_block": 1,
        "sample_size": 16,
        "in_channels": 4,
        "out_channels": 4,
        "down_block_types": ("DownBlock2D", "CrossAttnDownBlock2D"),
        "up_block_types": ("CrossAttnUpBlock2D", "UpBlock2D"),
        "cross_attention_dim": WIDTH,
        "attention_head_dim": 4,
    }
    return d.UNet2DConditionModel(**(settings | more)).eval()


def sdxl_unet(**more: Any) -> d.UNet2DConditionModel:
    settings: dict[str, Any] = {
        "cross_attention_dim": 2 * WIDTH,
        "addition_embed_type": "text_time",
        "addition_time_embed_dim": 8,
        "transformer_layers_per_block": (1, 2),
        "projection_class_embeddings_input_dim": 6 * 8 + WIDTH,
        "use_linear_projection": True,
    }
    return unet(**(settings | more))


def sd3_transformer(**more: Any) -> d.SD3Transformer2DModel:
    settings: dict[str, Any] = {
        "sample_size": 16,
        "patch_size": 1,
        "in_channels": 4,
        "num_layers": 2,
        "attention_head_dim": 8,
        "num_attention_heads": 4,
        "caption_projection_dim": 32,
        "joint_attention_dim": WIDTH,
        "pooled_projection_dim": 2 * WIDTH,
        "out_channels": 4,
    }
    return d.SD3Transformer2DModel(**(settings | more)).eval()


def flux_transformer(**more: Any) -> d.FluxTransformer2DModel:
    settings: dict[str, Any] = {
        "in_channels": 4,
        "num_layers": 1,
        "num_single_layers": 1,
        "attention_head_dim": 16,
        "num_attention_heads": 2,
        "joint_attention_dim": WIDTH,
        "pooled_projection_dim": WIDTH,
        "axes_dims_rope": [4, 4, 8],
        "guidance_embeds": True,
    }
    return d.FluxTransformer2DModel(**(settings | more)).eval()


def stable_diffusion() -> d.DiffusionPipeline:
    return d.StableDiffusionPipeline(
        vae=autoencoder(),
        text_encoder=clip_text(),
        tokenizer=clip_tokenizer(),
        unet=unet(),
        scheduler=d.PNDMScheduler(
            skip_prk_steps=True, steps_offset=1, beta_schedule="scaled_linear"
        ),
        safety_checker=None,
        feature_extractor=None,
        requires_safety_checker=False,
    )


def stable_diffusion_xl(scheduler: Any = None) -> d.DiffusionPipeline:
    return d.StableDiffusionXLPipeline(
        vae=autoencoder(),
        text_encoder=clip_text(),
        text_encoder_2=clip_text(WIDTH),
        tokenizer=clip_tokenizer(),
        tokenizer_2=clip_tokenizer(),
        unet=sdxl_unet(),
        scheduler=scheduler or d.EulerDiscreteScheduler(timestep_spacing="leading", steps_offset=1),
    )


def latent_consistency() -> d.DiffusionPipeline:
    """Return a distilled pipeline that takes guidance as an input."""
    return d.LatentConsistencyModelPipeline(
        vae=autoencoder(),
        text_encoder=clip_text(),
        tokenizer=clip_tokenizer(),
        unet=unet(time_cond_proj_dim=8),
        scheduler=d.LCMScheduler(),
        safety_checker=None,
        feature_extractor=None,
        requires_safety_checker=False,
    )


def sdxl_turbo() -> d.DiffusionPipeline:
    return stable_diffusion_xl(d.EulerAncestralDiscreteScheduler(timestep_spacing="trailing"))


def playground() -> d.DiffusionPipeline:
    return stable_diffusion_xl(d.EDMDPMSolverMultistepScheduler())


def stable_diffusion_3() -> d.DiffusionPipeline:
    return d.StableDiffusion3Pipeline(
        transformer=sd3_transformer(),
        scheduler=d.FlowMatchEulerDiscreteScheduler(shift=3.0),
        vae=autoencoder(use_quant_conv=False, use_post_quant_conv=False, shift_factor=0.06),
        text_encoder=clip_text(WIDTH),
        tokenizer=clip_tokenizer(),
        text_encoder_2=clip_text(WIDTH),
        tokenizer_2=clip_tokenizer(),
        text_encoder_3=t5_text(),
        tokenizer_3=t5_tokenizer(),
    )


def flux(**scheduler: Any) -> d.DiffusionPipeline:
    return d.FluxPipeline(
        scheduler=d.FlowMatchEulerDiscreteScheduler(**scheduler),
        vae=autoencoder(
            1, use_quant_conv=False, use_post_quant_conv=False, shift_factor=0.06, sample_size=32
        ),
        text_encoder=clip_text(),
        tokenizer=clip_tokenizer(),
        text_encoder_2=t5_text(),
        tokenizer_2=t5_tokenizer(),
        transformer=flux_transformer(),
    )


def flux_stochastic() -> d.DiffusionPipeline:
    """Return a pipeline that gives its sampler, which adds noise, no generator."""
    return flux(stochastic_sampling=True)


def chroma_transformer(**more: Any) -> d.ChromaTransformer2DModel:
    settings: dict[str, Any] = {
        "in_channels": 4,
        "num_layers": 1,
        "num_single_layers": 1,
        "attention_head_dim": 16,
        "num_attention_heads": 2,
        "joint_attention_dim": WIDTH,
        "axes_dims_rope": (4, 4, 8),
        "approximator_num_channels": 8,
        "approximator_hidden_dim": 32,
        "approximator_layers": 1,
    }
    return d.ChromaTransformer2DModel(**(settings | more)).eval()


def chroma() -> d.DiffusionPipeline:
    return d.ChromaPipeline(
        scheduler=d.FlowMatchEulerDiscreteScheduler(),
        vae=autoencoder(
            1, use_quant_conv=False, use_post_quant_conv=False, shift_factor=0.06, sample_size=32
        ),
        text_encoder=t5_text(),
        tokenizer=t5_tokenizer(),
        transformer=chroma_transformer(),
    )


def auraflow_transformer(**more: Any) -> d.AuraFlowTransformer2DModel:
    settings: dict[str, Any] = {
        "sample_size": 16,
        "patch_size": 1,
        "in_channels": 4,
        "num_mmdit_layers": 1,
        "num_single_dit_layers": 1,
        "attention_head_dim": 8,
        "num_attention_heads": 4,
        "joint_attention_dim": WIDTH,
        "caption_projection_dim": 32,
        "out_channels": 4,
        "pos_embed_max_size": 1024,
    }
    return d.AuraFlowTransformer2DModel(**(settings | more)).eval()


def auraflow() -> d.DiffusionPipeline:
    transformer = auraflow_transformer()
    with torch.no_grad():
        for weight in (
            *transformer.joint_transformer_blocks.parameters(),
            *transformer.context_embedder.parameters(),
        ):
            weight *= 8  # otherwise so small a network hardly depends on the prompt
    return d.AuraFlowPipeline(
        tokenizer=t5_tokenizer(),
        text_encoder=t5_text(),
        vae=autoencoder(sample_size=32),
        transformer=transformer,
        scheduler=d.FlowMatchEulerDiscreteScheduler(shift=1.73),
    )


def kandinsky_unet(**more: Any) -> d.UNet2DConditionModel:
    return unet(
        encoder_hid_dim=WIDTH,
        out_channels=8,
        class_embed_type=None,
        mid_block_type="UNetMidBlock2DSimpleCrossAttn",
        down_block_types=("ResnetDownsampleBlock2D", "SimpleCrossAttnDownBlock2D"),
        up_block_types=("SimpleCrossAttnUpBlock2D", "ResnetUpsampleBlock2D"),
        resnet_time_scale_shift="scale_shift",
        **more,
    )


def kandinsky() -> d.DiffusionPipeline:
    vision = t.CLIPVisionConfig(
        hidden_size=WIDTH,
        image_size=32,
        patch_size=16,
        projection_dim=WIDTH,
        num_hidden_layers=1,
        num_attention_heads=4,
        intermediate_size=37,
    )
    prior = d.PriorTransformer(
        num_attention_heads=2,
        attention_head_dim=12,
        embedding_dim=WIDTH,
        num_layers=1,
        num_embeddings=77,
    ).eval()
    prior.clip_std = torch.nn.Parameter(torch.ones(prior.clip_std.shape))
    return d.KandinskyV22CombinedPipeline(
        unet=kandinsky_unet(encoder_hid_dim_type="image_proj", addition_embed_type="image"),
        scheduler=d.DDPMScheduler(
            beta_schedule="linear", variance_type="learned_range", thresholding=False
        ),
        movq=d.VQModel(
            block_out_channels=[32, 32],
            down_block_types=["DownEncoderBlock2D", "AttnDownEncoderBlock2D"],
            up_block_types=["AttnUpDecoderBlock2D", "UpDecoderBlock2D"],
            latent_channels=4,
            norm_num_groups=4,
            norm_type="spatial",
            num_vq_embeddings=12,
            vq_embed_dim=4,
        ).eval(),
        prior_prior=prior,
        prior_image_encoder=t.CLIPVisionModelWithProjection(vision).eval(),
        prior_text_encoder=clip_text(WIDTH),
        prior_tokenizer=clip_tokenizer(),
        prior_scheduler=d.UnCLIPScheduler(
            variance_type="fixed_small_log",
            prediction_type="sample",
            num_train_timesteps=1000,
            clip_sample_range=5.0,
        ),
        prior_image_processor=t.CLIPImageProcessor(crop_size=32, size=32),
    )


def kandinsky_3() -> d.DiffusionPipeline:
    return d.Kandinsky3Pipeline(
        tokenizer=t5_tokenizer(),
        text_encoder=t5_text(),
        unet=d.Kandinsky3UNet(
            in_channels=4,
            time_embedding_dim=4,
            groups=2,
            attention_head_dim=4,
            layers_per_block=3,
            block_out_channels=(32, 64),
            cross_attention_dim=4,
            encoder_hid_dim=WIDTH,
        ).eval(),
        scheduler=d.DDPMScheduler(beta_schedule="linear", beta_start=0.00085, beta_end=0.012),
        movq=d.VQModel(
            block_out_channels=[32, 64],
            down_block_types=["DownEncoderBlock2D", "AttnDownEncoderBlock2D"],
            up_block_types=["AttnUpDecoderBlock2D", "UpDecoderBlock2D"],
            latent_channels=4,
            norm_num_groups=8,
            norm_type="spatial",
            num_vq_embeddings=12,
            vq_embed_dim=4,
        ).eval(),
    )


def pixart(kind: type = d.PixArtAlphaPipeline, layers: int = 1) -> d.DiffusionPipeline:
    return kind(
        transformer=d.PixArtTransformer2DModel(
            sample_size=32,
            num_layers=layers,
            patch_size=4,
            attention_head_dim=8,
            num_attention_heads=3,
            caption_channels=WIDTH,
            in_channels=4,
            cross_attention_dim=24,
            out_channels=8,
            attention_bias=True,
            activation_fn="gelu-approximate",
            num_embeds_ada_norm=1000,
            norm_type="ada_norm_single",
            norm_elementwise_affine=False,
            norm_eps=1e-6,
            use_additional_conditions=False,
        ).eval(),
        vae=autoencoder(),
        scheduler=d.DPMSolverMultistepScheduler(),
        text_encoder=t5_text(),
        tokenizer=t5_tokenizer(),
    )


def pixart_sigma() -> d.DiffusionPipeline:
    return pixart(d.PixArtSigmaPipeline)


def sana(
    kind: type = d.SanaPipeline, scheduler: Any = None, **transformer: Any
) -> d.DiffusionPipeline:
    return kind(
        transformer=d.SanaTransformer2DModel(
            patch_size=1,
            in_channels=4,
            out_channels=4,
            num_layers=1,
            num_attention_heads=2,
            attention_head_dim=4,
            num_cross_attention_heads=2,
            cross_attention_head_dim=4,
            cross_attention_dim=8,
            caption_channels=8,
            sample_size=32,
            **transformer,
        ).eval(),
        vae=d.AutoencoderDC(
            in_channels=3,
            latent_channels=4,
            attention_head_dim=2,
            encoder_block_types=("ResBlock", "EfficientViTBlock"),
            decoder_block_types=("ResBlock", "EfficientViTBlock"),
            encoder_block_out_channels=(8, 8),
            decoder_block_out_channels=(8, 8),
            encoder_qkv_multiscales=((), (5,)),
            decoder_qkv_multiscales=((), (5,)),
            encoder_layers_per_block=(1, 1),
            decoder_layers_per_block=[1, 1],
            downsample_block_type="conv",
            upsample_block_type="interpolate",
            decoder_norm_types="rms_norm",
            decoder_act_fns="silu",
            scaling_factor=0.41407,
        ).eval(),
        scheduler=scheduler or d.FlowMatchEulerDiscreteScheduler(shift=7.0),
        text_encoder=gemma_text(),
        tokenizer=gemma_tokenizer(),
    )


def sana_sprint() -> d.DiffusionPipeline:
    """Return a pipeline unknown to AutoPipelineForText2Image, whose sampler adds noise."""
    return sana(
        d.SanaSprintPipeline,
        d.SCMScheduler(),
        guidance_embeds=True,
        qk_norm="rms_norm_across_heads",
    )


def qwen_transformer(num_layers: int = 2) -> d.QwenImageTransformer2DModel:
    return d.QwenImageTransformer2DModel(
        patch_size=2,
        in_channels=16,
        out_channels=4,
        num_layers=num_layers,
        attention_head_dim=16,
        num_attention_heads=2,
        joint_attention_dim=16,
        guidance_embeds=False,
        axes_dims_rope=(8, 4, 4),
    ).eval()


def qwen_autoencoder() -> d.AutoencoderKLQwenImage:
    return d.AutoencoderKLQwenImage(
        base_dim=12,
        z_dim=4,
        dim_mult=[1, 2],
        num_res_blocks=1,
        temperal_downsample=[False],
        latents_mean=[0.0] * 4,
        latents_std=[1.0] * 4,
    ).eval()


def qwen_image() -> d.DiffusionPipeline:
    transformer = qwen_transformer()
    with torch.no_grad():
        for weight in transformer.transformer_blocks.parameters():
            weight *= 3  # otherwise so small a network hardly depends on the prompt
    return d.QwenImagePipeline(
        transformer=transformer,
        vae=qwen_autoencoder(),
        scheduler=d.FlowMatchEulerDiscreteScheduler(
            use_dynamic_shifting=True, shift=1.0, shift_terminal=0.02
        ),
        text_encoder=qwen_text(),
        tokenizer=qwen_tokenizer(),
    )


def lumina_2() -> d.DiffusionPipeline:
    transformer = d.Lumina2Transformer2DModel(
        sample_size=8,
        in_channels=4,
        hidden_size=24,
        num_layers=2,
        num_refiner_layers=1,
        num_attention_heads=3,
        num_kv_heads=1,
        multiple_of=16,
        axes_dim_rope=(4, 2, 2),
        axes_lens=(300, 128, 128),
        cap_feat_dim=8,
    ).eval()
    return d.Lumina2Pipeline(
        transformer=transformer,
        scheduler=d.FlowMatchEulerDiscreteScheduler(),
        vae=autoencoder(use_quant_conv=False, use_post_quant_conv=False, shift_factor=0.06),
        text_encoder=gemma_text(),
        tokenizer=gemma_tokenizer(),
    )


CHAT = "{{ messages[0]['content'] }}"


def chat_tokenizer() -> t.Qwen2Tokenizer:
    tokenizer = qwen_tokenizer()
    tokenizer.chat_template = CHAT
    return tokenizer


def qwen3(kind: type = t.Qwen3Model, layers: int = 3) -> Any:
    config = t.Qwen3Config(
        vocab_size=len(qwen_tokenizer()),
        hidden_size=16,
        intermediate_size=16,
        num_hidden_layers=layers,
        num_attention_heads=2,
        num_key_value_heads=2,
        head_dim=8,
    )
    return kind(config).eval()


def z_image() -> d.DiffusionPipeline:
    transformer = d.ZImageTransformer2DModel(
        in_channels=4,
        dim=32,
        n_layers=2,
        n_refiner_layers=1,
        n_heads=2,
        n_kv_heads=2,
        cap_feat_dim=16,
        axes_dims=[8, 4, 4],
        axes_lens=[1024, 64, 64],
    ).eval()
    return d.ZImagePipeline(
        transformer=transformer,
        scheduler=d.FlowMatchEulerDiscreteScheduler(),
        vae=autoencoder(use_quant_conv=False, use_post_quant_conv=False, shift_factor=0.06),
        text_encoder=qwen3(layers=2),
        tokenizer=chat_tokenizer(),
    )


def with_safety_checker(threshold: float) -> Builder:
    """Return Stable Diffusion with a safety checker that hides all images (threshold -1) or none
    (1).
    """

    def build() -> d.DiffusionPipeline:
        parts = stable_diffusion().components
        tower = {
            "hidden_size": WIDTH,
            "intermediate_size": 37,
            "num_hidden_layers": 1,
            "num_attention_heads": 4,
        }
        vision = {**tower, "image_size": 32, "patch_size": 16}
        checker = StableDiffusionSafetyChecker(
            t.CLIPConfig(vision_config=vision, text_config=tower)
        ).eval()
        checker.concept_embeds_weights.fill_(threshold)
        checker.special_care_embeds_weights.fill_(threshold)
        parts |= {
            "safety_checker": checker,
            "feature_extractor": t.CLIPImageProcessor(crop_size=32, size=32),
        }
        return d.StableDiffusionPipeline(**parts, requires_safety_checker=True)

    return build


def decoder_gives(weight: float, bias: float) -> Builder:
    """Return Stable Diffusion whose autoencoder outputs one value everywhere, such as NaN."""

    def build() -> d.DiffusionPipeline:
        pipeline = stable_diffusion()
        with torch.no_grad():
            pipeline.vae.decoder.conv_out.weight.fill_(weight)
            pipeline.vae.decoder.conv_out.bias.fill_(bias)
        return pipeline

    return build


OTHERS: dict[str, Builder] = {
    "all hidden": with_safety_checker(-1.0),
    "none hidden": with_safety_checker(1.0),
    "not a number": decoder_gives(0.0, float("nan")),
    "flat": decoder_gives(0.0, 0.2),
    "lumina-2": lumina_2,
    "z-image": z_image,
}

FAMILIES: dict[str, Builder] = {
    "stable-diffusion": stable_diffusion,
    "stable-diffusion-xl": stable_diffusion_xl,
    "latent-consistency": latent_consistency,
    "sdxl-turbo": sdxl_turbo,
    "playground": playground,
    "stable-diffusion-3": stable_diffusion_3,
    "flux": flux,
    "flux-stochastic": flux_stochastic,
    "chroma": chroma,
    "auraflow": auraflow,
    "kandinsky": kandinsky,
    "kandinsky-3": kandinsky_3,
    "pixart": pixart,
    "pixart-sigma": pixart_sigma,
    "sana": sana,
    "sana-sprint": sana_sprint,
    "qwen-image": qwen_image,
}
