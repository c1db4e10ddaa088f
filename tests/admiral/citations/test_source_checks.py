"""Which sources can be read."""

from __future__ import annotations

import pytest

from admiral.citations.citation_records import Citation
from admiral.citations.source_judging import source_status
from admiral.library.source_records import Source

CITATION = Citation("https://x.example/a", title="Title")
TEXT = "The harbour was opened in 1911 by the mayor of the town. " * 20


@pytest.mark.parametrize(
    ("language", "status"),
    [("en", "scored"), ("en-GB", "scored"), ("EN_us", "scored"), ("de", "not_english")],
)
def test_the_language_that_a_source_names_counts(language, status):
    source = Source(CITATION.url, "Title", TEXT, language=language)
    found = source_status(source, CITATION, is_web=True, is_blocked=False, min_words=20)
    assert found == status
