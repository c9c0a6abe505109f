"""Techniques against the same pipeline, called with its own settings, for each family."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from askew.errors import UsageError
from askew.mitigations.cads import CADS, Guidance, NegativePrompt, anneal
from askew.mitigations.fair_diffusion import FairDiffusion
from askew.mitigations.iti_gen import ITIGen, states_with_tokens
from askew.models.base import Request
from askew.models.diffusers.model import DiffusersModel
from askew.store.keys import derived_seed
from mitigations.techniques import FAMILIES, GENDER, NURSE, REQUESTS, latents, pipeline, technique
from slow_cases import quick_only

WORDS = "a male person"
POOLED = {"stable-diffusion-xl", "stable-diffusion-3"}


@pytest.mark.parametrize("family", FAMILIES)
def test_the_guidance_scale(family: str) -> None:
    expected = latents(family, [], guidance_scale=2.0)
    assert np.allclose(latents(family, [Guidance(scale=2.0)]), expected, atol=1e-4)


@pytest.mark.parametrize(
    ("family", "settings"),
    quick_only(
        [
            ("stable-diffusion", {"guidance_rescale": 0.7}),
            ("stable-diffusion-xl", {"clip_skip": 1}),
            ("stable-diffusion-3", {"max_sequence_length": 40}),
        ],
        [
            ("stable-diffusion", {}),
            ("stable-diffusion-xl", {"clip_skip": 1}),
            ("stable-diffusion", {"guidance_rescale": 0.7}),
            ("stable-diffusion-xl", {}),
            ("stable-diffusion-xl", {"guidance_rescale": 0.7}),
            ("stable-diffusion-3", {}),
            ("stable-diffusion-3", {"max_sequence_length": 40}),
        ],
    ),
)
def test_the_negative_prompt(family: str, settings: dict[str, Any]) -> None:
    expected = latents(family, [], negative_prompt=[WORDS, WORDS], **settings)
    steered = latents(family, [NegativePrompt(words=WORDS)], **settings)
    assert np.abs(steered - expected).max() < 1e-5 * np.abs(expected).max()
    assert np.abs(steered - latents(family, [], **settings)).max() > 1e-4


@pytest.mark.parametrize("family", FAMILIES)
def test_cads_is_the_pipeline_with_annealed_texts(family: str) -> None:
    """The first step anneals both halves of the states, and of the pooled vectors."""
    steering = CADS(noise=0.5, mixing=0.8)
    texts = _encoded(family)
    annealed = {}
    for name, rows in texts.items():
        pairs = zip(rows, (7, 8), strict=True)
        annealed[name] = torch.stack([_annealed(row, name, seed) for row, seed in pairs])
    expected = latents(family, [], num_inference_steps=1, **annealed)
    steered = latents(family, [steering], num_inference_steps=1)
    assert np.abs(steered - expected).max() < 1e-5 * np.abs(expected).max()
    assert np.abs(steered - latents(family, [], num_inference_steps=1)).max() > 1e-4


def test_cads_at_full_strength_leaves_nothing_of_the_prompt() -> None:
    """Two prompts then differ by mean and deviation only, which one row of SDXL's text shows."""
    steering = CADS(begin=0, end=0, noise=1.0, mixing=0.0)
    requests = [Request(NURSE, 7, 0), Request("an old king", 7, 0)]
    images = latents("stable-diffusion-xl", [steering], requests)
    assert np.array_equal(images[0], images[1])


@pytest.mark.parametrize("family", FAMILIES)
def test_fair_diffusion_is_its_formula(family: str) -> None:
    """A single step is linear in the network's output, so unguided images are its terms."""
    steering = FairDiffusion(targets=GENDER, warm_up=0, momentum=0)

    def unguided(prompt: str) -> np.ndarray:
        requests = [Request(prompt, request.seed, request.number) for request in REQUESTS]
        return latents(family, [], requests, num_inference_steps=1, guidance_scale=1.0)

    none = unguided("")
    plain = unguided(NURSE)
    expected = none + 5 * (plain - none)
    for value in GENDER["gender"]:
        edit = 4.0 * (unguided(f"{value} person") - none)
        least = np.quantile(np.abs(edit).reshape(*edit.shape[:2], -1), 0.95, axis=2)
        masked = np.where(np.abs(edit) >= least[..., None, None], edit, 0)
        for k, request in enumerate(REQUESTS):
            sign = 1 if steering.requested_values(request)["gender"] == value else -1
            expected[k] += sign * masked[k]
    steered = latents(family, [steering], num_inference_steps=1, negative_prompt=["", ""])
    scale = np.abs(expected).max()
    # A pixel at the quantile may fall on either side of it.
    assert (np.abs(steered - expected) > 1e-4 * scale).mean() < 0.01


