"""Which sources can be read."""

import pytest

from admiral.citations.citation_records import Citation
from admiral.citations.citer import source_status
from admiral.sources import Source

URL = "https://x.example/a"
TEXT = "The harbour was opened in 1911 by the mayor of the town. " * 20
GERMAN = "Der Hafen wurde im Jahr 1911 vom Bürgermeister der Stadt eröffnet. " * 20


@pytest.mark.parametrize(
    ("language", "text", "status"),
    [
        ("en", TEXT, "scored"),
        ("en-GB", TEXT, "scored"),
        ("EN_us", TEXT, "scored"),
        ("de", TEXT, "not_english"),
        # Without a language, the words count: the first ones.
        ("", TEXT, "scored"),
        ("", GERMAN, "not_english"),
        ("", "Zahl der Boote: vierzig. " * 500 + TEXT * 10, "not_english"),
        ("", "Too short.", "too_short"),
        ("", " \n", "no_text"),
        ("en", "the " * 19, "too_short"),
        ("en", "the " * 20, "scored"),
    ],
)
def test_the_language_and_the_words_of_a_source_count(language, text, status):
    source, citation = Source(URL, "Title", text, language=language), Citation(URL, title="Title")
    found = source_status(source, citation, is_web=True, is_blocked=False, min_words=20)
    assert found == status


@pytest.mark.parametrize(
    ("url", "is_web", "is_blocked", "status"),
    [
        (" ", True, True, "not_web"),
        (URL, True, True, "blocked"),
        (URL, True, False, "not_in_knowledge_base"),
        ("isbn:1", False, False, "not_web"),
    ],
)
def test_a_source_that_is_not_there_has_a_reason(url, is_web, is_blocked, status):
    found = source_status(None, Citation(url), is_web=is_web, is_blocked=is_blocked, min_words=20)
    assert found == status
