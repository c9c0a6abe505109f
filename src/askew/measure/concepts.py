"""From answers about pictures to counts of concepts (TIBET, section 3.3 and appendix 9.3)."""

import gzip
import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Literal

import numpy as np
import scipy
from numpy.typing import NDArray

Variant = Literal["paper", "code"]

STOP_WORDS = frozenset(
    "a about above across after again against all along also am among an and another any are around as at away be "
    "because been before behind being below beside between both but by can could did do does doing down during each "
    "either else ever every few for from further had has have having he her here hers herself him himself his how i if "
    "in into is it its itself just least less like may me might more most much must my myself near neither nor not of "
    "off on once one only onto or other others our ours ourselves out over own per same seem seems several shall she "
    "should since so some such than that the their theirs them themselves then there these they this those through to "
    "too toward towards under until up upon us very via was we were what when where whether which while who whom whose "
    "why will with within would you your yours yourself yourselves".split()
)
"""Words of grammar, which name nothing that could be seen."""

NO_CONCEPTS = frozenset("yes no none without image images".split())
"""Answers that say nothing by themselves, and the word for what every answer is about."""

DENIALS = frozenset("not never neither nor cannot".split())
"""What comes after one of these, or after "isn't" and the like, is denied."""

DENIED_UNTIL = frozenset("and but while only just".split())
"""Words with which something is said again: "not young but old", "not only old"."""

JOINT = "_"
"""Holds the words of a phrase together, which no word contains."""

_WORD = re.compile(r"[^\W_]+(?:[-'_][^\W_]+)*|[.,;:!?]")


@dataclass(frozen=True, slots=True, eq=False)
class ConceptCounts:
    """How often each concept was said of each picture of a set.

    vocabulary  the concepts, sorted
    counts      (pictures, concepts) integers >= 0; a concept can be said twice of one picture
    """

    vocabulary: tuple[str, ...]
    counts: NDArray[np.int64]

    @property
    def frequencies(self) -> NDArray[np.float64]:
        """(concepts,) times said per picture; may exceed 1. Zeros for a set without pictures."""
        return np.asarray(self.counts.sum(axis=0) / max(len(self.counts), 1), dtype=np.float64)

    @property
    def shares(self) -> NDArray[np.float64]:
        """(concepts,) share of pictures of which it was said, once or more. Zeros for a set without
        pictures.
        """
        return np.asarray(
            (self.counts > 0).sum(axis=0) / max(len(self.counts), 1), dtype=np.float64
        )


def words(text: str, variant: Variant = "paper", phrases: Collection[str] = ()) -> list[str]:
    """The concepts of one answer, in order: single words in lower case, without punctuation, stop
    words, yes and no.

    A hyphen inside a word stays ("middle-aged"), other answers of several words fall apart as in
    the paper. So do not, in variant "paper", those of `phrases`, an axis's values: "south asian" is
    one concept and no "asian". "paper" keeps a denial with the word denied, too, so that "no
    glasses" and "without glasses" are the concept "no glasses" instead of "glasses"; what is "not"
    so, up to a comma or "but", is no concept at all. "code" drops denials.
    """
    found: list[str] = []
    denied = silent = False
    kept = _joined(tuple(phrases)) if variant == "paper" else None
    line = unicodedata.normalize("NFKC", text).replace("’", "'").lower()
    line = kept.sub(lambda at: at.group().replace(" ", JOINT), line) if kept else line
    for token in (match.removesuffix("'s") for match in _WORD.findall(line)):
        if token.endswith("n't") or (token in DENIALS and variant == "paper"):
            silent = variant == "paper"
        elif token in ("no", "without") or (
            token == "or" and found and found[-1].startswith("no ")
        ):
            denied = variant == "paper"
            silent = False
        elif not token[0].isalnum():
            denied = silent = False
        elif token in DENIED_UNTIL:
            silent = False
        elif (
            not silent
            and not (denied and token == "wearing")
            and token not in STOP_WORDS | NO_CONCEPTS
        ):
            found.append((f"no {token}" if denied else token).replace(JOINT, " "))
            denied = False
    return found


@lru_cache(maxsize=256)
def _joined(phrases: tuple[str, ...]) -> re.Pattern[str] | None:
    """What finds those of several words, the longest first."""
    several = sorted((p.lower() for p in phrases if " " in p), key=len, reverse=True)
    return re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, several))})(?!\w)") if several else None


def concept_counts(
    texts_by_picture: Sequence[Sequence[str]],
    variant: Variant = "paper",
    phrases: Collection[str] = (),
) -> ConceptCounts:
    """The concepts in all answers and captions, counted by picture. Pictures without texts keep a
    row of zeros.
    """
    said = [
        Counter(word for text in texts for word in words(text, variant, phrases))
        for texts in texts_by_picture
    ]
    vocabulary = tuple(sorted(set().union(*said)))
    counts = np.array([[picture[word] for word in vocabulary] for picture in said], dtype=np.int64)
    return ConceptCounts(vocabulary, counts.reshape(len(said), len(vocabulary)))


