"""Training of the studio's networks on drawings and captions, seeded and resumable."""
