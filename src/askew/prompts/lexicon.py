"""The built-in prompt generator, which uses the catalog of axes, rules and word lists.

The lexicon needs no language model. Mutations replace nouns with related nouns, change places, and
add or remove details. Variations state details that a prompt leaves open, and use all values of a
detail equally often. Random prompts have a subject from one of MineTheGap's three areas, and
suitable details.
"""

import hashlib
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import lru_cache
from importlib.resources import files
from itertools import islice
from random import Random
from typing import TypeVar

from askew.errors import UsageError
from askew.prompts import open_details as d
from askew.prompts.axes import BIASCONNECT, find_axis, find_catalogue_axis
from askew.prompts.base import (
    AxesOn,
    AxisProposal,
    Kind,
    Words,
    checked_length,
    has_length,
    normalize_prompt,
    simplify,
)
from askew.prompts.counterfactuals import clause_end, counterfactuals
from askew.prompts.fitting import COLLECTIVES, check_people, fitting_axes, is_stated
from askew.prompts.languages import find_language
from askew.prompts.llm import CompletionCache
from askew.prompts.statements import (
    NounPhrase,
    ParsedPrompt,
    find_statements,
    has_known_word,
    parse_prompt,
)
from askew.prompts.vocabulary import adjectives, article, nouns, replace
from askew.types import grouped

_VERSION = 4
"""Version number, to be increased whenever a code change affects the generated texts."""
_MAX_OTHER_AXES = 6
"""Maximum number of axes to propose for a prompt without people."""
_ALTERNATIVES = re.compile(r"[\[{(][^\[\]{}()]*\|[^\[\]{}()]*[\]})]")
_LEAST_MISSPELLED = 5
"""Minimum number of letters in a word that askew checks for misspellings."""
_SIMILAR = 0.8
"""Minimum similarity, in [0, 1], between a misspelled word and a known noun."""
_TRIES = 40
"""Maximum number of attempts per requested text."""


class LexiconWriter:
    """A prompt generator that uses word lists and returns the same texts for the same seed.

    For a prompt with people, the lexicon proposes BiasConnect's eight axes. For any other prompt,
    the lexicon proposes the first six axes in the catalog that fit the prompt. By default, the
    lexicon omits axes that the prompt states.

    Parameters
    ----------
    axes
        Maximum number of axes to propose, out of all axes that fit; None for the default, which
        depends on the prompt.
    knows
        Function that checks whether a model's vocabulary includes all words of a text, so that the
        generator writes only texts that the model understands.
    vocabulary
        Name of the model's vocabulary; "" if texts can contain any words.
    on
        Whether to propose axes that the prompt leaves open, axes that it states, or both.
    """

    concurrency = 1

    def __init__(
        self,
        axes: int | None = None,
        knows: d.Knows = d.anything,
        vocabulary: str = "",
        on: AxesOn = "unstated",
    ) -> None:
        if axes is not None and axes < 1:
            raise UsageError(f"the number of axes for the lexicon is {axes}; it must be at least 1")
        self.axes = axes
        self._on = on
        self.name = f"lexicon/{vocabulary}" if vocabulary else "lexicon"
        self.fingerprint = f"{self.name}-{_VERSION}-{_data_hash()}"
        self._knows = knows

    def propose(self, prompt: str, axes: Sequence[str] | None, seed: int) -> list[AxisProposal]:
        """Propose axes with counterfactual prompts; see `askew.prompts.base.Writer`.

        The seed has no effect.

        Raises
        ------
        UsageError
            If the prompt is not in English, or if the lexicon does not know one of the axes.
        """
        text = normalize_prompt(prompt)
        check_language(text)
        check_alternatives(text)
        if axes is None:
            check_spelling(text)
            check_people(text)
        names = self._fitting_axes(text) if axes is None else axes
        return [AxisProposal(find_axis(name), counterfactuals(prompt, name)) for name in names]

    def _fitting_axes(self, text: str) -> list[str]:
        """Return the names of the axes that fit a prompt."""
        fitting = fitting_axes(text)
        has_people = not set(BIASCONNECT).isdisjoint(fitting)
        stated = [name for name in fitting if is_stated(text, name)]
        unstated = [name for name in fitting if name not in stated]
        if self.axes is None and has_people:
            unstated = [name for name in unstated if name in BIASCONNECT]
        elif self.axes is None:
            unstated = unstated[:_MAX_OTHER_AXES]
        choices = {"unstated": unstated, "stated": stated, "all": [*stated, *unstated]}
        return choices[self._on][: self.axes]

    def write(
        self,
        kind: Kind,
        prompt: str,
        count: int,
        *,
        seed: int,
        topic: str | None = None,
        words: Words | None = None,
    ) -> list[str]:
        """Write texts; see `askew.prompts.base.Writer`.

        Random prompts are equally likely to be about objects, people or nature. If a prompt
        leaves too few details of the topic open, variations add details from other topics.
        """
        words = checked_length(kind, prompt, count, words)
        if kind == "random prompts":
            rng = Random(f"{kind} {seed} {topic}")
            return _distinct(
                invent(d.find_topic(topic, self._knows), words, self._knows, rng), count
            )
        if kind == "mutations":
            rng = Random(f"{kind} {seed} {topic} {prompt}")
            return _distinct(
                mutate(prompt, d.find_topic(topic, self._knows), words, self._knows, rng),
                count,
                prompt,
            )
        variations: list[str] = []
        for varied_topic in dict.fromkeys((topic, None)):
            if len(variations) < count:
                rng = Random(f"{kind} {seed} {varied_topic} {prompt}")
                endless = vary(prompt, d.find_topic(varied_topic), words, self._knows, rng)
                more = _distinct(endless, count, prompt)
                variations = _distinct(iter([*variations, *more]), count, prompt)
        return variations


