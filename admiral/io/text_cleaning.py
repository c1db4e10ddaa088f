"""Decode texts, clean them before they are stored, and bring them into one form for matching.

Labels of encodings mean what the WHATWG encoding standard says (https://encoding.spec.whatwg.org):
a page that calls itself ISO-8859-1 is in windows-1252, and one that calls itself GB2312 is in GBK.

Lone surrogates cannot be written as UTF-8 and NUL ends a string in C libraries, so both become
U+FFFD. Titles are looked up, printed on one line and decoded token by token, so control characters
in them become spaces.

The matching form is NFKC with plain apostrophes and hyphens, and without soft hyphens and signs of
no width. Raised numbers and fractions never join the digits before them.
"""

from __future__ import annotations

import codecs
import re
import unicodedata
from urllib.parse import unquote

import webencodings

from admiral.records import Document

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
    if (text := _by_first_bytes(data, notes)) is not None:
        return text
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
    if (text := _by_first_bytes(data, notes)) is not None:
        return text
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


def _by_first_bytes(data: bytes, notes: list[str]) -> str | None:
    """Decode what begins with a byte order mark, or is plainly UTF-16; return None otherwise."""
    encoding = next((encoding for mark, encoding in _MARKS if data.startswith(mark)), None)
    if encoding is None and (encoding := _two_bytes(data)) is not None:
        notes.append(_GUESSED.format(encoding.upper()))
    return None if encoding is None else _decoded(data, encoding, notes)


def _two_bytes(data: bytes) -> str | None:
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


REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
# A title is decoded token by token; a longer one is probably a text in the wrong field.
LONGEST_TITLE = 2000  # characters

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
# [[Target|text]] or [[Text]]. The text may begin with a bracket, as pronunciations do. There are no
# other brackets inside, so the match is linear.
_WIKI_LINK = re.compile(r"\[\[([^\[\]|]*)(?:\|(\[?[^\[\]]*))?\]\]")
_CONTROL = re.compile("[\x01-\x1f\x7f-\x9f\u2028\u2029]+")


def clean_text(text: str) -> str:
    """Replace lone surrogates and NUL in a text, and strip outer white space."""
    return _UNSTORABLE.sub(REPLACEMENT, text).strip()


def clean_title(title: str) -> str:
    """Return a title as it is stored and looked up. The function is idempotent."""
    if title.isprintable():  # nothing to replace, and a fast test
        return title.strip()
    return _CONTROL.sub(" ", _UNSTORABLE.sub(REPLACEMENT, title)).strip()


def clean_prefix(prefix: str) -> str:
    """Clean the beginning of a title like a title, but keep white space at its end."""
    if prefix.isprintable():
        return prefix.lstrip()
    return _CONTROL.sub(" ", _UNSTORABLE.sub(REPLACEMENT, prefix)).lstrip()


def clean_document(document: Document) -> Document:
    """Return a document whose texts can be stored.

    Empty sentences are kept, since gold evidence refers to sentences by number. Links are either an
    empty tuple or one tuple per sentence; likewise sections and offsets. Raises ValueError if the
    numbers of sentences and of rows of links, sections or offsets differ.
    """
    sentences = tuple(clean_text(sentence) for sentence in document.sentences)
    links = tuple(
        tuple(title for link in row if (title := clean_title(link))) for row in document.links
    )
    if links and len(links) != len(sentences):
        raise ValueError(f"{len(links)} rows of links for {len(sentences)} sentences")
    sections = tuple(clean_title(section) for section in document.sections)
    for name, values in (("sections", sections), ("offsets", document.offsets)):
        if values and len(values) != len(sentences):
            raise ValueError(f"{len(values)} {name} for {len(sentences)} sentences")
    page = document.page
    if page is not None and len(page.gaps) != len(sentences):
        raise ValueError(f"{len(page.gaps)} gaps for {len(sentences)} sentences")
    return Document(
        clean_title(document.title),
        sentences,
        links if any(links) else (),
        clean_title(document.source),
        sections if any(sections) else (),
        document.offsets,
        clean_title(document.id),
        page=page,
    )


def without_markup(text: str) -> tuple[str, tuple[str, ...]]:
    """Return a text whose wiki links ``[[Target|text]]`` are plain text, and their targets."""
    links = (wikipedia_title(match.group(1)) for match in _WIKI_LINK.finditer(text))
    return _WIKI_LINK.sub(lambda m: m.group(2) or m.group(1), text), tuple(filter(None, links))


