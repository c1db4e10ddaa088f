"""WordNet through NLTK, where both are installed; nothing is ever downloaded."""

from __future__ import annotations

import logging
from functools import lru_cache
from typing import Any

from proofs.lexicon import BuiltinLexicon, SpanLexicon, WordLexicon
from proofs.operators import NatOp

logger = logging.getLogger(__name__)


class WordNetLexicon:
    """Synonyms are equivalent, antonyms negate, different children of one parent exclude.

    Parameters
    ----------
    reader
        NLTK's WordNet corpus reader, or any object with its ``synsets`` method.
    """

    def __init__(self, reader: Any) -> None:
        self._reader = reader
        self._relation = lru_cache(maxsize=200_000)(self._look_up)

    def word_relation(self, claim: str, evidence: str) -> NatOp | None:
        """Return synonymy as equivalence, antonymy as negation, co-hyponymy as alternation."""
        return self._relation(claim, evidence)

    def _look_up(self, claim: str, evidence: str) -> NatOp | None:
        mine, others = self._reader.synsets(claim), self._reader.synsets(evidence)
        if not mine or not others:
            return None
        if set(mine) & set(others):
            return NatOp.EQUIVALENCE
        lemmas = {lemma for synset in others for lemma in synset.lemmas()}
        if any(a in lemmas for s in mine for lemma in s.lemmas() for a in lemma.antonyms()):
            return NatOp.NEGATION
        # Only the first, most frequent senses: some sense of nearly any two words shares a parent.
        if set(mine[0].hypernyms()) & set(others[0].hypernyms()):
            return NatOp.ALTERNATION
        return None


@lru_cache(maxsize=1)
def open_wordnet() -> WordNetLexicon | None:
    """Return the WordNet lexicon, or None, with one warning, where NLTK or its data is absent."""
    try:
        from nltk.corpus import wordnet

        wordnet.ensure_loaded()
    except ImportError:
        logger.warning("NLTK is not installed: proofs are annotated without WordNet")
    except LookupError:
        logger.warning(
            "NLTK has no WordNet data: proofs are annotated without it; "
            "`python -m nltk.downloader wordnet` installs it"
        )
    else:
        return WordNetLexicon(wordnet)
    return None


def default_lexicon(*more: WordLexicon, wordnet: bool = False) -> SpanLexicon:
    """Return the built-in lexicon with the given ones and, on request, WordNet behind it."""
    found = open_wordnet() if wordnet else None
    return SpanLexicon([BuiltinLexicon(), *more, *([found] if found is not None else [])])
