"""Report pages of all methods.

`blocks` describes the content of a page, and renderers draw the page.
"""
