"""Token tries, decoding constraints and constrained beam search; knows tokens, not documents.

What needs torch (`beam_search`, `ConstraintProcessor`, `Seq2Seq`) is imported when it is first
asked for, so that tries and their files can be read without it.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from trie.automaton import Automaton
from trie.compose import Declaration, OneOf, Then, several
from trie.composed import Composed
from trie.constraint import Constraint, Transitions, Trie
from trie.errors import NoIdentifierError, TrieFileError
from trie.identifiers import Identifiers
from trie.listed import TrieConstraint
from trie.markup import HopConstraint, TitlesConstraint
from trie.renumbered import Renumbered
from trie.segments import AnyOf, Fixed, InTrie, Segment, Stretch
from trie.spans import Limited, copies, spans
from trie.token_trie import TokenTrie
from trie.tokens import Tokens
from trie.updates import UpdatedTrie

if TYPE_CHECKING:
    from trie.beam import Hypothesis, beam_search
    from trie.processor import ConstraintProcessor
    from trie.seq2seq import Seq2Seq

__all__ = [
    "AnyOf",
    "Automaton",
    "Composed",
    "Constraint",
    "ConstraintProcessor",
    "Declaration",
    "Fixed",
    "HopConstraint",
    "Hypothesis",
    "Identifiers",
    "InTrie",
    "Limited",
    "NoIdentifierError",
    "OneOf",
    "Renumbered",
    "Segment",
    "Seq2Seq",
    "Stretch",
    "Then",
    "TitlesConstraint",
    "TokenTrie",
    "Tokens",
    "Transitions",
    "Trie",
    "TrieConstraint",
    "TrieFileError",
    "UpdatedTrie",
    "beam_search",
    "copies",
    "several",
    "spans",
]

_LAZY = {
    "ConstraintProcessor": "trie.processor",
    "Hypothesis": "trie.beam",
    "Seq2Seq": "trie.seq2seq",
    "beam_search": "trie.beam",
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_LAZY[name]), name)
