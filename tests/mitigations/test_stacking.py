"""Several mitigations of a model: each pair of techniques composes, or one sentence refuses it."""

from __future__ import annotations

from functools import cache
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import askew
from askew import registry
from askew.errors import UsageError
from askew.mitigations import open_model
from askew.mitigations.base import Mitigation
from askew.mitigations.cads import CADS, Guidance
from askew.mitigations.entanglement import Entanglement
from askew.mitigations.prompts import Policy, PolicyPart, PromptPolicy
from askew.models.base import Request
from askew.run.work import wanted_pictures
from mitigations.techniques import (
    AGE,
    GENDER,
    NETWORK_TECHNIQUES,
    NURSE,
    REQUESTS,
    TECHNIQUES,
    latents,
    pipeline,
    technique,
)
from slow_cases import quick_only

SD = "stable-diffusion"
AXES = {"gender": GENDER, "age": AGE}
REQUESTING = ("fair-diffusion", "iti-gen", "prompts")
"""Techniques that request values of images."""


def value_of(name: str, axis: dict[str, Any] = GENDER) -> Mitigation:
    return technique(name, pipeline(SD).text_encoder, axis)


def applied(*values: Mitigation) -> np.ndarray:
    """Latents of a pipeline to which mitigations are applied, one after another."""
    pipe: Any = pipeline(SD)
    for value in values:
        pipe = value.apply(pipe)
    images = pipe(
        [request.prompt for request in REQUESTS],
        generator=generators(),
        num_inference_steps=3,
        guidance_scale=5.0,
        output_type="latent",
    ).images
    return np.asarray(images)


@cache
def applied_alone(name: str, axis: str) -> np.ndarray:
    """Latents of a pipeline to which one mitigation of an axis is applied."""
    return applied(value_of(name, AXES[axis]))


def generators() -> list[torch.Generator]:
    return [torch.Generator("cpu").manual_seed(request.seed) for request in REQUESTS]


QUICK_PAIRS = [
    ("cads", "fair-diffusion"),
    ("fair-diffusion", "cads"),
    ("cads", "cads"),
    ("fair-diffusion", "fair-diffusion"),
    ("iti-gen", "guidance"),
    ("prompts", "negative-prompt"),
    ("entanglement", "prompts"),
]
"""Pairs in which each technique occurs, in both orders and with itself."""


@pytest.mark.parametrize(
    ("first", "second"), quick_only(QUICK_PAIRS, product(TECHNIQUES, TECHNIQUES))
)
def test_a_pair_composes_or_is_refused(first: str, second: str) -> None:
    """On different axes all pairs compose, except two of a technique that works once only."""
    pair = (value_of(first, AXES["gender"]), value_of(second, AXES["age"]))
    if first == second and first != "fair-diffusion":
        with pytest.raises(UsageError, match=f"{first} and {second} cannot be combined: .*; "):
            applied(*pair)
        return
    both = applied(*pair)
    assert np.isfinite(both).all()
    for alone in (applied_alone(first, "gender"), applied_alone(second, "age")):
        assert np.abs(both - alone).max() > 1e-4, "a mitigation was dropped"


@pytest.mark.parametrize(
    ("first", "second"),
    quick_only(
        [("cads", "fair-diffusion"), ("fair-diffusion", "negative-prompt")],
        combinations(NETWORK_TECHNIQUES, 2),
    ),
)
def test_the_order_of_network_techniques_does_not_matter(first: str, second: str) -> None:
    pair = [value_of(first), value_of(second)]
    forward = latents(SD, pair)
    assert np.abs(forward - latents(SD, pair[::-1])).max() < 1e-4 * np.abs(forward).max()
    assert "forward" not in vars(pipeline(SD).unet)


@pytest.mark.parametrize(("first", "second"), list(product(REQUESTING, REQUESTING)))
def test_two_requests_of_an_axis_are_refused_unless_they_are_equal(first: str, second: str) -> None:
    if first == second and first != "fair-diffusion":
        return
    values = [value_of(first), value_of(second)]
    model: Any = registry.model("studio", num_inference_steps=2)
    if {first, second} == {"fair-diffusion", "iti-gen"}:
        stacked = values[1].wrap(values[0].wrap(model))
        for number in range(8):
            request = Request(NURSE, 100 + number, number)
            assert values[0].requested_values(request) == values[1].requested_values(request)
            assert stacked.requested_values(request) == values[0].requested_values(request)  # type: ignore[attr-defined]
        return
    with pytest.raises(UsageError, match="both mitigations request values of gender"):
        values[1].wrap(values[0].wrap(model))


def test_fair_diffusion_under_another_guidance_scale() -> None:
    fair = value_of("fair-diffusion")
    expected = latents(SD, [fair], guidance_scale=2.0)
    both = latents(SD, [fair, Guidance(scale=2.0)])
    assert np.abs(both - expected).max() < 1e-4 * np.abs(expected).max()


def test_fair_diffusion_and_a_negative_prompt() -> None:
    fair = value_of("fair-diffusion")
    expected = latents(SD, [fair], negative_prompt=["a male person"] * 2)
    both = latents(SD, [value_of("negative-prompt"), fair])
    assert np.abs(both - expected).max() < 1e-5 * np.abs(expected).max()


