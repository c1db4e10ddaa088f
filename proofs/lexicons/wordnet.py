"""WordNet through NLTK, where both are installed; nothing is ever downloaded."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from functools import lru_cache
from threading import Lock
from typing import Any

from proofs.lexicons.lexicon import BuiltinLexicon, SpanLexicon, WordLexicon
from proofs.logic.operators import NatOp

logger = logging.getLogger(__name__)


# The most frequent senses of a word are compared, so many of each part of speech: some sense of
# nearly any two words has to do with the other.
SENSES = 1


@dataclass(frozen=True, slots=True)
class _Entry:
    """What WordNet holds of a word: names of synsets, and words."""

    senses: frozenset[str]
    ancestors: frozenset[str]
    parents: frozenset[str]
    antonyms: frozenset[str]


class WordNetLexicon:
    """Synonyms, antonyms, hypernyms and co-hyponyms of WordNet.

    A shared sense is equivalence, an antonym negation; evidence whose sense lies below the claim's
    entails it, and the other way round; different children of one parent may exclude each other.

    Parameters
    ----------
    reader
        NLTK's WordNet corpus reader.
    co_hyponyms
        Whether children of one parent exclude each other. Often they do not ("singer", "actor"), so
        that proofs with them decide less well.
    """

    def __init__(self, reader: Any, *, co_hyponyms: bool = False) -> None:
        self._reader = reader
        self._co_hyponyms = co_hyponyms
        self._entry = lru_cache(maxsize=50_000)(self._look_up)
        self._lock = Lock()  # NLTK reads and seeks in files that all threads share

    def word_relation(self, claim: str, evidence: str) -> NatOp | None:
        """Return how two normalised words are related, None where WordNet knows nothing."""
        mine, other = self._entry(claim), self._entry(evidence)
        if mine is None or other is None:
            return None
        if mine.senses & other.senses:
            return NatOp.EQUIVALENCE
        if mine.antonyms & other.senses or other.antonyms & mine.senses:
            return NatOp.NEGATION
        forward = bool(mine.senses & other.ancestors)
        reverse = bool(other.senses & mine.ancestors)
        if forward != reverse:
            return NatOp.FORWARD if forward else NatOp.REVERSE
        apart = self._co_hyponyms and mine.parents & other.parents
        return NatOp.ALTERNATION if apart else None

    def _look_up(self, word: str) -> _Entry | None:
        with self._lock:
            return self._read(word)

    def _read(self, word: str) -> _Entry | None:
        synsets = [s for part in "nvar" for s in self._reader.synsets(word, part)[:SENSES]]
        if not synsets:
            return None
        above = [a for s in synsets for a in s.closure(_hypernyms)]
        opposite = [a for s in synsets for lemma in s.lemmas() for a in lemma.antonyms()]
        parents = _hypernyms(synsets[0]) if synsets[0].pos() == "n" else []
        return _Entry(
            frozenset(s.name() for s in synsets),
            frozenset(s.name() for s in above),
            frozenset(s.name() for s in parents),
            frozenset(lemma.synset().name() for lemma in opposite),
        )


def _hypernyms(synset: Any) -> list[Any]:
    return [*synset.hypernyms(), *synset.instance_hypernyms()]


@lru_cache(maxsize=1)
def open_wordnet() -> WordNetLexicon | None:
    """Return the WordNet lexicon, or None, with one warning, where NLTK or its data is absent."""
    try:
        from nltk.corpus import wordnet

        wordnet.ensure_loaded()
    except ImportError:
        logger.warning("NLTK is not installed: proofs are written without WordNet")
    except (LookupError, OSError):
        logger.warning(
            "NLTK has no WordNet data: proofs are written without it; "
            "`python -m proofs.lexicons.install_wordnet` installs it"
        )
    else:
        return WordNetLexicon(wordnet)
    return None


def default_lexicon(*more: WordLexicon, wordnet: bool = False) -> SpanLexicon:
    """Return the built-in lexicon with the given ones and, on request, WordNet behind it."""
    found = open_wordnet() if wordnet else None
    return SpanLexicon([BuiltinLexicon(), *more, *([found] if found is not None else [])])
