"""The built-in writer."""

from __future__ import annotations

import subprocess
import sys

import pytest

from askew.errors import UnknownName, UsageError
from askew.prompts.axes import AXES, BIASCONNECT
from askew.prompts.base import Writer
from askew.prompts.counterfactuals import counterfactual
from askew.prompts.lexicon import create
from askew.prompts.open_details import find_topic, with_article
from askew.prompts.statements import states
from askew.prompts.vocabulary import nouns
from askew.studio.scene import OCCUPATIONS


def chosen(prompt: str) -> list[str]:
    return [proposal.axis.name for proposal in create().propose(prompt, None, 0)]


def test_it_is_a_writer() -> None:
    assert isinstance(create(), Writer)


@pytest.mark.parametrize("occupation", OCCUPATIONS.values(), ids=lambda occupation: occupation.name)
def test_every_studio_occupation_leaves_the_eight_axes_open(occupation: object) -> None:
    for name in (occupation.name, *occupation.aliases):  # type: ignore[attr-defined]
        assert nouns()[name].kind == "person"
        assert chosen(f"A photo of a {name}") == list(BIASCONNECT)


@pytest.mark.parametrize(
    ("prompt", "settled"),
    [
        ("an old man at a church", {"age", "gender", "environment"}),
        ("a person who is sad", {"emotion"}),
        ("a photo of a nurse wearing a uniform", {"clothing"}),
        ("a nurse wearing glasses", set()),
        ("an african american teacher in a wheelchair", {"ethnicity", "disability"}),
        ("two girls on a beach", {"gender", "age", "environment"}),
        ("a thin boy", {"gender", "age", "body_type"}),
        ("a doctor next to an old church", {"environment"}),
    ],
)
def test_what_the_prompt_states_is_left_out(prompt: str, settled: set[str]) -> None:
    assert chosen(prompt) == [name for name in BIASCONNECT if name not in settled]


@pytest.mark.parametrize(
    ("prompt", "wanted", "unwanted"),
    [
        ("Photo of a cat on a table", "fur_color", "gender"),
        ("an arcade machine", "material", "gender"),
        ("a city street", "wealth", "material"),
        ("a mountain lake", "season", "wealth"),
        ("a purple qwyx", "viewpoint", "gender"),
    ],
)
def test_prompts_without_people(prompt: str, wanted: str, unwanted: str) -> None:
    names = chosen(prompt)
    assert wanted in names
    assert unwanted not in names
    assert 0 < len(names) <= 6


def test_named_axes_keep_their_order_even_if_stated() -> None:
    proposals = create().propose("a young nurse", ["body type", "age"], 0)
    assert [proposal.axis for proposal in proposals] == [AXES["body_type"], AXES["age"]]
    assert proposals[1].counterfactuals["old"] == "an old nurse"
    assert list(proposals[1].counterfactuals) == ["young", "middle-aged", "old"]


def test_the_number_of_axes_can_be_set() -> None:
    assert len(create(axes=12).propose("a nurse", None, 0)) == 12


def test_errors() -> None:
    with pytest.raises(UsageError, match="empty"):
        create().propose(" ", None, 0)
    with pytest.raises(UnknownName, match="'gender'"):
        create().propose("a nurse", ["gendr"], 0)
    with pytest.raises(UsageError, match="lexicon/big"):
        create("big")
    with pytest.raises(UsageError, match="at least 1"):
        create(axes=0)


def test_style_is_stated_by_the_medium_only() -> None:
    assert not states("a photo of a nurse", "style")
    assert not states("a nurse", "style")
    assert states("a painting of a nurse", "style")
    assert states("a black and white photo of a nurse", "style")


@pytest.mark.slow
def test_nothing_depends_on_the_hash_seed() -> None:
    code = (
        "from askew.prompts.lexicon import create\n"
        "for text in ('two girls on a beach', 'a cat on a table', 'a nurse in Paris, 4k'):\n"
        "    for p in create(axes=20).propose(text, None, 0): print(p)\n"
        "print(create().fingerprint)"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
            check=True,
            capture_output=True,
        ).stdout
        for seed in ("0", "1", "2")
    }
    assert len(outputs) == 1
    assert b"girls" in outputs.pop()


@pytest.mark.parametrize(
    "prompt",
    [
        "una foto de una enfermera",
        "ein Foto einer Krankenschwester in einem Krankenhaus",
        "une infirmière dans un hôpital",
        "看護師の写真",
    ],
)
def test_a_prompt_in_another_language_is_refused(prompt: str) -> None:
    with pytest.raises(UsageError, match=r"only knows English.*--llm openai/MODEL"):
        create().propose(prompt, ["gender"], 0)


@pytest.mark.parametrize(
    ("prompt", "language"),
    [
        ("una foto de un chef", "Spanish"),
        ("Une photo d'un patient", "French"),
        ("photo d’un chef", "French"),
        ("ein Mann in Berlin", "German"),
        ("Foto von einem Doctor", "German"),
        ("Portrait einer Krankenschwester", "German"),
        ("foto de uma model", "Portuguese"),
        ("le chef", "French"),
        ("een foto van een nurse", "Dutch"),
        ("el doctor con una bata blanca", "Spanish"),
        ("un médecin", "French"),
        ("一个医生的照片", "Chinese"),
        ("一张 doctor 的照片", "Chinese"),
        ("看護師の写真", "Japanese"),
        ("фото врача", "Russian"),
    ],
)
def test_a_foreign_prompt_is_refused_with_its_language_and_the_remedies(
    prompt: str, language: str
) -> None:
    with pytest.raises(
        UsageError, match=rf"in {language}, not in English.*--llm openai/MODEL.*--plan plan.toml"
    ):
        create().propose(prompt, ["gender"], 0)


