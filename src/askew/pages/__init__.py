"""Report pages of all methods. To write a page, see `blocks`; renderers draw pages."""
