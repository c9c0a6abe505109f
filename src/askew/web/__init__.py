"""A web app on this machine to explore finished runs, to correct labels, and to start runs."""
