"""The caption grammar of the studio, which turns scenes into words and words into scenes."""

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from operator import itemgetter
from random import Random
from typing import Any

from askew.studio import toml
from askew.studio.scene import OCCUPATIONS, OF_ANY_SCENE, Scene

NOBODY = "nobody"
NO_OCCUPATION = "no occupation"

_TABLES = toml("captions.toml")
_BEFORE: Mapping[str, Mapping[str, Sequence[str]]] = _TABLES["before"]
_AFTER: Mapping[str, Mapping[str, Sequence[str]]] = _TABLES["after"]
_STYLE: Mapping[str, Sequence[str]] = _TABLES["style"]
_PEOPLE: Mapping[str, Mapping[str, str]] = _TABLES["people"]
_EMPTY: Mapping[str, Mapping[str, str]] = _TABLES["empty"]
_UNHEARD: Mapping[str, Any] = _TABLES["unheard"]

_PLACES = {"indoors": "empty room", "outdoors": "empty landscape"}

_FUNCTION_WORDS = frozenset(
    "a an the of photo photograph picture image with in on at and who is wearing working "
    "high-quality high quality his her their that are as".split()
)


@dataclass(frozen=True, slots=True)
class CaptionContent:
    """Content of a prompt that the studio's grammar understands.

    Attributes
    ----------
    attributes : mapping
        Values that the prompt states, keyed by attribute.
    occupation : str, optional
        Occupation that the prompt states.
    person : bool
        True if the prompt asks for a person.
    unknown : tuple of str
        Words in the prompt that are not in the grammar.
    """

    attributes: Mapping[str, str]
    occupation: str | None
    person: bool
    unknown: tuple[str, ...]


@lru_cache(maxsize=65536)
def parse(prompt: str) -> CaptionContent:
    """Parse a prompt, and return its content.

    The longest known phrase takes precedence over shorter phrases, and later words override earlier
    words. A prompt asks for an empty scene if it mentions no person, no occupation and no attribute
    of a person.

    Parameters
    ----------
    prompt
        Text of the prompt.
    """
    phrases = list(_phrases(prompt))
    attributes: dict[str, str] = {}
    occupation = None
    for text, values in phrases:
        occupation = _occupation_names().get(text, occupation)
        if values is not None:
            attributes.update(values)
    texts = {text for text, _ in phrases}
    named = not texts.isdisjoint(_PEOPLE) and texts.isdisjoint(_EMPTY)
    return CaptionContent(
        attributes=attributes,
        occupation=occupation,
        person=named or occupation is not None or bool(attributes.keys() - OF_ANY_SCENE),
        unknown=tuple(text for text, values in phrases if values is None),
    )


def unheard(prompt: str) -> list[str]:
    """Return the words in a prompt that `parse` knows but that the studio's networks rarely render.

    Parameters
    ----------
    prompt
        Text of the prompt.

    Returns
    -------
    list of str
        Words that are rarely rendered, and groups of words that are rarely rendered if they occur
        together.
    """
    weak = {*_UNHEARD["words"], *(_UNHEARD["with_occupation"] if parse(prompt).occupation else ())}
    phrases = [words for words, _ in _phrases(prompt)]
    together = [" … ".join(group) for group in _UNHEARD["together"] if {*group} <= {*phrases}]
    return [words for words in phrases if words in weak] + together


