"""One claim on its way through the hops: what has been found, and what is to be read next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from admiral.records import Claim, DocumentSet, Hop, ScoredTitle, Sentence, Stopped
from admiral.reranking.sentence_scores import best_scores
from admiral.retrieval.mentions import interleaved


@dataclass(slots=True)
class Progress:
    """What the hops of a claim have found.

    Attributes
    ----------
    claim
        The claim.
    candidates
        The first stage's documents, best first; None before it was asked.
    named
        The documents that the claim names.
    sets
        The document sets of each hop, best first.
    hops
        The hops that have been made.
    read
        The documents that each hop read, that of the best sentence first.
    best
        The score of the best sentence of each document that a hop read.
    linked
        The documents that each hop's evidence mentions.
    stopped
        Why it ended; None on the way.
    """

    claim: Claim
    candidates: list[ScoredTitle] | None = None
    named: list[str] = field(default_factory=list)
    sets: list[list[DocumentSet]] = field(default_factory=list)
    hops: list[Hop] = field(default_factory=list)
    read: list[list[str]] = field(default_factory=list)
    best: list[dict[str, float]] = field(default_factory=list)
    linked: list[list[str]] = field(default_factory=list)
    stopped: Stopped | None = None

    @property
    def evidence(self) -> tuple[Sentence, ...]:
        """The evidence of the last hop."""
        return self.hops[-1].evidence if self.hops else ()

    @property
    def mentioned(self) -> list[str]:
        """The documents that the evidence of the last hop mentions."""
        return self.linked[-1] if self.linked else []

    def to_read(self, count: int) -> list[str]:
        """Return the documents that the next hop reads.

        At first these are the candidates; later the evidence so far and, by turns, the documents
        of the hop's sets, those that the evidence mentions, and the first candidates once more:
        what one of them is about may be understood only now. They are `count`, or more for one
        beside the evidence so far.
        """
        candidates = [c.title for c in self.candidates or ()]
        if not self.hops:
            return candidates[:count]
        found = list(dict.fromkeys(t for one in self.sets[-1] for t in one.titles))
        read = dict.fromkeys(s.title for s in self.evidence)
        others = interleaved(found, self.mentioned, candidates)
        return list(dict.fromkeys([*read, *others]))[: max(count, len(read) + 1)]

    def supposing(
        self, sentences: Sequence[Sentence], evidence: tuple[Sentence, ...], linked: list[str]
    ) -> Progress:
        """Return what would have been found if a hop had read, chosen and linked to these."""
        hop = Hop(len(self.hops) + 1, (), evidence, None, False, 0.0)
        supposed = replace(
            self,
            sets=[*self.sets],
            hops=[*self.hops, hop],
            read=[*self.read],
            best=[*self.best],
            linked=[*self.linked, linked],
        )
        supposed.note_read(sentences)
        return supposed

    def until(self, count: int) -> Progress:
        """Return what the first `count` hops found, as if they had been all."""
        return replace(
            self,
            sets=self.sets[:count],
            hops=self.hops[:count],
            read=self.read[:count],
            best=self.best[:count],
            linked=self.linked[:count],
        )

    def kept(self) -> list[Sentence]:
        """Return the sentences of the best set's kept documents, which the reranker reads too."""
        if not self.hops:
            return []
        best = {s.title: s for s in reversed(self.evidence)}  # the first, so the best, wins
        return [best[title] for title in self.sets[-1][0].titles[:-1] if title in best]

    def note_read(self, sentences: Sequence[Sentence]) -> None:
        """Keep the order and the scores of the documents that a hop read.

        The first hop's are its sets, `D_1`: single documents in the order of their best sentences,
        unread ones last.

        Parameters
        ----------
        sentences
            The scored sentences of the hop, best first.
        """
        self.best.append(best_scores(sentences))
        read = list(dict.fromkeys(s.title for s in sentences))
        self.read.append(read)
        if not self.sets:
            place = {title: number for number, title in enumerate(read)}
            order = sorted(self.candidates or (), key=lambda c: place.get(c.title, len(place)))
            self.sets.append([DocumentSet((c.title,), c.score) for c in order])
