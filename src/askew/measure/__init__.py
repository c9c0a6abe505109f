"""Instruments: VQA, embedders, attention maps, denoising errors, faces, skin, people's labels."""
