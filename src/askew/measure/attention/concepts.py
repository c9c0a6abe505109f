"""Tokens that stand for concepts in attribution prompts and attend to known regions.

The studio has these tokens for "gender" and "race" because its training captions do not contain
these words. Only attribution prompts contain the tokens, so the tokens do not affect generated
images.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from askew.store.files import sha256


class ConceptTokens:
    """Tokens that replace concepts in the attribution prompts of a model.

    Parameters
    ----------
    model
        The model. The model's optional attributes are `concept_tokens`, which maps concepts to
        tokens, and `concept_vectors`, the safetensors file with a vector for each token.
    """

    def __init__(self, model: Any) -> None:
        self._tokens: Mapping[str, str] = getattr(model, "concept_tokens", {})
        self._file: Path | None = getattr(model, "concept_vectors", None)

    def __contains__(self, concept: str) -> bool:
        return concept.strip().lower() in self._tokens

    def spelling(self, concept: str) -> str:
        """Return the token of a concept, or the concept itself if it has no token."""
        return self._tokens.get(concept.strip().lower(), concept)

    def identity(self, concepts: Iterable[str]) -> list[str]:
        """Return a list that contains a hash of the vectors; empty if no concept has a token."""
        if self._file is None or not any(concept in self for concept in concepts):
            return []
        return [sha256(self._file.read_bytes())]

    def teach(self, pipeline: Any) -> None:
        """Add the tokens and their vectors to a pipeline, unless it already contains them."""
        if self._file is None or pipeline.tokenizer.get_vocab().keys() >= {*self._tokens.values()}:
            return
        from safetensors.torch import load_file

        from askew.models.diffusers.repository import quiet

        vectors = load_file(self._file)
        tokens = [self._tokens[concept] for concept in vectors]
        with quiet():
            pipeline.load_textual_inversion(list(vectors.values()), token=tokens)