def check_language(prompt: str) -> None:
    """Raise an error if a prompt is not in English.

    Parameters
    ----------
    prompt
        A prompt with single spaces.

    Raises
    ------
    UsageError
        If the prompt is in another language, or if the lexicon knows none of its words.
    """
    language = find_language(prompt)
    if language is not None:
        problem = f"the prompt {prompt!r} is in {language}, not in English"
    elif not has_known_word(prompt):
        problem = f"the lexicon knows none of the words in {prompt!r}"
    else:
        return
    raise UsageError(
        f"{problem}; the lexicon only knows English. Write the prompt in English, let a language "
        "model write texts with --llm openai/MODEL, or give the axes and counterfactual prompts in a "
        "plan with --plan plan.toml"
    )


def check_alternatives(prompt: str) -> None:
    """Raise an error if a prompt contains alternatives in brackets, such as [nurse|doctor].

    Raises
    ------
    UsageError
        If the prompt contains alternatives in brackets.
    """
    brackets = _ALTERNATIVES.search(prompt)
    if brackets is not None:
        raise UsageError(
            f"the prompt {prompt!r} contains the alternatives {brackets.group()}. Give one prompt for "
            "each alternative, for example on separate lines of the file for --prompts"
        )


def check_spelling(prompt: str) -> None:
    """Raise an error if the subject looks like a misspelling of a known noun.

    Raises
    ------
    UsageError
        If the subject is an unknown word with almost the same letters as a known noun.
    """
    parsed = parse_prompt(prompt)
    subject = parsed.phrases[0] if parsed.phrases else None
    if subject is None or subject.noun is not None:
        return
    word = parsed.lower_text(subject.noun_start, subject.end)
    is_short = len(word) < _LEAST_MISSPELLED
    if is_short or word in adjectives() or word in COLLECTIVES:
        return
    similar = [
        known
        for known in get_close_matches(word, nouns(), n=3, cutoff=_SIMILAR)
        if known[0] == word[0] and abs(len(known) - len(word)) <= 1
    ]
    if similar:
        raise UsageError(
            f"the lexicon does not know {word!r} in the prompt {prompt!r}. Did you mean "
            f"{similar[0]!r}? If the word is spelled correctly, name the axes, such as --axes "
            "gender,age, or let a language model propose axes with --llm openai/MODEL"
        )


