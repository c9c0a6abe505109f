"""Instruments: VQA, embedders, attention, denoising errors, faces, skin tone and human labels."""
