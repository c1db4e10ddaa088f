"""Token tries, decoding constraints and constrained beam search; knows tokens, not documents."""

from trie.beam import Hypothesis, beam_search
from trie.constraint import Constraint, Transitions, Trie
from trie.inputs import SourceInput, evidence_input
from trie.listed import TrieConstraint
from trie.markup import HopConstraint
from trie.processor import ConstraintProcessor
from trie.seq2seq import Seq2Seq
from trie.token_trie import TokenTrie
from trie.tokens import Tokens
from trie.updates import UpdatedTrie

__all__ = [
    "Constraint",
    "ConstraintProcessor",
    "HopConstraint",
    "Hypothesis",
    "Seq2Seq",
    "SourceInput",
    "TokenTrie",
    "Tokens",
    "Transitions",
    "Trie",
    "TrieConstraint",
    "UpdatedTrie",
    "beam_search",
    "evidence_input",
]
