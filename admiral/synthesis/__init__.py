"""Synthetic multi-hop claims, written from the documents of a knowledge base without annotation.

A claim starts from one document (`synthesizer`), which is parsed into statements about its subject
(`profiles`, `clauses`). A mention of another document in a statement is replaced by a description
taken from that document's own text, which may describe further documents in the same way
(`true_claims`). A claim must not contain a word of a title that it hides. A false version has one
value swapped (`synthesizer`).
"""

from admiral.synthesis.synthesizer import Labels, SynthesisSettings, Synthesizer, SyntheticClaim

__all__ = ["Labels", "SynthesisSettings", "Synthesizer", "SyntheticClaim"]
