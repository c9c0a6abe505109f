"""New prompts, mutations and variations by the lexicon."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from askew import registry
from askew.errors import UsageError
from askew.prompts.axes import AXES
from askew.prompts.base import Writer, has_length, simplify
from askew.prompts.lexicon import LexiconWriter, create
from askew.prompts.open_details import group_of, groups, kin, main_phrase
from askew.prompts.statements import parse_prompt, states
from askew.prompts.vocabulary import nouns
from askew.studio.caption import parse
from askew.studio.planted import sample

WRITER = create()
STUDIO = registry.writer("lexicon/studio")
PROMPTS = (
    "A photo of a doctor",
    "two nurses in a park at night",
    "an old blind man reading a book indoors",
    "a red bicycle",
    "A close-up of a butterfly on a flower",
    "a mountain lake",
    "A landmark in daylight",
    "a purple qwyx",
)
WRONG_ARTICLE = re.compile(r"\b(?:a (?=[aeio])|an (?=[bcdfgjklmnpqrstvwxyz]))", re.I)


def area(prompt: str) -> str:
    return group_of(main_phrase(parse_prompt(prompt))).area


def test_all_lexicons_are_writers_of_prompts() -> None:
    assert isinstance(WRITER, Writer)
    assert isinstance(registry.writer("lexicon"), LexiconWriter)
    assert WRITER.fingerprint != STUDIO.fingerprint


@pytest.mark.parametrize(
    "words", [(3, 8), (2, 4), (5, 5), pytest.param((16, 30), marks=pytest.mark.slow)]
)
def test_random_prompts_have_the_length_and_are_all_different(words: tuple[int, int]) -> None:
    texts = WRITER.write("random prompts", "", 60, seed=1, words=words)
    assert len(texts) == len({simplify(prompt) for prompt in texts}) == 60
    assert all(has_length(prompt, words) for prompt in texts)
    assert not [prompt for prompt in texts if WRONG_ARTICLE.search(prompt)]


def test_random_prompts_cover_the_three_areas_evenly() -> None:
    counts = Counter(area(prompt) for prompt in WRITER.write("random prompts", "", 120, seed=2))
    assert set(counts) == {"objects", "people", "nature"}
    assert min(counts.values()) > 28


@pytest.mark.parametrize(
    ("topic", "about"),
    [
        ("people", lambda prompt: area(prompt) == "people"),
        (
            "animals",
            lambda prompt: (
                {entry.noun.kind for entry in parse_prompt(prompt).phrases} == {"animal"}
            ),
        ),
        ("food", lambda prompt: group_of(main_phrase(parse_prompt(prompt))).name == "food"),
        ("Red  Shoe", lambda prompt: "Red Shoe" in prompt),
        (
            "wedding dresses",
            lambda prompt: "wedding dresses" in prompt and "a wedding dresses" not in prompt,
        ),
        (
            "clothing",
            lambda prompt: (
                states(prompt, "clothing")
                or group_of(main_phrase(parse_prompt(prompt))).name == "clothes"
            ),
        ),
    ],
)
def test_targets(topic: str, about: object) -> None:
    words = (2, 3) if topic == "animals" else (3, 9)
    texts = WRITER.write("random prompts", "", 12, seed=3, topic=topic, words=words)
    assert texts
    assert all(about(prompt) for prompt in texts), texts  # type: ignore[operator]


def test_a_doctor_becomes_a_surgeon_and_a_dentist() -> None:
    near = kin(nouns()["doctor"])
    assert {"surgeon", "dentist"} <= set(near)
    text = " ".join(WRITER.write("mutations", "a photo of a doctor", 60, seed=4))
    assert "surgeon" in text
    assert "dentist" in text


@pytest.mark.parametrize("prompt", PROMPTS)
def test_mutations_differ_and_stay_related(prompt: str) -> None:
    texts = WRITER.write("mutations", prompt, 8, seed=5, words=(2, 12))
    assert len({simplify(text) for text in texts}) == 8
    assert simplify(prompt) not in map(simplify, texts)
    assert all(has_length(text, (2, 12)) for text in texts)
    assert all(text[0].isupper() == prompt[0].isupper() for text in texts)
    assert not [text for text in texts if WRONG_ARTICLE.search(text)]
    words = set(simplify(prompt).split())
    group = group_of(main_phrase(parse_prompt(prompt)))
    near = [
        group_of(main_phrase(parse_prompt(text))) == group or words & set(simplify(text).split())
        for text in texts
    ]
    assert sum(map(bool, near)) >= 6


def test_mutations_follow_the_target() -> None:
    people = WRITER.write("mutations", "a red bicycle on a road", 6, seed=1, topic="people")
    assert all(area(text) == "people" for text in people)
    assert all(
        "teapot" in text
        for text in WRITER.write("mutations", "a cup on a table", 4, seed=1, topic="teapot")
    )


def test_plurals_stay_plural() -> None:
    for text in WRITER.write("mutations", "two nurses", 10, seed=6):
        assert main_phrase(parse_prompt(text)).plural, text  # type: ignore[union-attr]


@pytest.mark.parametrize("prompt", PROMPTS)
def test_variations_keep_everything_that_the_prompt_states(prompt: str) -> None:
    texts = WRITER.write("variations", prompt, 15, seed=7)
    assert len({simplify(text) for text in texts}) == 15
    lacking = Counter(simplify(prompt).split())
    for text in texts:
        lost = {word for word in lacking - Counter(simplify(text).split()) if word != "photo"}
        assert not lost, text
        assert has_length(text, (3, 20))
        assert not WRONG_ARTICLE.search(text)


@pytest.mark.parametrize(
    ("prompt", "axes"),
    [
        ("an old woman in a suit", ("age", "gender", "clothing")),
        ("a sketch of a nurse in an office", ("style", "environment")),
        ("a blind man", ("disability", "gender")),
        ("a red car at night", ("color", "time_of_day", "lighting")),
        ("a doctor who is happy outdoors", ("emotion", "environment")),
    ],
)
def test_variations_do_not_contradict_the_prompt(prompt: str, axes: tuple[str, ...]) -> None:
    others = {
        "age": "young|middle-aged",
        "gender": "male|man",
        "clothing": "wearing a|informal|formal",
        "style": "photo of|painting",
        "environment": "outdoors|street|park|beach|rain|forest|snow",
        "disability": "wheelchair|fit|reading|hearing",
        "color": "blue|green|black|white",
        "time_of_day": "morning|noon|evening|dawn",
        "lighting": "sunshine|light\\b",
        "emotion": "sad|tired|serious",
    }
    if prompt.endswith("outdoors"):
        others["environment"] = "indoors|kitchen|office|library|room"
    if "man" in prompt.split():
        others["gender"] = "female|woman"
    for text in WRITER.write("variations", prompt, 40, seed=8):
        for axis in axes:
            contradiction = re.search(rf"\b(?:{others[axis]})\b", text)
            assert contradiction is None, f"{text!r} says {contradiction and contradiction.group()}"


def test_all_aspects_are_stated_equally_often() -> None:
    texts = STUDIO.write("variations", "a photo of a doctor", 30, seed=9)
    women = sum(parse(text).attributes.get("gender") == "female" for text in texts)
    men = sum(parse(text).attributes.get("gender") == "male" for text in texts)
    assert women >= 1
    assert abs(women - men) <= 1
    ethnicities = Counter(parse(text).attributes.get("ethnicity") for text in texts)
    ethnicities.pop(None)
    assert max(ethnicities.values()) - min(ethnicities.values()) <= 1


def test_variations_for_people_state_the_person() -> None:
    person_axes = groups()["people"].person_axes
    for text in WRITER.write("variations", "a firefighter", 20, seed=10, topic="people"):
        assert any(states(text, axis) for axis in person_axes), text
        assert not any(states(text, axis) for axis in ("setting", "style", "clothing")), text


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 2**40), st.sampled_from([None, "people", "clothing", "style"]))
def test_the_studio_knows_all_words_that_are_written_for_it(seed: int, topic: str | None) -> None:
    prompts = STUDIO.write("random prompts", "", 3, seed=seed, topic=topic)
    assert len(prompts) == 3
    for prompt in prompts:
        written = STUDIO.write("mutations", prompt, 2, seed=seed) + STUDIO.write(
            "variations", prompt, 4, seed=seed
        )
        for text in [prompt, *written]:
            assert not parse(text).unknown, text
    sample(parse(STUDIO.write("variations", prompts[0], 1, seed=seed)[0]), 1.0, 1)


@settings(max_examples=15, deadline=None)
@given(st.text(max_size=60).filter(str.strip), st.integers(0, 100))
def test_any_text_can_be_mutated_and_varied(prompt: str, seed: int) -> None:
    for text in [
        *WRITER.write("mutations", prompt, 2, seed=seed),
        *WRITER.write("variations", prompt, 2, seed=seed),
    ]:
        assert text.strip()
        assert simplify(text) != simplify(prompt)


def test_prompts_depend_on_the_seed_only() -> None:
    code = (
        "from askew.prompts.lexicon import create; w = create();"
        "print(w.write('random prompts', '', 5, seed=3));"
        "print(w.write('mutations', 'a cat', 5, seed=3), w.write('variations', 'a nurse', 5, seed=3))"
    )
    runs = {
        subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            env={"PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("0", "1")
    }
    assert len(runs) == 1
    assert WRITER.write("random prompts", "", 5, seed=3) != WRITER.write(
        "random prompts", "", 5, seed=4
    )


@pytest.mark.slow
def test_fewer_prompts_are_returned_if_there_are_no_more() -> None:
    assert 0 < len(STUDIO.write("mutations", "a doctor", 60, seed=0, words=(2, 2))) < 60
    assert WRITER.write("variations", "a photo of a doctor", 5, seed=0, words=(3, 5)) == []


def test_bad_requests_are_usage_errors() -> None:
    with pytest.raises(UsageError, match="at least 1"):
        WRITER.write("random prompts", "", 0, seed=0)
    with pytest.raises(UsageError, match="0 to 8"):
        WRITER.write("random prompts", "", 1, seed=0, words=(0, 8))
    with pytest.raises(UsageError, match="9 to 8"):
        WRITER.write("mutations", "a cat", 1, seed=0, words=(9, 8))
    with pytest.raises(UsageError, match="empty"):
        WRITER.write("variations", "  ", 1, seed=0)
    with pytest.raises(UsageError, match="topic is empty"):
        WRITER.write("random prompts", "", 1, seed=0, topic=" ")
    with pytest.raises(UsageError, match="vocabulary"):
        STUDIO.write("random prompts", "", 1, seed=0, topic="red shoe")
    with pytest.raises(UsageError, match="vocabulary"):
        STUDIO.write("random prompts", "", 1, seed=0, topic="food")


def test_every_axis_and_noun_of_the_groups_is_known() -> None:
    for group in groups().values():
        assert set(group.varied_axes) | set(group.person_axes) <= set(AXES)
        assert any(entry.is_phrase for entry in group.details)


@pytest.mark.parametrize("writer", [WRITER, STUDIO], ids=["lexicon", "studio"])
@pytest.mark.parametrize("topic", ["people", "clothing", "style"])
def test_every_prompt_about_a_target_has_variations(writer: LexiconWriter, topic: str) -> None:
    for prompt in writer.write("random prompts", "", 6, seed=1, topic=topic):
        assert len(writer.write("variations", prompt, 15, seed=3, topic=topic)) == 15


def test_a_target_comes_first() -> None:
    texts = STUDIO.write("variations", "a photo of a nurse", 15, seed=3, topic="style")
    assert not any(text.startswith("a photo of") for text in texts[:3])
    assert any(text.startswith("a photo of") for text in texts[3:])
