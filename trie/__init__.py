"""Token tries, decoding constraints and constrained beam search; knows tokens, not documents."""

from trie.inputs import SourceInput, evidence_input
from trie.tokens import Tokens

__all__ = ["SourceInput", "Tokens", "evidence_input"]
