"""Methods of askew, with one package per method."""