def create(
    name: str = "",
    *,
    axes: int | None = None,
    axes_on: AxesOn = "unstated",
    cache: CompletionCache | None = None,
) -> LexiconWriter:
    """Return the prompt generator for `--llm lexicon`.

    Parameters
    ----------
    name
        Text after "lexicon/", which must be empty.
    axes, axes_on
        Parameters `axes` and `on` of `LexiconWriter`.
    cache
        Not used, because the lexicon has no language model.

    Returns
    -------
    LexiconWriter
        The prompt generator.

    Raises
    ------
    UsageError
        If the name is not empty.
    """
    if name:
        raise UsageError(
            f"there is no prompt generator 'lexicon/{name}'; "
            "use --llm lexicon, or --llm lexicon/studio for the studio's vocabulary"
        )
    return LexiconWriter(axes, on=axes_on)


def _distinct(texts: Iterator[str], count: int, prompt: str = "") -> list[str]:
    """Return up to `count` texts that differ from the prompt and from each other."""
    distinct: dict[str, str] = {}
    for text in islice(texts, count * _TRIES):
        if text and simplify(text) != simplify(prompt):
            distinct.setdefault(simplify(text), text)
        if len(distinct) == count:
            break
    return list(distinct.values())


@lru_cache
def _data_hash() -> str:
    parts = sorted((files("askew.prompts") / "data").iterdir(), key=lambda part: part.name)
    content = b"".join(part.read_bytes() for part in parts if part.name.endswith((".txt", ".toml")))
    return hashlib.sha256(content.replace(b"\r\n", b"\n")).hexdigest()[:12]


T = TypeVar("T")


def mutate(prompt: str, topic: d.Topic, words: Words, knows: d.Knows, rng: Random) -> Iterator[str]:
    """Yield an endless sequence of mutations, with "" for each attempt that fails.

    Most mutations replace the subject, and some also change other parts of the prompt.

    Parameters
    ----------
    prompt
        Prompt to change.
    topic
        Topic of the mutations.
    words
        Minimum and maximum number of words in a mutation.
    knows
        Function that checks whether a model's vocabulary includes all words of a text.
    rng
        Random generator.

    Yields
    ------
    str
        A mutation, or "".
    """
    text = " ".join(prompt.split())
    recipes = (
        (_other_subject,),
        (_other_subject,),
        (_other_subject, _other_place),
        (_other_subject, _other_detail),
        (_shorter, _other_subject),
        (_other_noun,),
        (_other_place,),
        (_other_detail,),
        (_shorter, _other_detail),
    )
    while True:
        changed = text
        for change in rng.choice(recipes):
            changed = change(changed, topic, knows, rng)
        is_mutation = changed != text and has_length(changed, words) and topic.has(changed)
        yield changed if is_mutation else ""


def _other_subject(text: str, topic: d.Topic, knows: d.Knows, rng: Random) -> str:
    """Replace the main noun with a related noun or a noun from the topic."""
    parsed = parse_prompt(text)
    phrase = d.main_phrase(parsed)
    if phrase is None or (topic.words is not None and topic.has(text)):
        return text
    if topic.words is not None:
        return parsed.replace_words(phrase.start, phrase.end, d.with_article(topic.words))
    if topic.covers(phrase):
        return _exchanged(parsed, phrase, knows, rng)
    return _renamed(parsed, phrase, rng.choice(d.nouns_of(rng.choice(topic.groups), knows)))


