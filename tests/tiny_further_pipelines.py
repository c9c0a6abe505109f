"""Tiny pipelines of further families, of which only the table of families makes images."""

from __future__ import annotations

import string
from inspect import signature
from typing import Any

import diffusers as d
import transformers as t
from diffusers.pipelines.kandinsky.text_encoder import MCLIPConfig, MultilingualCLIP

from tiny_pipelines import (
    WIDTH,
    Builder,
    autoencoder,
    chat_tokenizer,
    clip_text,
    clip_tokenizer,
    kandinsky,
    kandinsky_unet,
    pixart,
    qwen3,
    qwen_autoencoder,
    qwen_text,
    qwen_tokenizer,
    sana,
    stable_diffusion,
    stable_diffusion_3,
    stable_diffusion_xl,
    t5_text,
    t5_tokenizer,
    unet,
)


def flow() -> d.FlowMatchEulerDiscreteScheduler:
    return d.FlowMatchEulerDiscreteScheduler()


def flux_2_transformer(**more: Any) -> d.Flux2Transformer2DModel:
    settings: dict[str, Any] = {
        "in_channels": 16,
        "num_layers": 1,
        "num_single_layers": 1,
        "attention_head_dim": 16,
        "num_attention_heads": 2,
        "joint_attention_dim": 3 * 16,
        "timestep_guidance_channels": 16,
        "axes_dims_rope": (4, 4, 4, 4),
        "guidance_embeds": False,
    }
    return d.Flux2Transformer2DModel(**(settings | more)).eval()


def flux_2_klein() -> d.DiffusionPipeline:
    return d.Flux2KleinPipeline(
        scheduler=flow(),
        vae=d.AutoencoderKLFlux2(
            down_block_types=("DownEncoderBlock2D",) * 2,
            up_block_types=("UpDecoderBlock2D",) * 2,
            block_out_channels=(8, 8),
            layers_per_block=1,
            latent_channels=4,
            norm_num_groups=4,
            use_quant_conv=False,
            use_post_quant_conv=False,
        ).eval(),
        text_encoder=qwen3(t.Qwen3ForCausalLM, layers=28),
        tokenizer=chat_tokenizer(),
        transformer=flux_2_transformer(),
    )


def ovis_transformer(**more: Any) -> d.OvisImageTransformer2DModel:
    settings: dict[str, Any] = {
        "in_channels": 16,
        "out_channels": 16,
        "num_layers": 1,
        "num_single_layers": 1,
        "attention_head_dim": 16,
        "num_attention_heads": 2,
        "joint_attention_dim": 16,
        "axes_dims_rope": (4, 4, 8),
    }
    return d.OvisImageTransformer2DModel(**(settings | more)).eval()


def ovis_image() -> d.DiffusionPipeline:
    return d.OvisImagePipeline(
        scheduler=flow(),
        vae=autoencoder(4, use_quant_conv=False, use_post_quant_conv=False, shift_factor=0.06),
        text_encoder=qwen3(),
        tokenizer=chat_tokenizer(),
        transformer=ovis_transformer(),
    )


def bria_transformer(**more: Any) -> d.BriaTransformer2DModel:
    settings: dict[str, Any] = {
        "in_channels": 16,
        "num_layers": 1,
        "num_single_layers": 1,
        "attention_head_dim": 8,
        "num_attention_heads": 2,
        "joint_attention_dim": WIDTH,
        "axes_dims_rope": [0, 4, 4],
    }
    return d.BriaTransformer2DModel(**(settings | more)).eval()


def bria() -> d.DiffusionPipeline:
    return d.BriaPipeline(
        transformer=bria_transformer(),
        scheduler=flow(),
        vae=autoencoder(4, shift_factor=0.0),
        text_encoder=t5_text(),
        tokenizer=t5_tokenizer(),
    )


def hidream() -> d.DiffusionPipeline:
    tokenizer = qwen_tokenizer()
    tokenizer.pad_token = "<|endoftext|>"
    config = t.LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=16,
        intermediate_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=2,
    )
    return d.HiDreamImagePipeline(
        scheduler=flow(),
        vae=autoencoder(4, use_quant_conv=False, use_post_quant_conv=False, shift_factor=0.06),
        text_encoder=clip_text(WIDTH, positions=128),
        tokenizer=clip_tokenizer(128),
        text_encoder_2=clip_text(WIDTH, positions=128),
        tokenizer_2=clip_tokenizer(128),
        text_encoder_3=t5_text(),
        tokenizer_3=t5_tokenizer(),
        text_encoder_4=t.LlamaForCausalLM(config).eval(),
        tokenizer_4=tokenizer,
        transformer=d.HiDreamImageTransformer2DModel(
            patch_size=2,
            in_channels=4,
            out_channels=4,
            num_layers=1,
            num_single_layers=1,
            attention_head_dim=8,
            num_attention_heads=4,
            caption_channels=[WIDTH, 16],
            text_emb_dim=2 * WIDTH,
            num_routed_experts=4,
            num_activated_experts=2,
            axes_dims_rope=(4, 2, 2),
            max_resolution=(32, 32),
            llama_layers=[0, 1],
            force_inference_output=True,
        ).eval(),
    )


