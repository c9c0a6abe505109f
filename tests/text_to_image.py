"""Classes of diffusers that make images from a prompt."""

from __future__ import annotations

ACCEPTED = frozenset(
    f"{name}Pipeline"
    for name in (
        *("AltDiffusion", "Amused", "AuraFlow", "Bria", "BriaFibo", "BriaFibo2", "Chroma"),
        *("CogView3Plus", "CogView4", "Cosmos2TextToImage", "DreamLite", "DreamLiteMobile"),
        *("ErnieImage", "Flux", "Flux2", "Flux2Klein", "Flux2KleinKV", "FluxKontext", "GlmImage"),
        *("HiDreamImage", "HunyuanDiT", "HunyuanDiTPAG", "HunyuanImage", "IF", "Ideogram4"),
        *("Kandinsky3", "Kandinsky5T2I", "KandinskyCombined", "KandinskyV22Combined", "Krea2"),
        *("LDMTextToImage", "LatentConsistencyModel", "LongCatImage", "Lumina", "Lumina2"),
        *("NucleusMoEImage", "OmniGen", "OvisImage", "PRX", "PRXPixel", "PixArtAlpha"),
        *("PixArtSigma", "PixArtSigmaPAG", "QwenImage", "QwenImage21", "Sana", "SanaPAG"),
        *("SanaSprint", "SemanticStableDiffusion", "StableCascadeCombined", "StableDiffusion"),
        *("StableDiffusion3", "StableDiffusion3PAG", "StableDiffusionModelEditing"),
        *("StableDiffusionPAG", "StableDiffusionPanorama", "StableDiffusionParadigms"),
        *("StableDiffusionSAG", "StableDiffusionXL", "StableDiffusionXLPAG", "StableUnCLIP"),
        *("UnCLIP", "VQDiffusion", "VersatileDiffusionTextToImage", "WuerstchenCombined"),
        *("ZImage", "ZImageOmni"),
    )
)
"""Classes that make images from a prompt. A new class of diffusers is added here or is refused."""
