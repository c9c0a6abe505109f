"""Documents of all methods: `blocks` says how to write a page, and renderers draw it."""
