"""Local web app to explore finished runs, to correct labels, and to start runs."""
