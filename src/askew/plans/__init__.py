"""What decides the result of a run: validated plans, and what they are made of."""
