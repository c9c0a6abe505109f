"""Words at the end of a prompt that are cut off, because a CLIP text encoder reads 77 tokens and no more."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

from askew.models.diffusers.components import LIBRARY
from askew.models.diffusers.quiet import quiet
from askew.models.diffusers.repository import Repository
from askew.models.hub import explained

CLIP = "CLIPTokenizer"
HARMLESS = 75
"""A prompt of so few characters has no more tokens than characters."""


def words_cut_off(prompt: str, repository: Repository) -> list[str]:
    """The words that no text encoder sees, in their order; empty if any of them takes prompts of other lengths."""
    names = [name for name in repository.components if "tokenizer" in name]
    kinds = {repository.components[name][1].removesuffix("Fast") for name in names}
    if len(prompt) <= HARMLESS or kinds != {CLIP}:
        return []
    return min((_unseen(prompt, _loaded(repository, name)) for name in names), key=len)


def _loaded(repository: Repository, tokenizer: str) -> Any:
    with explained(repository.name, LIBRARY, tokenizer):
        return _tokenizer(repository.network.folder / tokenizer)


def _unseen(prompt: str, tokenizer: Any) -> list[str]:
    """The first cut word may be seen in part."""
    ids = tokenizer(prompt, add_special_tokens=False, verbose=False).input_ids
    words: list[str] = tokenizer.decode(ids[tokenizer.model_max_length - 2 :]).split()
    return words


@lru_cache(maxsize=4)
def _tokenizer(folder: Path) -> Any:
    from transformers import CLIPTokenizer

    with quiet():
        return CLIPTokenizer.from_pretrained(folder, local_files_only=True)
