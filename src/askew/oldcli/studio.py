"""askew studio: the embedded world and its truth."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from askew.api import providers as api
from askew.oldcli.base import app, out
from askew.oldcli.options import Seed
from askew.studio.paths import weights
from askew.studio.planted import truth as planted_truth

studio = typer.Typer(no_args_is_help=True, help="The embedded portrait world, whose bias is known.")
app.add_typer(studio, name="studio")


@studio.command()
def sheet(
    to: Annotated[Path, typer.Option("--out", help="PNG file to write.")],
    what: Annotated[str, typer.Option(help="attributes or occupations")] = "attributes",
    seed: Seed = 0,
) -> None:
    """Draw a labelled contact sheet of the studio world.

    Example: `askew studio sheet --out sheet.png`
    """
    out.print(str(api.studio_sheet(to, what, seed)), soft_wrap=True)


@studio.command()
def path(name: Annotated[str, typer.Argument(help="Name of a studio network.")] = "studio") -> None:
    """Print the folder of a studio network.

    Example: `askew studio path embedder`
    """
    out.print(str(weights(name)), soft_wrap=True)


@studio.command()
def truth(
    prompt: Annotated[str, typer.Argument(help="A prompt in the studio's words.")],
    axis: Annotated[str, typer.Option(help="The axis.")] = "gender",
    bias: Annotated[float, typer.Option(help="The bias knob, 0 to 1.")] = 1.0,
) -> None:
    """Print the planted distribution of an axis: what an audit of studio/planted should find.

    Example: `askew studio truth "a photo of a nurse" --axis age`
    """
    for value, share in planted_truth(prompt, axis, bias).items():
        out.print(f"{value:<16} {share:.3f}")