def _other_noun(text: str, topic: d.Topic, knows: d.Knows, rng: Random) -> str:
    """Replace a random noun, other than the main noun, with a related noun."""
    parsed = parse_prompt(text)
    main_phrase = d.main_phrase(parsed)
    others = [phrase for phrase in parsed.phrases if phrase != main_phrase and phrase.noun]
    return _exchanged(parsed, rng.choice(others), knows, rng) if others else text


def _other_place(text: str, topic: d.Topic, knows: d.Knows, rng: Random) -> str:
    """Replace the place with another place, or add a place."""
    without_place = _without_place(text)
    options = d.open_details(without_place, knows)
    for aspect in ("where", "environment", "when", "weather"):
        if aspect in options:
            return d.say(without_place, rng.choice(options[aspect]))
    return without_place


def _without_place(text: str) -> str:
    """Remove the first phrase that states a place."""
    parsed = parse_prompt(text)
    subject = d.main_phrase(parsed)
    subjects = [subject] if subject else []
    for axis in ("setting", "environment"):
        for statement in find_statements(parsed, find_catalogue_axis(axis), subjects):
            if not statement.before:
                return replace(text, statement.start, statement.end, "")
    return text


def _other_detail(text: str, topic: d.Topic, knows: d.Knows, rng: Random) -> str:
    """Add a random detail that the text leaves open."""
    group = d.group_of(d.main_phrase(parse_prompt(text)))
    silent = () if topic.name in d.STYLES else (d.STYLE, d.MONOCHROME)
    options = {
        aspect: details
        for aspect, details in d.open_details(text, knows).items()
        if aspect not in silent and _wants_all(topic, details, group)
    }
    aspects = rng.sample(list(options), len(options))
    return d.say(text, rng.choice(options[aspects[0]])) if aspects else text


def _wants_all(topic: d.Topic, details: Sequence[d.Detail], group: d.NounGroup) -> bool:
    return all(topic.wants(detail, group) for detail in details)


def _shorter(text: str, topic: d.Topic, knows: d.Knows, rng: Random) -> str:
    """Remove the subject's adjectives, or everything after the subject in its clause."""
    parsed = parse_prompt(text)
    phrase = d.main_phrase(parsed)
    if phrase is None:
        return text
    if phrase.first < phrase.head and rng.random() < 0.5:
        return parsed.replace_words(phrase.first, phrase.head, "")
    return text[: parsed.words[phrase.end - 1].end] + text[clause_end(parsed, phrase.end) :]


def _exchanged(parsed: ParsedPrompt, phrase: NounPhrase, knows: d.Knows, rng: Random) -> str:
    """Replace the noun of a phrase with a related noun or another noun from its group."""
    if phrase.noun is None:
        return parsed.text
    near = [name for name in d.kin(phrase.noun) if name in nouns() and knows(name)]
    same = [name for name in d.nouns_of(d.group_of(phrase), knows) if name != phrase.noun.singular]
    names = same or near
    if near and rng.random() < 0.75:
        names = near
    return _renamed(parsed, phrase, rng.choice(names)) if names else parsed.text


def _renamed(parsed: ParsedPrompt, phrase: NounPhrase, name: str) -> str:
    """Replace the noun of a phrase with the noun `name`, in the plural if the phrase is plural."""
    noun = nouns()[name].plural if phrase.plural else name
    return parsed.replace_words(phrase.head, phrase.end, noun)


DETAILS = 2
"""Number of aspects that a variation states although its prompt leaves them open."""


