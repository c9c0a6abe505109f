"""Studies that compute findings from finished runs."""