@pytest.mark.parametrize(
    "prompt",
    [
        "a photo of a chef of une brasserie",
        "a chef in el paso",
        "photo of a UN soldier",
        "UN soldier",
        "El Paso nurse",
        "Les Misérables actor",
        "chef with een hat",
        "a zorblax",
        "the Eiffel Tower",
        "nurses",
        "happy zorblax",
    ],
)
def test_one_english_word_suffices(prompt: str) -> None:
    assert create().propose(prompt, None, 0)


@pytest.mark.parametrize(
    ("prompt", "gender", "changed"),
    [
        ("a firefighter carrying his helmet", "female", "a female firefighter carrying her helmet"),
        ("a firefighter carrying her helmet", "male", "a male firefighter carrying his helmet"),
        ("He is a cook", "female", "She is a female cook"),
        ("a nurse and the child beside her", "male", "a male nurse and the male child beside him"),
        ("father teaching his son", "female", "mother teaching her son"),
        ("a chef proud of herself", "male", "a male chef proud of himself"),
    ],
)
def test_pronouns_follow_the_gender(prompt: str, gender: str, changed: str) -> None:
    assert counterfactual(prompt, "gender", gender) == changed


@pytest.mark.parametrize(
    "prompt",
    [
        "a firefighter carrying his helmet",
        "he is a cook",
        "a pregnant teacher",
        "a hijabi scientist",
        "a bearded chef",
        "a family at home",
        "a couple on the beach",
    ],
)
def test_words_that_settle_the_gender_leave_it_out(prompt: str) -> None:
    names = [proposal.axis.name for proposal in create().propose(prompt, None, 0)]
    assert "gender" not in names
    assert "ethnicity" in names


@pytest.mark.parametrize("prompt", ["a person without a beard", "a chef with no beard"])
def test_a_denied_word_settles_nothing(prompt: str) -> None:
    assert "gender" in [proposal.axis.name for proposal in create().propose(prompt, None, 0)]


@pytest.mark.parametrize(
    ("prompt", "axis", "value", "changed"),
    [
        ("someone who works in a bank", "age", "old", "someone old who works in a bank"),
        (
            "someone who works in a bank",
            "emotion",
            "sad",
            "someone who is sad and works in a bank",
        ),
        ("a nurse who works at night", "emotion", "sad", "a nurse who is sad and works at night"),
        ("a nurse practitioner", "emotion", "sad", "a nurse practitioner who is sad"),
        ("a crowd of protesters", "gender", "female", "a crowd of female protesters"),
    ],
)
def test_values_stand_where_english_puts_them(
    prompt: str, axis: str, value: str, changed: str
) -> None:
    assert counterfactual(prompt, axis, value) == changed


def test_an_event_has_no_axes_of_people() -> None:
    names = {proposal.axis.name for proposal in create().propose("an indian wedding", None, 0)}
    assert names == {"palette", "lighting", "viewpoint", "style"}


def test_a_misspelled_noun_gets_a_suggestion() -> None:
    with pytest.raises(UsageError, match=r"Did you mean 'nurse'\?.*--axes"):
        create().propose("a photo of a nurce", None, 0)
    named = create().propose("a photo of a nurce", ["palette"], 0)
    assert [proposal.axis.name for proposal in named] == ["palette"]


@pytest.mark.parametrize(
    "prompt", ["a photo of a capybara", "a photo of a yurt", "marie curie in her laboratory"]
)
def test_an_unknown_noun_is_not_taken_for_another(prompt: str) -> None:
    assert create().propose(prompt, None, 0)


@pytest.mark.parametrize("prompt", ["a photo of a [nurse|doctor] --ar 16:9", "a {cook|chef}"])
def test_alternatives_in_brackets_are_refused(prompt: str) -> None:
    with pytest.raises(UsageError, match="one prompt for each alternative"):
        create().propose(prompt, None, 0)


@pytest.mark.parametrize(
    ("prompt", "other"),
    [
        ("a fisherwoman", "a fisherman"),
        ("a camerawoman", "a cameraman"),
        ("a housewife", "a househusband"),
        ("a mother-in-law", "a father-in-law"),
        ("a widow", "a widower"),
        ("two fishermen", "two fisherwomen"),
    ],
)
def test_nouns_that_imply_a_gender_have_a_counterpart(prompt: str, other: str) -> None:
    assert states(prompt, "gender")
    values = {counterfactual(prompt, "gender", gender) for gender in ("male", "female")}
    assert values == {prompt, other}


@pytest.mark.parametrize("prompt", ["a german chef", "a shaman", "a human"])
def test_other_words_on_man_imply_no_gender(prompt: str) -> None:
    assert not states(prompt, "gender")


@pytest.mark.parametrize(
    ("topic", "words"),
    [
        ("scientists in Nigeria", "scientists in Nigeria"),
        ("scientist in nigeria", "a scientist in nigeria"),
        ("red shoe", "a red shoe"),
        ("shoes", "shoes"),
    ],
)
def test_a_topic_of_several_words_is_parsed_like_a_prompt(topic: str, words: str) -> None:
    assert with_article(topic) == words
    about = find_topic(topic)
    assert about.words == topic
    assert about.has(f"a photo of {words}")