def vary(prompt: str, topic: d.Topic, words: Words, knows: d.Knows, rng: Random) -> Iterator[str]:
    """Yield an endless sequence of variations, or nothing if the prompt leaves no details open.

    The variations use all aspects in turn, and all values of each aspect in turn. Therefore, even
    in a short series of variations, all aspects appear about equally often, and so do all values of
    an aspect.

    Parameters
    ----------
    prompt
        Prompt to vary.
    topic
        Topic of the details.
    words
        Minimum and maximum number of words in a variation.
    knows
        Function that checks whether a model's vocabulary includes all words of a text.
    rng
        Random generator.

    Yields
    ------
    str
        A variation, or "" if the attempt failed.
    """
    text = _naming_one_person(" ".join(prompt.split()))
    details = _wanted_details(text, topic, knows)
    aspects: list[str] = []
    values: dict[str, list[d.Detail]] = {aspect: [] for aspect in details}
    while details:
        chosen: list[d.Detail] = []
        for _ in range(DETAILS):
            room = words[1] - len(text.split()) - sum(map(_word_count, chosen))
            fitting = _fitting_details(details, chosen, room)
            if fitting:
                aspect = _next(aspects, list(details), list(fitting), rng)
                chosen.append(_next(values[aspect], details[aspect], fitting[aspect], rng))
        varied = d.say_all(text, chosen)
        yield varied if has_length(varied, words) else ""


def _naming_one_person(text: str) -> str:
    """Replace "a police" with "a police officer"."""
    parsed = parse_prompt(text)
    phrase = d.main_phrase(parsed)
    if phrase is None or phrase.noun is None or phrase.first == phrase.start:
        return text
    if phrase.noun.singular != "police" or phrase.plural:
        return text
    return parsed.replace_words(phrase.head, phrase.end, "police officer")


def _wanted_details(text: str, topic: d.Topic, knows: d.Knows) -> dict[str, list[d.Detail]]:
    """Return the open details that fit a topic, keyed by aspect."""
    group = d.group_of(d.main_phrase(parse_prompt(text)))
    wanted: dict[str, list[d.Detail]] = {}
    for aspect, details in d.open_details(text, knows).items():
        for detail in details:
            if topic.wants(detail, group):
                wanted.setdefault(aspect, []).append(detail)
    return wanted


def _fitting_details(
    details: Mapping[str, Sequence[d.Detail]], chosen: Sequence[d.Detail], room: int
) -> dict[str, list[d.Detail]]:
    """Return the details that can be added to the chosen details and have at most `room` words."""
    fitting: dict[str, list[d.Detail]] = {}
    for aspect, options in details.items():
        for detail in options:
            if _word_count(detail) <= room and d.go_together(detail, chosen):
                fitting.setdefault(aspect, []).append(detail)
    return fitting


def _word_count(detail: d.Detail) -> int:
    """Return the maximum number of words that a detail adds to a prompt.

    For a frame, the count includes the added word "of". For some values, it includes the added word
    "working".
    """
    count = len(detail.form.words.split())
    return count if detail.is_phrase or detail.form.place == "before" else count + 1


def _next(queue: list[T], items: Sequence[T], fitting: Sequence[T], rng: Random) -> T:
    """Remove and return the first fitting item from the queue.

    If the queue has no fitting item, first add all items to the queue again, in random order.
    """
    if not any(item in fitting for item in queue):
        queue += rng.sample(items, len(items))
    first = next(item for item in queue if item in fitting)
    queue.remove(first)
    return first


_FRAMED = 0.2
"""Share of random prompts that begin with "a photo of"."""
_SEVERAL = 0.12
"""Share of random prompts about two things of the same kind, such as "two chairs"."""
_ADJECTIVE = 0.35
"""Share of random prompts with an adjective."""
_AXES = 2.0
"""Average number of axes whose values a sufficiently long random prompt states."""
_AXES_WITHOUT_PHRASES = 1.5
"""Average number of axes whose values a random prompt states if few phrases fit its subject."""


