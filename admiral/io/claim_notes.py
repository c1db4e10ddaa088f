"""Notes for readers on the form of a claim: why it has no verdict, or what its verdict covers."""

from __future__ import annotations

from admiral.io.sentence_splitter import split_sentences
from proofs.judges.judgement import form_warning


def claim_notes(text: str) -> tuple[str, ...]:
    """Return what a reader should know of a text that is given as a claim; mostly nothing.

    A question, an opinion or a name has no verdict. Several sentences have one verdict together.
    """
    if warning := form_warning(text):
        return (warning,)
    count = len(split_sentences(text))
    if count < 2:
        return ()
    return (
        f"These are {count} sentences with one verdict together: it is refuted if one of them is. "
        "Check each as a claim of its own to see which.",
    )
