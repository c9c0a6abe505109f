"""Studies with human raters: a study folder, an app for raters, and results."""
