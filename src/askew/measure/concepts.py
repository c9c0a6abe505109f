"""Count the concepts in answers about images (TIBET, section 3.3 and appendix 9.3)."""

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
    (
        "a about above across after again against all along also am among an and another any "
        "are around as at away be because been before behind being below beside between both "
        "but by can could did do does doing down during each either else ever every few for "
        "from further had has have having he her here hers herself him himself his how i if in "
        "into is it its itself just least less like may me might more most much must my myself "
        "near neither nor not of off on once one only onto or other others our ours ourselves "
        "out over own per same seem seems several shall she should since so some such than that "
        "the their theirs them themselves then there these they this those through to too "
        "toward towards under until up upon us very via was we were what when where whether "
        "which while who whom whose why will with within would you your yours yourself "
        "yourselves"
    ).split()
)
"""Function words, which do not name anything visible."""

NO_CONCEPTS = frozenset("yes no none without image images".split())
"""Words that are not concepts, because they carry no content or name the image itself."""

DENIALS = frozenset("not never neither nor cannot".split())
"""Words that negate the words after them, such as "isn't"."""

DENIED_UNTIL = frozenset("and but while only just".split())
"""Words that end a negation, such as "but" in "not young but old" and "only" in "not only old"."""

JOINT = "_"
"""Character that joins the words of a phrase. No single word contains it."""

_SIGNED = re.compile(r"^[-+−]|[-+−]$")
"""Pattern for a plus or minus sign before or after a label."""

_WORD = re.compile(r"[^\W_]+(?:[-'_][^\W_]+)*|[.,;:!?]")


@dataclass(frozen=True, slots=True, eq=False)
class ConceptCounts:
    """Number of times that each concept occurs in the answers about each image.

    Attributes
    ----------
    vocabulary
        The concepts, sorted.
    counts
        Array of shape (images, concepts), integers >= 0. A concept can occur several times for one
        image.
    """

    vocabulary: tuple[str, ...]
    counts: NDArray[np.int64]

    @property
    def frequencies(self) -> NDArray[np.float64]:
        """Return each concept's mean number of occurrences per image (0 for an empty set)."""
        return np.asarray(self.counts.sum(axis=0) / max(len(self.counts), 1), dtype=np.float64)

    @property
    def shares(self) -> NDArray[np.float64]:
        """Return, for each concept, the share of images that contain it (0 for an empty set)."""
        return np.asarray(
            (self.counts > 0).sum(axis=0) / max(len(self.counts), 1), dtype=np.float64
        )


def words(text: str, variant: Variant = "paper", phrases: Collection[str] = ()) -> list[str]:
    """Return the concepts that an answer mentions, in order.

    Concepts are single words in lower case. Punctuation, stop words, "yes" and "no" are removed. A
    hyphen inside a word is kept ("middle-aged"). Answers with more than one word are split into
    words, as in the paper. Only `phrases` are kept together.

    Parameters
    ----------
    text
        The answer.
    variant
        "paper" keeps phrases together, and keeps a negation with the negated word: "no glasses" and
        "without glasses" become the concept "no glasses" instead of "glasses". Words after "not"
        are not concepts, up to the next comma or "but". The variant "code" ignores negations.
    phrases
        Values of an axis. The variant "paper" does not split these phrases: "south asian" is one
        concept, and "asian" is not counted. An answer keeps its sign if it is a value with a sign,
        such as "-1" or "A-".
    """
    if variant == "paper" and text in phrases and _SIGNED.search(text.strip()):
        return [text.strip().lower()]
    concepts: list[str] = []
    # after "no" or "without", up to the next concept or punctuation
    denied = False
    # after "not" and the like, up to punctuation or "but"
    silent = False
    for token in _tokens(text, variant, phrases):
        if not token[0].isalnum():
            denied = silent = False
        elif _denies_sentence(token, variant):
            silent = variant == "paper"
        elif _denies_next(token, concepts):
            denied = variant == "paper"
            silent = False
        elif token in DENIED_UNTIL:
            silent = False
        elif not silent and _is_concept(token, denied):
            concepts.append((f"no {token}" if denied else token).replace(JOINT, " "))
            denied = False
    return concepts


def _tokens(text: str, variant: Variant, phrases: Collection[str]) -> list[str]:
    """Split a text into lower-case words, phrases and punctuation, and drop possessive endings."""
    line = unicodedata.normalize("NFKC", text).replace("’", "'").lower()
    pattern = _phrase_pattern(tuple(phrases)) if variant == "paper" else None
    if pattern is not None:
        line = pattern.sub(lambda match: match.group().replace(" ", JOINT), line)
    return [token.removesuffix("'s") for token in _WORD.findall(line)]


def _denies_sentence(token: str, variant: Variant) -> bool:
    return token.endswith("n't") or (token in DENIALS and variant == "paper")


def _denies_next(token: str, concepts: Sequence[str]) -> bool:
    """Check whether a token negates the next word, like "no" and "or" in "no beard or glasses"."""
    if token in ("no", "without"):
        return True
    return token == "or" and bool(concepts) and concepts[-1].startswith("no ")


def _is_concept(token: str, denied: bool) -> bool:
    if denied and token == "wearing":
        return False
    return token not in STOP_WORDS | NO_CONCEPTS


@lru_cache(maxsize=256)
def _phrase_pattern(phrases: tuple[str, ...]) -> re.Pattern[str] | None:
    """Return a pattern that matches phrases of several words, trying the longest phrase first."""
    several = [phrase.lower() for phrase in phrases if " " in phrase]
    if not several:
        return None
    alternatives = "|".join(re.escape(phrase) for phrase in sorted(several, key=len, reverse=True))
    return re.compile(rf"(?<!\w)(?:{alternatives})(?!\w)")


