"""The aliases of documents: other names that a text may call them by.

The table ``aliases`` of the database has all of them; ``aliases.marisa`` of a version has the rows
of each name, and ``words.marisa`` the numbers of documents that contain common words.

An alias that names many documents, or is an ordinary word, is left out of the answers. "sort" and
"time" are names of commands, but nearly always mean something else: the documents that contain a
word are counted in a sample, evenly spaced, so that neither time nor memory grows with large
corpora; words that few of them contain are not stored.

The aliases of one document are names that its title, its text or its file gives its subject. Before
the first verb, "World Health Organization (WHO) is" defines an acronym, "Barack Hussein Obama II
(born 1961) is" a longer name, "Seth Meyers is" the natural order of the title "Meyers, Seth", and
"The Genetic Studies of Genius, today known as the Terman Study, is" another name. After the verb, a
sentence may name other things. Single words are left out unless they are acronyms or written like
"GitHub": in an encyclopaedia, "Charles" or "Georgia" are parts of too many names.

A README describes the folder that it lies in. Packages are spelled in several ways:
"python-dateutil", "python_dateutil". Names of files in lower case count too, unlike in titles of
records.
"""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path, PurePosixPath

from admiral.io.streams import COMPRESSED_SUFFIXES
from admiral.io.text_cleaning import clean_title
from admiral.kb.store import Store
from admiral.kb.titles import open_rows, write_rows
from admiral.records import SECTION_SEPARATOR, Document

_LONGEST_BEGINNING = 400  # characters of the first sentence that are read
_MOST_WORDS = 8
_SHORTEST_ACRONYM = 3  # letters; shorter ones stand for too many things
_QUOTES = " \"'“”‘’«»„`"
_QUALIFIED = re.compile(r"(.+?)\s*\(([^()]+)\)$")
_INVERTED = re.compile(r"([^,()]+), ([^,()]+?)(?: \([^()]*\))?")
_WORD = re.compile(r"\w+(?:[-'’.&]\w+)*")
_ACRONYM = re.compile(r"[A-Z][A-Za-z0-9&.]*[A-Z0-9][A-Za-z0-9.]*")
_VERB_OR_PARENTHESIS = re.compile(
    r"[()]| (?:is|was|are|were|has|have|had|will|can|refers|comprises?|consists?|contains|provides|"
    r"implements|describes|denotes|means)\b"
)
_END_OF_SUBJECT = re.compile(r"\s*[(,;:–—]|\s-\s|\s+or\s")
_INTRODUCTION = re.compile(
    r"\b(?:known|called|abbreviated|styled|styli[sz]ed|shortened|referred to|titled|nicknamed)"
    r"(?:\s+(?:as|to|by|simply|professionally|collectively|internationally|officially|commonly))*\s"
    r"|\b(?:a\.\s?k\.\s?a\.|aka|AKA|or simply|short for|acronym for)\s"
)
_REGNAL = re.compile(r"\w+ [IVX]+")
_ARTICLES = ("The ", "the ", "A ", "a ", "An ", "an ")
# Words of names that are not capitalised, and that acronyms leave out.
_SMALL_WORDS = frozenset(
    re.findall(
        r"\w+",
        """
        a an and at by da de del der des di du el et for from in la le les of on or the to und van
        von with y
        """,
    )
)


def names_in_title(document: Document) -> Iterator[str]:
    """Yield the names that a title holds: long form and acronym, or the natural order of words.

    ``World Health Organization (WHO)`` has two names. The natural order of ``Meyers, Seth`` is a
    name if the first sentence has it, and that of ``Tongan general election, 2017`` always.
    """
    title = document.title
    if match := _QUALIFIED.fullmatch(title):
        base, qualifier = match.groups()
        if is_acronym_of(qualifier, base) or is_acronym_of(base, qualifier):
            yield base
            yield qualifier
    if match := _INVERTED.fullmatch(title):
        natural = f"{match[2]} {match[1]}"
        if match[2].isdigit() or any(natural in text for text in document.sentences[:1]):
            yield natural
    if (plain := html.unescape(title)) != title:
        yield plain


