"""Detection of a prompt's language from its script and its function words."""

import re
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache

from askew.prompts.statements import has_known_word

_SCRIPTS: Mapping[str, str] = {
    "CJK": "Chinese",
    "HIRAGANA": "Japanese",
    "KATAKANA": "Japanese",
    "HANGUL": "Korean",
    "CYRILLIC": "Russian",
    "ARABIC": "Arabic",
    "HEBREW": "Hebrew",
    "GREEK": "Greek",
    "DEVANAGARI": "Hindi",
    "THAI": "Thai",
}
"""Languages, keyed by script name (the first word in the Unicode names of its letters)."""

_FUNCTION_WORDS: Mapping[str, frozenset[str]] = {
    "German": frozenset(
        "der das ein eine einen einem einer eines und mit von vom im auf für bei beim zwei zum zur ist "
        "nicht ohne über".split()
    ),
    "Spanish": frozenset(
        "el la los las un una uno unos unas de del con en y sin para por dos que al".split()
    ),
    "French": frozenset(
        "le la les un une des du de et avec dans sans pour sur deux qui au aux en est chez d l".split()
    ),
    "Italian": frozenset(
        "il lo la gli un una uno di del della con nel nella e che al alla due per senza".split()
    ),
    "Portuguese": frozenset(
        "o os um uma uns de do da dos das com em no na e que ao sem dois duas para".split()
    ),
    "Dutch": frozenset("de het een van met en op zonder twee bij voor naar uit".split()),
}
_INDEFINITE_ARTICLES = frozenset(
    "ein eine einen einem einer eines un una une uno uma um een ett".split()
)
_DEFINITE_ARTICLES = frozenset("der das el il le les des het los las".split())
"""If a text has one of these articles, one function word is enough to infer its language."""

_ENGLISH = frozenset(
    "a an the of with by from and who is are his her their at in on for to without two as".split()
)
_SHARED_WITH_ENGLISH = frozenset("a an as do e in no o on y".split())
_LETTERS: Mapping[str, str] = {
    "German": "äöüß",
    "Spanish": "ñáíóú",
    "French": "éèêçàùœô",
    "Italian": "ìò",
    "Portuguese": "ãõ",
}
"""For each language, the letters that distinguish it from languages with the same articles."""

_LEAST_SHARE = 0.3
"""A non-Latin script with at least this share of all letters determines the language."""


def find_language(text: str) -> str | None:
    """Return the language of a text; None if it is English or cannot be determined.

    Capitalized names such as "El Paso" do not count as evidence of a language. Many nouns, such as
    "chef", are the same in several languages, so a known noun does not show that a text is English.

    Parameters
    ----------
    text
        A prompt.

    Returns
    -------
    str or None
        English name of the language, such as "German".
    """
    by_script = _language_of_script(text)
    if by_script:
        return by_script
    words: list[str] = re.findall(r"[^\W\d_]+", text)
    if not words or words[0].lower() in {"a", "an"}:
        return None
    if not (_ENGLISH - _SHARED_WITH_ENGLISH).isdisjoint(word.lower() for word in words):
        return None
    lowered = [_lower_article(word) for word in words]
    counts = {language: _count(lowered, known) for language, known in _FUNCTION_WORDS.items()}
    letters = set(text.lower())
    letter_counts = {
        language: len(letters & set(_LETTERS.get(language, ""))) for language in counts
    }
    language = max(counts, key=lambda name: (counts[name], letter_counts[name]))
    has_article = not (_INDEFINITE_ARTICLES | _DEFINITE_ARTICLES).isdisjoint(lowered)
    if counts[language] >= 2 or (counts[language] == 1 and has_article):
        return language
    return None


def _lower_article(word: str) -> str:
    """Convert an indefinite article (except "UN") to lower case; return other words unchanged."""
    first_lower = word[0].lower() + word[1:]
    return first_lower if first_lower in _INDEFINITE_ARTICLES else word


def _count(words: Sequence[str], known: Collection[str]) -> int:
    return sum(word in known for word in words)


def _language_of_script(text: str) -> str | None:
    """Return the language of a text's main non-Latin script; None if few letters belong to it."""
    letters = [character for character in text if character.isalpha()]
    names = [unicodedata.name(letter, "").split(" ")[0] for letter in letters]
    foreign = [_SCRIPTS[name] for name in names if name in _SCRIPTS]
    if not foreign or len(foreign) < _LEAST_SHARE * len(letters):
        return None
    if "Japanese" in foreign:  # Japanese texts contain Chinese characters
        return "Japanese"
    return max(set(foreign), key=foreign.count)


@lru_cache(maxsize=4096)
def is_english(text: str) -> bool:
    """Check whether a prompt is in English, according to the word lists."""
    return find_language(text) is None and has_known_word(text)
