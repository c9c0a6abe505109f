"""Instruments: VQA, embedders, attention, denoising errors, faces, skin and people's labels."""
