"""Multi-hop claims written from the documents of a knowledge base: no annotation is needed.

A claim begins at a document (`generate`), which is taken apart into statements (`profiles`,
`clauses`). A mention of another document in one of them (`slots`) is replaced by a description from
that document's own text, in which others may be described in turn (`descriptions`, `writing`). No
word of a hidden title may show (`leaks`); false versions have one value swapped (`falsehoods`).
"""

from admiral.synthesis.synthesizer import Labels, Settings, Synthesizer, SyntheticClaim

__all__ = ["Labels", "Settings", "Synthesizer", "SyntheticClaim"]
