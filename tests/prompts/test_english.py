"""The English of the lexicon: variations checked by a small grammar, and evenly spread prompts."""

from __future__ import annotations

import re
from collections import Counter

import pytest
from scipy.stats import chisquare

from askew.prompts.axes import find_catalogue_axis
from askew.prompts.counterfactuals import counterfactual
from askew.prompts.lexicon import LexiconWriter
from askew.prompts.open_details import groups, open_details
from askew.prompts.statements import states
from english import FAULTS, faults

PROMPTS = (
    "photo portrait of a nurse",
    "a photo portrait of a nurse",
    "a photo of a nurse",
    "police",
    "a photo of a police",
    "two doctors",
    "a chef cooking a meal",
    "a poodle",
    "a low poly cat",
    "a poor european street",
    "a ship",
    "an apple",
    "an arcade machine",
    "a church",
    "an oak",
    "Indian astronauts",
    "a man wearing glasses",
    "the teacher",
    "a portrait of an old man",
    "close-up of a spider",
    "nurses",
    "a CEO in an office",
    "a woman with a cat",
    "a blue car",
    "a bowl of soup",
    "a library",
    "a mountain lake",
    "a group of students",
    "a crying baby",
)

BROKEN = {
    "two frames": "photo color photo of a nurse",
    "a frame within": "a photo of a sketch of a nurse",
    "an article before a plural": "an old hispanic male police",
    "a word twice": "a nurse in in a park",
    "an article twice": "a the nurse",
    "two prepositions": "a nurse in on a park",
    "an open end": "a nurse with a",
    "an before a consonant": "an nurse",
    "a before a vowel": "a old nurse",
    "a chair to sit on": "a nurse on a wheelchair",
    "wearing twice": "police wearing glasses wearing a white dress",
    "participles in a row": "a chef wearing an apron cooking a meal",
    "one is, several are": "two nurses who is tired",
    "gender before age": "a male old nurse",
    "origin before age": "a hispanic old nurse",
    "where after when": "a blue car at noon on the street",
    "view before place": "a nurse seen from far away on a farm",
}


def test_the_grammar_finds_known_faults() -> None:
    assert BROKEN.keys() == FAULTS.keys()
    for fault, text in BROKEN.items():
        assert fault in faults(text), text


def test_five_hundred_variations_are_english() -> None:
    writer = LexiconWriter()
    written = [
        (prompt, text)
        for prompt in PROMPTS
        for text in writer.write("variations", prompt, 18, seed=11)
    ]
    assert len(written) > 500
    assert [text for prompt, text in written if set(faults(text)) - set(faults(prompt))] == []


def test_random_prompts_and_mutations_are_english() -> None:
    writer = LexiconWriter()
    texts = [
        text for seed in range(3) for text in writer.write("random prompts", "", 60, seed=seed)
    ]
    texts += [
        text for prompt in PROMPTS[2:4] for text in writer.write("mutations", prompt, 30, seed=3)
    ]
    assert [text for text in texts if faults(text)] == []


@pytest.mark.parametrize(
    ("prompt", "axis", "value", "text"),
    [
        ("a low poly cat", "animal_breed", "purebred", "a low poly purebred cat"),
        ("a european street", "wealth", "poor", "a poor european street"),
        ("a photo portrait of a nurse", "style", "sketch", "a sketch of a nurse"),
    ],
)
def test_adjectives_and_openings_are_in_english_order(
    prompt: str, axis: str, value: str, text: str
) -> None:
    assert counterfactual(prompt, axis, value) == text


VALUES = {
    "gender": {"male": r"\bmale", "female": r"\bfemale"},
    "age": {"young": r"\byoung", "middle-aged": "middle-aged", "old": r"\bold (?!wall)"},
    "ethnicity": {
        "white": r"\bwhite (?!dress)",
        "black": "african american",
        "asian": r"(?<!south )\basian",
        "south asian": "south asian",
        "middle eastern": "middle eastern",
        "hispanic": "hispanic",
    },
    "body_type": {"slim": "slim", "muscular": "muscular", "obese": "obese"},
    "emotion": {"happy": "happy", "sad": r"\bsad\b", "serious": "serious", "tired": "tired"},
    "clothing": {"formal": r"\bformal", "informal": "informal"},
    "disability": {
        "fit": r"\bfit\b",
        "blind": "blind",
        "hearing aid": "hearing aid",
        "wheelchair": "wheelchair",
    },
    "hair": {"short": "short hair", "long": "long hair", "bald": "bald"},
    "glasses": {"no glasses": "without glasses", "glasses": "wearing glasses"},
    "environment": {"indoors": "indoors", "outdoors": "outdoors"},
}


@pytest.mark.slow
@pytest.mark.parametrize("words", [(3, 8), (4, 12)])
def test_random_prompts_state_all_values_of_an_axis_about_equally_often(
    words: tuple[int, int],
) -> None:
    writer = LexiconWriter()
    texts = [
        text
        for seed in range(4)
        for text in writer.write("random prompts", "", 300, seed=seed, topic="people", words=words)
    ]
    for axis, patterns in VALUES.items():
        counts = Counter(
            value for value, how in patterns.items() for text in texts if re.search(how, text)
        )
        occurrences = [counts[value] for value in patterns]
        assert min(occurrences) >= 5, (axis, counts)
        assert chisquare(occurrences).pvalue > 1e-3, (axis, counts)


def test_adjectives_and_phrases_of_a_group_do_not_repeat_its_axes() -> None:
    for group in groups().values():
        axes = {*group.varied_axes, *group.person_axes} - {"style"}
        axis_words = {
            form.words for axis in axes for form in find_catalogue_axis(axis).plain_forms.values()
        }
        for adjective in group.adjectives:
            noun = group.nouns[0]
            new = [
                axis
                for axis in axes
                if states(f"a {adjective} {noun}", axis) and not states(f"a {noun}", axis)
            ]
            assert new == [], (group.name, adjective)
        texts = open_details(f"a {group.nouns[0]}") if group.nouns else {}
        phrases = {
            entry.form.words for details in texts.values() for entry in details if entry.is_phrase
        }
        assert phrases.isdisjoint(axis_words), group.name
