"""Token tries, decoding constraints and constrained beam search over tokens.

A constrained decoding step, in reading order: `trie.token_trie` (sequences that may be decoded),
`trie.grammar` and `trie.automaton` (what may be decoded, as states), `trie.seq2seq` (the scores of
tokens), `trie.beam_decoding` (the best of them).

The parts that need torch (`beam_search`, `ConstraintLogitsProcessor`, `Seq2Seq`) are imported on
first access, so that tries and their files can be read without it.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from trie.automaton import Automaton, GrammarConstraint, TrieConstraint
from trie.grammar import (
    Alternatives,
    BoundedTrieSequence,
    Constraint,
    Deferred,
    FixedTokens,
    Grammar,
    Segment,
    SpanFrom,
    TokenSet,
    Transitions,
    TrieSequence,
    repeated,
)
from trie.safe_tokenizer import SafeTokenizer
from trie.token_trie import TokenTrie, TrieFileError

if TYPE_CHECKING:
    from trie.beam_decoding import Hypothesis, beam_search
    from trie.logits_processor import ConstraintLogitsProcessor
    from trie.seq2seq import Seq2Seq

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
    "SafeTokenizer",
    "Segment",
    "Seq2Seq",
    "SpanFrom",
    "TokenSet",
    "TokenTrie",
    "Transitions",
    "TrieConstraint",
    "TrieFileError",
    "TrieSequence",
    "beam_search",
    "repeated",
]

_LAZY = {
    "ConstraintLogitsProcessor": "trie.logits_processor",
    "Hypothesis": "trie.beam_decoding",
    "Seq2Seq": "trie.seq2seq",
    "beam_search": "trie.beam_decoding",
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_LAZY[name]), name)
