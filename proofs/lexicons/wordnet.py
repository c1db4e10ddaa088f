"""Relations of words in WordNet, read through NLTK if both are installed; nothing is downloaded."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from functools import lru_cache
from threading import Lock
from typing import Any

from proofs.logic.operators import NatOp

logger = logging.getLogger(__name__)

# How many of a word's most frequent senses to compare, for each part of speech. With more, almost
# any two words have related senses.
SENSES = 1


@dataclass(frozen=True, slots=True)
class _Entry:
    senses: frozenset[str]
    ancestors: frozenset[str]
    antonyms: frozenset[str]


class WordNetLexicon:
    """Synonyms, antonyms and hypernyms of WordNet.

    A shared sense is equivalence and an antonym is negation. Evidence with a hyponym of the claim's
    word entails it, and vice versa. Co-hyponyms, children of one parent, do not exclude each other:
    often both are true ("singer", "actor").
    """

    def __init__(self, reader: Any) -> None:
        self._reader = reader
        self._entry = lru_cache(maxsize=50_000)(self._look_up)
        self._lock = Lock()  # NLTK's reader seeks in files that all threads share

    def word_relation(self, claim: str, evidence: str) -> NatOp | None:
        """Return the relation of two normalised words, or None if WordNet has none."""
        claimed, stated = self._entry(claim), self._entry(evidence)
        if claimed is None or stated is None:
            return None
        if claimed.senses & stated.senses:
            return NatOp.EQUIVALENCE
        if claimed.antonyms & stated.senses or stated.antonyms & claimed.senses:
            return NatOp.NEGATION
        forward = bool(claimed.senses & stated.ancestors)
        reverse = bool(stated.senses & claimed.ancestors)
        if forward == reverse:
            return None
        return NatOp.FORWARD if forward else NatOp.REVERSE

    def _look_up(self, word: str) -> _Entry | None:
        with self._lock:
            return self._read(word)

    def _read(self, word: str) -> _Entry | None:
        synsets = [s for part in "nvar" for s in self._reader.synsets(word, part)[:SENSES]]
        if not synsets:
            return None
        ancestors = [a for s in synsets for a in s.closure(_hypernyms)]
        antonyms = [a for s in synsets for lemma in s.lemmas() for a in lemma.antonyms()]
        return _Entry(
            frozenset(s.name() for s in synsets),
            frozenset(s.name() for s in ancestors),
            frozenset(lemma.synset().name() for lemma in antonyms),
        )


def _hypernyms(synset: Any) -> list[Any]:
    return [*synset.hypernyms(), *synset.instance_hypernyms()]


@lru_cache(maxsize=1)
def open_wordnet() -> WordNetLexicon | None:
    """Return the WordNet lexicon, or None, with one warning, if its data is absent."""
    try:
        from nltk.corpus import wordnet

        wordnet.ensure_loaded()
    except (LookupError, OSError):
        logger.warning(
            "NLTK has no WordNet data: proofs are written without it; "
            "`python -m proofs.lexicons.install_wordnet` installs it"
        )
    else:
        return WordNetLexicon(wordnet)
    return None
