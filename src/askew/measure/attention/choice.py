"""Choice of the recorder that fits a pipeline's network."""

from typing import Any

from askew.measure.attention.base import AttentionRecorder

PLAIN_TRANSFORMERS = (
    "PixArtAlphaPipeline",
    "PixArtSigmaPipeline",
    "SanaPipeline",
    "SanaSprintPipeline",
)
"""Pipelines of transformers with plain cross-attention."""


def AttentionMaps(  # noqa: N802
    pipe: Any,
    attribution: str,
    branch: str = "cond",
    definition: str = "ovam",
    **options: Any,
) -> AttentionRecorder:
    """Return a context manager that records attention maps while `pipe(...)` runs inside it.

    Recording does not change a bit of the images. Several calls of the pipeline append their
    images, which must have the same size. Contexts may be nested.

    Parameters
    ----------
    pipe
        A pipeline of diffusers: Stable Diffusion 1, 2, XL, 3, Flux, Chroma, AuraFlow, Qwen-Image,
        PixArt, Sana.
    attribution
        Any text. Each of its tokens gets a map.
    branch
        Rows of the guidance batch to record: `cond`, or, with plain cross-attention and
        guidance, `uncond`.
    definition
        `ovam`, or, where text and image attend to each other in one sequence, `output`.
    **options
        `middle` of `UNetAttentionRecorder` or `softmax` of `TransformerAttentionRecorder`.

    Raises
    ------
    UsageError
        If the attention of this pipeline cannot be recorded with these options.

    Examples
    --------
    >>> with AttentionMaps(pipe, "a photo of a nurse and gender") as maps:  # doctest: +SKIP
    ...     pipe("a photo of a nurse")
    >>> maps.word("gender")  # doctest: +SKIP
    """
    recorder_class = _recorder_class(pipe)
    return recorder_class(pipe, attribution, branch, definition, **options)


def _recorder_class(pipe: Any) -> type[AttentionRecorder]:
    """Return the class that records this kind of network."""
    from askew.measure.attention.transformer import TransformerAttentionRecorder
    from askew.measure.attention.unet import (
        PlainTransformerAttentionRecorder,
        UNetAttentionRecorder,
    )

    if type(pipe).__name__ in PLAIN_TRANSFORMERS:
        return PlainTransformerAttentionRecorder
    if getattr(pipe, "transformer", None) is None:
        return UNetAttentionRecorder
    return TransformerAttentionRecorder
