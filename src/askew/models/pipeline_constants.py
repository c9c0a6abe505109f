"""Constants for diffusers pipelines, usable without importing PyTorch or diffusers."""

INDEX = "model_index.json"
"""File that every diffusers pipeline folder contains."""

SHORT_PROMPT = 75
"""Prompts with at most this many characters are never cut off by a text encoder.

A prompt has at most as many tokens as characters, and text encoders read at least 77 tokens.
"""

CAPTION_CLEANING = {"bs4": "beautifulsoup4", "ftfy": "ftfy"}
"""Modules that some pipelines need to clean captions, mapped to the packages that contain them."""

LORA = "lora"
LEARNED_WORDS = "textual_inversion"
FILE_SETTINGS = ("config", LORA, LEARNED_WORDS)
"""Settings that name files or folders whose content affects the images of a pipeline."""
