"""Names of documents that were read from files."""

import pytest

from admiral.kb.aliases import document_aliases, spellings
from admiral.records import Document


def names(title, source, sentence="Text.", section=""):
    sections = (section, "") if section else ()
    document = Document(title, (sentence, "More."), source=source, sections=sections)
    return set(document_aliases(document))


def test_packages():
    found = names("python-dateutil", "/src/python-dateutil-2.9/README.rst")
    assert {"python-dateutil", "python_dateutil", "dateutil", "Dateutil"} <= found
    assert not [name for name in found if "2.9" in name]
    assert {"pyyaml", "PyYAML"} >= names("PyYAML", "/x/README.md") >= {"pyyaml"}
    # The name, without what tells it apart from others.
    assert "six" in names("six (vendored)", "/lib/vendored/README")


def test_the_folder_that_a_file_describes():
    assert {"requests/README", "requests", "Requests"} <= names(
        "requests/README", "/src/requests/docs/README.md"
    )
    assert "libfoo2" in names("A library", "/doc/libfoo2-1.0/html/index.html")
    # Any word, and no file that describes its folder.
    assert names("Live WebSocket", "/src/live/README.md") == set()
    assert names("A library", "/doc/libfoo2/usage.html") == set()
    assert names("readme", "readme.md") == set()


def test_the_names_of_the_file_and_of_its_first_heading():
    assert names("First steps", "/notes/getting-started.md") == {"getting-started"}
    assert names("First steps", "/notes/policy.md") == set()
    assert names("Libgcrypt - The library", "/doc/x.html") == {"Libgcrypt"}
    document = Document(
        "From the front matter",
        ("One.", "Two."),
        source="/notes/x.md",
        sections=("The Heading", "The Heading > More"),
    )
    assert "The Heading" in document_aliases(document)


def test_records_have_no_names_of_files():
    for title in ("requests/README", "python-dateutil", "Foo: a bar"):
        assert document_aliases(Document(title, ("Text.",))) == []


@pytest.mark.parametrize(
    ("name", "some"),
    [
        ("Foo_bar", {"Foo_bar", "foo_bar", "Foo-bar", "foo-bar"}),
        ("python3-foo", {"python3-foo", "foo", "Foo", "python3_foo"}),
        ("ruamel.yaml", {"ruamel.yaml", "ruamel-yaml", "ruamel_yaml"}),
        ("Foo Bar", set()),
        ("", set()),
    ],
)
def test_spellings_of_packages(name, some):
    assert some <= set(spellings(name))
    assert some or not list(spellings(name))
