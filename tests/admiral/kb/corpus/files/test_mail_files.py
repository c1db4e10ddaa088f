"""Mails: what a mail program shows of them, and their attachments."""

from email.message import EmailMessage

import pytest

from admiral.kb.corpus.files import TextBuilder, UnreadableFileError
from admiral.kb.corpus.files.mail_files import read_mail
from admiral.kb.corpus.formats import read_corpus

FIELDS = "From: Ida <ida@example.org>; To: Bob <bob@example.org>."


def mail(content="", subject="The lämp"):
    message = EmailMessage()
    message["Subject"], message["From"] = subject, "Ida <ida@example.org>"
    message["To"] = "Bob <bob@example.org>"
    if content:
        message.set_content(content)
    return message


def read(data):
    text = TextBuilder()
    read_mail(data if isinstance(data, bytes) else data.as_bytes(), text)
    return text


def sentences(text):
    return [sentence.text for sentence in text.sentences()]


def test_plain_text_with_quotations_and_a_signature():
    message = mail(
        "Hi Bob,\n\nit burns\noil.\n\nOn Monday Bob wrote:\n> How does it\n> burn?\n-- \nIda\n"
    )
    message["Date"] = "Thu, 05 Nov 2026 12:00:00 +0000"
    text = read(b"\xef\xbb\xbf" + message.as_bytes())
    assert text.titles == ["The lämp"]
    assert sentences(text) == [
        FIELDS[:-1] + "; Date: Thu, 05 Nov 2026 12:00:00 +0000.",
        "Hi Bob,",
        "it burns oil.",
        "On Monday Bob wrote:",
        "How does it burn?",
        "Ida",
    ]


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        ("<style>p {}</style><p>About 10<sup>6</sup> ml.</p><p hidden>No.</p>", ["About 10^6 ml."]),
        ("<p><img src='cid:x'></p>", ["Only plain."]),  # a picture says nothing here
    ],
)
def test_the_best_form_with_text_is_read(page, expected):
    message = mail("Only plain.")
    message.add_alternative(page, subtype="html")
    message.get_payload()[1].add_related(b"png", "image", "png", cid="<x>")
    text = read(message)
    assert sentences(text) == [FIELDS, *expected]
    assert text.notes == []


@pytest.mark.parametrize("charset", ["utf-8", "iso-8859-1", "x-unknown", None])
def test_charsets(charset):
    label = f"; charset={charset}" if charset else ""
    body = "Café.".encode("latin-1" if charset == "iso-8859-1" else "utf-8")
    head = f"Subject: =?utf-8?q?Caf=C3=A9?=\nContent-Type: text/plain{label}\n\n"
    text = read(head.encode() + body)
    assert text.titles == ["Café"]
    assert sentences(text) == ["Café."]


def test_attachments(tmp_path):
    message = mail("See the files.")
    for name in ("lamps.csv", "lamps.csv"):
        message.add_attachment("Lamp,Height\nEddy,41\n", subtype="csv", filename=name)
    message.add_attachment("# Fuel\n\nIt burns oil.", subtype="markdown", filename="fuel.md")
    message.add_attachment(b"PK", maintype="application", subtype="zip", filename="x.zip")
    message.add_attachment(b"no", maintype="application", subtype="pdf", filename="x.pdf")
    message.add_attachment(mail("An older text.", "Older"))
    (tmp_path / "a.eml").write_bytes(message.as_bytes())
    items = list(read_corpus(tmp_path / "a.eml", "files"))
    documents = [item.document for item in items]
    source = str(tmp_path / "a.eml")
    assert [(d.title, d.source.removeprefix(source), d.sentences[-1]) for d in documents] == [
        ("The lämp", "", "See the files."),
        ("The lämp: lamps.csv", "#lamps.csv", "Lamp: Eddy; Height: 41."),
        ("The lämp: lamps.csv (2)", "#lamps.csv (2)", "Lamp: Eddy; Height: 41."),
        ("Fuel", "#fuel.md", "It burns oil."),
        ("Older", "#Older", "An older text."),
    ]
    notes = " ".join(items[0].file.notes)
    assert "the attachment x.zip is not of a known type" in notes
    assert "the attachment x.pdf was not read: cannot be read as PDF" in notes


def test_signed_and_encrypted_mails():
    signed = (
        b'Subject: S\nContent-Type: multipart/signed; boundary="b"\n\n--b\n\nSigned text.\n--b\n'
        b"Content-Type: application/pgp-signature; name=s.asc\n\nxyz\n--b--\n"
    )
    text = read(signed)
    assert (sentences(text), text.notes) == (["Signed text."], [])
    for data in (
        b'Subject: S\nContent-Type: multipart/encrypted; boundary="b"\n\n--b\n\nx\n--b--\n',
        b"Subject: S\n\n-----BEGIN PGP MESSAGE-----\n\nabc\n",
        b"Subject: S\nContent-Type: application/pkcs7-mime\n\nabc\n",
    ):
        with pytest.raises(UnreadableFileError, match="encrypted"):
            read(data)


def test_bounds_and_files_that_are_no_mails():
    deep = mail("The innermost.", "0")
    for number in range(1, 9):
        outer = mail("Another.", str(number))
        outer.add_attachment(deep)
        deep = outer
    text = read(deep)
    assert text.notes == ["an attached mail was not read"]
    with pytest.raises(ValueError, match="no fields of a mail"):
        read(b"\x89PNG\r\n\x1a\n\0\0")
