"""Attention maps of UNets and transformers."""

from askew.measure.attention.base import (
    WATCHED,
    AttentionMaps,
    AttentionReader,
    attribution_text,
    block_names,
    decode_maps,
    encode_maps,
    watching,
)

__all__ = [
    "WATCHED",
    "AttentionMaps",
    "AttentionReader",
    "attribution_text",
    "block_names",
    "decode_maps",
    "encode_maps",
    "watching",
]
