"""Attention maps of UNets and transformers.

The modules for these networks are imported only when recording starts.
"""

from askew.measure.attention.base import SUPPORTED_MODELS, AttentionRecorder, block_names
from askew.measure.attention.choice import AttentionMaps
from askew.measure.attention.concepts import ConceptTokens
from askew.measure.attention.reader import (
    AttentionReader,
    attribution_text,
    decode_maps,
    encode_maps,
    watching,
)

__all__ = [
    "SUPPORTED_MODELS",
    "AttentionMaps",
    "AttentionReader",
    "AttentionRecorder",
    "ConceptTokens",
    "attribution_text",
    "block_names",
    "decode_maps",
    "encode_maps",
    "watching",
]
