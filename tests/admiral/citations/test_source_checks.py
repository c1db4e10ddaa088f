"""Which sources can be read."""

import pytest

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
    source = Source(URL, "Title", text, language=language)
    assert source_status(URL, source, 20, is_blocked=False) == status


@pytest.mark.parametrize(
    ("url", "is_blocked", "status"),
    [
        (" ", True, "not_web"),
        (URL, True, "blocked"),
        (URL, False, "not_in_knowledge_base"),
        ("isbn:1", False, "not_web"),
    ],
)
def test_a_source_that_is_not_there_has_a_reason(url, is_blocked, status):
    assert source_status(url, None, 20, is_blocked=is_blocked) == status
