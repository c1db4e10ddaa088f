"""Exact comparison of claims with evidence, where words decide and nothing has to be guessed."""

from proofs.verifier.exact.exact_comparison import compare

__all__ = ["compare"]
