"""Web app in which raters answer the questions of a study."""