def names_in_text(document: Document) -> Iterator[str]:
    """Yield the names that the first sentence gives the subject of a document."""
    title = document.title
    base = _base(title)
    known = [title, base, *names_in_title(document)]
    beginning = _before_verb(" ".join(document.sentences[:1])[:_LONGEST_BEGINNING])
    if not base.startswith("The "):
        beginning = beginning.removeprefix("The ")
    subject = next((name for name in known if _starts_with_words(beginning, name)), "")
    if not subject:
        subject = _END_OF_SUBJECT.split(beginning, maxsplit=1)[0].strip(_QUOTES)
        # An indefinite article introduces a kind of thing: "A list of lists is".
        if subject.startswith(("A ", "An ")) or not _is_about(subject, base):
            return
        # "United States" is not "United States at the Olympics", but "West Oaks" is probably
        # "West Oaks, Houston".
        is_part = subject.casefold() in base.casefold()
        is_place = " " in subject and base.startswith(f"{subject},")
        if _is_name(subject) and (is_place or not is_part):
            yield subject
    rest = beginning.partition(subject)[2]
    names = [*known, subject]
    for inside in re.findall(r"\(([^()]*)", rest):
        for part in re.split(r"[,;:]|\bor\b", inside):
            part = part.strip(_QUOTES)
            if any(is_acronym_of(part, name) or is_acronym_of(name, part) for name in names):
                yield part
    for match in _INTRODUCTION.finditer(rest):
        name = re.split(r"\s*[,;()]|\s+(?:or|and)\s", rest[match.end() :].lstrip(), maxsplit=1)[0]
        name = _without_article(name.strip(_QUOTES)).strip(_QUOTES)
        if _is_name(name):
            yield name


def is_acronym_of(short: str, long: str) -> bool:
    """Return whether a name consists of the initials of the words of another one.

    Words such as "of" may be left out: "UNESCO" and "USA" are acronyms of their long forms, but
    "Unesco" is not.
    """
    if not _ACRONYM.fullmatch(short):
        return False
    letters = [letter for letter in short.casefold() if letter.isalnum()]
    words = re.findall(r"\w+", long.casefold())
    important = [word for word in words if word not in _SMALL_WORDS]
    initials = [[word[0] for word in chosen] for chosen in (words, important)]
    return len(letters) >= _SHORTEST_ACRONYM and letters in initials


def _base(title: str) -> str:
    match = _QUALIFIED.fullmatch(title)
    return match[1] if match else title


def _before_verb(text: str) -> str:
    """Return what precedes the first verb outside parentheses; "" if there is none."""
    depth = 0
    for match in _VERB_OR_PARENTHESIS.finditer(text):
        if match[0] == "(":
            depth += 1
        elif match[0] == ")":
            depth = max(0, depth - 1)
        elif not depth:
            return text[: match.start()]
    return ""


def _starts_with_words(text: str, name: str) -> bool:
    return text.startswith(name) and not text[len(name) : len(name) + 1].isalnum()


def _without_article(name: str) -> str:
    return next((name.removeprefix(a) for a in _ARTICLES if name.startswith(a)), name)


def _is_about(subject: str, title: str) -> bool:
    """Return whether a subject has half of the words of a title, or the other way round."""
    words, title_words = _content_words(subject), _content_words(title)
    shared = len(words & title_words)
    return 2 * shared >= min(len(words), len(title_words)) > 0 or is_acronym_of(title, subject)


def _content_words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.casefold())) - _SMALL_WORDS


def _is_name(text: str) -> bool:
    """Return whether a text is written as a name: few words, the important ones capitalised."""
    words = text.split()
    if not 0 < len(words) <= _MOST_WORDS or _REGNAL.fullmatch(text):
        return False
    if len(words) == 1:
        return _is_distinctive(text)
    ends = (words[0], words[-1])
    return not any(w[0].islower() and w not in _SMALL_WORDS for w in words) and not any(
        word[0].islower() for word in ends
    )


