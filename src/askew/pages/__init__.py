"""Report pages of all methods. `blocks` describes how to write a page, and renderers draw it."""