def caption(scene: Scene, mentioned: Collection[str], rng: Random | None = None) -> str:
    """Write a caption for a scene.

    Parameters
    ----------
    scene
        The scene.
    mentioned
        Attributes for the caption to mention. May contain "occupation".
    rng
        Random generator that chooses wordings. If there is no generator, the caption uses the first
        wording of each value.
    """
    choose: Callable[[Sequence[Any]], Any] = rng.choice if rng else itemgetter(0)
    opening = _article(
        choose(_STYLE[scene.style][:3] if "style" in mentioned else ("photo", "picture"))
    )
    if not scene.person:
        place = _PLACES[scene.environment] if "environment" in mentioned else "empty scene"
        return f"{opening} of {_article(place)}"
    chosen: dict[tuple[str, str], str] = {}
    for name in mentioned:
        if name not in ("occupation", "style"):
            place, words = choose(_options(name, getattr(scene, name)))
            chosen[place, name] = words
    noun = scene.occupation if "occupation" in mentioned and scene.occupation else "person"
    before = [chosen["before", name] for name in _BEFORE if ("before", name) in chosen]
    order = list(_AFTER)
    if rng is not None:
        rng.shuffle(order)
    after = [chosen["after", name] for name in order if ("after", name) in chosen]
    return f"{opening} of {_article(' '.join([*before, noun, *after]))}"


def wordings(attribute: str, value: str) -> list[str]:
    """Return all captions that state this value of an attribute and nothing else.

    Parameters
    ----------
    attribute
        An attribute, or "occupation".
    value
        Value of the attribute, or name of the occupation.
    """
    if value == NO_OCCUPATION:
        return [
            "a photo of a person without an occupation",
            "a picture of a person with no occupation",
        ]
    if attribute == "occupation":
        names = (value, *OCCUPATIONS[value].aliases)
        return [
            f"a {medium} of {_article(name)}"
            for medium in ("photo", "picture", "portrait")
            for name in names
        ]
    if attribute == "style":
        return [
            f"{_article(word)} of a person" for word in _STYLE[value] if word != "black and white"
        ]
    people = [
        f"{w} person" if place == "before" else f"person {w}"
        for place, w in _options(attribute, value)
    ]
    return [
        f"a {medium} of {_article(words)}" for medium in ("photo", "picture") for words in people
    ]


LEADS = frozenset("in with who on wearing working without indoors outdoors".split())


def _phrases(prompt: str) -> Iterator[tuple[str, Mapping[str, str] | None]]:
    """Yield the longest known phrases in a prompt, with the attribute values that they state.

    Function words are left out. An unknown word is yielded with None instead of attribute values.
    """
    words = re.findall(r"[a-z0-9'-]+", prompt.lower())
    table = lexicon()
    start = 0
    while start < len(words):
        for length in range(min(5, len(words) - start), 0, -1):
            text = " ".join(words[start : start + length])
            if text in table:
                yield text, table[text]
                break
        else:
            length = 1
            if words[start] not in _FUNCTION_WORDS:
                yield words[start], None
        start += length


@lru_cache
def lexicon() -> dict[str, Mapping[str, str]]:
    """Return the attribute values that each phrase in the grammar states.

    Occupations come first.
    """
    table: dict[str, Mapping[str, str]] = {name: {} for name in _occupation_names()}
    for group in (_BEFORE, _AFTER, {"style": _STYLE}):
        for attribute, values in group.items():
            for value, words in values.items():
                table.update({word: {attribute: value} for word in words})
    return {**table, "without an occupation": {}, NO_OCCUPATION: {}, **_PEOPLE, **_EMPTY}


@lru_cache
def _occupation_names() -> dict[str, str]:
    singular = {name: o.name for o in OCCUPATIONS.values() for name in (o.name, *o.aliases)}
    return singular | {f"{name}s": to for name, to in singular.items() if not name.endswith("s")}


def _options(attribute: str, value: str) -> list[tuple[str, str]]:
    """Return pairs (position, wording) for a value; the position is relative to the person.

    Wordings that askew understands but never writes are omitted.
    """
    before = [("before", words) for words in _BEFORE.get(attribute, {}).get(value, ())]
    after = _AFTER.get(attribute, {}).get(value, ())
    return before + [("after", words) for words in after if words.split()[0] in LEADS]


def _article(words: str) -> str:
    return f"{'an' if words[0] in 'aeiou' else 'a'} {words}"
