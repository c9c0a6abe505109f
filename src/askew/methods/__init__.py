"""Methods of askew, a package each."""