def hunyuan_image() -> d.DiffusionPipeline:
    guider = d.AdaptiveProjectedMixGuidance(adaptive_projected_guidance_start_step=2)
    return d.HunyuanImagePipeline(
        scheduler=flow(),
        vae=d.AutoencoderKLHunyuanImage(
            in_channels=3,
            out_channels=3,
            latent_channels=4,
            block_out_channels=(32, 64, 64, 64),
            layers_per_block=1,
            spatial_compression_ratio=8,
            sample_size=128,
            scaling_factor=0.75,
        ).eval(),
        text_encoder=qwen_text(),
        tokenizer=qwen_tokenizer(),
        text_encoder_2=t5_text(),
        tokenizer_2=t.ByT5Tokenizer(),
        transformer=d.HunyuanImageTransformer2DModel(
            in_channels=4,
            out_channels=4,
            num_attention_heads=2,
            attention_head_dim=16,
            num_layers=1,
            num_single_layers=1,
            num_refiner_layers=1,
            text_embed_dim=16,
            text_embed_2_dim=WIDTH,
            rope_axes_dim=(8, 8),
        ).eval(),
        guider=guider,
        ocr_guider=guider,
    )


def deepfloyd() -> d.DiffusionPipeline:
    return d.IFPipeline(
        tokenizer=t5_tokenizer(),
        text_encoder=t5_text(),
        unet=d.UNet2DConditionModel(
            sample_size=32,
            layers_per_block=1,
            block_out_channels=(32, 64),
            down_block_types=("ResnetDownsampleBlock2D", "SimpleCrossAttnDownBlock2D"),
            mid_block_type="UNetMidBlock2DSimpleCrossAttn",
            up_block_types=("SimpleCrossAttnUpBlock2D", "ResnetUpsampleBlock2D"),
            in_channels=3,
            out_channels=6,
            cross_attention_dim=WIDTH,
            encoder_hid_dim=WIDTH,
            attention_head_dim=8,
            addition_embed_type="text",
            addition_embed_type_num_heads=2,
            cross_attention_norm="group_norm",
            resnet_time_scale_shift="scale_shift",
            act_fn="gelu",
        ).eval(),
        scheduler=d.DDPMScheduler(
            beta_schedule="squaredcos_cap_v2",
            thresholding=True,
            sample_max_value=1.0,
            variance_type="learned_range",
        ),
        safety_checker=None,
        feature_extractor=None,
        watermarker=None,
        requires_safety_checker=False,
    )


def latent_diffusion() -> d.DiffusionPipeline:
    return d.LDMTextToImagePipeline(
        vqvae=autoencoder(),
        bert=clip_text(),
        tokenizer=clip_tokenizer(),
        unet=unet(),
        scheduler=d.DDIMScheduler(beta_schedule="scaled_linear", clip_sample=False),
    )


def fibo() -> d.DiffusionPipeline:
    core = qwen_tokenizer().backend_tokenizer
    config = t.SmolLM3Config(
        hidden_size=16,
        intermediate_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        # the pipeline encodes an empty prompt as token 128000, so the vocabulary has the usual size
    )
    return d.BriaFiboPipeline(
        transformer=d.BriaFiboTransformer2DModel(
            in_channels=4,
            num_layers=1,
            num_single_layers=1,
            attention_head_dim=8,
            num_attention_heads=2,
            joint_attention_dim=2 * 16,
            text_encoder_dim=16,
            axes_dims_rope=[0, 4, 4],
        ).eval(),
        scheduler=flow(),
        vae=d.AutoencoderKLWan(
            base_dim=8,
            decoder_base_dim=8,
            z_dim=4,
            num_res_blocks=1,
            in_channels=12,
            out_channels=12,
            patch_size=2,
            scale_factor_spatial=16,
            temperal_downsample=[False, True, True],
            latents_mean=[0.0] * 4,
            latents_std=[1.0] * 4,
        ).eval(),
        text_encoder=t.SmolLM3ForCausalLM(config).eval(),
        tokenizer=t.PreTrainedTokenizerFast(tokenizer_object=core, pad_token="<|endoftext|>"),
    )