def concept_counts(
    texts_by_picture: Sequence[Sequence[str]],
    variant: Variant = "paper",
    phrases: Collection[str] = (),
) -> ConceptCounts:
    """Count the concepts in the answers and captions for each image.

    Parameters
    ----------
    texts_by_picture
        Answers and captions of each image. The row of an image that has neither answers nor
        captions contains only zeros.
    variant, phrases
        As in `words`.
    """
    counters = []
    for texts in texts_by_picture:
        counter: Counter[str] = Counter()
        for text in texts:
            counter.update(words(text, variant, phrases))
        counters.append(counter)
    vocabulary = tuple(sorted(set().union(*counters)))
    counts = np.zeros((len(counters), len(vocabulary)), dtype=np.int64)
    for row, counter in zip(counts, counters, strict=True):
        row[:] = [counter[word] for word in vocabulary]
    return ConceptCounts(vocabulary=vocabulary, counts=counts)


def align(sets: Sequence[ConceptCounts]) -> list[ConceptCounts]:
    """Extend all sets to a shared vocabulary: the sorted concepts of all sets."""
    shared = set().union(*(concept_set.vocabulary for concept_set in sets))
    vocabulary = tuple(sorted(shared))
    column = {word: number for number, word in enumerate(vocabulary)}
    aligned = []
    for concept_set in sets:
        counts = np.zeros((len(concept_set.counts), len(vocabulary)), dtype=np.int64)
        counts[:, [column[word] for word in concept_set.vocabulary]] = concept_set.counts
        aligned.append(ConceptCounts(vocabulary=vocabulary, counts=counts))
    return aligned


def merge_synonyms(
    sets: Sequence[ConceptCounts], variant: Variant = "paper"
) -> list[ConceptCounts]:
    """Give all sets the same vocabulary, and merge synonyms (TIBET, algorithm 1, step 1).

    Two concepts are linked if they have the same most frequent WordNet sense or, in the variant
    "code", any sense in common. Concepts that are linked directly, or through other concepts, are
    merged. A group is named after its most frequent concept, counted over all sets. Ties are
    resolved alphabetically.
    """
    aligned = align(sets)
    if not aligned or not aligned[0].vocabulary:
        return aligned
    vocabulary = aligned[0].vocabulary
    totals = np.sum([concept_set.counts.sum(axis=0) for concept_set in aligned], axis=0)
    groups = synonym_groups(vocabulary, variant)
    group_names = dict[int, str]()
    for k in sorted(range(len(vocabulary)), key=lambda k: (-totals[k], vocabulary[k])):
        group_names.setdefault(groups[k], vocabulary[k])
    merged = tuple(sorted(group_names.values()))
    column = {name: number for number, name in enumerate(merged)}
    columns = [column[group_names[group]] for group in groups]
    membership = np.zeros((len(vocabulary), len(merged)), dtype=np.int64)
    membership[np.arange(len(vocabulary)), columns] = 1
    return [
        ConceptCounts(vocabulary=merged, counts=concept_set.counts @ membership)
        for concept_set in aligned
    ]


def top_concepts(counts: ConceptCounts, k: int) -> list[tuple[str, float]]:
    """Return the `k` concepts that occur in the most images, each with its share of the images.

    Concepts with equal shares are in alphabetical order.
    """
    shares = zip(counts.vocabulary, counts.shares, strict=True)
    present = [(word, float(share)) for word, share in shares if share > 0]
    return sorted(present, key=lambda pair: (-pair[1], pair[0]))[:k]


def synonym_groups(vocabulary: Sequence[str], variant: Variant = "paper") -> list[int]:
    """Return each concept's group number, starting at 0. Synonyms have the same number.

    Groups are the connected components of the graph that links words to their senses.
    `merge_synonyms` explains which senses count.
    """
    nodes: dict[str, int] = {}
    rows = []
    columns = []
    for i, word in enumerate(vocabulary):
        word_senses = senses(word)
        if variant == "paper":
            word_senses = word_senses[:1]
        for sense in word_senses:
            rows.append(i)
            columns.append(len(vocabulary) + nodes.setdefault(sense, len(nodes)))
    size = len(vocabulary) + len(nodes)
    graph = scipy.sparse.coo_array((np.ones(len(rows)), (rows, columns)), shape=(size, size))
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
"""WordNet's detachment rules: pairs of an inflected form's ending and its base form's ending."""


@lru_cache(maxsize=65536)
def senses(word: str) -> tuple[str, ...]:
    """Return the synsets (senses) of a lower-case word in WordNet 3.0, most frequent first.

    A synset's name consists of its part of speech and its offset, such as "n10287213". An inflected
    form ("doctors") that is not a word in WordNet has the senses of its base form. A word's first
    sense is always listed; its other senses are listed only if another word also has them. An
    unknown word has no senses.
    """
    forms = [word]
    for end, base in _ENDINGS:
        if word.endswith(end) and len(word) > len(end) + 1:
            forms.append(word[: -len(end)] + base)
    table = _table()
    for form in forms:
        if form in table:
            return tuple(table[form].split())
    return ()


@lru_cache
def _table() -> Mapping[str, str]:
    """Return a table that maps each word to its senses, which are joined into a single string."""
    packed = (files("askew.measure") / "data" / "synonyms.txt.gz").read_bytes()
    lines = gzip.decompress(packed).decode().splitlines()
    return dict(line.split(" ", 1) for line in lines if " " in line)
