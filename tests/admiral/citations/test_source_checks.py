"""Which sources can be read."""

import pytest

from admiral.citations.citation_records import Citation
from admiral.citations.citer import source_status
from admiral.sources import Source

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


@pytest.mark.parametrize(
    ("text", "status"),
    [
        (TEXT, "scored"),
        ("Der Hafen wurde im Jahr 1911 vom Bürgermeister der Stadt eröffnet. " * 20, "not_english"),
        ("Zahl der Boote: vierzig. " * 500 + TEXT * 10, "not_english"),  # by its first words
        ("Too short.", "too_short"),
        (" \n", "no_text"),
    ],
)
def test_without_a_language_the_words_count(text, status):
    source = Source(CITATION.url, "Title", text)
    found = source_status(source, CITATION, is_web=True, is_blocked=False, min_words=20)
    assert found == status


@pytest.mark.parametrize(("words", "status"), [(19, "too_short"), (20, "scored"), (21, "scored")])
def test_a_source_has_at_least_the_words_asked_for(words, status):
    source = Source(CITATION.url, "Title", "the " * words, language="en")
    found = source_status(source, CITATION, is_web=True, is_blocked=False, min_words=20)
    assert found == status


@pytest.mark.parametrize(
    ("url", "is_web", "is_blocked", "status"),
    [
        (" ", True, True, "not_web"),
        ("https://x.example/a", True, True, "blocked"),
        ("https://x.example/a", True, False, "not_in_library"),
        ("isbn:1", False, False, "not_web"),
    ],
)
def test_a_source_that_is_not_there_has_a_reason(url, is_web, is_blocked, status):
    found = source_status(None, Citation(url), is_web=is_web, is_blocked=is_blocked, min_words=20)
    assert found == status
