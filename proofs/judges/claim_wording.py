"""How a claim is worded: what tells how many documents it needs, before any evidence is read."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from proofs.logic.words import Word, pieces, word_list

# Words of claims about things together, of things set apart, and of clauses about something else.
_SHARING = word_list("both also same common and")
_SETTING_APART = word_list("not other another different more older younger than before after")
_RELATIVE = word_list("who whose which that where")
# Words within names.
_WITHIN = word_list("of the de von van la")
_ENDS = frozenset(".!?")


@dataclass(frozen=True, slots=True)
class Wording:
    """Counts of what a claim says in so many words.

    Attributes
    ----------
    sharing, setting_apart, relative
        Words such as "both", "another" and "whose".
    definite
        Descriptions: "the" before a word in lower case.
    sentences
        Marks that end one, before a space or at the end.
    names
        The normalised words of each name: of words that follow each other and begin in upper case,
        with numbers behind the first one.
    """

    sharing: int
    setting_apart: int
    relative: int
    definite: int
    sentences: int
    names: tuple[tuple[str, ...], ...]

    @classmethod
    def of(cls, claim: str) -> Wording:
        """Count the words of a claim."""
        found = pieces(claim)
        words = [word for word in found if word.norm]
        norms = [word.norm for word in words]
        return cls(
            sum(norm in _SHARING for norm in norms),
            sum(norm in _SETTING_APART for norm in norms),
            sum(norm in _RELATIVE for norm in norms),
            sum(
                one.norm == "the" and claim[after.start].islower() for one, after in pairwise(words)
            ),
            sum(
                not word.norm
                and claim[word.start] in _ENDS
                and claim[word.end : word.end + 1] in ("", " ")
                for word in found
            ),
            tuple(_names(claim, found)),
        )


def _names(claim: str, found: list[Word]) -> list[tuple[str, ...]]:
    names: list[tuple[str, ...]] = []
    run: list[str] = []
    waiting: list[str] = []  # words that are part of a name if it goes on
    for word in [*found, Word(0, 0, 0, "")]:
        first = claim[word.start : word.end][:1]
        # Names begin in upper case; numbers and scripts without cases may go on with one.
        begins = first.isupper() and word.content
        if begins or (run and word.norm and not first.islower()):
            run += [*waiting, word.norm]
            waiting = []
        elif run and word.norm in _WITHIN:
            waiting.append(word.norm)
        else:
            if run:
                names.append(tuple(run))
            run, waiting = [], []
    return names
