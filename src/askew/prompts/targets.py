"""What a target steers prompts to: an area such as people or nature, a group of things such as food, or any words."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from askew.errors import UsageError
from askew.prompts.noun_phrases import DETERMINERS, NounPhrase, parse_prompt
from askew.prompts.open_details import MONOCHROME, STYLE, Detail, Knows, main_phrase
from askew.prompts.phrases import ANYTHING, Group, group_of, groups, topics
from askew.prompts.statements import states
from askew.prompts.vocabulary import article, nouns

PEOPLE, CLOTHING = "people", "clothing"
STYLES = ("style", "styles")


@dataclass(frozen=True, slots=True)
class Target:
    """What prompts are to be about. `words` is None unless the target is a thing named in words of its own."""

    name: str | None
    groups: tuple[Group, ...]
    words: str | None = None

    def covers(self, phrase: NounPhrase | None) -> bool:
        """Whether a subject is one of those that the target names."""
        return self.name is None or self.name in STYLES or group_of(phrase) in self.groups

    def has(self, prompt: str) -> bool:
        """Whether a prompt is about the target. One about people tells their clothes if clothing is asked for."""
        if self.words is not None:
            return self.words in prompt.lower()
        phrase = main_phrase(parse_prompt(prompt))
        dressed = self.name != CLOTHING or not group_of(phrase).who or states(prompt, CLOTHING)
        return self.covers(phrase) and dressed

    def wants(self, detail: Detail, group: Group) -> bool:
        """Whether variations of a prompt about this group should say such a detail."""
        if self.name in STYLES:
            return detail.aspect in (STYLE, MONOCHROME, "palette", "lighting", "viewpoint")
        if self.name == PEOPLE and group.who:
            return detail.aspect in group.who
        if self.name == CLOTHING and group.who:
            return "wearing" in topics(detail.aspect)
        return detail.value is None or detail.aspect in group.varies


def find_target(name: str | None, knows: Knows | None = None) -> Target:
    """The target that `name` spells. With `knows`, only groups that a model can show.

    Raises UsageError for a target without words, and for one of which nothing stays inside the vocabulary.
    """
    spoken = None if name is None else " ".join(name.lower().split())
    if spoken == "":
        raise UsageError("the target is empty; name people, clothing, style, food, nature, or any words")
    found = [group for group in groups().values() if group.nouns and _belongs(group, spoken)]
    known = tuple(group for group in found if nouns_of(group, knows))
    if found and known:
        return Target(spoken, known)
    if found or (knows and spoken and not knows(spoken)):
        raise UsageError(f"nothing of the target {name!r} stays inside the vocabulary that was asked for")
    subject = main_phrase(parse_prompt(spoken or ""))
    return Target(spoken, (group_of(subject) if subject else groups()[ANYTHING],), spoken)


@lru_cache(maxsize=256)
def nouns_of(group: Group, knows: Knows | None) -> tuple[str, ...]:
    """The group's nouns that stay inside the vocabulary."""
    return tuple(noun for noun in group.nouns if knows is None or knows(noun))


def named(words: str) -> str:
    """Words of a target as a prompt names them: "red shoe" -> "a red shoe", "shoes" and "footwear" as they are."""
    noun = nouns().get(words.split()[-1])
    counted = noun is not None and words.endswith(noun.singular) and noun.singular != noun.plural
    return f"{article(words)} {words}" if counted and words.split()[0] not in DETERMINERS else words


def _belongs(group: Group, name: str | None) -> bool:
    if name is None or name in STYLES:
        return True
    if name == CLOTHING:
        return group.name in ("clothes", PEOPLE)
    if name in ("animals", "animal"):
        return any(noun in nouns() and nouns()[noun].kind == "animal" for noun in group.nouns)
    return name in (group.area, group.name, group.name.replace("_", " "))