def _is_distinctive(word: str) -> bool:
    """Return whether a word has several capitals, as acronyms and many brands have."""
    capitals = sum(map(str.isupper, word))
    return len(word) >= _SHORTEST_ACRONYM and capitals > 1 and not word.startswith(("Mc", "Mac"))


# Files that describe the folder that they lie in, and folders that are only parts of one.
_DESCRIBES_FOLDER = frozenset({"readme", "index", "about", "overview"})
_PARTS = frozenset({"doc", "docs", "documentation", "en", "html", "latest", "source", "src"})
_VERSION = re.compile(r"[-_]v?\d[\w.+-]*$")
_PACKAGE = re.compile(r"[A-Za-z][\w.-]*\w(?= \(|$)")
_LANGUAGE_PREFIX = re.compile(r"(?:python3?|node|ruby|golang|rust|lua|php)-(?=[a-z])")
_TAGLINE = re.compile(r"(\w[\w.+-]*(?: [\w.+-]+)?)(?::| [-–—]) ")


def names_of_file(document: Document) -> Iterator[str]:
    """Yield the names of a document that was read from a file."""
    if not document.source:
        return
    title = document.title
    # Also the name before what tells it apart from others: "six (vendored)".
    own_name = None if title.casefold() in _DESCRIBES_FOLDER else _PACKAGE.match(title)
    if not title[:1].isupper() and title.casefold() not in _DESCRIBES_FOLDER:
        yield from (title, own_name[0]) if own_name else (title,)
    if match := _TAGLINE.match(title):
        yield match[1]
    yield from _common_heading(document)
    parts = [part for part in re.split(r"[/\\]", document.source) if part]
    name = _without_suffixes(parts[-1]) if parts else ""
    if name.casefold() not in _DESCRIBES_FOLDER:
        if not _is_ordinary(name):
            yield name
        return
    if own_name:
        yield from spellings(own_name[0])
    if "/" in title:  # "requests/README"
        yield from spellings(_folder(title.split("/")[:-1]))
    elif not _is_ordinary(folder := _folder(parts[-2::-1])):
        yield from spellings(folder)


def spellings(name: str) -> Iterator[str]:
    """Yield the spellings of a package's name: ``python3-Foo_bar`` is also ``foo-bar``."""
    if not _PACKAGE.fullmatch(name):
        return
    for spelling in (name, _LANGUAGE_PREFIX.sub("", name)):
        for variant in (spelling, spelling.lower(), spelling[0].upper() + spelling[1:]):
            yield variant
            yield re.sub("[-_.]+", "-", variant)
            yield re.sub("[-_.]+", "_", variant)


def _common_heading(document: Document) -> Iterator[str]:
    """Yield the heading above all sentences, which is the title that the file gives itself."""
    headings = {section.partition(SECTION_SEPARATOR)[0] for section in document.sections}
    if len(headings) == 1:
        yield from headings


def _without_suffixes(name: str) -> str:
    for suffix in COMPRESSED_SUFFIXES:
        name = name.removesuffix(suffix)
    return PurePosixPath(name).stem


def _is_ordinary(name: str) -> bool:
    """Return whether the name of a file or folder may be any word: "live", "policy"."""
    return name.isalpha() and name.islower()


def _folder(parts: Iterable[str]) -> str:
    """Return the first folder that is not only a part of another one, without its version."""
    return _VERSION.sub("", next((p for p in parts if p.casefold() not in _PARTS), ""))


#: Length of the longest alias, in characters.
LONGEST_ALIAS = 100
_SHORTEST_ALIAS = 2


def document_aliases(document: Document) -> list[str]:
    """Return the names of a document other than its title, each once.

    They depend on the document alone; whether a name is ambiguous or an ordinary word is decided
    when it is looked up. A title in lower case, which is not looked for in texts as other titles
    are, is an alias if the document was read from a file.
    """
    names = (*names_in_title(document), *names_in_text(document), *names_of_file(document))
    cleaned = dict.fromkeys(map(clean_title, names))
    return [name for name in cleaned if _is_usable(name, document)]


