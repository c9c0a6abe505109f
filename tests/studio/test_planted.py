"""The planted distribution: exact, as documented, and followed by samples."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from scipy.stats import chisquare

from askew.errors import UnknownName, UsageError
from askew.models.base import Request
from askew.models.planted import PlantedModel
from askew.studio.caption import CaptionContent, parse
from askew.studio.planted import (
    conditional,
    female_share,
    joint,
    sample,
    truth,
    world,
)
from askew.studio.scene import ATTRIBUTES, OCCUPATIONS
from training.given import followers, redrawn, share_given_rest

NURSE = "a photo of a nurse"
INTERACTIONS = [
    ("gender", "age"),
    ("ethnicity", "clothing"),
    ("clothing", "emotion"),
    ("environment", "clothing"),
]


@pytest.mark.parametrize("axis", ATTRIBUTES)
@pytest.mark.parametrize("bias", [0.0, 0.3, 1.0])
def test_truth_is_a_distribution(axis: str, bias: float) -> None:
    shares = truth(NURSE, axis, bias)
    assert tuple(shares) == ATTRIBUTES[axis]
    assert sum(shares.values()) == pytest.approx(1)


@pytest.mark.parametrize("axis", [name for name in ATTRIBUTES if name != "glasses"])
def test_bias_zero_is_uniform_and_independent(axis: str) -> None:
    values = ATTRIBUTES[axis]
    for prompt in (NURSE, "a photo of an old male ceo in formal attire"):
        if axis not in parse(prompt).attributes:
            assert list(truth(prompt, axis, 0.0).values()) == pytest.approx(
                [1 / len(values)] * len(values)
            )


def test_shares_of_women_are_spread_evenly_over_the_occupations() -> None:
    shares = [truth(f"a photo of a {name}", "gender")["female"] for name in OCCUPATIONS]
    assert shares == pytest.approx(list(np.linspace(0.05, 0.95, len(OCCUPATIONS))))
    assert shares == pytest.approx([female_share(name) for name in OCCUPATIONS])


@pytest.mark.parametrize(("cause", "effect"), INTERACTIONS)
def test_planted_interactions_exist_at_bias_one_only(cause: str, effect: str) -> None:
    for bias, differs in ((1.0, True), (0.0, False)):
        table = joint(NURSE, (cause, effect), bias)
        rows = np.array(list(table.values())).reshape(len(ATTRIBUTES[cause]), -1)
        rows = rows / rows.sum(axis=1, keepdims=True)
        assert (np.abs(rows - rows[0]).max() > 0.1) == differs


def test_body_type_does_not_interact_with_gender() -> None:
    rows = np.array(list(joint(NURSE, ("gender", "body_type")).values())).reshape(2, -1)
    assert rows[0] / rows[0].sum() == pytest.approx(rows[1] / rows[1].sum())


def test_conditioning_is_bayes() -> None:
    both = joint(NURSE, ("gender", "age"))
    old = {gender: p for (gender, age), p in both.items() if age == "old"}
    assert truth("a photo of an old nurse", "gender") == pytest.approx(
        {gender: p / sum(old.values()) for gender, p in old.items()}
    )


def test_axes_of_a_joint_distribution_keep_the_requested_order() -> None:
    forth = joint(NURSE, ("emotion", "gender"))
    back = joint(NURSE, ("gender", "emotion"))
    assert forth == pytest.approx({(emotion, gender): p for (gender, emotion), p in back.items()})


@pytest.mark.parametrize("bias", [0.0, 0.5, 1.0])
def test_samples_follow_the_truth(bias: float) -> None:
    scenes = [sample(parse(NURSE), bias, seed) for seed in range(1500)]
    for axis in ATTRIBUTES:
        shares = truth(NURSE, axis, bias)
        seen = Counter(getattr(scene, axis) for scene in scenes)
        assert (
            chisquare([seen[v] for v in shares], [1500 * p for p in shares.values()]).pvalue > 1e-4
        )


def test_redrawn_attributes_follow_the_truth_given_the_rest() -> None:
    scene = sample(parse("a photo of a nurse"), 1.0, seed=1)
    unknown = ("age", "hair", "glasses")
    drawn = [redrawn(scene, unknown, 1.0, seed) for seed in range(2000)]
    rest = {name: value for name, value in scene.attributes().items() if name not in unknown}
    assert all(
        rest.items() <= entry.attributes().items() and entry.occupation == "nurse"
        for entry in drawn
    )
    table = conditional(CaptionContent(rest, "nurse", True, ()), 1.0)
    for name in unknown:
        wanted = table.sum(axis=tuple(i for i, other in enumerate(ATTRIBUTES) if other != name))
        counts = Counter(getattr(entry, name) for entry in drawn)
        assert (
            chisquare([counts[value] for value in ATTRIBUTES[name]], 2000 * wanted).pvalue > 0.001
        )
        assert list(share_given_rest(scene, name, 1.0, unknown).values()) == pytest.approx(
            list(wanted)
        )


def test_stated_values_are_always_drawn() -> None:
    scenes = [
        sample(parse("a photo of an obese blind male nurse"), 1.0, seed) for seed in range(50)
    ]
    assert {(s.body_type, s.disability, s.gender, s.glasses, s.occupation) for s in scenes} == {
        ("obese", "blind", "male", "no glasses", "nurse")
    }


def test_worlds_are_normalized() -> None:
    assert world("chef", 1.0).sum() == pytest.approx(1)
    assert conditional(parse("an old chef"), 0.7).sum() == pytest.approx(1)


def test_impossible_and_unknown_requests_are_errors() -> None:
    with pytest.raises(UsageError, match="cannot show a person with"):
        sample(parse("a blind nurse wearing glasses"), 1.0, 1)
    with pytest.raises(UnknownName, match="Did you mean 'gender'"):
        truth(NURSE, "gendr")
    with pytest.raises(UsageError, match="does not ask the studio for a person"):
        truth("an empty room", "gender")
    with pytest.raises(UsageError, match="between 0"):
        truth(NURSE, "gender", 1.5)
    with pytest.raises(UsageError, match="must be a number from 0"):
        PlantedModel(bias=2)


def test_an_image_depends_on_its_request_only() -> None:
    model = PlantedModel()
    requests = [Request(text, seed) for text in (NURSE, "a photo of a chef") for seed in (1, 2)]
    together = [image.tobytes() for image in model.generate(requests)]
    assert together == [model.generate([request])[0].tobytes() for request in requests]
    assert len(set(together)) == 4
    assert model.unknown_words("a nurse on Mars") == ["mars"]


@pytest.mark.parametrize("root", ["gender", "ethnicity", "environment", "body_type", "style"])
def test_dependents_of_an_attribute_change_with_its_values(root: str) -> None:
    prompt = "a photo of a nurse"
    changed = set()
    for name in ATTRIBUTES.keys() - {root}:
        both = np.array(list(joint(prompt, (root, name)).values())).reshape(
            len(ATTRIBUTES[root]), -1
        )
        if not np.allclose(both, np.outer(both.sum(axis=1), both.sum(axis=0)), atol=1e-12):
            changed.add(name)
    assert set(followers(root)) == changed
