"""The chapters of a book are read in its order, however their addresses are spelt."""

import io
import zipfile

import pytest

from admiral.kb.corpus.files import TextBuilder, UnreadableFileError
from admiral.kb.corpus.files.epub_files import read_epub

CHAPTER = '<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><head><title/></head><body>{}</body></html>'
ONE, TWO = CHAPTER.format("<p>It is lit.</p>"), CHAPTER.format("<p>It burns.</p>")
XHTML = "application/xhtml+xml"


def book(
    hrefs, files, *, spine=None, container='<c><rootfile full-path="OPS/p.opf"/></c>', more=""
):
    """Return a book with chapters of these addresses and media types."""
    items = "".join(
        f'<item id="i{n}" href="{href}" media-type="{kind}"/>'
        for n, (href, kind) in enumerate(hrefs)
    )
    order = range(len(hrefs)) if spine is None else spine
    refs = "".join(f'<itemref idref="i{n}"/>' for n in order)
    package = f"<package><manifest>{items}{more}</manifest><spine>{refs}</spine></package>"
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        if container:
            archive.writestr("META-INF/container.xml", container)
        archive.writestr("OPS/p.opf", package)
        for name, text in files.items():
            archive.writestr(f"OPS/{name}", text)
    return file.getvalue()


def sentences(data):
    text = TextBuilder()
    read_epub(data, text)
    return [sentence.text for sentence in text.sentences()], text.notes


@pytest.mark.parametrize(
    ("first", "name", "kind"),
    [
        ("a.xhtml", "a.xhtml", XHTML),
        ("a.xhtml#start", "a.xhtml", XHTML),
        ("caf%C3%A9%201.xhtml", "café 1.xhtml", XHTML),
        ("100%.xhtml", "100%.xhtml", XHTML),
        ("cafe\u0301.xhtml", "caf\u00e9.xhtml", XHTML),
        ("A.XHTML", "a.xhtml", XHTML),
        ("../OPS/a.html", "a.html", "text/html"),
        ("a.html", "a.html", "text/x-oeb1-document"),
        ("a.htm", "a.htm", "text/plain"),
        ("a.xml", "a.xml", "application/x-dtbook+xml"),
    ],
)
def test_addresses_and_types(first, name, kind):
    files = {"b.xhtml": TWO, name: ONE}
    assert sentences(book([(first, kind), ("b.xhtml", XHTML)], files)) == (
        ["It is lit.", "It burns."],
        [],
    )


def test_order_is_that_of_the_spine_or_else_of_the_manifest():
    hrefs, files = [("a.xhtml", XHTML), ("b.xhtml", XHTML)], {"a.xhtml": ONE, "b.xhtml": TWO}
    assert sentences(book(hrefs, files, spine=[1, 0, 1, 7]))[0] == ["It burns.", "It is lit."]
    assert sentences(book(hrefs, files, spine=[]))[0] == ["It is lit.", "It burns."]
    assert sentences(book(hrefs, files, container=""))[0] == ["It is lit.", "It burns."]


def test_fallbacks_encodings_and_what_is_missing():
    more = '<item id="i0" href="a.png" media-type="image/png" fallback="f"/>'
    more += f'<item id="f" href="a.xhtml" media-type="{XHTML}"/>'
    files = {"a.xhtml": ONE.encode("utf-16")}
    assert sentences(book([], files, spine=[0], more=more))[0] == ["It is lit."]
    missing = book([("a.xhtml", XHTML), ("gone.xhtml", XHTML)], files)
    assert sentences(missing) == (["It is lit."], ["the chapter gone.xhtml is not in the book"])


def test_all_of_a_chapter_is_content():
    text = (
        '<header><h1>Lamps</h1></header><p>It is<a epub:type="noteref" href="#n">1</a> '
        '<span epub:type="pagebreak">9</span>lit.</p>'
        '<aside epub:type="footnote" id="n"><p>By Ida.</p></aside>'
    )
    chapter = CHAPTER.format(text).replace(
        "<html", '<html xmlns:epub="http://www.idpf.org/2007/ops"'
    )
    for page in (chapter, chapter.replace("<title/>", "<title>t</title>")):
        data = book([("a.xhtml", XHTML)], {"a.xhtml": page})
        assert sentences(data)[0] == ["It is lit.", "By Ida."]


def test_books_without_a_list_of_chapters_are_named():
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("a.txt", "x")
    with pytest.raises(UnreadableFileError, match="without a list"):
        sentences(file.getvalue())
    with pytest.raises(UnreadableFileError, match="encrypted"):
        sentences(bytes.fromhex("d0cf11e0a1b11ae1") + "EncryptedPackage".encode("utf-16-le"))
