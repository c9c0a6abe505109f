"""Engines: where the work of a run is carried out."""
