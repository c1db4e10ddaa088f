"""Token tries, decoding constraints and constrained beam search; knows tokens, not documents.

What needs torch (`beam_search`, `ConstraintProcessor`, `Seq2Seq`) is imported when it is first
asked for, so that tries and their files can be read without it.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from trie.constraints.automaton import Automaton
from trie.constraints.composed import Composed
from trie.constraints.constraint import Constraint, Transitions, Trie
from trie.constraints.declarations import Declaration, OneOf, Then, several
from trie.constraints.listed import TrieConstraint
from trie.constraints.renumbered import Renumbered
from trie.constraints.segments import AnyOf, Fixed, InTrie, Segment, Stretch
from trie.constraints.spans import Limited, copies, spans
from trie.index.token_trie import TokenTrie
from trie.index.updates import UpdatedTrie
from trie.model.tokens import Tokens
from trie.trie_errors import NoIdentifierError, TrieFileError

if TYPE_CHECKING:
    from trie.decoding.beam_search import Hypothesis, beam_search
    from trie.decoding.logits_processor import ConstraintProcessor
    from trie.model.seq2seq import Seq2Seq

__all__ = [
    "AnyOf",
    "Automaton",
    "Composed",
    "Constraint",
    "ConstraintProcessor",
    "Declaration",
    "Fixed",
    "Hypothesis",
    "InTrie",
    "Limited",
    "NoIdentifierError",
    "OneOf",
    "Renumbered",
    "Segment",
    "Seq2Seq",
    "Stretch",
    "Then",
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
    "ConstraintProcessor": "trie.decoding.logits_processor",
    "Hypothesis": "trie.decoding.beam_search",
    "Seq2Seq": "trie.model.seq2seq",
    "beam_search": "trie.decoding.beam_search",
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_LAZY[name]), name)
