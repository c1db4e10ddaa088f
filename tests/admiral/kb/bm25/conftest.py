"""Small indexes for the tests of both backends."""

import pytest

from admiral.kb.bm25 import BACKENDS, RowIndex, build_bm25


@pytest.fixture(params=BACKENDS)
def backend(request):
    return str(request.param)


@pytest.fixture
def make(tmp_path_factory):
    """Return a function that builds and opens an index; the indexes are closed after the test."""
    opened = []

    def make_index(backend, pairs, title=1.0, text=1.0):
        folder = tmp_path_factory.mktemp("index") / "bm25"
        build_bm25(backend, numbered(pairs), folder)
        opened.append(RowIndex(folder, title_weight=title, text_weight=text))
        return opened[-1]

    yield make_index
    for index in opened:
        index.close()


def numbered(pairs, first=0):
    """Return titles and texts as documents with rows."""
    return [(row, *pair) for row, pair in enumerate(pairs, start=first)]
