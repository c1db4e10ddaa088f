"""Corpora are untrusted: what every text and title goes through before it is stored.

Lone surrogates cannot be written as UTF-8 and NUL ends a string in C libraries, so both become
U+FFFD. Titles are names that are looked up, printed on one line and spelled by the decoder: control
characters in them become spaces.
"""

from __future__ import annotations

import re
from urllib.parse import unquote

from admiral.records import Document

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
# A title is spelled token by token; a longer one is no title but a text in the wrong field.
LONGEST_TITLE = 2000

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
# [[Target|text]] or [[Text]]; no brackets inside, so the match is linear.
_WIKI_LINK = re.compile(r"\[\[([^\[\]|]*)(?:\|([^\[\]]*))?\]\]")
_CONTROL = re.compile("[\x01-\x1f\x7f-\x9f\u2028\u2029]+")


def clean_text(text: str) -> str:
    """Return `text` without lone surrogates, NUL and outer white space."""
    return _UNSTORABLE.sub(REPLACEMENT, text).strip()


def clean_title(title: str) -> str:
    """Return a title as it is stored and looked up; applying it twice changes nothing."""
    if title.isprintable():  # nothing to replace, and quickly told
        return title.strip()
    return _CONTROL.sub(" ", _UNSTORABLE.sub(REPLACEMENT, title)).strip()


def clean_prefix(prefix: str) -> str:
    """Return the beginning of a title as stored titles begin; a space at its end is kept."""
    if prefix.isprintable():
        return prefix.lstrip()
    return _CONTROL.sub(" ", _UNSTORABLE.sub(REPLACEMENT, prefix)).lstrip()


def clean_document(document: Document) -> Document:
    """Return a document whose texts can be stored.

    Sentences keep their number, empty ones too, since gold evidence refers to it. Links are either
    absent (an empty tuple) or one tuple per sentence.
    """
    sentences = tuple(clean_text(sentence) for sentence in document.sentences)
    links = tuple(
        tuple(title for link in row if (title := clean_title(link))) for row in document.links
    )
    if links and len(links) != len(sentences):
        raise ValueError(f"{len(links)} rows of links for {len(sentences)} sentences")
    return Document(clean_title(document.title), sentences, links if any(links) else ())


def without_markup(text: str) -> tuple[str, tuple[str, ...]]:
    """Return a text with its wiki links, ``[[Target|text]]``, as plain text, and their titles."""
    links = (wikipedia_title(match.group(1)) for match in _WIKI_LINK.finditer(text))
    return _WIKI_LINK.sub(lambda m: m.group(2) or m.group(1), text), tuple(filter(None, links))


def wikipedia_title(href: str) -> str:
    """Return the title that a wiki hyperlink means, or an empty string for an outside link.

    Percent escapes and underscores are undone, the section is cut off, and the first letter is
    upper-case, as in every title of Wikipedia.
    """
    target = unquote(href).partition("#")[0].replace("_", " ").strip()
    if "://" in target:
        return ""
    return target[:1].upper() + target[1:]
