"""Fixtures of the tests of training programs."""

from __future__ import annotations

import pytest

from admiral.kb import demo_kb


@pytest.fixture(scope="module")
def kb_path(user_cache: None) -> str:
    """Return the directory of the demo knowledge base."""
    return str(demo_kb("bm25s"))
