"""Read mails (EML): the subject is the title, the text is what a mail program shows of it.

Attachments of known formats are documents of their own; the others are named in a message.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from email import message_from_bytes
from email.message import EmailMessage, Message
from email.policy import default as policy

from admiral.io.text_cleaning import decode_page
from admiral.kb.corpus.files import (
    TOO_LONG,
    DamagedFileError,
    TextBuilder,
    UnreadableFileError,
    one_line,
)
from admiral.kb.corpus.files.file_types import add_text, file_type
from admiral.kb.corpus.files.html_files import add_fragment
from admiral.kb.corpus.files.plain_text_files import add_plain_text

_SHOWN_FIELDS = ("From", "To", "Cc", "Date")
_FIELDS = (*_SHOWN_FIELDS, "Subject", "Received", "Message-ID", "MIME-Version")
_ENCRYPTED = ("multipart/encrypted", "application/pkcs7-mime", "application/x-pkcs7-mime")
_ARMOUR = "-----BEGIN PGP MESSAGE-----"
_NOT_SHOWN = (
    *("application/pgp-signature", "application/pkcs7-signature", "application/x-pkcs7-signature"),
    *("message/delivery-status", "text/x-amp-html"),
)
# For attachments whose names have no suffix.
_SUFFIXES = {
    "application/pdf": ".pdf",
    "text/csv": ".csv",
    "text/html": ".html",
    "text/rtf": ".rtf",
}
_DEEPEST = 5  # mails in mails
_MOST_PARTS = 1000
_QUOTED = re.compile(r"(?:>[ \t]?)*")
_SIGNATURE = "--"


def read_mail(data: bytes, text: TextBuilder) -> None:
    """Read a mail with its attachments."""
    message = message_from_bytes(data.removeprefix(codecs.BOM_UTF8).lstrip(), policy=policy)
    if not any(message.get(name) for name in _FIELDS):
        raise ValueError("no fields of a mail")
    if sum(1 for _ in message.walk()) > _MOST_PARTS:
        raise UnreadableFileError(TOO_LONG)
    _Mail(text, 1).add(message)


class _Mail:
    """Adds a mail to a text; `depth` counts the mails around it."""

    def __init__(self, text: TextBuilder, depth: int) -> None:
        self._text, self._depth = text, depth
        self._attachments: list[Message] = []

    def add(self, message: Message) -> None:
        self._text.propose_title(str(message.get("Subject", "")))
        fields = [(name, value) for name in _SHOWN_FIELDS if (value := str(message.get(name, "")))]
        self._text.record("; ".join(f"{name}: {value}" for name, value in fields))
        for part in self._shown(message):
            _add_text(part, self._text)
        for part in self._attachments:
            self._add_attachment(part)

    def _shown(self, part: Message) -> Iterator[Message]:
        kind = part.get_content_type()
        if kind in _ENCRYPTED:
            raise UnreadableFileError("encrypted")
        if not part.is_multipart() or kind == "message/rfc822":
            if _is_text(part):
                yield part
            elif kind not in _NOT_SHOWN and not (
                part.get_content_maintype() == "image"
                and part.get_content_disposition() != "attachment"
                and "Content-ID" in part  # a picture of the text
            ):
                self._attachments.append(part)
            return
        inner = list(part.iter_parts()) if isinstance(part, EmailMessage) else []
        if kind == "multipart/alternative":
            # The last form is the best, but may be of a kind that is not read, or of pictures.
            shown = [list(self._shown(each)) for each in inner]
            yield from next((parts for parts in reversed(shown) if any(map(_has_text, parts))), [])
        elif kind == "multipart/related":
            for number, each in enumerate(inner):
                parts = list(self._shown(each))
                yield from () if number else parts
        else:
            for each in inner:
                yield from self._shown(each)

    def _add_attachment(self, part: Message) -> None:
        name = one_line(part.get_filename() or "")
        if part.get_content_type() == "message/rfc822":
            self._add_mail(part, name)
            return
        suffix = _SUFFIXES.get(part.get_content_type(), "")
        name = name or f"attachment{suffix}"
        kind = file_type(name) or file_type(f"attachment{suffix}")
        data = part.get_payload(decode=True)
        if kind is None or not isinstance(data, bytes):
            self._text.notes.append(f"the attachment {name} is not of a known type")
            return
        attached = TextBuilder(self._text)
        try:
            add_text(data, kind, attached)
        except (UnreadableFileError, DamagedFileError) as error:
            self._text.notes.append(f"the attachment {name} was not read: {error}")
        else:
            self._text.add_part(name, attached)

    def _add_mail(self, part: Message, name: str) -> None:
        for message in part.walk():
            if message is not part and self._depth < _DEEPEST:
                subject = one_line(str(message.get("Subject", "")))
                _Mail(self._text.part(name or subject or "mail"), self._depth + 1).add(message)
                return
        self._text.notes.append("an attached mail was not read")


def _is_text(part: Message) -> bool:
    return (
        part.get_content_type() in ("text/plain", "text/html")
        and part.get_content_disposition() != "attachment"
        and not part.get_filename()
    )


def _has_text(part: Message) -> bool:
    text = TextBuilder()
    _add_text(part, text)
    return not text.lacks_text


def _add_text(part: Message, text: TextBuilder) -> None:
    data = part.get_payload(decode=True)
    source = decode_page(data if isinstance(data, bytes) else b"", part.get_content_charset(""))
    if part.get_content_type() == "text/html":
        add_fragment(source, text)
    elif source.lstrip().startswith(_ARMOUR):
        raise UnreadableFileError("encrypted")
    else:
        add_plain_text("\n".join(_without_quotation_marks(source)), text)


def _without_quotation_marks(source: str) -> Iterator[str]:
    depth = 0
    for line in source.splitlines():
        marks = _QUOTED.match(line)
        assert marks is not None
        before, depth = depth, marks[0].count(">")
        if depth != before:
            yield ""
        line = line[marks.end() :]
        yield "" if line.rstrip() == _SIGNATURE else line
