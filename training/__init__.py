"""Trains the studio's networks on drawings and captions. Seeded, and resumable from checkpoints."""
