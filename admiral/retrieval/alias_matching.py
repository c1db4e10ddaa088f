"""Match aliases in text: other names of documents, found when the knowledge base was built."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Protocol

from admiral.retrieval.title_matching import MAX_TEXT, Mention

# "--sort" and "$EDITOR" are an option and a variable.
_WORD = re.compile(r"(?<![\w.&$@-])\w+")
# After the name, a word may end in a possessive "s". "printf(3)" and "open()" name something else.
_WORD_END = re.compile(r"(?=['’]s?(?!\w))|(?!\w|[-'’.&]\w|\()")


class Aliases(Protocol):
    """The aliases of a knowledge base."""

    def has_aliases_with(self, word: str) -> bool:
        """Return whether `word`, up to its first other character, may begin an alias."""
        ...

    def aliases_beginning(self, text: str) -> list[tuple[str, list[str]]]:
        """Return the aliases that `text` begins with, longest first, with the titles they name."""
        ...


def find_aliases(aliases: Aliases, text: str) -> Iterator[Mention]:
    """Yield the mentions of documents by alias, left to right, without overlap.

    A mention is the longest alias that begins and ends with a word of the text. Upper and lower
    case must be those of the alias.

    Parameters
    ----------
    aliases
        The aliases of a knowledge base.
    text
        The text; only its first 4,096 characters are searched.
    """
    text = text[:MAX_TEXT].encode("utf-8", "replace").decode("utf-8")  # without lone surrogates
    position = 0
    for word in _WORD.finditer(text):
        start = word.start()
        # Most words begin no alias. No alias ends within a word.
        if start < position or not aliases.has_aliases_with(word.group()):
            continue
        for name, titles in aliases.aliases_beginning(text[start:]):
            if _WORD_END.match(text, start + len(name)):
                position = start + len(name)
                yield Mention(start, position, tuple(titles))
                break