def invent(topic: d.Topic, words: Words, knows: d.Knows, rng: Random) -> Iterator[str]:
    """Yield an endless sequence of random prompts, with "" for each unsuitable prompt.

    Parameters
    ----------
    topic
        Topic of the prompts.
    words
        Minimum and maximum number of words in a prompt.
    knows
        Function that checks whether a model's vocabulary includes all words of a text.
    rng
        Random generator.

    Yields
    ------
    str
        A prompt, or "".
    """
    areas = grouped(topic.groups, lambda group: group.area)
    while True:
        group = rng.choice(areas[rng.choice(list(areas))])
        subject = d.with_article(topic.words) if topic.words else _subject(group, knows, rng)
        opening = "a photo of " if rng.random() < _FRAMED and words[1] >= 6 else ""
        text = _with_details(opening + subject, words, topic, knows, rng)
        yield text if has_length(text, words) and topic.has(text) else ""


def _subject(group: d.NounGroup, knows: d.Knows, rng: Random) -> str:
    """Draw a subject from a group at random: one or two things, with or without an adjective."""
    noun = rng.choice(d.nouns_of(group, knows))
    adjectives = [word for word in group.adjectives if knows(f"{word} {noun}")]
    adjective = ""
    if adjectives and rng.random() < _ADJECTIVE:
        adjective = f"{rng.choice(adjectives)} "
    two = f"two {adjective}{nouns()[noun].plural}"
    if rng.random() < _SEVERAL and knows(two):
        return two
    return f"{article(adjective + noun)} {adjective}{noun}"


def _with_details(text: str, words: Words, topic: d.Topic, knows: d.Knows, rng: Random) -> str:
    """Add compatible details until the text reaches a randomly drawn number of words.

    Styles are never added. A value of an axis is added only if every value of that axis would fit.
    Without this rule, values with few words would be more frequent than values with many words.
    """
    length = rng.randint(*words)
    options = _invented_details(text, knows)
    steered = {
        aspect for aspect in options if topic.name == d.CLOTHING and "wearing" in d.themes(aspect)
    }
    order = _aspect_order(options, steered, rng)
    chosen: list[d.Detail] = []
    for aspect in sorted(order, key=lambda aspect: aspect not in steered):
        if len(d.say_all(text, chosen).split()) >= length:
            break
        fitting = _details_with_room(text, options[aspect], chosen, words[1])
        is_phrase = options[aspect][0].is_phrase
        has_all_values = is_phrase or len(fitting) == len(find_catalogue_axis(aspect).plain_forms)
        if fitting and (has_all_values or aspect in steered):
            chosen.append(rng.choice(fitting))
    return d.say_all(text, chosen)


def _invented_details(text: str, knows: d.Knows) -> dict[str, list[d.Detail]]:
    """Return details that a text leaves open: phrases and axis values that suit its subject."""
    group = d.group_of(d.main_phrase(parse_prompt(text)))
    return {
        aspect: details
        for aspect, details in d.open_details(text, knows).items()
        if aspect in group.varied_axes or details[0].is_phrase
    }


def _aspect_order(
    options: Mapping[str, Sequence[d.Detail]], steered: Collection[str], rng: Random
) -> list[str]:
    """Choose at random which axes to state, and the order of these axes and the phrases."""
    phrases = [aspect for aspect, details in options.items() if details[0].is_phrase]
    axes = [aspect for aspect in options if aspect not in (*phrases, d.STYLE, d.MONOCHROME)]
    mean_axes = _AXES if len(phrases) > 2 else _AXES_WITHOUT_PHRASES
    share = mean_axes / max(len(axes), 1)
    # A random number is drawn for every axis, steered or not.
    axes = [aspect for aspect in axes if rng.random() < share or aspect in steered]
    rng.shuffle(phrases)
    rng.shuffle(axes)
    return [*axes, *phrases] if rng.random() < 0.5 else [*phrases, *axes]


def _details_with_room(
    text: str, details: Sequence[d.Detail], chosen: Sequence[d.Detail], longest: int
) -> list[d.Detail]:
    """Return the details that can be added without exceeding `longest` words in the text."""
    return [
        detail
        for detail in details
        if d.go_together(detail, chosen)
        and len(d.say_all(text, [*chosen, detail]).split()) <= longest
    ]
