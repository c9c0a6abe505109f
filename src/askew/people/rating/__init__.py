"""The app by which raters answer the questions of one study."""
