"""What runs found, as files and in Python."""
