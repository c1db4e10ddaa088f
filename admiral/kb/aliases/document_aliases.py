"""The aliases of one document."""

from __future__ import annotations

from admiral.io.text_cleaning import clean_title
from admiral.kb.aliases.defined_names import names_in_text, names_in_title
from admiral.kb.aliases.file_names import names_of_file
from admiral.records import Document

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
