"""The HTTP service of `admiral serve`; needs the extra ``serve``."""
