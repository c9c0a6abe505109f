"""Glasses, dark glasses, cane, hearing aid, wheelchair."""

from __future__ import annotations

from askew.studio.drawing import palette
from askew.studio.drawing.canvas import Canvas
from askew.studio.drawing.figures import draw_figure
from askew.studio.drawing.look import Look


def draw_eyewear(canvas: Canvas, look: Look) -> None:
    """Clear glasses, or the dark glasses of a blind person."""
    if look.scene.disability == "blind":
        draw_figure(canvas, look, "dark glasses")
    elif look.scene.glasses == "glasses":
        frames = palette.ONE_OF["bright_frames" if look.skin.lightness < 50 else "frames"]
        kind = "round glasses" if look.jitter["frame"] < 0.5 else "square glasses"
        draw_figure(canvas, look, kind, palette.pick(frames, look.jitter["rim"]))


def draw_hearing_aid(canvas: Canvas, look: Look) -> None:
    """A coloured device behind the right ear, with its wire and earpiece, larger than life."""
    if look.scene.disability == "hearing aid":
        draw_figure(canvas, look, "hearing aid", palette.pick(palette.ONE_OF["hearing_aids"], look.jitter["aid"]))


def draw_chair_back(canvas: Canvas, look: Look) -> None:
    """Backrest and push handles behind the shoulders."""
    if look.scene.disability == "wheelchair":
        draw_figure(canvas, look, "chair back")


def draw_held(canvas: Canvas, look: Look) -> None:
    """In front of the body: the wheels of a wheelchair at both sides, or a white cane with a red tip."""
    if look.scene.disability == "wheelchair":
        for side in (-1, 1):
            draw_figure(canvas.placed(side * 60, 116), look, "wheel")
    elif look.scene.disability == "blind":
        draw_figure(canvas, look, "cane sleeve", palette.lighter(look.colours["cloth"], 0.1))
        draw_figure(canvas, look, "cane")
        draw_figure(canvas, look, "hand at the cane")
