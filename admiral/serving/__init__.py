"""The HTTP service of `admiral serve`."""
