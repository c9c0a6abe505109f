"""Reports of methods that are not rebuilt yet."""