def align(sets: Sequence[ConceptCounts]) -> list[ConceptCounts]:
    """The same sets over one shared vocabulary: all their concepts, sorted."""
    vocabulary = tuple(sorted(set().union(*(each.vocabulary for each in sets))))
    column = {word: number for number, word in enumerate(vocabulary)}
    aligned = []
    for each in sets:
        counts = np.zeros((len(each.counts), len(vocabulary)), dtype=np.int64)
        counts[:, [column[word] for word in each.vocabulary]] = each.counts
        aligned.append(ConceptCounts(vocabulary, counts))
    return aligned


def merge_synonyms(
    sets: Sequence[ConceptCounts], variant: Variant = "paper"
) -> list[ConceptCounts]:
    """The sets, aligned, with synonyms counted as one concept (TIBET, algorithm 1, step 1).

    Concepts are joined if they share their most frequent WordNet sense (variant "code": any sense),
    directly or through others, whatever their order. A group goes by its most frequent concept over
    all sets, of equals the first in the alphabet.
    """
    aligned = align(sets)
    if not aligned or not aligned[0].vocabulary:
        return aligned
    vocabulary = aligned[0].vocabulary
    totals = np.sum([each.counts.sum(axis=0) for each in aligned], axis=0)
    groups = _groups(vocabulary, variant)
    best = dict[int, str]()
    for at in sorted(range(len(vocabulary)), key=lambda k: (-totals[k], vocabulary[k])):
        best.setdefault(groups[at], vocabulary[at])
    merged = tuple(sorted(best.values()))
    column = {name: number for number, name in enumerate(merged)}
    member = np.zeros((len(vocabulary), len(merged)), dtype=np.int64)
    member[np.arange(len(vocabulary)), [column[best[group]] for group in groups]] = 1
    return [ConceptCounts(merged, each.counts @ member) for each in aligned]


def top_concepts(counts: ConceptCounts, k: int) -> list[tuple[str, float]]:
    """The `k` concepts said of most pictures, with the share of pictures; equals in alphabetical
    order.
    """
    pairs = [
        (word, float(f)) for word, f in zip(counts.vocabulary, counts.shares, strict=True) if f > 0
    ]
    return sorted(pairs, key=lambda pair: (-pair[1], pair[0]))[:k]


def _groups(vocabulary: Sequence[str], variant: Variant) -> list[int]:
    """The number of the group that each concept belongs to: components of the graph of words and
    senses.
    """
    pairs = [
        (i, s)
        for i, word in enumerate(vocabulary)
        for s in senses(word)[: 1 if variant == "paper" else None]
    ]
    node = {
        sense: len(vocabulary) + n
        for n, sense in enumerate(dict.fromkeys(sense for _, sense in pairs))
    }
    size = len(vocabulary) + len(node)
    rows = [i for i, _ in pairs]
    columns = [node[sense] for _, sense in pairs]
    graph = scipy.sparse.coo_array((np.ones(len(pairs)), (rows, columns)), shape=(size, size))
    labels: list[int] = scipy.sparse.csgraph.connected_components(graph, directed=False)[1].tolist()
    return labels[: len(vocabulary)]


_ENDINGS = (
    ("s", ""),
    ("ses", "s"),
    ("xes", "x"),
    ("zes", "z"),
    ("ches", "ch"),
    ("shes", "sh"),
    ("men", "man"),
    ("ies", "y"),
    ("es", "e"),
    ("es", ""),
    ("ed", "e"),
    ("ed", ""),
    ("ing", "e"),
    ("ing", ""),
    ("er", ""),
    ("est", ""),
    ("er", "e"),
    ("est", "e"),
)
"""WordNet's rules of detachment: an inflected ending, and the ending of the base form."""


@lru_cache(maxsize=65536)
def senses(word: str) -> tuple[str, ...]:
    """The synsets of a lower-case word in WordNet 3.0, the most frequent first; () for a word it
    does not know.

    A synset is named by part of speech and offset, such as "n10287213". An inflected form
    ("doctors") that is no word of its own has the senses of its base form. Of the later senses,
    only those that another word shares are listed.
    """
    bases = (
        word[: -len(end)] + base
        for end, base in _ENDINGS
        if word.endswith(end) and len(word) > len(end) + 1
    )
    return next((tuple(_table()[form].split()) for form in (word, *bases) if form in _table()), ())


@lru_cache
def _table() -> Mapping[str, str]:
    """The senses of each word, as one string."""
    packed = (files("askew.measure") / "data" / "synonyms.txt.gz").read_bytes()
    return dict(
        line.split(" ", 1) for line in gzip.decompress(packed).decode().splitlines() if " " in line
    )
