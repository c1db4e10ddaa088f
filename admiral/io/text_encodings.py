"""Decode the bytes of pages and texts as browsers and editors do.

Labels mean what the WHATWG encoding standard says (https://encoding.spec.whatwg.org): a page that
calls itself ISO-8859-1 is in windows-1252, and one that calls itself GB2312 is in GBK.
"""

from __future__ import annotations

import codecs
import re

import webencodings

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # begins like UTF-16
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# Of these, Python's codecs of the same name lack characters that the standard has, or are missing.
_SUPERSETS = {
    "gbk": "gb18030",
    "gb2312": "gb18030",
    "shift_jis": "cp932",
    "euc-kr": "cp949",
    "big5": "big5hkscs",
    "x-user-defined": "cp1252",
}
_DECLARATION_BYTES = 4096
_COMMENT = re.compile(rb"<!--.*?(?:-->|\Z)", re.DOTALL)
_XML_ENCODING = re.compile(rb"""\s*<\?xml[^>]{0,200}?\bencoding\s*=\s*["']([\w.:-]{1,40})""")
_META = re.compile(rb"<meta\b[^>]*>", re.IGNORECASE)
_CHARSET = re.compile(rb"""charset\s*=\s*["']?\s*([\w.:-]{1,40})""", re.IGNORECASE)
_NOT_TEXT = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
_MANY_CONTROLS = 0.02  # of all bytes
_FOREIGN = 0.25  # of all bytes are beyond ASCII; a text in Latin letters has fewer
_FEW = 30  # bytes beyond ASCII, which a word or two may have
_SAMPLE = 1 << 16  # bytes
_GUESSED = "read as {}, a guess, since nothing names its encoding"


def decode_page(data: bytes, label: str = "", notes: list[str] | None = None) -> str:
    """Decode an HTML or XML page as browsers do.

    `label`: name of the encoding by the server that sent it, if any. A byte order mark is above it,
    and it is above what the page says. `notes`: receives a line if the encoding was guessed, or did
    not fit.
    """
    notes = [] if notes is None else notes
    if (encoding := _marked(data)) is not None:
        return _decoded(data, encoding, notes)
    if (encoding := _two_bytes(data)) is not None:
        notes.append(_GUESSED.format(encoding.upper()))
        return _decoded(data, encoding, notes)
    if (codec := _codec(label)) is not None:
        return _decoded(data, codec, notes)
    if (codec := _codec(_declared(data))) is not None:
        # A page whose declaration can be read as ASCII is not in UTF-16, whatever it says.
        return _decoded(data, "utf-8" if codec.startswith("utf-16") else codec, notes)
    return _guessed(data, notes)


def decode_text(data: bytes, notes: list[str] | None = None) -> str:
    """Decode a text without a declaration: UTF-8, UTF-16 or windows-1252.

    `notes` receives a line if the encoding was guessed, or did not fit. Raises ValueError if the
    bytes are no text, or one in another encoding.
    """
    notes = [] if notes is None else notes
    if (encoding := _marked(data)) is not None:
        return _decoded(data, encoding, notes)
    if (encoding := _two_bytes(data)) is not None:
        notes.append(_GUESSED.format(encoding.upper()))
        return _decoded(data, encoding, notes)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        sample = data[:_SAMPLE]
        controls = len(_NOT_TEXT.findall(sample))
        if b"\0" in sample or controls > _MANY_CONTROLS * len(sample):
            raise ValueError("no text in any encoding") from error
        foreign = sum(byte > 127 for byte in sample)
        if foreign > max(_FOREIGN * len(sample), _FEW):
            # Cyrillic or Greek, say: to guess which would put nonsense for text.
            raise ValueError("an encoding that nothing names; convert it to UTF-8") from error
    return _guessed(data, notes)


def charset_of(content_type: str) -> str:
    """Return the name of the encoding in a header ``Content-Type``, or an empty string."""
    match = _CHARSET.search(content_type.encode("ascii", "replace"))
    return match.group(1).decode("ascii") if match else ""


def _marked(data: bytes) -> str | None:
    return next((encoding for mark, encoding in _MARKS if data.startswith(mark)), None)


def _two_bytes(data: bytes) -> str | None:
    """Return the encoding of a text in UTF-16 without a byte order mark, most of it ASCII."""
    sample = data[:_DECLARATION_BYTES]
    half = len(sample) // 2
    if half < 2 or b"\0" not in sample:
        return None
    even, odd = sample[0 : 2 * half : 2].count(0), sample[1 : 2 * half : 2].count(0)
    if odd > 0.5 * half and even < 0.1 * half:
        return "utf-16-le"
    return "utf-16-be" if even > 0.5 * half and odd < 0.1 * half else None


def _declared(data: bytes) -> str:
    head = data[:_DECLARATION_BYTES]
    if match := _XML_ENCODING.match(head):
        return match.group(1).decode("ascii")
    for tag in _META.findall(_COMMENT.sub(b"", head)):
        if match := _CHARSET.search(tag):
            return match.group(1).decode("ascii")
    return ""


def _codec(label: str) -> str | None:
    encoding = webencodings.lookup(label) if label.isascii() else None
    if encoding is None:
        return None
    return _SUPERSETS.get(encoding.name, str(encoding.codec_info.name))


def _decoded(data: bytes, encoding: str, notes: list[str]) -> str:
    text = data.decode(encoding, "replace").removeprefix("\ufeff")
    _note_invalid(text, encoding, notes)
    return text


def _guessed(data: bytes, notes: list[str]) -> str:
    """Decode what declares nothing: UTF-8, and windows-1252 where the bytes are not.

    Byte by byte, since one file may be put together of two.
    """
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        text = data.decode("utf-8", _WINDOWS)
    notes.append(_GUESSED.format("windows-1252"))
    _note_invalid(text, "windows-1252", notes)
    return text


def _note_invalid(text: str, encoding: str, notes: list[str]) -> None:
    if count := text.count("\ufffd"):
        notes.append(f"{count:,} characters are not valid in {encoding}, and are stored as \ufffd")


def _as_windows(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return error.object[error.start : error.end].decode("cp1252", "replace"), error.end


_WINDOWS = "admiral-windows-1252"
codecs.register_error(_WINDOWS, _as_windows)
