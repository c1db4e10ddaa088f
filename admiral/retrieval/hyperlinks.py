"""An option of the hop retriever: also read the hyperlinks of each evidence sentence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from admiral.protocols import Documents, HopRetriever, claim_limits, max_evidence
from admiral.records import DocumentSet, Sentence


class HyperlinkHopRetriever:
    """Append the linked titles to each evidence sentence before the hop (paper, section 6).

    Parameters
    ----------
    retriever
        The hop retriever that reads the extended sentences.
    documents
        The documents with their hyperlinks. Sentences without hyperlinks stay as they are.
    """

    def __init__(self, retriever: HopRetriever, documents: Documents) -> None:
        self._retriever, self._documents = retriever, documents
        self.claim_limits, self.max_evidence = claim_limits(retriever), max_evidence(retriever)

    def expand(
        self, claims: Sequence[str], evidence: Sequence[Sequence[Sentence]], hops: Sequence[int]
    ) -> list[list[DocumentSet]]:
        """Return the document sets for the evidence with its hyperlinks."""
        extended = [[self._with_hyperlinks(s) for s in sentences] for sentences in evidence]
        return self._retriever.expand(claims, extended, hops)

    def _with_hyperlinks(self, sentence: Sentence) -> Sentence:
        links = self._documents.document(sentence.title).links
        if not links or not links[sentence.index]:
            return sentence
        return replace(sentence, text=f"{sentence.text} {', '.join(links[sentence.index])}")
