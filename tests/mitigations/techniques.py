"""Techniques with settings that fit the tiny pipelines, and the images that pipelines make."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from functools import cache
from typing import Any

import numpy as np
import torch
from diffusers import DDIMScheduler

import tiny_pipelines
from askew.mitigations.base import Mitigation
from askew.mitigations.cads import CADS, Guidance, NegativePrompt
from askew.mitigations.entanglement import Entanglement
from askew.mitigations.fair_diffusion import FairDiffusion
from askew.mitigations.iti_gen import PLACES, ITIGen, encode_tokens, encoder_digest
from askew.mitigations.prompts import Policy, PolicyPart, PromptPolicy
from askew.models.base import Request

NURSE = "a photo of a nurse"
GENDER = {"gender": {"male": 0.5, "female": 0.5}}
AGE = {"age": {"young": 0.5, "old": 0.5}}
FAMILIES = ("stable-diffusion", "stable-diffusion-xl", "stable-diffusion-3")
NETWORK_TECHNIQUES = (
    "cads",
    "entanglement",
    "fair-diffusion",
    "guidance",
    "iti-gen",
    "negative-prompt",
)
TECHNIQUES = (*NETWORK_TECHNIQUES, "prompts")
REQUESTS = (Request(NURSE, 7, 0), Request(NURSE, 8, 1))


@cache
def pipeline(family: str) -> Any:
    """A tiny pipeline with random weights, the same each time."""
    builders = {
        "stable-diffusion": tiny_pipelines.stable_diffusion,
        "stable-diffusion-xl": tiny_pipelines.stable_diffusion_xl,
        "stable-diffusion-3": tiny_pipelines.stable_diffusion_3,
    }
    with torch.random.fork_rng():
        torch.manual_seed(0)
        tiny = builders[family]()
    if family == "stable-diffusion":
        tiny.scheduler = DDIMScheduler.from_config(tiny.scheduler.config, clip_sample=False)
    tiny.set_progress_bar_config(disable=True)
    return tiny


def latents(
    family: str,
    techniques: Sequence[Mitigation],
    requests: Sequence[Request] = REQUESTS,
    **settings: Any,
) -> np.ndarray:
    """Latents of the images of requests, under techniques in nested contexts."""
    pipe = pipeline(family)
    generators = [torch.Generator("cpu").manual_seed(request.seed) for request in requests]
    call = {"num_inference_steps": 3, "guidance_scale": 5.0, "output_type": "latent", **settings}
    if "prompt_embeds" not in call:
        call["prompt"] = [request.prompt for request in requests]
    with ExitStack() as contexts:
        for technique in techniques:
            contexts.enter_context(technique.steer(pipe, requests))
        return np.asarray(pipe(generator=generators, **call).images)


def technique(name: str, encoder: Any = None, axis: dict[str, Any] = GENDER) -> Mitigation:
    """A technique with strong effects. `encoder` is the text encoder for iti-gen."""
    if name == "iti-gen":
        width = encoder.get_input_embeddings().weight.shape[1]
        tokens = np.random.default_rng(0).normal(size=(2, PLACES, width)).astype(np.float32)
        return ITIGen(
            targets=axis,
            tokens={next(iter(axis)): encode_tokens(tokens)},
            width=width,
            encoder=encoder_digest(encoder),
        )
    ((name_of_axis, shares),) = axis.items()
    parts = tuple(
        PolicyPart(text=f"a photo of a {value} nurse", weight=0.5, says={name_of_axis: value})
        for value in shares
    )
    values: dict[str, Mitigation] = {
        "cads": CADS(noise=0.5),
        "entanglement": Entanglement(targets=axis, scale=20.0),
        "fair-diffusion": FairDiffusion(targets=axis, warm_up=0),
        "guidance": Guidance(scale=2.0),
        "negative-prompt": NegativePrompt(words="a male person"),
        "prompts": PromptPolicy(policies=(Policy(prompt=NURSE, parts=parts),)),
    }
    return values[name]
