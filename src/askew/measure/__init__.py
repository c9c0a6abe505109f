"""Instruments: VQA, embedders, attention, denoising errors, faces, skin, people's labels."""