def test_changes_of_the_noise_add_up() -> None:
    """BiasMap's best published setting: Fair Diffusion with guidance by entanglement."""
    step = {"num_inference_steps": 1}
    parts = [value_of("fair-diffusion"), Entanglement(targets=GENDER, scale=20.0)]
    plain = latents(SD, [], **step)
    changes = [latents(SD, [part], **step) - plain for part in parts]
    both = latents(SD, parts, **step) - plain
    assert np.abs(both - sum(changes)).max() < 1e-4 * np.abs(both).max()
    assert min(np.abs(change).max() for change in changes) > 1e-4


def test_tokens_follow_the_words_of_a_policy() -> None:
    """ITI-GEN encodes the prompt that the policy sends, not the prompt of the user."""
    tokens = value_of("iti-gen", AGE)
    policy = value_of("prompts")
    both = applied(tokens, policy)
    sent = [policy.prompt_for(request) for request in REQUESTS]
    with tokens.steer(pipeline(SD), REQUESTS, sent):
        expected = pipeline(SD)(
            sent,
            generator=generators(),
            num_inference_steps=3,
            guidance_scale=5.0,
            output_type="latent",
        ).images
    assert np.array_equal(both, np.asarray(expected))
    assert not np.allclose(both, applied(tokens), atol=1e-3)


def test_two_files_give_a_third_key(tmp_path: Path) -> None:
    paths = {}
    for name in ("cads", "guidance"):
        paths[name] = tmp_path / f"{name}.toml"
        paths[name].write_text(value_of(name).to_toml())
    keys = []
    for setting in ("cads", "guidance", "cads,guidance", "guidance,cads"):
        files = ",".join(str(paths[name]) for name in setting.split(","))
        model = open_model("studio", {"mitigation": files, "num_inference_steps": 2})
        keys.append({picture.key for picture in wanted_pictures(model, [NURSE], 4, 0)})
    for a, b in product(range(4), range(4)):
        assert a == b or keys[a].isdisjoint(keys[b])
    odd = tmp_path / "a,b.toml"
    odd.write_text(CADS().to_toml())
    single: Any = open_model("studio", {"mitigation": str(odd)})
    assert single.settings["mitigation"] == CADS().fingerprint


def test_policies_for_different_prompts_compose(tmp_path: Path) -> None:
    """Each file serves its prompt; a file for a prompt that another sends is refused."""

    def policy(prompt: str, text: str) -> PromptPolicy:
        return PromptPolicy(
            policies=(
                Policy(
                    prompt=prompt, parts=(PolicyPart(text=text, weight=1, says={"age": "old"}),)
                ),
            )
        )

    nurse = policy(NURSE, "a photo of an old nurse")
    chef = policy("a photo of a chef", "a photo of an old chef")
    plain: Any = registry.model("studio/planted")
    both: Any = chef.wrap(nurse.wrap(plain))
    for prompt, text in ((NURSE, "a photo of an old nurse"), ("a photo of a king", "")):
        assert both.stack.prompt_for(Request(prompt, 1, 0)) == (text or prompt)
    with pytest.raises(
        UsageError, match="both mitigations change the prompt 'a photo of an old nurse'"
    ):
        policy("a photo of an old nurse", "an old nurse with glasses").wrap(nurse.wrap(plain))


@pytest.mark.slow
def test_mitigating_a_mitigated_model_keeps_both(tmp_path: Path) -> None:
    """A technique that is tried on a mitigated model has images and keys of both.

    A later run of the technique in the same store would otherwise receive images of both.
    """
    file = tmp_path / "guidance.toml"
    file.write_text(Guidance(scale=1.5).to_toml())
    common: dict[str, Any] = {
        "axes": "gender",
        "monitor": "age",
        "techniques": "cads",
        "eval_images": 2,
        "model": "studio",
        "model_args": {"num_inference_steps": 2},
        "embedder": "none",
        "bootstrap_samples": 100,
        "store": tmp_path / "store",
    }
    both = askew.mitigate(NURSE, mitigation=file, run=tmp_path / "both", **common)
    single = askew.mitigate(NURSE, run=tmp_path / "single", **common)
    images = {}
    for name, result in (("both", both), ("single", single)):
        images[name] = [image_set.pictures for image_set in result.findings.sets]
    before, after = images["both"]
    assert before != after, "the technique was dropped"
    assert {*before, *after}.isdisjoint({*images["single"][0], *images["single"][1]})


def test_a_technique_that_cannot_join_is_refused_before_any_image(tmp_path: Path) -> None:
    file = tmp_path / "policy.toml"
    file.write_text(value_of("prompts").to_toml())
    for name in ("prompts", "fair-diffusion", "iti-gen"):
        reason = (
            "both mitigations change the prompt"
            if name == "prompts"
            else "both mitigations request values of gender"
        )
        with pytest.raises(UsageError, match=reason):
            askew.mitigate(
                NURSE,
                axes="gender",
                techniques=name,
                mitigation=file,
                model="studio",
                run=tmp_path / name,
            )
        assert not [*(tmp_path / name).rglob("*.png")]
        assert not [*(tmp_path / ".askew").rglob("*.png")]
    with pytest.raises(UsageError, match="cads works inside a diffusion network"):
        askew.mitigate(
            NURSE,
            axes="gender",
            techniques="prompts,cads",
            model="studio/planted",
            run=tmp_path / "planted",
        )
    assert not [*(tmp_path / ".askew").rglob("*.png")]
