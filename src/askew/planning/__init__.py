"""From a request to a plan, with defaults that suit the model."""