def _is_usable(name: str, document: Document) -> bool:
    own_title = name == document.title and not (document.source and name[:1].islower())
    return (
        _SHORTEST_ALIAS <= len(name) <= LONGEST_ALIAS
        and name[0].isalnum()
        and any(map(str.isalpha, name))
        and not own_title
    )


ALIASES, WORDS = "aliases.marisa", "words.marisa"
_SAMPLE = 16_384  # documents
_LONGEST_TEXT = 20_000  # characters of a document that are read
# The share of documents below which a word is not stored.
_SMALLEST_SHARE = 1 / 512
_COUNTED_WORD = re.compile(r"\w+(?:[-.&]\w+)*")
# An alias of more documents names none of them.
_MOST_OWNERS = 3
# A word that more documents contain, and a larger share of them, is no name.
_MOST_DOCUMENTS = 10
_LARGEST_SHARE = 0.02
# Number of words of texts of which it is kept in memory whether they begin an alias.
_CACHED_WORDS = 2**17
_WORD_CHARACTER = re.compile(r"\w")


def write_aliases(folder: Path, store: Store) -> None:
    """Write the rows of all aliases, and how many documents contain each common word."""
    write_rows(folder / ALIASES, store.all("SELECT name, row FROM aliases"))
    write_rows(folder / WORDS, list(_common_words(store).items()))


def _common_words(store: Store) -> dict[str, int]:
    rows = store.rows()
    step = -(-len(rows) // _SAMPLE) or 1
    counts: Counter[str] = Counter()
    sample = rows[::step]
    for row in sample:
        text = " ".join(store.read_document(row).sentences)[:_LONGEST_TEXT]
        counts.update(set(_COUNTED_WORD.findall(text)))
    least = max(2, len(sample) * _SMALLEST_SHARE)
    return {word: n * step for word, n in counts.items() if n >= least}


class AliasIndex:
    """The aliases of a version, and the words that are common in its documents.

    `write_aliases` wrote in `folder`, for as many `documents`.
    """

    def __init__(self, folder: Path, documents: int) -> None:
        self._names, self._words = open_rows(folder / ALIASES), open_rows(folder / WORDS)
        self._most_documents = max(_MOST_DOCUMENTS, documents * _LARGEST_SHARE)
        self.begin_with = lru_cache(_CACHED_WORDS)(self._begin_with)

    def _begin_with(self, word: str) -> bool:
        """Return whether `word` is the first word of an alias, also of one that is no name."""
        return any(not _WORD_CHARACTER.match(n, len(word)) for n in self._names.iterkeys(word))

    def beginnings(self, text: str) -> list[tuple[str, list[int]]]:
        """Return the aliases that a text begins with, longest first, with the rows that they name.

        Lone surrogates are not allowed.
        """
        names = self._names.prefixes(text[:LONGEST_ALIAS])[::-1]
        found = ((name, self.rows(name)) for name in names)
        return [(name, rows) for name, rows in found if rows]

    def rows(self, name: str) -> list[int]:
        """Return the rows of the documents that an alias names, ascending; [] if it is no name."""
        rows = sorted(row for (row,) in self._names.get(name, []))
        return [] if len(rows) > _MOST_OWNERS or self._is_common(name) else rows

    def common(self) -> set[str]:
        """Return the aliases that are no names because they are common words."""
        words = {word for word, _ in self._words.iteritems() if self._is_common(word)}
        spellings = words | {word[0].upper() + word[1:] for word in words}
        return {name for name in spellings if name in self._names and self._is_common(name)}

    def _is_common(self, name: str) -> bool:
        """Return whether many documents contain a word; "Sort" is as common as "sort"."""
        spellings = {name, name.lower()} if name[1:].islower() else {name}
        return any(self._documents(word) > self._most_documents for word in spellings)

    def _documents(self, word: str) -> int:
        return next((count for (count,) in self._words.get(word, [])), 0)
