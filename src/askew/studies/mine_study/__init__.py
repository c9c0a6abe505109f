"""What alpha, population and selection do to a search for prompts."""
