"""Studies that read finished runs and compute findings from them."""
