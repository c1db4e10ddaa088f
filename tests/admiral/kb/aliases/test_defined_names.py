"""Names in titles and first sentences: which are taken, and which are not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from admiral.io.text_cleaning import clean_title
from admiral.kb.aliases import document_aliases, is_acronym_of
from admiral.records import Document


@pytest.mark.parametrize(
    ("title", "sentence", "names"),
    [
        ("World Health Organization (WHO)", "", ["World Health Organization", "WHO"]),
        ("UNESCO (organisation)", "", []),  # a qualifier
        ("Meyers, Seth", "Seth Meyers (born 1973) is a comedian.", ["Seth Meyers"]),
        ("Paris, Texas", "It lies in Texas.", []),
        ("Tongan general election, 2017", "", ["2017 Tongan general election"]),
        ("Sand &amp; Snow", "", ["Sand & Snow"]),
        ("World Health Organization", "The World Health Organization (WHO) is here.", ["WHO"]),
        (
            "United Nations Educational, Scientific and Cultural Organization",
            "The United Nations Educational, Scientific and Cultural Organization (UNESCO) is it.",
            ["UNESCO"],
        ),
        ("WHO", "The World Health Organization (WHO) is an agency.", ["World Health Organization"]),
        (
            "Blair Gullion",
            "Burton Blair Gullion (born 1901) was a coach.",
            ["Burton Blair Gullion"],
        ),
        ("Tom Parker (singer)", 'Thomas "Tom" Parker is a singer.', ['Thomas "Tom" Parker']),
        ("West Oaks, Houston", "West Oaks is a part of Houston.", ["West Oaks"]),
        (
            "Genius Studies",
            "Genius Studies, now known as the Terman Study, is old.",
            ["Terman Study"],
        ),
        ("Some App", "Some App, stylized as someAPP or GitSome, is an app.", ["someAPP"]),
        ("Some App", 'Some App (aka "The Great App") is an app.', ["Great App"]),
        # Not the subject, or no name of it.
        ("Geneva", "Geneva is home to the World Health Organization (WHO).", []),
        ("Geneva", "The World Health Organization (WHO) is in Geneva.", []),
        ("United States at the Olympics", "United States competes at the Olympics.", []),
        ("List of Stanley Cup champions", "The Stanley Cup is a trophy.", []),
        ("Frederick III of Legnica", "Frederick III, Duke of Legnica, was a duke.", []),
        ("Bill Kennedy", 'Bill Kennedy, nicknamed "Lefty", was a pitcher.', []),
        ("Baxter, Georgia", "Baxter is a community.", []),
        ("Jack McFarland, USA", "McFarland is a film.", []),
        ("The Last Tango", "The Last Tango is a film.", []),
        ("Some App", "Some App, known as the best of all, is an app.", []),
        ("Some App", "Some App (2008, GPL) is an app.", []),
        ("Some App", "Some App", []),  # no verb
        ("Some App", "", []),
        ("(a", "((( is", []),
    ],
)
def test_names_of_the_subject(title, sentence, names):
    sentences = (sentence, "Some Other Name (SON) is here.") if sentence else ()
    assert document_aliases(Document(title, sentences)) == names


@pytest.mark.parametrize(
    ("short", "long", "expected"),
    [
        ("WHO", "World Health Organization", True),
        ("USA", "United States of America", True),
        ("USOA", "United States of America", True),
        ("U.S.A.", "United States of America", True),
        ("who", "World Health Organization", False),
        ("WH", "World Health", False),
        ("WHO", "World Organization", False),
        ("", "", False),
    ],
)
def test_acronyms(short, long, expected):
    assert is_acronym_of(short, long) is expected


@given(st.text(max_size=30), st.lists(st.text(max_size=80), max_size=2), st.text(max_size=20))
def test_aliases_of_any_document_can_be_stored(title, sentences, source):
    sections = tuple("Name" for _ in sentences)
    document = Document(title, tuple(sentences), source=source, sections=sections)
    names = document_aliases(document)
    assert len(set(names)) == len(names)
    for name in names:
        assert name == clean_title(name)
        assert 2 <= len(name) <= 100
        name.encode()
