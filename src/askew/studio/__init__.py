"""The embedded portrait world: drawn pictures whose bias was planted, and is therefore known."""