def test_iti_gen_is_the_pipeline_with_its_states() -> None:
    pipe = pipeline("stable-diffusion")
    steering = technique("iti-gen", pipe.text_encoder)
    assert isinstance(steering, ITIGen)
    rows = []
    for request in REQUESTS:
        value = steering.requested_values(request)["gender"]
        tokens = steering.table("gender")[list(GENDER["gender"]).index(value)]
        with torch.no_grad():
            states, _ = states_with_tokens(
                pipe.text_encoder, pipe.tokenizer, NURSE, torch.tensor(tokens)[None]
            )
        rows.append(states[0])
    expected = latents("stable-diffusion", [], prompt_embeds=torch.stack(rows))
    assert np.abs(latents("stable-diffusion", [steering]) - expected).max() < 1e-5


@pytest.mark.parametrize("family", FAMILIES[:2])
@pytest.mark.parametrize("name", ["guidance", "fair-diffusion", "entanglement"])
def test_rescaled_guidance_is_refused_where_it_would_differ(family: str, name: str) -> None:
    with pytest.raises(UsageError, match=f"{name} does not work .* omit guidance_rescale"):
        latents(family, [technique(name)], guidance_rescale=0.7)


def test_settings_are_refused_before_any_image(tmp_path: Any) -> None:
    pipeline("stable-diffusion").save_pretrained(tmp_path / "sd")
    rescaled = DiffusersModel(tmp_path / "sd", guidance_rescale=0.7)
    with pytest.raises(UsageError, match=r"guidance does not work .* guidance_rescale=0\.7"):
        Guidance(scale=2).wrap(rescaled)
    NegativePrompt(words=WORDS).wrap(rescaled)
    with pytest.raises(UsageError, match="cads needs guidance; set a guidance_scale above 1"):
        CADS().wrap(DiffusersModel(tmp_path / "sd", guidance_scale=1.0))
    with pytest.raises(UsageError, match="clip_skip=1 skips some layers; omit clip_skip"):
        technique("iti-gen", pipeline("stable-diffusion").text_encoder).wrap(
            DiffusersModel(tmp_path / "sd", clip_skip=1)
        )
    with pytest.raises(UsageError, match="does not work with skip-layer guidance"):
        latents(
            "stable-diffusion-3",
            [CADS()],
            skip_guidance_layers=[0],
            skip_layer_guidance_start=0.0,
            skip_layer_guidance_stop=1.0,
        )


def test_images_that_were_wrong_have_new_keys_and_others_keep_theirs(tmp_path: Any) -> None:
    """CADS and negative prompts once forgot pooled vectors, and edits forgot clip_skip."""
    for family in ("stable-diffusion", "stable-diffusion-xl"):
        pipeline(family).save_pretrained(tmp_path / family)
    single = DiffusersModel(tmp_path / "stable-diffusion")
    skipped = DiffusersModel(tmp_path / "stable-diffusion", clip_skip=1)
    double = DiffusersModel(tmp_path / "stable-diffusion-xl")
    for name, changed in {
        "cads": [double],
        "negative-prompt": [double],
        "fair-diffusion": [skipped],
        "guidance": [],
    }.items():
        value = technique(name)
        for model in (single, skipped, double):
            is_file = value.wrap(model).settings["mitigation"] == value.fingerprint
            assert is_file is all(model is not other for other in changed), (name, model.name)


def _encoded(family: str) -> dict[str, torch.Tensor]:
    """The pipeline's own texts of a batch, by their arguments."""
    pipe = pipeline(family)
    more = {"stable-diffusion": {}, "stable-diffusion-xl": {"prompt_2": None}}
    given = more.get(family, {"prompt_2": None, "prompt_3": None})
    rows = pipe.encode_prompt(
        prompt=[NURSE, NURSE],
        device="cpu",
        num_images_per_prompt=1,
        do_classifier_free_guidance=True,
        **given,
    )
    names = ["prompt_embeds", "negative_prompt_embeds"]
    if family in POOLED:
        names += ["pooled_prompt_embeds", "negative_pooled_prompt_embeds"]
    return dict(zip(names, rows, strict=True))


def _annealed(row: torch.Tensor, name: str, seed: int) -> torch.Tensor:
    """A row of a text after the first step's noise, whose first half is unconditional."""
    purpose = ("cads", "pooled") if "pooled" in name else ("cads",)
    generator = torch.Generator("cpu").manual_seed(derived_seed(seed, *purpose))
    noise = torch.randn((2, *row.shape), generator=generator)
    half = 0 if name.startswith("negative") else 1
    return anneal(row[None], noise[half][None], gamma=0.0, scale=0.5, mixing=0.8)[0]
