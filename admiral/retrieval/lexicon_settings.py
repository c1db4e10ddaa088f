"""The lexicons that the settings switch on."""

from __future__ import annotations

from admiral.config import RetrievalConfig
from admiral.errors import AdmiralError
from proofs import NatOp, PairLexicon, SpanLexicon, default_lexicon


def open_lexicon(config: RetrievalConfig) -> SpanLexicon:
    """Return the built-in lexicon and, behind it, lists of words and WordNet.

    Raises
    ------
    AdmiralError
        If a list cannot be read, naming the setting, the file and the line.
    """
    lists = [
        _read(key, path, operator)
        for key, path, operator in (
            ("antonyms", config.antonyms, NatOp.NEGATION),
            ("paraphrases", config.paraphrases, NatOp.EQUIVALENCE),
        )
        if path
    ]
    return default_lexicon(*lists, wordnet=config.wordnet)


def _read(key: str, path: str, operator: NatOp) -> PairLexicon:
    try:
        return PairLexicon.read(path, operator)
    except OSError as error:
        raise AdmiralError(f"setting {key!r}: {path}: cannot be read: {error.strerror}") from error
    except ValueError as error:
        remedy = "Each line holds words divided by tabs or spaces, in UTF-8"
        raise AdmiralError(f"setting {key!r}: {error}. {remedy}") from error
