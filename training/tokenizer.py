"""Byte-pair tokenizer of the studio in CLIP's format, learned from the studio's captions."""

from __future__ import annotations

from pathlib import Path
from random import Random

from transformers import CLIPTokenizer

from askew.studio.caption import caption, wordings
from askew.studio.scene import ATTRIBUTES, OCCUPATIONS
from training.drawings import uniform_scenes

VOCABULARY = 1024
LENGTH = 48


def train_tokenizer(folder: Path, seed: int = 0) -> CLIPTokenizer:
    """Learn the merges from `corpus`, save the tokenizer to `folder` and return it."""
    blank = CLIPTokenizer(
        vocab={"<|startoftext|>": 0, "<|endoftext|>": 1}, merges=[], model_max_length=LENGTH
    )
    tokenizer: CLIPTokenizer = blank.train_new_from_iterator(
        corpus(seed), VOCABULARY, show_progress=False
    )
    tokenizer.save_pretrained(folder)
    return tokenizer


def corpus(seed: int) -> list[str]:
    """Return all wordings of all single values, and random captions of random scenes."""
    rng = Random(seed)
    single: list[str] = []
    for name, values in ATTRIBUTES.items():
        for value in values:
            single += wordings(name, value)
    for name in OCCUPATIONS:
        single += wordings("occupation", name)
    names = [*ATTRIBUTES, "occupation"]
    mixed = [
        caption(scene, rng.sample(names, rng.randint(0, 5)), rng)
        for scene in uniform_scenes(20_000, seed)
    ]
    return single + mixed
