"""Whether a model of the studio world shows what its words say: every word of its grammar, in every
place.

    python -m benchmarks.heard [MODEL] [--count 4] [--open 24] [--write PAGE] [--store DIR]

Three kinds of prompts: every word or phrase alone ("a photo of a gentleman", "a photo of nurses",
"a photo of a person who is sad"), every one that says an attribute with four occupations, and every
value of every axis in the prompts of the methods. Words are heard if 90 % of the pictures of their
prompts show all that is said, by the studio VQA; a prompt of the methods, and one whose first
pictures do not all show it, gets five times as many. "No warning": the model does not name what is
not heard. Also, where a prompt states one value of a person without an occupation, how far the
other shares lie from the planted ones. A second call with the same store is quick, and one that was
stopped goes on.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
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
from benchmarks.marked_page import update
from benchmarks.wording import phrase, spread

SEED = 31_415_926
HEARD = 0.9
OCCUPATIONS_EACH = 4
MORE = 5
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


def worded(words: str, noun: str = "person") -> str:
    """A prompt that says these words of the grammar; what is no noun is said of `noun`."""
    occupation = parse(words).occupation
    if words in BARE or (
        occupation and words.endswith("s") and words.removesuffix("s") in lexicon()
    ):
        return f"a photo of {words}"
    if occupation or words in (*PEOPLE, *SCENES):
        return f"a photo of {article(words)} {words}"
    if "style" in lexicon()[words]:
        medium = words if words.endswith(MEDIA) else f"{words} photo"
        return f"{article(medium)} {medium} of {article(noun)} {noun}"
    if words.split()[0] in (*LEADS, "no", "inside", "outside"):
        return f"a photo of {article(noun)} {noun} {words}"
    return f"a photo of {article(words)} {words} {noun}"


def prompts() -> dict[str, dict[str, list[str]]]:
    """By kind, by words, the prompts that say them."""
    said = [
        words
        for words, says in lexicon().items()
        if says and words not in (*PEOPLE, *BARE, *SCENES)
    ]
    values = [
        (axis, value)
        for axis in (*BIASCONNECT, "glasses", "hair", "style")
        for value in ATTRIBUTES[axis]
    ]
    groups = [
        f"{ethnicity} {noun}" for ethnicity in ATTRIBUTES["ethnicity"] for noun in ("man", "woman")
    ]
    named = [*dict.fromkeys([*PAPER_GROUPS, *groups, *HIGH_PAID, *LOW_PAID])]
    of_methods = [counterfactual(prompt, *value) for prompt in METHODS for value in values]
    of_methods += [
        prompt_of(name, template)
        for template in (HEADSHOT, PORTRAIT, "a photo of {}")
        for name in named
    ]
    nouns = spread(len(said))
    apart = len(said) // OCCUPATIONS_EACH
    return {
        "only word of its kind": {text: [text] for text in map(worded, lexicon())},
        "with four occupations": {
            words: [
                worded(words, nouns[(at + turn * apart) % len(nouns)])
                for turn in range(OCCUPATIONS_EACH)
            ]
            for at, words in enumerate(said)
        },
        OF_METHODS: {text: [text] for text in of_methods},
    }


class Reader:
    """Makes pictures of prompts, and reads all that they show. What was read is kept in a file of
    `store`.
    """

    def __init__(self, model: Model, store: Path) -> None:
        self.model = model
        self.vqa = StudioVQA()
        of = sha256(f"{model.revision} {dict(model.settings)} {self.vqa.fingerprint}".encode())
        self._file = store / f"{model.name.replace('/', '-')}-{of[:12]}.jsonl"
        store.mkdir(parents=True, exist_ok=True)
        rows = map(json.loads, self._file.read_text().splitlines()) if self._file.exists() else ()
        self._read: dict[tuple[str, int], dict[str, str]] = {
            (text, k): shown for text, k, shown in rows
        }

    def __call__(
        self, texts: Sequence[str], numbers: Sequence[int]
    ) -> dict[str, list[dict[str, str]]]:
        """By prompt of each of its pictures all values, the occupation, and whether there is a
        person.
        """
        new = [
            (text, k)
            for text in dict.fromkeys(texts)
            for k in numbers
            if (text, k) not in self._read
        ]
        size = self.model.batch_size
        for start in range(0, len(new), size):
            self._make(new[start : start + size])
        return {
            text: [self._read[text, k] for k in numbers if (text, k) in self._read]
            for text in texts
        }

    def _make(self, part: Sequence[tuple[str, int]]) -> None:
        images = self.model.generate(
            [Request(text, picture_seed(SEED, text, k)) for text, k in part]
        )
        drawn = [
            (pair, image)
            for pair, image in zip(part, images, strict=True)
            if not isinstance(image, Missing)
        ]
        if not drawn:
            return
        vectors = self.vqa.embedder.embed_pixels(
            np.stack([np.asarray(image) for _, image in drawn])
        )
        somebody = self.vqa.sees_somebody(vectors)
        rows = zip(*(self.vqa.read(vectors, name) for name in VALUES), strict=True)
        with self._file.open("a") as file:
            for ((text, k), _), there, row in zip(drawn, somebody, rows, strict=True):
                self._read[text, k] = {
                    **dict(zip(VALUES, row, strict=True)),
                    "person": str(bool(there)),
                }
                print(json.dumps([text, k, self._read[text, k]]), file=file)


def faults(prompt: str, pictures: Sequence[Mapping[str, str]]) -> list[list[str]]:
    """What the prompt says and a picture does not show, by picture."""
    words = parse(prompt)
    wanted = {**words.attributes, **({"occupation": words.occupation} if words.occupation else {})}
    if not words.person:
        wanted = {name: value for name, value in wanted.items() if name in OF_ANY_SCENE}
    wanted["person"] = str(words.person)
    return [
        [name for name, value in wanted.items() if picture[name] != value] for picture in pictures
    ]


def lines(reader: Reader, count: int, open_count: int) -> Iterator[str]:
    """What is heard and what not, in Markdown."""
    yield "| words | prompts | rendered | under-rendered words (share of images that show them) |"
    yield "| --- | --- | --- | --- |"
    for kind, named in prompts().items():
        texts = [text for texts_of_words in named.values() for text in texts_of_words]
        wrong_values = {
            text: faults(text, pictures) for text, pictures in reader(texts, range(count)).items()
        }
        doubtful = [
            text for text, wrong in wrong_values.items() if any(wrong) or kind == OF_METHODS
        ]
        for text, pictures in reader(doubtful, range(count, MORE * count)).items():
            wrong_values[text] += faults(text, pictures)
        shares = {
            text: float(np.mean([not fault for fault in wrong]))
            for text, wrong in wrong_values.items()
        }
        for text in doubtful:
            missed = Counter(name for names in wrong_values[text] for name in names)
            print(
                f"{kind}\t{text}\t{shares[text]:.3f}\t{len(wrong_values[text])}\t{dict(missed)}",
                flush=True,
            )
        heard = {
            words: float(np.mean([shares[text] for text in texts_of_words]))
            for words, texts_of_words in named.items()
        }
        weak = sorted(
            (words for words, share in heard.items() if share < HEARD),
            key=lambda words: heard[words],
        )
        silent = {words for words in weak if not any(map(unheard, named[words]))}
        listed = "; ".join(
            f"“{words}” {heard[words]:.0%}{' (no warning)' * (words in silent)}" for words in weak
        )
        yield f"| {kind} | {len(texts)} | {1 - len(weak) / len(named):.0%} | {listed} |"
    yield ""
    yield f"{count} images of each prompt; {MORE * count} of the prompts of the methods, and where not all {count} show it."
    if open_count:
        yield ""
        yield from open_lines(reader, open_count)


def open_lines(reader: Reader, count: int) -> Iterator[str]:
    """How far open shares lie from the planted ones, axis by axis, where one value of another axis
    is stated.
    """
    stated = {
        (axis, value): phrase(axis, value) for axis in BIASCONNECT for value in ATTRIBUTES[axis]
    }
    result = reader(list(stated.values()), range(count))
    rng = np.random.default_rng(SEED)
    yield "| open axis | distance from the planted shares | expected by chance | largest distance |"
    yield "| --- | --- | --- | --- |"
    for axis in BIASCONNECT:
        far = {}
        chance = []
        for (of, _), text in stated.items():
            if of != axis:
                planted = np.array(list(truth(text, axis).values()))
                counts = [
                    sum(values[axis] == value for values in result[text])
                    for value in ATTRIBUTES[axis]
                ]
                far[text] = float(np.abs(np.array(counts) / sum(counts) - planted).sum() / 2)
                drawn = rng.multinomial(count, planted, size=1000) / count
                chance.append(np.abs(drawn - planted).sum(axis=1).mean() / 2)
        worst = max(far, key=lambda text: far[text])
        name = axis.replace("_", " ")
        mean = np.mean(list(far.values()))
        yield f"| {name} | {mean:.2f} | {np.mean(chance):.2f} | “{worst}” {far[worst]:.2f} |"
    yield ""
    yield f"Total variation distance, mean over {len(stated)} prompts without an occupation, with {count} images of each."


def main() -> None:
    """Measure from the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model", nargs="?", default="studio")
    parser.add_argument("--count", type=int, default=4)
    parser.add_argument("--open", type=int, default=24)
    parser.add_argument(
        "--store", type=Path, default=Path("runs/heard"), help="what is read is kept here"
    )
    parser.add_argument(
        "--write", type=Path, help="the page to update between the markers “heard MODEL”"
    )
    choice = parser.parse_args()
    reader = Reader(cast(Model, registry.model(choice.model)), choice.store)
    cells = list(lines(reader, choice.count, choice.open))
    print("\n".join(cells))
    if choice.write:
        update(choice.write, f"heard {choice.model}", cells)


if __name__ == "__main__":
    main()
