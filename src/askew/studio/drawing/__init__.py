"""Drawings of the studio world: 128 x 128 portraits that depend on a scene and a seed alone."""

from __future__ import annotations

from askew.studio.drawing.portrait import Drawing, draw, draw_with_masks
from askew.studio.drawing.sheet import attribute_sheet, occupation_sheet, sheet

__all__ = ["Drawing", "attribute_sheet", "draw", "draw_with_masks", "occupation_sheet", "sheet"]
