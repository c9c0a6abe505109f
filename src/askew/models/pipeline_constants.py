"""Facts about diffusers pipelines that hold before PyTorch and diffusers are imported."""

INDEX = "model_index.json"
"""File that makes a folder a diffusers pipeline."""

SHORT_PROMPT = 75
"""Number of characters up to which no text encoder cuts a prompt.

A prompt has no more tokens than characters, and text encoders read at least 77 tokens.
"""

CAPTION_CLEANING = {"bs4": "beautifulsoup4", "ftfy": "ftfy"}
"""Modules, and their packages, without which some pipelines skip the cleaning of captions."""

LORA = "lora"
LEARNED_WORDS = "textual_inversion"
FILE_SETTINGS = ("config", LORA, LEARNED_WORDS)
"""Settings of a pipeline that name files or folders, which change its images."""
