"""Token tries, decoding constraints and constrained beam search; knows tokens, not documents."""

from trie.automaton import Automaton
from trie.beam import Hypothesis, beam_search
from trie.compose import Declaration, OneOf, Then, several
from trie.composed import Composed
from trie.constraint import Constraint, Transitions, Trie
from trie.errors import TrieFileError
from trie.identifiers import Identifiers
from trie.inputs import SourceInput, evidence_input
from trie.listed import TrieConstraint
from trie.markup import HopConstraint, TitlesConstraint
from trie.processor import ConstraintProcessor
from trie.renumbered import Renumbered
from trie.segments import AnyOf, Fixed, InTrie, Segment, Stretch
from trie.seq2seq import Seq2Seq
from trie.spans import Limited, copies, spans
from trie.token_trie import TokenTrie
from trie.tokens import Tokens
from trie.updates import UpdatedTrie

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
    "OneOf",
    "Renumbered",
    "Segment",
    "Seq2Seq",
    "SourceInput",
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
    "evidence_input",
    "several",
    "spans",
]