def wikipedia_title(href: str) -> str:
    """Return the title that a hyperlink of Wikipedia leads to, or "" for an external link.

    Percent escapes and underscores are decoded, the section is removed, and the first letter is
    capitalised, as in all titles of Wikipedia.
    """
    target = unquote(href).partition("#")[0].replace("_", " ").strip()
    if "://" in target:
        return ""
    return target[:1].upper() + target[1:]


_ESCAPES = {
    "-LRB-": "(",
    "-RRB-": ")",
    "-LSB-": "[",
    "-RSB-": "]",
    "-LCB-": "{",
    "-RCB-": "}",
    "-COLON-": ":",
}
_ESCAPE = re.compile("|".join(_ESCAPES))
_IDENTIFIERS = {plain: escape for escape, plain in _ESCAPES.items()}
_PLAIN = re.compile("|".join(map(re.escape, _IDENTIFIERS)))


def unescape_fever(text: str) -> str:
    """Replace ``-LRB-`` and similar escapes by brackets and colons."""
    return _ESCAPE.sub(lambda match: _ESCAPES[match.group()], text)


def fever_title(identifier: str) -> str:
    """Convert a FEVER id to a Wikipedia title in composed Unicode (NFC)."""
    return unicodedata.normalize("NFC", unescape_fever(identifier).replace("_", " ")).strip()


def fever_identifier(title: str) -> str:
    """Convert a title to an id of FEVER's wiki-pages, in decomposed Unicode (NFD)."""
    escaped = _PLAIN.sub(lambda match: _IDENTIFIERS[match.group()], title)
    return unicodedata.normalize("NFD", escaped.replace(" ", "_"))


_APOSTROPHE = re.compile("[‘’‚‛ʼʹʻˈ′´＇՚Ꞌꞌ]")
_HYPHEN = re.compile("[‐-―−﹘﹣－⁃]")
# Soft hyphens, signs of no width and variation selectors.
_LEFT_OUT = re.compile("[\u00ad\u180e\ufeff\u200b-\u200f\u2060-\u2064\ufe00-\ufe0f]+")
_RAISED, _LOWERED = "⁰¹²³⁴-⁹", "₀-₉"
# Fractions, numbers in circles and others that NFKC writes with digits.
_OTHER = "¼-¾⅐-⅞①-⓪㉑-㉟㊱-㊿㋀-㋋㍘-㍰㏠-㏾"
_ODD = _RAISED + _LOWERED + _OTHER
# What is inserted between digits of different kinds.
_BETWEEN = (
    (re.compile(rf"(?<=\d)(?=[{_RAISED}]|[⁺⁻][{_RAISED}])"), "^"),
    (re.compile(rf"(?<=\d)(?=[{_LOWERED}])"), "_"),
    (re.compile(rf"(?<=[{_ODD}])(?=\d)|(?<=[\d{_ODD}])(?=[{_OTHER}])"), " "),
    (re.compile(rf"(?<=[{_OTHER}{_LOWERED}])(?=[{_RAISED}])"), " "),
    (re.compile(rf"(?<=[{_OTHER}{_RAISED}])(?=[{_LOWERED}])"), " "),
)
# A character with the marks that combine with it, and the signs that are left out between them.
_CLUSTER = re.compile(
    rf"\d*[{_ODD}⁺⁻][\d{_ODD}⁺⁻]*|[^\W_](?:[\u0300-\u036f\u1100-\u11ff\u3099\u309a\ufe00-\ufe0f"
    r"\u00ad\u180e\ufeff\u200b-\u200f\u2060-\u2064]+)?|[\s\S]"
)


def matching_form(text: str) -> str:
    """Return a text in the form for matching. The function is idempotent."""
    if text.isascii():
        return text
    while (form := _normalised(text)) != text:
        text = form
    return text


def _normalised(text: str) -> str:
    text = _LEFT_OUT.sub("", _HYPHEN.sub("-", _APOSTROPHE.sub("'", text)))
    if unicodedata.is_normalized("NFKC", text):  # digits of other kinds are not
        return text
    for place, sign in _BETWEEN:
        text = place.sub(sign, text)
    return unicodedata.normalize("NFKC", text)


def matching_form_with_offsets(text: str) -> tuple[str, list[int]]:
    """Return the form of a text, and the offset in the text of each of its characters and its end.

    Each character is taken with the marks that combine with it.
    """
    if text.isascii():
        return text, list(range(len(text) + 1))
    forms: list[str] = []
    offsets: list[int] = []
    for match in _CLUSTER.finditer(text):
        form = matching_form(match.group())
        forms.append(form)
        offsets += [match.start()] * len(form)
    return "".join(forms), [*offsets, len(text)]
