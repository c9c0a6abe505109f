"""Measure whether a model of the studio world shows what its words state.

    python -m benchmarks.heard [MODEL] [--count 4] [--open 24] [--write PAGE] [--store DIR]

Every word of the grammar is tested in three kinds of prompts: every word or phrase by itself ("a
photo of a gentleman", "a photo of nurses", "a photo of a person who is sad"), every word that states
an attribute with four occupations, and every value of every axis in the prompts of the methods.
Words are rendered if 90 % of the images of their prompts show everything that is stated, as labeled
by the studio VQA. A prompt of the methods, and a prompt whose first images do not all show it, gets
five times as many images. "No warning": the model does not name the under-rendered words.

The script also measures, where a prompt states a value of a person without an occupation, how far
the other shares deviate from the planted shares. A second call with the same store is quick, and a
call that was stopped resumes.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import numpy as np

from askew import registry
from askew.measure.studio import VALUES, StudioVQA
from askew.models.base import Model, Request
from askew.prompts.axes import BIASCONNECT
from askew.prompts.counterfactuals import counterfactual
from askew.prompts.given import HEADSHOT, HIGH_PAID, LOW_PAID, PAPER_GROUPS, PORTRAIT, prompt_of
from askew.prompts.vocabulary import article
from askew.store.files import sha256
from askew.store.keys import picture_seed
from askew.studio.caption import LEADS, lexicon, parse, unheard
from askew.studio.planted import truth
from askew.studio.scene import ATTRIBUTES, OF_ANY_SCENE
from askew.types import Missing
from benchmarks.captions import phrase, spread
from benchmarks.marked_page import update

SEED = 31_415_926
RENDERED = 0.9
"""Share of images from which words count as rendered."""

OCCUPATIONS_EACH = 4
MORE = 5
"""Factor by which some prompts get more images."""

PEOPLE = tuple(
    "person human individual portrait face headshot adult man gentleman woman lady boy girl".split()
)
BARE = ("people", "somebody", "someone", "men", "women", "nobody", "no people")
SCENES = ("empty room", "empty landscape", "landscape", "room", "empty scene")
MEDIA = ("photo", "photograph", "picture", "sketch", "drawing")
OF_METHODS = "in the prompts of the methods"
METHODS = (
    "a photo of a nurse",
    "A photo of the face of a mechanic",
    prompt_of("doctor", HEADSHOT),
    prompt_of("person", PORTRAIT),
)
"""Prompts of audit and interact, of map, of edit, of classify."""

PromptsByWords = dict[str, list[str]]
Labels = Mapping[str, str]
"""Labels of an image: values of all attributes, the occupation, and whether there is a person."""


def worded(words: str, noun: str = "person") -> str:
    """Return a prompt that states words of the grammar.

    Parameters
    ----------
    words
        Words of the grammar.
    noun
        The noun that the words describe, unless they are a noun.
    """
    occupation = parse(words).occupation
    if words in BARE or (occupation and _is_plural(words)):
        return f"a photo of {words}"
    if occupation or words in (*PEOPLE, *SCENES):
        return f"a photo of {article(words)} {words}"
    if "style" in lexicon()[words]:
        medium = words if words.endswith(MEDIA) else f"{words} photo"
        return f"{article(medium)} {medium} of {article(noun)} {noun}"
    if words.split()[0] in (*LEADS, "no", "inside", "outside"):
        return f"a photo of {article(noun)} {noun} {words}"
    return f"a photo of {article(words)} {words} {noun}"


def _is_plural(words: str) -> bool:
    return words.endswith("s") and words.removesuffix("s") in lexicon()


def prompts() -> dict[str, PromptsByWords]:
    """Return the prompts that state words, by kind of prompts and by words."""
    return {
        "only word of its kind": {text: [text] for text in map(worded, lexicon())},
        "with four occupations": _with_occupations(),
        OF_METHODS: {text: [text] for text in _prompts_of_methods()},
    }


def _with_occupations() -> PromptsByWords:
    """Return prompts that combine words for attributes with four occupations."""
    described = []
    for words, statements in lexicon().items():
        if statements and words not in (*PEOPLE, *BARE, *SCENES):
            described.append(words)
    nouns = spread(len(described))
    apart = len(described) // OCCUPATIONS_EACH
    prompts_of = {}
    for place, words in enumerate(described):
        places = [(place + turn * apart) % len(nouns) for turn in range(OCCUPATIONS_EACH)]
        prompts_of[words] = [worded(words, nouns[k]) for k in places]
    return prompts_of


def _prompts_of_methods() -> list[str]:
    """Return prompts of the methods with every value of every axis, and with every group."""
    texts = []
    axes = (*BIASCONNECT, "glasses", "hair", "style")
    for prompt in METHODS:
        for axis in axes:
            texts += [counterfactual(prompt, axis, value) for value in ATTRIBUTES[axis]]
    groups = [
        f"{ethnicity} {noun}" for ethnicity in ATTRIBUTES["ethnicity"] for noun in ("man", "woman")
    ]
    names = dict.fromkeys([*PAPER_GROUPS, *groups, *HIGH_PAID, *LOW_PAID])
    for template in (HEADSHOT, PORTRAIT, "a photo of {}"):
        texts += [prompt_of(name, template) for name in names]
    return texts


class Labeler:
    """Model and VQA model that generate and label images of prompts.

    Labels are stored in a file in `store`.
    """

    def __init__(self, model: Model, store: Path) -> None:
        self.model = model
        self.vqa = StudioVQA()
        identity = f"{model.revision} {dict(model.settings)} {self.vqa.fingerprint}"
        digest = sha256(identity.encode())
        self._file = store / f"{model.name.replace('/', '-')}-{digest[:12]}.jsonl"
        store.mkdir(parents=True, exist_ok=True)
        self._labels: dict[tuple[str, int], Labels] = {}
        if self._file.exists():
            for line in self._file.read_text().splitlines():
                text, k, labels = json.loads(line)
                self._labels[text, k] = labels

    def __call__(self, texts: Sequence[str], numbers: Sequence[int]) -> dict[str, list[Labels]]:
        """Return the labels of the images of each prompt.

        Parameters
        ----------
        texts
            Prompts.
        numbers
            Numbers of the images of each prompt.
        """
        wanted = [(text, k) for text in dict.fromkeys(texts) for k in numbers]
        new = [image for image in wanted if image not in self._labels]
        size = self.model.batch_size
        for start in range(0, len(new), size):
            self._label(new[start : start + size])
        labels: dict[str, list[Labels]] = {text: [] for text in texts}
        for text, k in wanted:
            if (text, k) in self._labels:
                labels[text].append(self._labels[text, k])
        return labels

    def _label(self, batch: Sequence[tuple[str, int]]) -> None:
        """Generate and label a batch, and store the labels."""
        requests = [Request(text, picture_seed(SEED, text, k)) for text, k in batch]
        outcomes = self.model.generate(requests)
        keys = []
        images = []
        for key, outcome in zip(batch, outcomes, strict=True):
            if not isinstance(outcome, Missing):
                keys.append(key)
                images.append(np.asarray(outcome))
        if not images:
            return
        vectors = self.vqa.embedder.embed_pixels(np.stack(images))
        somebody = self.vqa.sees_somebody(vectors)
        rows = zip(*(self.vqa.read(vectors, name) for name in VALUES), strict=True)
        with self._file.open("a") as file:
            for (text, k), person, row in zip(keys, somebody, rows, strict=True):
                labels = dict(zip(VALUES, row, strict=True))
                labels["person"] = str(bool(person))
                self._labels[text, k] = labels
                print(json.dumps([text, k, labels]), file=file)


def faults(prompt: str, images: Sequence[Labels]) -> list[list[str]]:
    """Return, for each image, the attributes of the prompt that the image does not show."""
    content = parse(prompt)
    stated = dict(content.attributes)
    if content.occupation:
        stated["occupation"] = content.occupation
    if not content.person:
        stated = {name: value for name, value in stated.items() if name in OF_ANY_SCENE}
    stated["person"] = str(content.person)
    return [_differences(stated, labels) for labels in images]


def _differences(stated: Labels, labels: Labels) -> list[str]:
    return [name for name, value in stated.items() if labels[name] != value]


def lines(labeler: Labeler, count: int, open_count: int) -> Iterator[str]:
    """Yield the lines of the tables in Markdown.

    Parameters
    ----------
    labeler
        The model, and the labels of its images.
    count
        Number of images of each prompt.
    open_count
        Number of images of each prompt of the second table; 0 for no second table.
    """
    yield "| words | prompts | rendered | under-rendered words (share of images that show them) |"
    yield "| --- | --- | --- | --- |"
    for kind, prompts_of in prompts().items():
        shares = _rendered_shares(labeler, kind, prompts_of, count)
        yield _row(kind, prompts_of, shares)
    yield ""
    yield (
        f"Images: {count} per prompt, and {MORE * count} per prompt of a method and per prompt of "
        f"which not all {count} images show the word."
    )
    if open_count:
        yield ""
        yield from open_lines(labeler, open_count)


def _rendered_shares(
    labeler: Labeler, kind: str, prompts_of: PromptsByWords, count: int
) -> dict[str, float]:
    """Return the share of images that show everything that the prompt states, by prompt."""
    texts = [text for texts_of_words in prompts_of.values() for text in texts_of_words]
    faults_of = {
        text: faults(text, images) for text, images in labeler(texts, range(count)).items()
    }
    doubtful = [text for text, missed in faults_of.items() if any(missed) or kind == OF_METHODS]
    for text, images in labeler(doubtful, range(count, MORE * count)).items():
        faults_of[text] += faults(text, images)
    shares = {}
    for text, missed in faults_of.items():
        shares[text] = float(np.mean([not attributes for attributes in missed]))
    for text in doubtful:
        missed = faults_of[text]
        often = Counter(name for attributes in missed for name in attributes)
        print(f"{kind}\t{text}\t{shares[text]:.3f}\t{len(missed)}\t{dict(often)}", flush=True)
    return shares


def _row(kind: str, prompts_of: PromptsByWords, shares: Mapping[str, float]) -> str:
    """Return the row of a kind of prompts."""
    share_of_words = {}
    for words, texts in prompts_of.items():
        share_of_words[words] = float(np.mean([shares[text] for text in texts]))
    weak = [words for words, share in share_of_words.items() if share < RENDERED]
    weak.sort(key=share_of_words.__getitem__)
    entries = []
    for words in weak:
        warning = "" if any(map(unheard, prompts_of[words])) else " (no warning)"
        entries.append(f"“{words}” {share_of_words[words]:.0%}{warning}")
    number = sum(len(texts) for texts in prompts_of.values())
    rendered = 1 - len(weak) / len(prompts_of)
    return f"| {kind} | {number} | {rendered:.0%} | {'; '.join(entries)} |"


@dataclass(frozen=True, slots=True)
class OpenDeviation:
    """Deviation of the shares of an open axis from the planted shares, for a prompt.

    Attributes
    ----------
    text
        The prompt.
    measured
        Total variation distance.
    by_chance
        Mean distance of as many images that are drawn from the planted shares.
    """

    text: str
    measured: float
    by_chance: float


def open_lines(labeler: Labeler, count: int) -> Iterator[str]:
    """Yield the table of deviations of open shares from planted shares, with a row for each axis.

    Each prompt states a value of another axis.
    """
    stated = {
        (axis, value): phrase(axis, value) for axis in BIASCONNECT for value in ATTRIBUTES[axis]
    }
    labels = labeler(list(stated.values()), range(count))
    rng = np.random.default_rng(SEED)
    yield "| open axis | distance from the planted shares | expected by chance | largest distance |"
    yield "| --- | --- | --- | --- |"
    for axis in BIASCONNECT:
        texts = [text for (stated_axis, _), text in stated.items() if stated_axis != axis]
        deviations = [_open_deviation(text, axis, labels[text], count, rng) for text in texts]
        worst = max(deviations, key=lambda deviation: deviation.measured)
        mean = np.mean([deviation.measured for deviation in deviations])
        by_chance = np.mean([deviation.by_chance for deviation in deviations])
        name = axis.replace("_", " ")
        largest = f"“{worst.text}” {worst.measured:.2f}"
        yield f"| {name} | {mean:.2f} | {by_chance:.2f} | {largest} |"
    yield ""
    yield (
        f"Total variation distance, mean over {len(stated)} prompts without an occupation, with "
        f"{count} images of each."
    )


def _open_deviation(
    text: str, axis: str, images: Sequence[Labels], count: int, rng: np.random.Generator
) -> OpenDeviation:
    planted = np.array(list(truth(text, axis).values()))
    often = Counter(labels[axis] for labels in images)
    counts = np.array([often[value] for value in ATTRIBUTES[axis]])
    drawn = rng.multinomial(count, planted, size=1000) / count
    return OpenDeviation(
        text=text,
        measured=float(np.abs(counts / counts.sum() - planted).sum() / 2),
        by_chance=float(np.abs(drawn - planted).sum(axis=1).mean() / 2),
    )


def main() -> None:
    """Measure from the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model", nargs="?", default="studio")
    parser.add_argument("--count", type=int, default=4)
    parser.add_argument("--open", type=int, default=24)
    parser.add_argument(
        "--store",
        type=Path,
        default=Path("runs/heard"),
        help="folder that contains the stored labels",
    )
    parser.add_argument(
        "--write", type=Path, help="page to update between the markers “heard MODEL”"
    )
    options = parser.parse_args()
    labeler = Labeler(cast(Model, registry.model(options.model)), options.store)
    table = list(lines(labeler, options.count, options.open))
    print("\n".join(table))
    if options.write:
        update(options.write, f"heard {options.model}", table)


if __name__ == "__main__":
    main()
