"""Token tries, decoding constraints and constrained beam search over tokens.

The parts that need torch (`beam_search`, `ConstraintLogitsProcessor`, `Seq2Seq`, `SequenceScorer`)
are imported on first access, so that tries and their files can be read without it.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from trie.constraints.automaton import Automaton
from trie.constraints.constraint import Constraint, Transitions, Trie
from trie.constraints.grammar import Alternatives, Deferred, Grammar, repeated
from trie.constraints.grammar_constraint import GrammarConstraint, TrieConstraint
from trie.constraints.segments import (
    BoundedTrieSequence,
    FixedTokens,
    Segment,
    SpanFrom,
    TokenSet,
    TrieSequence,
)
from trie.index.token_trie import TokenTrie, TrieFileError
from trie.index.updated_trie import RenumberedTrie, UpdatedTrie
from trie.model.safe_tokenizer import NoIdentifierError, SafeTokenizer

if TYPE_CHECKING:
    from trie.decoding.beam_search import Hypothesis, beam_search
    from trie.decoding.logits_processor import ConstraintLogitsProcessor
    from trie.decoding.sequence_scoring import SequenceScorer
    from trie.model.seq2seq import Seq2Seq

__all__ = [
    "Alternatives",
    "Automaton",
    "BoundedTrieSequence",
    "Constraint",
    "ConstraintLogitsProcessor",
    "Deferred",
    "FixedTokens",
    "Grammar",
    "GrammarConstraint",
    "Hypothesis",
    "NoIdentifierError",
    "RenumberedTrie",
    "SafeTokenizer",
    "Segment",
    "Seq2Seq",
    "SequenceScorer",
    "SpanFrom",
    "TokenSet",
    "TokenTrie",
    "Transitions",
    "Trie",
    "TrieConstraint",
    "TrieFileError",
    "TrieSequence",
    "UpdatedTrie",
    "beam_search",
    "repeated",
]

_LAZY = {
    "ConstraintLogitsProcessor": "trie.decoding.logits_processor",
    "Hypothesis": "trie.decoding.beam_search",
    "Seq2Seq": "trie.model.seq2seq",
    "SequenceScorer": "trie.decoding.sequence_scoring",
    "beam_search": "trie.decoding.beam_search",
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_LAZY[name]), name)
