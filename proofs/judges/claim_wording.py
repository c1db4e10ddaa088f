"""Counts of a claim's words that indicate how many documents it needs, without any evidence."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from proofs.logic.words import Word, split_words, word_list

_SHARING = word_list("both also same common and")
_CONTRAST = word_list("not other another different more older younger than before after")
_RELATIVE = word_list("who whose which that where")
_NAME_CONNECTORS = word_list("of the de von van la")
_SENTENCE_ENDS = frozenset(".!?")


@dataclass(frozen=True, slots=True)
class ClaimWording:
    """Counts of a claim's words.

    Attributes
    ----------
    sharing
        Words that compare things as alike, such as "both".
    contrast
        Words that set things apart, such as "another".
    relative
        Relative pronouns and adverbs, such as "whose".
    definite
        Definite descriptions: "the" before a word in lower case.
    sentences
        Sentence ends: final marks before a space or the end.
    names
        The normalised words of each name: successive words that begin in upper case, including
        numbers after the first.
    """

    sharing: int
    contrast: int
    relative: int
    definite: int
    sentences: int
    names: tuple[tuple[str, ...], ...]

    @classmethod
    def count(cls, claim: str) -> ClaimWording:
        """Count the words of a claim."""
        tokens = split_words(claim)
        words = [word for word in tokens if word.norm]
        norms = [word.norm for word in words]
        return cls(
            sum(norm in _SHARING for norm in norms),
            sum(norm in _CONTRAST for norm in norms),
            sum(norm in _RELATIVE for norm in norms),
            sum(
                word.norm == "the" and claim[after.start].islower()
                for word, after in pairwise(words)
            ),
            sum(
                not token.norm
                and claim[token.start] in _SENTENCE_ENDS
                and claim[token.end : token.end + 1] in ("", " ")
                for token in tokens
            ),
            tuple(_names(claim, tokens)),
        )


def _names(claim: str, tokens: list[Word]) -> list[tuple[str, ...]]:
    names: list[tuple[str, ...]] = []
    name: list[str] = []
    connectors: list[str] = []  # part of the name only if it continues after them
    for word in [*tokens, Word(0, 0, 0, "")]:
        initial = claim[word.start : word.end][:1]
        # Names begin in upper case; numbers and caseless scripts may only continue them.
        begins = initial.isupper() and word.is_content
        if begins or (name and word.norm and not initial.islower()):
            name += [*connectors, word.norm]
            connectors = []
        elif name and word.norm in _NAME_CONNECTORS:
            connectors.append(word.norm)
        else:
            if name:
                names.append(tuple(name))
            name, connectors = [], []
    return names
