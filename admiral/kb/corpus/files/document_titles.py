"""Choose the title of a file among its headings, its metadata and its name; tell equal ones apart.

Documents with equal titles are distinguished by the parts of their paths that differ,
``requests/README`` and ``flask/README``, ``Notes (2023)`` and ``Notes (2024)``: never by a number,
which would say nothing about the document and depend on the order of reading.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from itertools import chain, takewhile

from admiral.errors import AdmiralError
from admiral.kb.corpus.files.file_types import stem

_LONGEST_TITLE = 200  # characters; a longer one is a paragraph that looks like a title
# What the first headings and the metadata of many files say, which tells nothing about them.
_GENERIC = re.compile(
    r"about|abstract|acknowledge?ments|api|api reference|authors?|change ?log|changes|contents|"
    r"contributing|contributors|copying|credits|description|document|documentation|faq|features|"
    r"general information|getting started|history|home|(?:my )?home ?page|index|install|"
    r"installation|introduction|licen[cs]e|main|maintainers|name|(?:older )?news|notes|overview|"
    r"page|page \d+|preface|presentation|quick ?start|readme|reference|release notes|requirements|"
    r"section|slide 1|summary|synopsis|table of contents|thanks|this page has moved|title|todo|toc|"
    r"untitled|untitled document|usage|welcome|powerpoint presentation|"
    r"microsoft (?:word|powerpoint) - .*|.*\.(?:docx?|dvi|tex|indd|pptx?)",
    re.IGNORECASE,
)
# Names that programs give to sheets, in some languages.
_NAME_OF_SHEET = re.compile(
    r"(?:sheet|tabelle|feuil|hoja|foglio|planilha|blad|ark|arkusz|list|лист|data) ?\d*",
    re.IGNORECASE,
)
# The number of a chapter or section: "2.1. ", "3) ", "Appendix B: ". "2.1 " may be a version. The
# numbers of "1. SC Bad Neuenahr" and "Section 31 notice" belong to names.
_NUMBER = re.compile(
    r"(?:\d{1,3}(?:\.\d{1,3})*[.)](?!\s+(?:[A-Z]{2,4}\s+[^\W\d_a-z]|(?:Bundes)?[Ll]iga\b|Division\b))"
    r"|(?i:appendix|chapter|part|section) (?:\d{1,3}(?:[.:]|(?=\s+[^\W\d_a-z]))"
    r"|(?i:[ivxlc]+|[a-z])[.:]))\s+(?=.*[^\W\d_])"
)


def choose_title(titles: Sequence[str], name: str) -> str:
    """Return the title of a file, given its possible titles, best first, and its name.

    It is the first one that tells something about the file, without the number of a section, or
    else the name.
    """
    return _telling_title(titles) or title_from_name(name)


def title_of_part(titles: Sequence[str], name: str, title: str) -> str:
    """Return the title of a sheet or an attachment.

    - `titles`: its possible titles, best first.
    - `name`: its name within its file.
    - `title`: title of the file, which stands before a name that tells nothing by itself.
    """
    found = _telling_title(titles)
    return found if found and not _NAME_OF_SHEET.fullmatch(found) else f"{title}: {name}"


def _telling_title(titles: Sequence[str]) -> str | None:
    for title in map(without_number, titles):
        if len(title) <= _LONGEST_TITLE and not _GENERIC.fullmatch(title.strip(" :#.")):
            return title
    return None


def without_number(heading: str) -> str:
    """Return a heading without the number of its chapter or section."""
    return _NUMBER.sub("", heading, count=1) if _NUMBER.match(heading) else heading


def title_from_name(name: str) -> str:
    """Return the name of a file without its suffix, with spaces for underscores."""
    return stem(name).replace("_", " ").strip() or name


# What is tried until a title is unique: the title itself, what differs in the paths, the whole
# path after the title, and the path alone, which no other file has.
_OWN, _DIFFERENCE, _WHOLE_PATH, _PATH_ONLY = range(4)


def distinct_titles(
    documents: Sequence[tuple[str, str]], other: Callable[[str], str | None] = lambda _: None
) -> list[str]:
    """Return a title for each document, all of them different.

    The titles depend on the documents only, not on their order.

    - `documents`: the title and the source of each document; sources are different.
    - `other`: returns the source of another document that has a title already ("" if it has none),
      or None if the title is free.
    """
    levels = [_OWN] * len(documents)
    titles = [title for title, _ in documents]
    while True:
        groups: dict[str, list[int]] = defaultdict(list)
        for number, title in enumerate(titles):
            # Titles in two Unicode forms look the same, but their paths lead to two files.
            exact = levels[number] == _PATH_ONLY
            groups[title if exact else unicodedata.normalize("NFC", title)].append(number)
        crowded = [
            number
            for members in groups.values()
            if len(members) > 1 or other(titles[members[0]]) is not None
            for number in members
        ]
        if not crowded:
            return titles
        raised = [number for number in crowded if levels[number] < _PATH_ONLY]
        if not raised:
            raise AdmiralError(
                f"{documents[crowded[0]][1]}: another document has this path as its title. Give "
                "one of them another title."
            )
        clashes: dict[str, list[int]] = defaultdict(list)
        for number in raised:
            levels[number] += 1
            if levels[number] == _DIFFERENCE:
                clashes[unicodedata.normalize("NFC", documents[number][0])].append(number)
            else:
                title, source = documents[number]
                path = _printable(source)
                titles[number] = f"{title} ({path})" if levels[number] == _WHOLE_PATH else path
        for title, members in clashes.items():
            sources = [documents[number][1] for number in members]
            renamed = _with_differences(title, [*sources, *filter(None, [other(title)])])
            for number, new in zip(members, renamed, strict=False):
                titles[number] = new


def _with_differences(title: str, sources: Sequence[str]) -> list[str]:
    paths = [tuple(filter(None, re.split(r"[/\\]", source))) for source in sources]
    folders = _shortest_differences([path[:-1] for path in paths])
    names = [path[-1] if path else "" for path in paths]
    if len(names) == 1:  # beside what is no file
        return [_printable(f"{title} ({names[0]})")]
    stems = list(map(title_from_name, names))
    in_folder = Counter(folders)
    of_stem = Counter(zip(folders, stems, strict=True))
    renamed = []
    for folder, name, short in zip(folders, names, stems, strict=True):
        # Files of one folder differ in their names, or only in the suffixes of these.
        label = () if in_folder[folder] == 1 else (short if of_stem[folder, short] == 1 else name,)
        if title == short:
            new = "/".join((*folder, *(label or (title,))))
        else:
            difference = "/".join((*folder, *label))
            new = f"{title} ({difference})" if difference else title
        renamed.append(_printable(new))
    return renamed


def _shortest_differences(paths: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Return of each path the shortest beginning that no other one has, without what all share.

    Equal paths have equal differences.
    """
    distinct = set(paths)
    first = _shared(distinct)
    last = _shared({path[first:][::-1] for path in distinct})
    middles = {path: path[first : len(path) - last] for path in distinct}
    beginnings = {
        path: [middle[:length] for length in range(1, len(middle) + 1)]
        for path, middle in middles.items()
    }
    counts = Counter(chain.from_iterable(beginnings.values()))
    return [
        next((each for each in beginnings[path] if counts[each] == 1), middles[path])
        for path in paths
    ]


def _shared(paths: Iterable[tuple[str, ...]]) -> int:
    """Return how many of their first parts all paths share."""
    columns = zip(*paths, strict=False)
    return len(list(takewhile(lambda parts: len(set(parts)) == 1, columns)))


def _printable(text: str) -> str:
    escaped = "".join(
        char if char.isprintable() and char != "\\" else ascii(char)[1:-1] for char in text
    )
    return re.sub(r"^\s|\s$", r"\\x20", escaped)
