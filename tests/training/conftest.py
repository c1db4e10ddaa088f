"""Fixtures of the tests of training programs."""

import pytest

from admiral.kb import demo_kb


@pytest.fixture(scope="module")
def kb_path(user_cache):
    """Return the directory of the demo knowledge base."""
    return str(demo_kb("bm25s"))