def krea_2() -> d.DiffusionPipeline:
    size = len(qwen_tokenizer())
    config = t.Qwen3VLConfig(
        text_config={
            "vocab_size": size,
            "hidden_size": 16,
            "intermediate_size": 16,
            "num_hidden_layers": 2,
            "num_attention_heads": 2,
            "num_key_value_heads": 2,
            "head_dim": 8,
            "rope_parameters": {
                "rope_type": "default",
                "rope_theta": 10_000.0,
                "mrope_section": [1, 1, 2],
            },
        },
        vision_config={
            "depth": 1,
            "hidden_size": 16,
            "intermediate_size": 16,
            "num_heads": 2,
            "out_hidden_size": 16,
        },
    )
    return d.Krea2Pipeline(
        scheduler=d.FlowMatchEulerDiscreteScheduler(use_dynamic_shifting=True),
        vae=qwen_autoencoder(),
        text_encoder=t.Qwen3VLModel(config).eval(),
        tokenizer=qwen_tokenizer(),
        transformer=d.Krea2Transformer2DModel(
            in_channels=16,
            num_layers=1,
            attention_head_dim=8,
            num_attention_heads=2,
            num_key_value_heads=1,
            intermediate_size=16,
            timestep_embed_dim=8,
            text_hidden_dim=16,
            num_text_layers=3,
            text_num_attention_heads=2,
            text_num_key_value_heads=1,
            text_intermediate_size=16,
            num_layerwise_text_blocks=1,
            num_refiner_text_blocks=1,
            axes_dims_rope=(4, 2, 2),
        ).eval(),
        text_encoder_select_layers=(0, 1, 2),
    )


def kandinsky_2_1() -> d.DiffusionPipeline:
    parts = kandinsky().components
    words = ["<s>", "<pad>", "</s>", "<unk>", "▁", *string.ascii_letters, *string.digits]
    vocabulary = [(word, -1.0) for word in [*words, *string.punctuation, "<mask>"]]
    tokenizer = t.XLMRobertaTokenizer(vocab=vocabulary, model_max_length=77)
    config = MCLIPConfig(
        transformerDimSize=WIDTH,
        imageDimSize=WIDTH,
        vocab_size=len(tokenizer),
        hidden_size=WIDTH,
        intermediate_size=37,
        num_hidden_layers=1,
        num_attention_heads=4,
    )
    parts["unet"] = kandinsky_unet(
        encoder_hid_dim_type="text_image_proj", addition_embed_type="text_image"
    )
    parts["scheduler"] = d.DDIMScheduler(beta_schedule="linear", clip_sample=False)
    return d.KandinskyCombinedPipeline(
        text_encoder=MultilingualCLIP(config).eval(), tokenizer=tokenizer, **parts
    )


def perturbed(kind: Any, build: Builder, layers: str) -> Builder:
    """Return a pipeline with perturbed-attention guidance of the parts of another."""

    def build_perturbed() -> d.DiffusionPipeline:
        known = signature(kind.__init__).parameters
        parts = {name: part for name, part in build().components.items() if name in known}
        if "requires_safety_checker" in known:
            parts["requires_safety_checker"] = False
        pipeline: d.DiffusionPipeline = kind(**parts, pag_applied_layers=[layers])
        return pipeline

    return build_perturbed


FURTHER: dict[str, Builder] = {
    "flux-2-klein": flux_2_klein,
    "ovis-image": ovis_image,
    "bria": bria,
    "hidream": hidream,
    "hunyuan-image": hunyuan_image,
    "deepfloyd": deepfloyd,
    "latent-diffusion": latent_diffusion,
    "fibo": fibo,
    "krea-2": krea_2,
    "kandinsky-2-1": kandinsky_2_1,
    "stable-diffusion-pag": perturbed(d.StableDiffusionPAGPipeline, stable_diffusion, "mid"),
    "stable-diffusion-xl-pag": perturbed(
        d.StableDiffusionXLPAGPipeline, stable_diffusion_xl, "mid"
    ),
    "stable-diffusion-3-pag": perturbed(
        d.StableDiffusion3PAGPipeline, stable_diffusion_3, "transformer_blocks.0"
    ),
    "pixart-sigma-pag": perturbed(
        d.PixArtSigmaPAGPipeline, lambda: pixart(layers=2), "transformer_blocks.0"
    ),
    "sana-pag": perturbed(d.SanaPAGPipeline, sana, "transformer_blocks.0"),
}
