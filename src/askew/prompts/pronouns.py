"""Pronouns that state a gender, and their replacement in counterfactual prompts."""

import re

_BY_GENDER = {
    "male": {"he": "he", "him": "him", "his": "his", "himself": "himself"},
    "female": {"he": "she", "him": "her", "his": "her", "himself": "herself"},
}
"""Pronouns, keyed by gender and then by the male form of the pronoun."""

_MALE_FORMS = {"she": "he", "hers": "his", "herself": "himself"}
_PRONOUN = re.compile(r"\b(he|him|his|himself|she|her|hers|herself)\b", re.I)
_NO_POSSESSION = frozenset("and or but in on at to with for from by while as".split())
"""Words that follow "her" if it is an object ("a photo of her in a park"), not a possessive."""


def states_gender(text: str) -> bool:
    """Check whether a text contains a pronoun that states a gender."""
    return bool(_PRONOUN.search(text))


def genders_of_pronouns(text: str) -> set[str]:
    """Return the genders ("male", "female") that the pronouns in a text state."""
    words = {word.lower() for word in _PRONOUN.findall(text)}
    male_forms = set(_BY_GENDER["male"])
    genders = set()
    if words & male_forms:
        genders.add("male")
    if words - male_forms:
        genders.add("female")
    return genders


def with_pronouns(text: str, gender: str) -> str:
    """Replace the pronouns in a text with pronouns that state the given gender.

    "A firefighter carrying his helmet" becomes "A firefighter carrying her helmet".

    Parameters
    ----------
    text
        A prompt about one person.
    gender
        "male" or "female". For any value except "male" and "female", the text is returned
        unchanged.
    """
    forms = _BY_GENDER.get(gender)
    if forms is None:
        return text

    def exchanged(match: re.Match[str]) -> str:
        word = match.group()
        form = forms[_male_form(word.lower(), text[match.end() :])]
        return form.capitalize() if word[0].isupper() else form

    return _PRONOUN.sub(exchanged, text)


def _male_form(word: str, rest: str) -> str:
    """Return the male form of a pronoun; for "her", the form depends on the next word."""
    if word != "her":
        return _MALE_FORMS.get(word, word)
    following = re.match(r" (\w+)", rest)
    is_possessive = following is not None and following.group(1).lower() not in _NO_POSSESSION
    return "his" if is_possessive else "him"
