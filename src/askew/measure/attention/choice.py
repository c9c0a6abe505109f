"""Choose the attention recorder that fits a pipeline's network."""

from typing import Any

from askew.measure.attention.base import AttentionRecorder

PLAIN_TRANSFORMERS = (
    "PixArtAlphaPipeline",
    "PixArtSigmaPipeline",
    "SanaPipeline",
    "SanaSprintPipeline",
)
"""Names of pipelines whose transformer uses plain cross-attention."""


def AttentionMaps(  # noqa: N802
    pipe: Any,
    attribution: str,
    branch: str = "cond",
    definition: str = "ovam",
    **options: Any,
) -> AttentionRecorder:
    """Return a context manager that records attention maps while `pipe(...)` runs inside it.

    Recording does not change a single bit of the images. You can call the pipeline several times
    inside the context. The maps then cover the images from all calls. All images must have the same
    size. Contexts may be nested.

    Parameters
    ----------
    pipe
        A diffusers pipeline: Stable Diffusion 1, 2, XL, 3, Flux, FLUX.2 klein, Chroma, AuraFlow,
        Bria, Qwen-Image, Ovis-Image, PixArt or Sana.
    attribution
        Any text. The recorder computes a map for each token of this text.
    branch
        Rows of the guidance batch to record. `cond` records the conditional rows, which use the
        prompt. `uncond` records the unconditional rows, and requires plain cross-attention and
        guidance.
    definition
        Definition of a map: `ovam`, or `output`, which is possible only for transformers in which
        text and image attend to each other in one sequence.
    **options
        Options of the recorder: `middle` for `UNetAttentionRecorder`, or `softmax` for
        `TransformerAttentionRecorder`.

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
    """Return the recorder class for the kind of network in this pipeline."""
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
