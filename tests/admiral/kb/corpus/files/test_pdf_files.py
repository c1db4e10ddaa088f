"""PDF files: page numbers, running heads, paragraphs over pages, cut words and raised numbers."""

import io

import pypdf
import pytest
from pypdf import PdfWriter
from pypdf.errors import DependencyError
from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject

from admiral.kb.corpus.files import TextBuilder, UnreadableFileError
from admiral.kb.corpus.files.pdf_files import LineJoiner, read_pdf

LONG = "A line of the text that is as long as the lines of this page are, or longer."


def pdf(*pages, title="", password=""):
    """Return a file whose pages have these operators, with the fonts F and B (bold)."""
    writer = PdfWriter()
    for operators in pages:
        page = writer.add_blank_page(612, 792)
        fonts = DictionaryObject()
        for name, base in (("/F", "/Helvetica"), ("/B", "/Helvetica-Bold")):
            fonts[NameObject(name)] = DictionaryObject(
                {
                    NameObject("/Type"): NameObject("/Font"),
                    NameObject("/Subtype"): NameObject("/Type1"),
                    NameObject("/BaseFont"): NameObject(base),
                    NameObject("/Encoding"): NameObject("/WinAnsiEncoding"),
                }
            )
        page[NameObject("/Resources")] = DictionaryObject({NameObject("/Font"): fonts})
        stream = DecodedStreamObject()
        stream.set_data(f"BT /F 12 Tf 14 TL 72 720 Td {operators} ET".encode("cp1252"))
        page[NameObject("/Contents")] = writer._add_object(stream)
    if title:
        writer.add_metadata({"/Title": title})
    if password:
        writer.encrypt(password, algorithm="RC4-128")
    file = io.BytesIO()
    writer.write(file)
    return file.getvalue()


def shown(*lines):
    return " T* ".join(f"({line}) Tj" for line in lines)


def read(*pages):
    text = TextBuilder()
    read_pdf(pdf(*pages), text)
    return text.titles, [" > ".join((*s.section, s.text)) for s in text.sentences()]


def texts(*pages):
    return [sentence.rsplit(" > ", 1)[1] for sentence in read(*pages)[1]]


def test_numbers_of_pages_are_left_out_and_others_kept():
    middle = shown(LONG, "In all, the hens of the farm laid as many as", "4711", "in a year.")
    assert texts(middle)[1] == "In all, the hens of the farm laid as many as 4711 in a year."
    last = shown(
        LONG, "It holds eggs to the number of exactly about this many, at most, or so", "712"
    )
    assert "712" in texts(last)[-1]
    numbered = [shown(f"Hen {name} sits.", f"{n}") for n, name in enumerate(("Al", "Bo", "Cy"), 31)]
    assert texts(*numbered) == ["Hen Al sits.", "Hen Bo sits.", "Hen Cy sits."]
    assert texts(shown("- 7 -", LONG), shown("Page 8 of 9", LONG)) == [LONG, LONG]


def test_running_heads():
    pages = [
        shown("Eggs and hens", f"The hen of {name} is large.") for name in ("Rome", "Lyon", "Bern")
    ]
    assert texts(*pages) == [f"The hen of {name} is large." for name in ("Rome", "Lyon", "Bern")]
    numbered = [shown(f"Eggs and hens | {n}", f"Hens number {n}0 here.") for n in range(5, 9)]
    assert texts(*numbered) == [f"Hens number {n}0 here." for n in range(5, 9)]
    two = [shown("Eggs and hens", f"Hens of {name} lay well.") for name in ("Rome", "Lyon")]
    assert texts(*two) == ["Hens of Rome lay well.", "Hens of Lyon lay well."]
    facts = [shown(f"Farm {n} has {n + 2} hens.", LONG) for n in range(1, 6)]
    assert [text for text in texts(*facts) if text != LONG] == [
        f"Farm {n} has {n + 2} hens." for n in range(1, 6)
    ]
    years = [
        shown(f"Eggs of {year}", f"Hen {name} laid all.") for year, name in enumerate("abcd", 1901)
    ]
    assert "1903" in " ".join(texts(*years))


def test_a_sentence_goes_on_after_the_end_of_a_page():
    first = shown(LONG, "The hens, which lived in the large house, were moved to a smaller one")
    assert read(first, shown("in May. They laid eggs.", LONG))[1][1:3] == [
        "page 1 > The hens, which lived in the large house, were moved to a smaller one in May.",
        "page 1 > They laid eggs.",
    ]
    assert read(shown(LONG), shown(LONG))[1] == [f"page 1 > {LONG}", f"page 2 > {LONG}"]


def test_headings_end_paragraphs():
    _, sentences = read(
        f"/B 12 Tf {shown('Hens')} T* /F 12 Tf {shown(LONG, '2.1 Food of hens', LONG)} T* "
        f"/F 18 Tf 24 TL {shown('Eggs and', 'nests')} T* /F 12 Tf {shown(LONG)}"
    )
    assert sentences == [
        f"page 1 > Hens > {LONG}",
        "page 1 > Hens > 2.1 Food of hens",
        f"page 1 > Hens > {LONG}",
        f"page 1 > Eggs and nests > {LONG}",
    ]


def test_a_title_of_two_lines():
    titles, _ = read(f"24 TL /F 20 Tf {shown('The book of', 'eggs')} T* /F 12 Tf {shown(LONG)}")
    assert titles[0] == "The book of eggs"


@pytest.mark.parametrize(
    ("before", "line", "joined"),
    [
        ("a beauti-", "ful egg", "a beautiful egg"),
        ("an egg-", "laying hen", "an egg-laying hen"),
        ("a long-", "lived hen", "a long-lived hen"),
        ("from 1901-", "1904 on", "from 1901-1904 on"),
        ("the Franco-", "Belgian hen", "the Franco-Belgian hen"),
        ("a beauti\u00ad", "ful egg", "a beautiful egg"),
        ("an egg -", "or two", "an egg - or two"),
        ("a super-", "duper hen", "a super-duper hen"),
        ("the head-", "land there", "the headland there"),
    ],
)
def test_words_at_line_ends(before, line, joined):
    text = ["It is super-duper good.", "The headland is high."]
    assert LineJoiner([*text, before, line]).join(before, line) == joined


@pytest.mark.parametrize(
    "raised",
    [
        "/F 7 Tf 5 Ts (8) Tj /F 12 Tf 0 Ts",
        "/F 7 Tf 1 0 0 1 150 724 Tm (8) Tj /F 12 Tf 1 0 0 1 156 720 Tm",
    ],
)
def test_raised_exponents(raised):
    assert texts(f"(Hens lay over 10) Tj {raised} ( eggs.) Tj T* {shown(LONG)}") == [
        "Hens lay over 10^8 eggs.",
        LONG,
    ]


def test_files_encrypted_by_aes(monkeypatch):
    writer = PdfWriter(clone_from=io.BytesIO(pdf(shown(LONG))))
    writer.encrypt("", owner_password="x", algorithm="AES-256")
    file = io.BytesIO()
    writer.write(file)
    text = TextBuilder()
    read_pdf(file.getvalue(), text)
    assert [s.text for s in text.sentences()] == [LONG]

    def decrypt(self, password):
        raise DependencyError("cryptography is missing")

    monkeypatch.setattr(pypdf.PdfReader, "decrypt", decrypt)
    with pytest.raises(UnreadableFileError, match="encrypted"):
        read_pdf(file.getvalue(), TextBuilder())
